"""``evidencebench find``."""

import csv
import html
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import rispy
from click.testing import CliRunner

from command_line import Command
from evidencebench.cli.main import cli
from evidencebench.execution.finding import find_evidence
from evidencebench.execution.making import make_system
from evidencebench.pages.findings import grouped, not_searched, told
from evidencebench.papers.paper import LeftOut, Loss
from evidencebench.papers.read import read_content
from evidencebench.system import Brief
from evidencebench.systems.directions import ReportedDirection, reported_directions

_TEXT = """\
# Abstract
It is not known whether tea lowers blood pressure.
In a randomised trial of 120 adults, tea lowered systolic pressure by 3.1 mmHg (95% CI 1.0 to 5.2, p = 0.004).
# Acknowledgements
We thank the nurses.
"""


def _found(*arguments: str, text: str = _TEXT) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["find", "Tea lowers blood pressure.", *arguments], input=text)
    return result.exit_code, result.output or str(result.exception)


def test_the_finding_comes_first() -> None:
    exit_code, output = _found("-", "--budget", "1", "--wish", "study", "--system", "cues", "--json")
    assert exit_code == 0
    (finding,) = json.loads(output)["findings"]
    (found,) = finding["evidence"]
    assert (found["sentence"], found["kind"], found["text"]) == (2, "abstract", _TEXT.splitlines()[2])
    assert found["section"] == ["Abstract"]
    assert _TEXT[found["start"] : found["stop"]] == found["text"], "offsets lead back into the file"


def test_text_output_numbers_the_sentences_and_fits_80_columns(tmp_path: Path) -> None:
    (tmp_path / "tea.txt").write_text(_TEXT, encoding="utf-8")
    exit_code, output = _found(str(tmp_path / "tea.txt"), "--budget", "2", "--wish", "study", "--system", "cues")
    assert exit_code == 0
    assert output.startswith("2  In a randomised trial")
    assert max(map(len, output.splitlines())) <= 80


def test_any_system_finds() -> None:
    exit_code, output = _found("-", "--system", "lead", "--budget", "2", "--json")
    assert exit_code == 0
    assert [row["sentence"] for row in json.loads(output)["findings"][0]["evidence"]] == [1, 2], (
        "a heading is no evidence"
    )


@pytest.mark.parametrize(
    ("chances", "said"),
    [
        ("[0.0, 0.1, 0.7, 0.0, 0.1]", "paragraph 2; about 7 in 10]"),
        ("[0.7]", "failed: ValueError: expected 5 chances in 0..1, one a sentence, got (0.7,)"),
        (
            "[0, 0, 2, 0, 0]",
            "failed: ValueError: expected 5 chances in 0..1, one a sentence, got (0.0, 0.0, 2.0, 0.0, 0.0",
        ),
        ("1 / 0", "failed: ZeroDivisionError"),
        ("None", "paragraph 2]"),
    ],
)
def test_own_code_says_how_likely_its_sentences_are_evidence(chances: str, said: str, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from evidencebench import Ranking, Traits\n"
        "class Own:\n"
        f"    traits = Traits(chances=lambda query: {chances})\n"
        "    def rank(self, query, brief):\n"
        "        return Ranking(sentences=(2,))\n"
    )
    _, output = _found("-", "--system", f"{own}:Own")
    assert said in output


def test_a_set_without_order_has_no_best_sentences() -> None:
    exit_code, output = _found("-", "--system", "random")
    assert exit_code != 0
    assert "random gives its sentences no order" in output


def test_a_system_that_needs_the_answers_is_refused() -> None:
    exit_code, output = _found("-", "--system", "oracle")
    assert exit_code != 0
    assert "oracle needs the answers" in output


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "paper.rtf").write_bytes(b"{\\rtf1 Tea.}")
    exit_code, output = _found(str(tmp_path / "paper.rtf"))
    assert exit_code != 0
    assert "it is RTF; save its text as plain text first" in output


@pytest.mark.parametrize(
    ("paper", "message"),
    [
        ("absent.txt", "error: absent.txt: cannot be read: No such file or directory"),
        ("folder", "error: folder: expected papers, got a folder without files"),
        ("pipe", "error: pipe: cannot be read: is a pipe; expected a regular file: save what comes out of it"),
        ("page.html", "error: page.html: expected an article in HTML, got a page almost without"),
        ("long.txt", "error: long.txt: expected at most 50,000 sentences, got 50,001"),
        ("empty.txt", "error: empty.txt: expected a paper as text, got no sentence"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(paper: str, message: str, command: Command) -> None:
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("empty.txt").touch()
    Path("page.html").write_text("<html><body><p>Tea.</p></body></html>")
    Path("long.txt").write_text("Tea.\n" * 50_001)
    found = command(f"find Tea. {paper}")
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(message)


def test_control_characters_in_a_paper_do_not_reach_the_terminal() -> None:
    exit_code, output = _found("-", text="Tea \x1b[31mlowers pressure.\n")
    assert exit_code == 0
    assert "\x1b" not in output


def test_a_sentence_says_where_it_stands() -> None:
    _, output = _found("-", "-k", "1", "--wish", "study", "--system", "cues")
    assert "[Abstract, paragraph 2]" in output


def test_without_a_system_the_finder_answers_and_says_how_likely_each_sentence_is_evidence() -> None:
    exit_code, output = _found("-", "--json")
    assert exit_code == 0
    found = json.loads(output)
    assert found["system"] == "finder"
    assert all(0 <= row["chance"] <= 1 for row in found["findings"][0]["evidence"])
    assert "'About 7 in 10' means: of the sentences with such a score" in _found("-")[1]


def test_no_sentence_of_a_paper_is_a_formula_of_a_spreadsheet() -> None:
    hostile = '=HYPERLINK("http://a","Tea lowers blood pressure.")'
    _, output = _found("-", "--system", "lead", "--format", "csv", text=f"{hostile}\nTea = blood.\n")
    assert [row["text"] for row in csv.DictReader(io.StringIO(output))] == [f"'{hostile}", "Tea = blood."]
    _, output = _found("-", "--system", "lead", "--json", text=f"{hostile}\nTea = blood.\n")
    assert json.loads(output)["findings"][0]["evidence"][0]["text"] == hostile


def test_words_that_are_in_no_sentence_are_said_with_what_was_searched() -> None:
    result = CliRunner().invoke(cli, ["find", "Tea lowers blood pressure of cats.", "-"], input=_TEXT)
    warning, _, sentences = result.output.partition("\n\n")
    searched = "'cats' is not in the 5 sentences read. Not searched: what this text lacks of its paper."
    assert " ".join(warning.split()) == searched
    assert "tea lowered systolic pressure" in sentences


def test_no_sentence_is_named_where_nothing_of_the_hypothesis_is_mentioned() -> None:
    result = CliRunner().invoke(cli, ["find", "Xyzzy harms unrelated cats.", "-", "--json"], input=_TEXT)
    assert result.exit_code == 0
    (finding,) = json.loads(result.output)["findings"]
    assert finding["evidence"] == []
    assert finding["told"] == (
        "'xyzzy', 'harms', 'unrelated' and 'cats' are not in the 5 sentences read. "
        "Not searched: what this text lacks of its paper. No sentence was named as evidence."
    )


_WITH_TABLE = """<?xml version="1.0"?>
<article><front><article-meta><title-group><article-title>Tea and pressure</article-title></title-group>
<funding-group><award-group><funding-source>The Tea Board</funding-source></award-group></funding-group>
</article-meta></front><body><sec><title>Results</title><p>Pressure fell with tea.</p>
<table-wrap><caption><p>Complaints</p></caption><table><tr><td>Insomnia</td><td>3</td></tr></table></table-wrap>
<fig><caption><p>Pressure by day</p></caption></fig></sec></body>
<back><ack><p>The Tea Board funded this study.</p></ack></back></article>
"""


@pytest.mark.parametrize(
    ("hypothesis", "words"),
    [
        ("Insomnia", "'insomnia' is"),
        ("Who funded the study?", "'funded' is"),
        ("How many of them, and who, felt nothing of insomnia?", "'felt' and 'insomnia' are"),
    ],
)
def test_a_word_of_a_table_or_of_the_end_matter_is_not_said_to_be_nowhere_in_the_paper(
    hypothesis: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "tea.xml").write_text(_WITH_TABLE)
    said = (
        f"{words} not in the 3 sentences read. Not searched: acknowledgements, 1 figure, 1 table, front matter. "
        "No sentence was named as evidence."
    )
    page = tmp_path / "page.html"
    arguments = ["find", hypothesis, str(tmp_path / "tea.xml")]
    (finding,) = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).stdout)["findings"]
    assert (finding["told"], finding["evidence"]) == (said, [])
    assert finding["not_searched"] == ["acknowledgements", "1 figure", "1 table", "front matter"]
    assert " ".join(CliRunner().invoke(cli, [*arguments, "--html", str(page)]).stdout.split()) == said
    assert said in html.unescape(page.read_text(encoding="utf-8"))
    (row,) = csv.DictReader(io.StringIO(CliRunner().invoke(cli, [*arguments, "--format", "csv"]).stdout))
    assert row["told"] == said
    assert said in " ".join(CliRunner().invoke(cli, [*arguments, "--format", "ris"]).stdout.split())


def test_tables_in_a_section_at_the_end_are_named_too(tmp_path: Path) -> None:
    table = _WITH_TABLE[_WITH_TABLE.index("<table-wrap>") : _WITH_TABLE.index("<fig>")]
    moved = _WITH_TABLE.replace(table, "").replace("</back>", f"<sec><title>Tables</title>{table}</sec></back>")
    (tmp_path / "tea.xml").write_text(moved)
    (finding,) = json.loads(CliRunner().invoke(cli, ["find", "Insomnia", str(tmp_path / "tea.xml"), "--json"]).stdout)[
        "findings"
    ]
    assert finding["not_searched"] == ["acknowledgements", "1 figure", "other back matter", "1 table", "front matter"]


def test_what_a_pdf_or_a_web_page_has_besides_its_sentences_is_said_without_numbers() -> None:
    loss = Loss(
        left_out={one: LeftOut(n_elements=9, n_characters=9) for one in ("table", "line number", "front matter")}
    )
    paper = replace(read_content(b"Tea lowered pressure.", name="tea.txt"), format="PDF", loss=loss)
    finding = find_evidence(make_system("lead"), paper, "Xyzzy", brief=Brief(budget=3))
    assert told(finding).startswith(
        "'xyzzy' is not in the 1 sentence read. Not searched, as far as a PDF shows what it is: "
    )
    assert not_searched(paper) == not_searched(replace(paper, format="HTML")) == ["table", "front matter"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Nine papers and a bad one, some in a folder within, one hidden."""
    papers = tmp_path / "papers"
    (papers / "more").mkdir(parents=True)
    for number in range(9):
        (papers / ("more" if number % 2 else "") / f"{number}.txt").write_text(_TEXT, encoding="utf-8")
    (papers / "bad.txt").write_bytes(b"\x00\x01\x02" * 99)
    (papers / ".hidden").write_bytes(b"\x00")
    return papers


def test_of_ten_papers_nine_are_answered_and_the_bad_one_is_told(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["find", "Tea lowers blood pressure.", str(folder), "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert [Path(finding["paper"]).name for finding in found["findings"]] == [
        *(f"{number}.txt" for number in (0, 2, 4, 6, 8)),
        *(f"{number}.txt" for number in (1, 3, 5, 7)),
    ]
    assert len(found["failed"]) == 1
    assert "bad.txt: " in found["failed"][0]
    assert "bad.txt: " in result.stderr


def test_papers_and_hypotheses_make_a_table(folder: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("Tea lowers blood pressure.\n\nTea tires nurses.\nTea lowers blood pressure.\n")
    arguments = ["find", "--hypotheses", str(questions), str(folder / "0.txt"), str(folder / "2.txt"), "-k", "1"]
    result = CliRunner().invoke(cli, [*arguments, "--format", "csv"])
    assert result.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(Path(row["paper"]).name, row["hypothesis"]) for row in rows] == [
        (paper, hypothesis)
        for paper in ("0.txt", "2.txt")
        for hypothesis in ("Tea lowers blood pressure.", "Tea tires nurses.")
    ]
    text = CliRunner().invoke(cli, arguments).stdout
    assert text.count("hypothesis: Tea tires nurses.") == 2
    assert max(map(len, text.splitlines())) <= 80


def test_notes_for_managers_of_references_can_be_read_back(folder: Path) -> None:
    arguments = ["find", "Tea lowers blood pressure.", str(folder / "0.txt"), "--format", "ris"]
    (record,) = rispy.loads(CliRunner().invoke(cli, arguments).stdout)
    assert record["title"].endswith("0.txt")
    (note,) = record["notes"]
    assert "tea lowered systolic pressure by 3.1 mmHg (95% CI 1.0 to 5.2, p = 0.004). (Abstract, paragraph 2; " in note


def test_a_page_marks_the_evidence_and_hostile_text_stays_text(tmp_path: Path) -> None:
    paper, page = tmp_path / "tea.txt", tmp_path / "tea.html"
    paper.write_text(_TEXT + "<script>alert(1)</script> tea lowered pressure (p < 0.01).\n", encoding="utf-8")
    arguments = ["find", "Tea <b>lowers</b> pressure.", str(paper), "-k", "3", "--html", str(page)]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert text.count("<mark ") == 3
    assert CliRunner().invoke(cli, arguments).exit_code != 0, "an existing page is not replaced"
    assert CliRunner().invoke(cli, [*arguments, "--overwrite"]).exit_code == 0


@pytest.mark.parametrize("form", [["--json"], *(["--format", one] for one in ("text", "markdown", "csv", "ris"))])
def test_what_is_said_of_the_page_does_not_stand_among_what_was_found(form: list[str], tmp_path: Path) -> None:
    page = tmp_path / "tea.html"
    arguments = ["find", "Tea lowers blood pressure.", "-", *form]
    alone = CliRunner().invoke(cli, arguments, input=_TEXT)
    beside = CliRunner().invoke(cli, [*arguments, "--html", str(page)], input=_TEXT)
    assert beside.exit_code == 0
    assert beside.stdout == alone.stdout
    assert beside.stderr == f"{alone.stderr}{page}: 1 answer\n"


def test_a_page_is_no_part_of_what_is_printed() -> None:
    for name in ("-", "/dev/stdout"):
        result = CliRunner().invoke(cli, ["find", "Tea lowers blood pressure.", "-", "--html", name], input=_TEXT)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "--html: expected a file; standard output has the sentences" in result.stderr


@pytest.mark.parametrize("arguments", [["Tea helps."], [" ", "paper.txt"]])
def test_a_hypothesis_and_a_paper_are_needed(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli, ["find", *arguments])
    assert result.exit_code == 2
    assert "expected" in result.output


def test_hypotheses_come_from_standard_input_unless_a_paper_does(folder: Path) -> None:
    asked = ["find", "--hypotheses", "-", str(folder / "0.txt"), "--json"]
    result = CliRunner().invoke(cli, asked, input="Tea helps.\n\nTea harms.\nTea helps.\n")
    assert [one["hypothesis"] for one in json.loads(result.stdout)["findings"]] == ["Tea helps.", "Tea harms."]
    both = CliRunner().invoke(cli, ["find", "--hypotheses", "-", "-"], input=_TEXT)
    assert both.exit_code == 2
    assert "either the hypotheses or a paper, not both" in both.output


def test_a_file_without_hypotheses_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    result = CliRunner().invoke(cli, ["find", "--hypotheses", str(tmp_path / "empty.txt"), "-"], input=_TEXT)
    assert "expected 1 to 1,000 hypotheses, one a line, got 0" in str(result.exception)
    (tmp_path / "latin.txt").write_bytes(b"Tea helps.\nCaf\xe9 too.\n")
    result = CliRunner().invoke(cli, ["find", "--hypotheses", str(tmp_path / "latin.txt"), "-"], input=_TEXT)
    assert "latin.txt: line 2: expected UTF-8 text, got the byte 0xe9" in str(result.exception)


_DIRECTIONS = """\
# Results
Nurses gave the tea, and took the blood pressure twice.
Blood pressure was significantly lower with tea than with water (p = 0.01).
Blood pressure did not differ between tea and water in men (p = 0.6).
"""


def test_the_evidence_is_split_by_what_it_reports(tmp_path: Path) -> None:
    page = tmp_path / "tea.html"
    arguments = ["find", "Tea lowers blood pressure.", "-", "--split-by", "direction"]
    text = CliRunner().invoke(cli, [*arguments, "--html", str(page)], input=_DIRECTIONS).stdout
    headings = ["Reports a decrease", "Reports no difference", "Does not say"]
    assert [line for line in text.splitlines() if line.startswith(("Reports", "Does"))] == [f"{h}:" for h in headings]
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"<h3>{heading}</h3>" in page.read_text(encoding="utf-8") for heading in headings)
    (finding,) = json.loads(CliRunner().invoke(cli, [*arguments, "--json"], input=_DIRECTIONS).stdout)["findings"]
    expected = {1: "not said", 2: "decrease", 3: "no difference"}
    assert {row["sentence"]: row["direction"] for row in finding["evidence"]} == expected
    table = CliRunner().invoke(cli, [*arguments, "--format", "csv"], input=_DIRECTIONS).stdout
    assert {int(row["sentence"]): row["direction"] for row in csv.DictReader(io.StringIO(table))} == expected
    notes = CliRunner().invoke(cli, [*arguments, "--format", "ris"], input=_DIRECTIONS).stdout
    assert "reports a decrease)" in notes


_LOWER = "<p>Blood pressure was lower with tea than with water (p = 0.01).</p>"
_SECTIONS = f"""<?xml version="1.0"?>
<article><front><article-meta><abstract><sec><title>Methods and findings</title>{_LOWER}</sec></abstract></article-meta>
</front><body><sec><title>1. Introduction</title>{_LOWER}</sec>
<sec><title>Materials and methods</title><sec><title>Results of the pilot</title>{_LOWER}</sec></sec>
<sec><title>Results</title><sec><title>Statistical analysis</title>{_LOWER}</sec></sec>
<sec><title>Measurements</title>{_LOWER}</sec></body></article>
"""


def test_a_sentence_of_a_section_without_findings_gets_no_direction() -> None:
    """As the introduction and the methods; a section within another is of the outer one's sort."""
    paper = read_content(_SECTIONS.encode(), name="tea.xml")
    asked: list[int] = []

    def read(hypothesis: str, sentences: Sequence[str], indices: Sequence[int]) -> Mapping[int, ReportedDirection]:
        asked.extend(indices)
        return reported_directions(hypothesis, sentences, indices)

    brief = Brief(budget=9)
    finding = find_evidence(make_system("lead"), paper, "Tea lowers blood pressure.", brief=brief, read_directions=read)
    assert {" > ".join(one.place.section): one.direction for one in finding.evidence} == {
        "Abstract > Methods and findings": ReportedDirection.DECREASE,
        "1. Introduction": ReportedDirection.NOT_SAID,
        "Materials and methods > Results of the pilot": ReportedDirection.NOT_SAID,
        "Results > Statistical analysis": ReportedDirection.DECREASE,
        "Measurements": ReportedDirection.DECREASE,
    }
    assert len(asked) == 3, "a language model is not sent the others"


def test_groups_stand_in_the_order_of_their_best_sentence() -> None:
    paper = read_content(_DIRECTIONS.encode(), name="tea.txt")
    brief = Brief(budget=3)
    found = find_evidence(
        make_system("lead"), paper, "Tea lowers blood pressure.", brief=brief, read_directions=reported_directions
    )
    turned = replace(found, evidence=found.evidence[::-1])
    headings = ["Does not say", "Reports a decrease", "Reports no difference"]
    assert [heading for heading, _ in grouped(found)] == headings
    assert [(heading, *(rank for rank, _ in group)) for heading, group in grouped(turned)] == [
        ("Reports no difference", 1),
        ("Reports a decrease", 2),
        ("Does not say", 3),
    ]


def test_without_a_split_no_direction_is_read() -> None:
    _, output = _found("-", "--json")
    assert all(row["direction"] is None for row in json.loads(output)["findings"][0]["evidence"])
