"""``evidencebench papers show``, and several papers in a file."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from doors import cli, read_content
from evidencebench import Kind

ARTICLE = """<article><front><article-meta><article-id pub-id-type="pmid">{id}</article-id>
<title-group><article-title>Tea and pressure</article-title></title-group>
{abstract}</article-meta></front>
<body>{body}<fig><caption><p>A cup</p></caption></fig></body></article>"""
ABSTRACT = "<abstract><p>Tea lowered it. No harm was seen.</p></abstract>"
BODY = f"""<sec><title>Results</title>
<sec><title>Pressure</title><p>It fell by 3 mmHg{" in adults" * 12}.</p></sec></sec>
<sec><title>Abstract ideas</title><p>They are not.</p></sec>"""
PAPER = ARTICLE.format(id=7, abstract=ABSTRACT, body=BODY)


def shown(*arguments: str, text: str = PAPER) -> Result:
    return CliRunner().invoke(cli, ["papers", "show", *arguments], input=text)


def test_the_paper_is_shown_with_numbers_kinds_and_what_was_left_out() -> None:
    result = shown("-")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[:6] == [
        "Tea and pressure",
        "standard input: JATS XML, pmid 7",
        "",
        "0 # Tea and pressure",
        "1 >   Tea lowered it.",
        "2 >   No harm was seen.",
    ]
    assert "4 #   Pressure" in lines
    assert lines[5 + lines[5:].index("4 #   Pressure") + 1].startswith("5       It fell by 3 mmHg in adults")
    assert lines[-3:] == [
        "kept: all of 190 characters",
        "kept by part: title 14 of 14, abstract 27 of 27, body 149 of 149",
        "left out: figure: 1, of 4 characters",
    ]
    assert max(map(len, lines)) <= 80
    loss = shown("-", "--loss").output
    assert ("Tea lowered it" in loss, "kept: all of 190" in loss) == (False, True)


def test_json_has_places_and_offsets() -> None:
    (paper,) = json.loads(shown("-", "--json").output)
    assert (paper["title"], paper["ids"], paper["format"]) == ("Tea and pressure", {"pmid": "7"}, "JATS XML")
    row = paper["sentences"][1]
    assert (row["kind"], row["section"], row["paragraph"], row["page"]) == ("abstract", ["Abstract"], 0, None)
    text = re.sub("<[^>]*>", "", PAPER)
    assert text[row["start"] : row["stop"]] == row["text"] == "Tea lowered it."
    assert {row["kind"] for row in paper["sentences"]} == {*map(str, Kind)}
    assert paper["loss"]["left_out"] == {"figure": {"n_elements": 1, "n_characters": 4}}


def test_a_line_is_the_same_to_find_and_to_show(tmp_path: Path) -> None:
    path = tmp_path / "tea.xml"
    path.write_text(PAPER)
    (paper,) = json.loads(CliRunner().invoke(cli, ["papers", "show", str(path), "--json"]).output)
    lines = {line["sentence"]: line for line in (*paper["sentences"], *paper["units"])}
    assert len(lines) == paper["n_sentences"] + len(paper["units"]) > paper["n_sentences"]
    (found,) = json.loads(CliRunner().invoke(cli, ["find", "A cup fell.", str(path), "--json"]).output)["findings"]
    assert {"sentence", "caption"} & {line["kind"] for line in found["evidence"]}
    for line in found["evidence"]:
        assert line.items() >= lines[line["sentence"]].items()


def test_hostile_text_is_printed_as_text() -> None:
    result = shown("-", text=ARTICLE.format(id=1, abstract="", body="<p>Tea \u202e\u009b31m fell.</p>"))
    assert not {"\u202e", "\u009b"} & set(result.output)


def lines_of(paragraphs: Sequence[tuple[str, str]]) -> tuple[str, str]:
    abstract = "".join(f"<p>{text}</p>" for kind, text in paragraphs if kind == "abstract")
    body = "".join(f"<{kind}>{text}</{kind}>" for kind, text in paragraphs if kind != "abstract")
    return f"<abstract>{abstract}</abstract>", body.replace("<sec>", "<sec><title>").replace("</sec>", "</title></sec>")


@given(st.lists(st.tuples(st.sampled_from(["abstract", "p", "sec"]), st.sampled_from(["Tea fell.", "It rose 5."]))))
def test_lines_of_sentences_are_read_again_as_the_same_paper(paragraphs: list[tuple[str, str]]) -> None:
    abstract, body = lines_of(paragraphs)
    text = ARTICLE.format(id=1, abstract=abstract, body=f"{body}<p>End here.</p>")
    first = read_content(text.encode(), name="tea.xml")
    again = read_content(shown("-", "--sentences", text=text).output.encode(), name="tea.txt")
    assert again.title == first.title
    added = {"Abstract", "Body"}
    rows = [row for row in zip(again.kinds, again.sentences, strict=True) if row[1] not in added]
    assert rows == list(zip(first.kinds, first.sentences, strict=True))


def test_papers_that_cannot_be_read_are_told_and_the_others_are_shown(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.xml").write_text("<article><body><p>Tea")
    (folder / "b.xml").write_text(PAPER)
    result = shown(str(folder), "--loss")
    assert result.exit_code == 1
    assert "a.xml: line 1, column 22: expected </p>, got the end of the file" in result.stderr
    assert "b.xml:JATSXML" in "".join(result.stdout.split())  # lines may be broken anywhere in a long path
    assert result.stdout.count("kept by part") == 1


def test_each_paper_of_a_set_is_asked_and_those_without_a_body_are_told(tmp_path: Path) -> None:
    papers = [ARTICLE.format(id=number, abstract="", body="<p>Tea lowered it.</p>") for number in (1, 2)]
    bare = ARTICLE.format(id=3, abstract=ABSTRACT, body="")
    path = tmp_path / "set.xml"
    path.write_text(f"<articles>{''.join(papers)}{bare}</articles>")
    result = CliRunner().invoke(cli, ["find", "Tea lowered it.", str(path), "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)["findings"]
    assert [one["paper"] for one in found] == ["set.xml#1", "set.xml#2"]
    assert f"{path}#3: JATS XML: expected a paper with its body, got metadata only" in result.stderr
