"""From a sample to a report by the command line: drawn, filled in by people elsewhere, compared with the labels."""

import csv
import random
from pathlib import Path

import pytest

from command_line import SAMPLE, Command
from evidencebench.construction.people.answers import AnnotationFolder, TaskAnnotation
from evidencebench.construction.people.tasks import read_tasks

DRAW = "agreement sample --data sample --papers 9 -o tasks.jsonl"


def fill(name: str, chance: float, seed: int) -> None:
    """Fill in the sheet as a person who finds each source with a chance, and marks few other sentences."""
    tasks, drawn = read_tasks("tasks.jsonl"), random.Random(seed)
    with Path("tasks.csv").open(encoding="utf-8-sig", newline="") as blank:
        rows = list(csv.reader(blank))
    of_task, number, cell = map(rows[0].index, ("task", "number", "is_source"))
    for row in rows[1:]:
        task = tasks.by_id[row[of_task]]
        sources = SAMPLE[task.instance_id].labels.sources[task.aspect_id]
        row[cell] = "x" if drawn.random() < (chance if int(row[number]) in sources else 0.01) else "0"
    with Path(name).open("w", encoding="utf-8", newline="") as filled:
        csv.writer(filled).writerows(rows)


def test_sheets_of_two_people_become_a_report(command: Command) -> None:
    drawn = command(f"{DRAW} --for csv --for label-studio")
    assert drawn.out.splitlines()[:2] == ["tasks.jsonl", "tasks.csv"]
    assert "9 tasks, a paper each, from 9 papers" in drawn.out
    assert "691 sentences to judge; the labels mark" in drawn.out
    fill("ada.csv", 0.9, 1)
    fill("bo.csv", 0.9, 2)

    report = "agreement report ada.csv bo.csv --tasks tasks.jsonl --data sample --draws 300 --margin 0.3"
    found = command(f"{report} --disagreements differ.csv")
    assert found.code == 0, found.err
    assert all(len(line) <= 80 for line in found.out.splitlines())
    assert all(
        words in found.out for words in ("9 tasks of 9 papers", "ada - bo", "ada - model", "By kind of sentence")
    )
    for words in ("alpha of all people", "Equivalence within 30 points", "Power: papers for", "30 points (as given)."):
        assert words in found.out

    fields = command(f"{report} --json").json
    assert command(f"{report} --json").json == fields, "the same seed, the same figures"
    assert [pair["sort"] for pair in fields["everything"]["pairs"]] == ["human-human", "human-model", "human-model"]
    measures = {one["measure"] for one in fields["everything"]["contrasts"]}
    assert measures == {"accuracy", "f1", "kappa", "alpha", "spearman"}
    with Path("differ.csv").open(encoding="utf-8", newline="") as table:
        assert len(list(csv.DictReader(table))) == len(fields["disagreements"])
    assert "exists; choose another name" in command(f"{report} --disagreements differ.csv").err
    assert command(f"{report} --disagreements differ.html").code == 0
    assert Path("differ.html").read_text().count("<mark>") == len(fields["disagreements"])
    assert "the default; choose your own" in command(report.removesuffix(" --margin 0.3")).out
    assert r"\begin{tabular}" in command(f"{report} --format latex").out


def test_without_labels_people_are_compared_with_each_other(command: Command) -> None:
    command(f"{DRAW} --for csv")
    for name, seed in (("ada.csv", 1), ("bo.csv", 2), ("cy.csv", 3)):
        fill(name, 0.9, seed)
    *text, _ = Path("bo.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("bo.csv").write_text("".join(text), encoding="utf-8")
    report = "agreement report ada.csv bo.csv cy.csv --tasks tasks.jsonl --draws 200"
    found = command(report)
    assert ("human-model" in found.done, found.err) == (
        False,
        "warning: bo.csv: tasks with rows missing: left out: 1\n",
    )
    fields = command(f"{report} --team {{ada & bo=ada,bo}} --json").json
    assert [(pair["first"], pair["second"]) for pair in fields["everything"]["pairs"]] == [("ada & bo", "cy")]


def test_a_folder_with_decisions_is_compared_with_the_labels(command: Command) -> None:
    drawn = command(f"{DRAW} --seed 5 --json").json
    assert (drawn["files"], drawn["n_tasks"], drawn["n_sentences"]) == (["tasks.jsonl"], 9, 691)
    kept = Path("tasks.jsonl").read_bytes()
    assert command(f"{DRAW} --seed 5 --overwrite").code == 0
    assert (Path("tasks.jsonl").read_bytes(), b"sources" in kept) == (kept, False)
    tasks = read_tasks("tasks.jsonl")
    folder = AnnotationFolder(Path("people"), tasks)
    for name in ("Ada", "Bo"):
        for number, task in enumerate(tasks.records):
            marks = (1,) if number == 0 and name == "Bo" else SAMPLE[task.instance_id].labels.sources[task.aspect_id]
            folder.append(name, TaskAnnotation(task=task.id, sentences=tuple(sorted(marks)), is_done=number < 8))
    first = tasks.records[0]
    sources = tuple(sorted(SAMPLE[first.instance_id].labels.sources[first.aspect_id]))
    folder.decide("Cleo", TaskAnnotation(task=first.id, sentences=sources, is_done=True))
    found = command("agreement report people --tasks tasks.jsonl --data sample --draws 200 --model-name gpt --json")
    pairs = {(one["first"], one["second"]): one for one in found.json["everything"]["pairs"]}
    assert set(pairs) == {("Ada", "Bo"), ("Ada", "gpt"), ("Bo", "gpt"), ("decided", "gpt")}
    assert {names: one["n_tasks"] for names, one in pairs.items()} == dict.fromkeys(pairs, 8)
    assert pairs["decided", "gpt"]["measures"]["kappa"]["value"] == 1.0
    assert pairs["Bo", "gpt"]["measures"]["kappa"]["value"] < 1.0


@pytest.mark.parametrize("sort", ["hypotheses", "aspects"])
def test_ratings_have_exact_intervals(command: Command, sort: str) -> None:
    command(f"{DRAW} --sort {sort} --for csv")
    tasks = read_tasks("tasks.jsonl")
    folder = AnnotationFolder(Path("people"), tasks)
    names = [criterion.name for criterion in tasks.header.criteria]
    for name, n_yes in (("Ada", 9), ("Bo", 8)):
        for number, task in enumerate(tasks.records):
            ratings = dict.fromkeys(names, number < n_yes)
            folder.append(name, TaskAnnotation(task=task.id, ratings=ratings, is_done=True))
    found = command("agreement report people --tasks tasks.jsonl")
    assert found.code == 0, found.err
    assert "9 of 9" in found.out
    fields = command("agreement report people --tasks tasks.jsonl --json").json
    shares = [(one["rater"], one["n_yes"], one["n"]) for one in fields["shares"][:3]]
    assert shares == [("Ada", 9, 9), ("Bo", 8, 9), ("majority", 8, 9)]
    assert round(fields["shares"][0]["low"], 3) == 0.664
    refused = command("agreement report people --tasks tasks.jsonl --data sample")
    assert "expected tasks of the sort 'sentences'" in refused.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("agreement report ada.csv --tasks spoilt.jsonl", "spoilt.jsonl: line 1: expected the header"),
        ("agreement report nothing --tasks tasks.jsonl", "nothing: cannot be read"),
        ("agreement report ada.csv --tasks tasks.jsonl", "expected two raters to compare, got 1"),
        ("agreement report ada.csv --tasks tasks.jsonl --data own.py", "own.py"),
        ("agreement report ada.csv --tasks tasks.jsonl --team x", "expected NAME=MEMBER,MEMBER"),
        ("agreement report ada.csv --tasks tasks.jsonl --margin 0", "margin"),
        ("agreement report ada.csv --tasks tasks.jsonl --team a=b --team a=c", "each team once"),
        ("agreement report ada.csv --tasks tasks.jsonl --disagreements - --json", "standard output has the report"),
        (DRAW, "tasks.jsonl: exists"),
        (f"{DRAW} --overwrite --papers 99", "expected 99 papers with the text of an aspect, got 9"),
        ("agreement sample --data sample -o -", "expected a file"),
    ],
)
def test_bad_input_is_told(command: Command, arguments: str, words: str) -> None:
    command(f"{DRAW} --for csv")
    fill("ada.csv", 0.9, 1)
    Path("spoilt.jsonl").write_text("{}")
    assert words in command(arguments).refusal
