"""`construct harvest`: many reviews, or a table of summaries, become a file of drafts."""

import re
from pathlib import Path

import pytest

from citing_reviews import cite, review
from command_line import Command
from evidencebench.construction.draft import open_drafts
from examples import IS_THOROUGH


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    folder = tmp_path / "reviews"
    folder.mkdir()
    (folder / "one.xml").write_bytes(review(f"Tea helps [{cite(1)}].", f"Tea is hot [{cite(2)}, {cite(3)}]."))
    (folder / "two.nxml").write_bytes(review(f"Tea helps [{cite(1)}].", f"Tea is old [{cite(4)}]."))
    return folder


def test_reviews_become_passages_and_counts(reviews: Path, tmp_path: Path, command: Command) -> None:
    found = command(f"construct harvest {reviews} -o work --ids ids.txt")
    assert found.code == 0
    rows = [line.rsplit(maxsplit=1) for line in found.out.splitlines()[2:5]]
    assert rows == [["kept", "3"], ["dropped: cites several papers", "1"], ["all", "4"]]
    assert "3 passages on 2 papers, from 2 reviews" in found.out
    assert (tmp_path / "ids.txt").read_text(encoding="utf-8") == "PMID:1001\nPMID:1004\n"
    drafts = open_drafts(tmp_path / "work" / "passages.jsonl")
    assert drafts.header.step == "harvest"
    assert [draft.id for draft in drafts.drafts()] == ["one.xml:B1:1", "two.nxml:B1:1", "two.nxml:B4:1"]
    assert drafts["one.xml:B2+1:1"].dropped == "cites several papers"
    told = command(f"construct harvest {reviews} -o . --json").json
    assert (told["n_reviews"], told["n_kept"], told["n_papers"]) == (2, 3, 2)
    assert told["dropped"] == {"cites several papers": 1}


def test_what_no_passage_came_from_is_told_and_the_others_are_read(reviews: Path, command: Command) -> None:
    (reviews / "bad.xml").write_bytes(b"<article>")
    (reviews / "table.csv").write_text("a,b\n", encoding="utf-8")
    (reviews / "none.xml").write_bytes(review("Tea is old."))
    table = f"<table-wrap><table>{cite(1)}</table></table-wrap>"
    (reviews / "table.xml").write_bytes(review("Tea is old.", more=table))
    found = command(f"construct harvest {reviews} -o . --progress plain")
    assert found.code == 1
    assert all(f"error: {name}: line 1" in found.err for name in ("bad.xml", "table.csv"))
    told = ("from 4 reviews", "in no passage: 1 mark in headings, tables", "without any citation mark: 1 review")
    assert all(one in found.out for one in told), found.out
    assert "harvesting: 6/6" in found.err


def test_the_same_command_goes_on_after_a_stop(reviews: Path, command: Command) -> None:
    line = f"construct harvest {reviews} -o ."
    assert command(line).code == 0
    passages = Path("passages.jsonl")
    whole = passages.read_bytes()
    for other in (f"{line} --license cc-by", f"construct harvest {reviews}/one.xml -o ."):
        assert "was made with other settings" in command(other).refusal
    for n_bytes in range(len(whole) // 3, len(whole), 97 if IS_THOROUGH else 397):
        passages.write_bytes(whole[:n_bytes])
        assert command(line).code == 0
        assert passages.read_bytes() == whole
    assert command(line).out == command(line).out
    assert passages.read_bytes() == whole


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "expected REVIEWs, or a table of summaries with --table"),
        ("{reviews} --table {reviews}/one.xml", "expected REVIEWs, or a table of summaries with --table"),
        ("{reviews} --ids -", "--ids: expected a file; standard output has the counts"),
        ("{reviews} --ids {reviews}/no/ids.txt", "there is no folder"),
        ("{reviews} --license gpl", "'gpl' is not one of 'cc0', 'public-domain'"),
        ("--table {reviews}/one.xml", "expected a table in .csv, .tsv or .jsonl, got '.xml'"),
    ],
)
def test_a_wrong_call_is_refused_at_once(
    reviews: Path, tmp_path: Path, command: Command, more: str, message: str
) -> None:
    found = command(f"construct harvest {more.format(reviews=reviews)} -o work")
    assert (found.code, message in " ".join(found.err.split())) == (2, True), found.err
    assert not (tmp_path / "work").exists()


HEAD = "summary,paper,review_id\n"
LINES = """\
{"summary": "Tea lowered pressure by 5 mmHg.", "paper": "PMC5", "review_id": "r1", "id": null}
{"summary": "Tea, hot, was safe in adults.", "paper": "10.1186/Tea", "review_id": "r1", "x": "1"}
"""
ROWS = 'Tea lowered pressure by 5 mmHg.,PMC5,r1\n"Tea, hot, was safe in adults.",10.1186/Tea,r1\n'


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("\ufeff" + (HEAD + ROWS).replace("\n", "\r\n"), "summaries.csv"),
        ((HEAD + ROWS).replace(", ", ";").replace(",", "\t").replace(";", ", ").replace('"', ""), "summaries.tsv"),
        (LINES, "summaries.jsonl"),
    ],
)
def test_a_table_of_summaries_becomes_drafts(tmp_path: Path, command: Command, content: str, name: str) -> None:
    Path(name).write_text(content, encoding="utf-8")
    assert command(f"construct harvest --table {name} -o work").code == 0
    found = list(open_drafts(tmp_path / "work" / "summaries.jsonl").drafts())
    assert [(one.id, one.review_id, one.paper_id) for one in found] == [
        ("r1:1", "r1", "pmc_5"),
        ("r1:2", "r1", "doi_10.1186/tea"),
    ]
    assert [one.summary for one in found] == ["Tea lowered pressure by 5 mmHg.", "Tea, hot, was safe in adults."]
    assert all(one.passage is None for one in found)


def test_rows_name_papers_by_their_files_too(tmp_path: Path, command: Command) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "trial.xml").write_bytes(review("Tea.").replace(b">77<", b">78<"))
    rows = (
        "Tea was safe in adults.,trial.xml,r1,a,Before.\nTea was safe in adults.,PMC78,r1,b,\n"
        "Tea was safe in adults.,gone.xml,r1,c,\n3.4 (1.2) 95%,trial.xml,r1,d,\n"
    )
    Path("summaries.csv").write_text(f"summary,paper,review_id,id,context\n{rows}")
    found = command(f"construct harvest --table summaries.csv --papers {papers} -o . --json")
    assert found.json["dropped"] == {"paper not at hand": 1, "no words": 1}
    drafts = open_drafts(tmp_path / "summaries.jsonl")
    assert [(one.id, one.paper_id, one.paper_file, one.context) for one in drafts.drafts()] == [
        ("a", "pmc_78", "trial.xml", "Before."),
        ("b", "pmc_78", "trial.xml", ""),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: expected the columns summary, paper, review_id, .* got no summary and no paper and no review_id"),
        ("summary,paper,review_id,id,id\n", "line 1: expected each column once"),
        (HEAD, "expected rows with summaries, got none"),
        (f"{HEAD}\n,PMC5,r1\n", "line 3: expected a text in 'summary', got an empty cell"),
        (f"{HEAD}Tea,,r1\n", "line 2: expected a text in 'paper', got an empty cell"),
        (f'{HEAD}"Tea\nis old",PMC5,r1\nTea,PMC5\n', "line 4: expected 3 cells, got 2; quote cells"),
        (f"{HEAD}Tea is old,tea.xml,r1\n", "line 2: paper: 'tea.xml': expected the id of a paper, .* with --papers"),
        (f'{HEAD}"Tea"x,PMC5,r1\n', "line 2: expected a table, got"),
        ("summary,paper,review_id,id\nTea,PMC5,r,a\nTea,PMC5,r,a\n", "line 3: expected another id, got 'a' of line 2"),
    ],
)
def test_a_wrong_row_is_told_with_its_line(tmp_path: Path, command: Command, content: str, message: str) -> None:
    Path("summaries.csv").write_text(content)
    refusal = command("construct harvest --table summaries.csv -o work").refusal
    assert re.search(message, refusal), refusal
    assert not (tmp_path / "work").exists()
