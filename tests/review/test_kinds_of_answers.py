"""Cells whose answers are numbers, words, yes or no, or one of a list: kept, refused, compared, exported."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from doors import DeskAnswer, PeopleError, ReviewTable, export, report_review
from evidencebench import Resampling
from kit.command_line import Command
from kit.desks import cell_of, filled, make_folder

QUESTIONS = (
    "How many were given tea? [number]",
    "What dose? [number in mg]",
    "Who measured? [text]",
    "Was it lower? [yes/no]",
    "Which design? [choice: parallel | crossover]",
)
PAPER = "paper_0.txt"


@pytest.fixture
def table(tmp_path: Path) -> ReviewTable:
    return filled(make_folder(tmp_path / "papers", n_papers=2), "bm25", questions=QUESTIONS)


def say(table: ReviewTable, person: str, question: int, paper: str = PAPER, **said: Any) -> dict[str, Any]:
    cell = cell_of(table, paper, question)
    before: Any = table.answer(person, cell)
    revision = before["revision"] + 1 if before else 1
    return dict(table.save(person, DeskAnswer(task=cell, revision=revision, **said)))


def shown(table: ReviewTable, person: str, question: int) -> dict[str, Any]:
    queue: Any = table.queue(person)
    place = table.place(cell_of(table, PAPER, question))
    return next(cell for row, column, cell in queue["cells"] if (row, column) == place)


def test_each_kind_is_answered_in_its_way_and_shown_in_words(table: ReviewTable) -> None:
    say(table, "Ada", 0, written="tea: 61; water: 59", accepted=(2,))
    say(table, "Ada", 1, written="5")
    say(table, "Ada", 2, written="nurses took all measures")
    say(table, "Ada", 3, decision="yes")
    say(table, "Ada", 4, written="crossover")
    words = ["tea: 61; water: 59", "5 mg", "nurses took all measures", "yes", "crossover"]
    assert [shown(table, "Ada", question)["said"] for question in range(5)] == words
    say(table, "Ada", 1, decision="not_reported")
    assert shown(table, "Ada", 1)["said"] == "does not report it"
    say(table, "Ada", 1)
    assert (shown(table, "Ada", 1)["decision"], shown(table, "Ada", 1)["said"]) == ("", "")


@pytest.mark.parametrize(
    ("question", "said", "why"),
    [
        (0, {"written": "a few"}, "expected a number"),
        (0, {"written": "12 of 10"}, "more than there are"),
        (0, {"decision": "increase"}, "the answer to this question is a number"),
        (0, {"decision": "unclear", "written": "5"}, "exclude each other"),
        (1, {"written": "5 kg"}, "expected mg, got kg"),
        (3, {"written": "perhaps"}, "yes or no, and no value"),
        (4, {"written": "cluster"}, "expected one of parallel, crossover"),
    ],
)
def test_what_does_not_fit_its_question_is_refused_and_nothing_is_kept(
    table: ReviewTable, question: int, said: dict[str, Any], why: str
) -> None:
    with pytest.raises(PeopleError) as raised:
        say(table, "Ada", question, **said)
    assert why in str(raised.value)
    assert table.answer("Ada", cell_of(table, PAPER, question)) is None


def test_agreement_is_told_for_each_kind_of_answer(table: ReviewTable) -> None:
    for person, tea, pressure, design in (("Ada", "100", "yes", "parallel"), ("Bo", "104", "no", "parallel")):
        say(table, person, 0, written=tea)
        say(table, person, 0, paper="paper_1.txt", written=f"tea: {tea}")
        say(table, person, 3, decision=pressure)
        say(table, person, 4, written=design)
    (pair,) = report_review(table, Resampling(seed=0, n_draws=200)).pairs
    by_kind = {kind.kind: kind for kind in pair.kinds}
    number = by_kind["number"]
    assert (number.n_cells, number.n_differing) == (2, 2)
    assert (number.n_numbers, number.n_exact, number.n_close) == (2, 0, 2)
    assert number.measures.keys() == {"accuracy"}
    assert (by_kind["yes/no"].n_differing, by_kind["choice"].n_differing) == (1, 0)
    assert by_kind["choice"].measures["accuracy"].value == 1
    disputes: Any = table.disputes("Cy")
    assert {side["words"] for side in disputes[0]["sides"]} == {"100", "104"}


def test_a_sheet_has_a_row_a_paper_and_a_column_a_question_with_its_quotation(table: ReviewTable) -> None:
    say(table, "Ada", 0, written="61", accepted=(2,))
    rows = list(csv.DictReader(io.StringIO(export(table, "csv").content.decode())))
    row = next(row for row in rows if (row["paper"], row["question"]) == (PAPER, "How many were given tea?"))
    assert (row["decision"], row["by Ada"]) == ("61", "61")
    data: Any = json.loads(export(table, "data").content)
    (instance,) = data.values()
    assert (instance["decision"], instance["values"]) == ("value", [{"value": "61"}])
    assert len(instance["aspect_list_ids"]) == 1


def test_the_kind_of_an_answer_is_changed_and_written_down_and_answers_stay(table: ReviewTable) -> None:
    say(table, "Ada", 2, written="nurses")
    table.desk.set_kind(2, "yes/no")
    file = table.desk.folder / "questions.txt"
    assert file.read_text().splitlines()[2] == "Who measured? [yes/no]"
    assert shown(table, "Ada", 2)["said"] == "nurses"
    say(table, "Ada", 2, decision="yes")
    assert shown(table, "Ada", 2)["said"] == "yes"


def test_others_are_shown_to_who_has_decided(table: ReviewTable) -> None:
    cell = cell_of(table, PAPER, 3)
    say(table, "Ada", 3, decision="yes")
    assert table.others("Bo", cell) == []
    say(table, "Bo", 3, decision="no")
    assert [(one["person"], one["words"]) for one in table.others("Bo", cell)] == [("Ada", "yes")]


def test_the_report_prints_each_kind_in_80_columns(table: ReviewTable, command: Command) -> None:
    for person, written in (("Ada", "100"), ("Bo", "104")):
        say(table, person, 0, written=written)
    told = command(f"review {table.desk.folder.parent} --report")
    assert "Numbers that both gave" in told.out
    assert "Ada: 100, Bo: 104" in told.out
    assert max(map(len, told.out.splitlines())) <= 80


def test_an_adjudicator_alone_resolves_what_others_dispute_blind(tmp_path: Path) -> None:
    made = filled(make_folder(tmp_path / "papers"), "bm25", questions=QUESTIONS)
    table = ReviewTable(made.desk, made.decisions, is_blind=True, adjudicator="Cy ")
    cell = cell_of(table, PAPER, 3)
    say(table, "Ada", 3, decision="yes", accepted=(2,))
    say(table, "Bo", 3, decision="no")
    assert table.others("Bo", cell) == []
    assert (table.disputes("Ada"), len(table.disputes("Cy"))) == ([], 1)
    resolution = DeskAnswer(task=cell, decision="yes", accepted=(2,))
    with pytest.raises(PeopleError, match="resolved by Cy"):
        table.save("Ada", resolution, is_agreed=True)
    table.save("Cy", resolution, is_agreed=True)
    assert next(one.decided.final.choice for one in table.cells() if one.decided and one.decided.final) == "yes"
    report = report_review(table, Resampling(seed=0, n_draws=200))
    assert [(one.person, one.n_blind) for one in report.reviewers] == [("Ada", 1), ("Bo", 1)]


def test_authors_and_journal_come_from_the_file_and_go_out_again(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    name = "<name><surname>{}</surname><given-names>{}</given-names></name>"
    authors = "".join(
        f'<contrib contrib-type="{kind}">{name.format(*person)}</contrib>'
        for kind, person in (("author", ("Bean", "Ada")), ("author", ("Cup", "Bo")), ("editor", ("Pot", "Cy")))
    )
    (folder / "a.xml").write_text(
        "<article><front><journal-meta><journal-title>J. Brews</journal-title></journal-meta><article-meta>"
        "<title-group><article-title>Tea</article-title></title-group>"
        f"<contrib-group>{authors}<contrib><collab>The Tea Group</collab></contrib></contrib-group>"
        "<pub-date><year>2019</year></pub-date><volume>7</volume></article-meta></front>"
        "<body><sec><title>Results</title><p>Tea was drunk by 61 nurses.</p></sec></body></article>"
    )
    table = filled(folder, "bm25", questions=QUESTIONS)
    say(table, "Ada", 0, paper="a.xml", written="61")
    (row,) = (row for row in csv.DictReader(io.StringIO(export(table, "csv").content.decode())) if row["decision"])
    assert (row["authors"], row["journal"], row["year"]) == ("Bean, Ada; Cup, Bo; The Tea Group", "J. Brews", "2019")
    ris = export(table, "ris").content.decode()
    assert ris.count("AU  - ") == 3
    assert "VL  - 7" in ris


def test_papers_are_assigned_by_turns_and_stay_with_their_reviewers(tmp_path: Path, command: Command) -> None:
    folder = make_folder(tmp_path / "papers", n_papers=2)
    filled(folder, "bm25", questions=QUESTIONS)
    assert command(f"review {folder} --report --assign Ada,Bo,Cy").code == 0
    path = folder / "evidencebench-review" / "assigned.csv"
    first = list(csv.reader(path.read_text().splitlines()))
    assert first[0] == ["paper", "reviewer"]
    by_paper = {paper: [name for one, name in first if one == paper] for paper, _ in first[1:]}
    assert list(by_paper.values()) == [["Ada", "Bo"], ["Cy", "Ada"], ["Bo", "Cy"], ["Ada", "Bo"]]
    (folder / "another.txt").write_text("Tea was drunk.\n")
    assert command(f"review {folder} --report --assign Dan").code == 0
    again = list(csv.reader(path.read_text().splitlines()))
    assert (again[: len(first)], again[-1]) == (first, ["another.txt", "Dan"])
    queue: Any = filled(folder, "bm25", questions=QUESTIONS).queue("Ada")
    assert next(one["assigned"] for one in queue["papers"] if one["name"] == "another.txt") == ("Dan",)

    path.write_text("who,what\n")
    assert "line 1: expected the columns paper, reviewer" in command(f"review {folder} --report").err
