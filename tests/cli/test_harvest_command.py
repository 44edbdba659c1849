"""`construct run --until harvest`: reviews, or a table of summaries, become a file of drafts; papers are fetched."""

import re
from pathlib import Path

import pytest

from evidencebench import Draft, open_drafts
from kit.citing_reviews import TWELVE, cite, reference, review
from kit.command_line import Command, Outcome
from kit.europe_pmc import base_url, europe_pmc
from kit.examples import IS_THOROUGH

HARVEST = "construct run construction.toml --until harvest"


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    folder = tmp_path / "reviews"
    folder.mkdir()
    (folder / "one.xml").write_bytes(review(f"Tea helps [{cite(1)}].", f"Tea is hot [{cite(2)}, {cite(3)}]."))
    (folder / "two.nxml").write_bytes(review(f"Tea helps [{cite(1)}].", f"Tea is old [{cite(4)}]."))
    return folder


def configure(inputs: str = 'reviews = ["reviews"]') -> None:
    model = 'model = "local/any,base_url=http://127.0.0.1:1/v1"'
    Path("construction.toml").write_text(f'name = "tea"\npapers = "papers"\n{model}\n{inputs}\n')


def passages() -> list[Draft]:
    drafts = open_drafts(Path("work/passages.jsonl"))
    return [drafts[draft_id] for draft_id in sorted(drafts.offsets)]


def harvested_table(command: Command, name: str = "summaries.csv") -> Outcome:
    configure(f'table = "{name}"')
    return command(HARVEST)


@pytest.mark.usefixtures("reviews")
def test_reviews_become_passages_and_counts(command: Command) -> None:
    configure()
    found = command(HARVEST)
    assert (found.code, max(map(len, found.out.splitlines())) <= 80) == (1, True)  # no paper is at hand
    assert "dropped: cites several papers" in found.out
    drafts = open_drafts(Path("work/passages.jsonl"))
    assert drafts.header.step == "harvest"
    assert sorted(drafts.offsets) == ["one.xml:B1:1", "one.xml:B2+1:1", "two.nxml:B1:1", "two.nxml:B4:1"]
    assert drafts["one.xml:B2+1:1"].dropped == "cites several papers"
    assert command(f"{HARVEST} --json").json["steps"] == []


def test_what_no_passage_came_from_is_told_and_the_others_are_read(reviews: Path, command: Command) -> None:
    (reviews / "bad.xml").write_bytes(b"<article>")
    (reviews / "table.csv").write_text("a,b\n", encoding="utf-8")
    configure()
    found = command(f"{HARVEST} --set progress=plain")
    assert found.code == 1
    assert all(f"error: {name}: line 1" in found.err for name in ("bad.xml", "table.csv"))
    assert "harvest 4/4" in found.err
    assert len(passages()) == 4


@pytest.mark.usefixtures("reviews")
def test_the_same_command_goes_on_after_a_stop(command: Command) -> None:
    configure()
    assert command(HARVEST).code == 1
    path = Path("work/passages.jsonl")
    whole = path.read_bytes()
    for n_bytes in range(len(whole) // 3, len(whole), 97 if IS_THOROUGH else 397):
        path.write_bytes(whole[:n_bytes])
        assert command(HARVEST).code == 1
        assert path.read_bytes() == whole
    assert command(HARVEST).out == command(HARVEST).out
    assert path.read_bytes() == whole


OPEN_IDS = ("PMC22", "PMC1280405", "PMC33", "PMC4444")


@pytest.fixture
def _cited(reviews: Path) -> None:
    """Write a review of two papers that the service has, and two that it has not."""
    listed = [reference(n, ids=f'<pub-id pub-id-type="pmcid">{pmcid}</pub-id>') for n, pmcid in enumerate(OPEN_IDS, 1)]
    (reviews / "one.xml").write_bytes(review(*(f"Tea helps [{cite(n)}]." for n in (1, 2, 3, 4)), references=listed))
    (reviews / "two.nxml").unlink()
    configure("licences = ['cc-by', 'unknown']\nreviews = ['reviews']")


@pytest.mark.usefixtures("_cited")
def test_cited_papers_are_fetched_once_and_those_that_could_not_be_had_are_told(command: Command) -> None:
    with europe_pmc() as server:
        call = f"{HARVEST} --fetch --base-url {base_url(server)}"
        found = command(call)
        assert (found.code, "fetched 2 papers into papers" in found.err) == (0, True), found.err
        assert "not fetched: 1 paper: it is not open access" in found.err
        assert "not fetched: 1 paper: Europe PMC knows no such paper" in found.err
        n_asked = len(server.log)
        again = command(f"{call} --json")
        assert (len(server.log), sorted(again.json["not_fetched"].values())) == (n_asked, [1, 1])
    assert [draft.dropped for draft in passages()] == ["", "", "paper not at hand", "paper not at hand"]
    assert command(HARVEST).code == 0


@pytest.mark.usefixtures("_cited")
def test_a_pilot_fetches_as_many_papers_as_it_needs(command: Command) -> None:
    with europe_pmc() as server:
        assert command(f"{HARVEST} --fetch --limit 1 --base-url {base_url(server)}").code == 0
    assert len(list(Path("papers").glob("PMC*.xml"))) == 1
    assert [draft.dropped for draft in passages()].count("") == 1


def test_a_service_that_says_nothing_stops_the_fetching_and_is_asked_again(
    command: Command, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    (reviews / "one.xml").write_bytes(review(*(f"Tea helps [{cite(n)}]." for n in (1, 2, 3, 4)), references=TWELVE))
    configure()
    found = command(f"{HARVEST} --fetch --base-url http://127.0.0.1:1")
    assert (found.code, "no answer in 4 attempts" in found.err) == (3, True), found.err
    assert command(f"{HARVEST} --fetch --base-url http://127.0.0.1:1").code == 3


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
    assert harvested_table(command, name).code == 1  # no paper is at hand
    drafts = open_drafts(tmp_path / "work" / "summaries.jsonl")
    found = [drafts[draft_id] for draft_id in sorted(drafts.offsets)]
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
    assert harvested_table(command).code == 0
    drafts = open_drafts(tmp_path / "work" / "summaries.jsonl")
    assert drafts.dropped == {"paper not at hand": 1, "no words": 1}
    assert [(one.id, one.paper_id, one.paper_file, one.context) for one in drafts.drafts()] == [
        ("a", "pmc_78", "trial.xml", "Before."),
        ("b", "pmc_78", "trial.xml", ""),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: .*columns summary, paper, review_id, .*no paper and no review_id"),
        ("summary,paper,review_id,id,id\n", "line 1: .*once"),
        (HEAD, "rows .*none"),
        (f"{HEAD}\n,PMC5,r1\n", "line 3: .*'summary'"),
        (f"{HEAD}Tea,,r1\n", "line 2: .*'paper'.*empty"),
        (f'{HEAD}"Tea\nis old",PMC5,r1\nTea,PMC5\n', "line 4: .*3 cells, got 2"),
        (f'{HEAD}"Tea"x,PMC5,r1\n', "line 2: .*a table"),
        ("summary,paper,review_id,id\nTea,PMC5,r,a\nTea,PMC5,r,a\n", "line 3: .*'a' of line 2"),
    ],
)
def test_a_wrong_row_is_told_with_its_line(tmp_path: Path, command: Command, content: str, message: str) -> None:
    Path("summaries.csv").write_text(content)
    refusal = harvested_table(command).refusal
    assert re.search(message, refusal), refusal
    assert not (tmp_path / "work").exists()
