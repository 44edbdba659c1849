"""From a draw to a report by the command line: people answer elsewhere, or in the folder, beside the labels."""

import csv
import random
from pathlib import Path

import msgspec
import pytest

from doors import (
    Annotation,
    Judging,
    MarksAnswer,
    RatingsAnswer,
    TaskSort,
    annotation_folder,
    marked_aspects,
    read_tasks,
)
from evidencebench import Draft, write_dataset
from kit.command_line import SAMPLE, Command
from kit.trial_constructions import write_drafts

CALL = "construct validate sample --folder people"
LABELS = {
    (one.query.paper_id, one.labels.texts[aspect]): (set(one.labels.sources[aspect]), aspect in one.labels.results)
    for one in SAMPLE
    for aspect in one.labels.aspects
}


def fill(name: str, chance: float, seed: int) -> None:
    """Fill in the sheet as a person who finds each source with a chance, and marks few other sentences."""
    tasks, drawn = read_tasks("people/sentences.jsonl"), random.Random(seed)
    with Path("people/sentences.csv").open(encoding="utf-8-sig", newline="") as blank:
        rows = list(csv.reader(blank))
    of_task, number, cell = map(rows[0].index, ("task", "number", "is_source"))
    for row in rows[1:]:
        task = tasks.by_id[row[of_task]]
        sources, _ = LABELS[task.paper_id, task.aspect]
        row[cell] = "x" if drawn.random() < (chance if int(row[number]) in sources else 0.01) else "0"
    with Path(name).open("w", encoding="utf-8", newline="") as filled:
        csv.writer(filled).writerows(rows)


def test_sheets_of_two_people_become_a_report(command: Command) -> None:
    drawn = command(f"{CALL} --for csv --for label-studio")
    assert drawn.out.splitlines()[:2] == ["people/sentences.jsonl", "people/sentences.csv"]
    assert "9 tasks;" in drawn.out
    fill("ada.csv", 0.9, 1)
    fill("bo.csv", 0.9, 2)

    report = f"{CALL} --answers ada.csv --answers bo.csv --set draws=300 --margin 0.3"
    found = command(f"{report} --disagreements differ.html")
    assert found.code == 0, found.err
    assert all(len(line) <= 80 for line in found.out.splitlines())
    for words in (
        "sentences: 9 tasks of 9 papers",
        "ada - bo",
        "ada - model",
        "alpha of all people",
        "Equivalence within 30",
    ):
        assert words in found.out
    assert "30 points (as given)." in found.out

    found = command(f"{report} --json")
    assert found.json["answers"] == {"new": 0, "changed": 0, "unchanged": 18}
    fields = found.json["sentences"]
    later = command(f"{CALL} --report --set draws=300 --margin 0.3 --json").json
    assert later == {"sentences": fields, "warnings": []}, "the same answers and seed, the same figures"
    agreement = fields["criteria"][0]["agreement"]
    assert [pair["sort"] for pair in agreement["pairs"]] == [
        "human-human",
        "human-model",
        "human-model",
        "together-model",
    ]
    assert {one["measure"] for one in agreement["contrasts"]} == {"accuracy", "f1", "kappa", "alpha", "spearman"}
    assert Path("differ.html").read_text().count("<mark>") == len(fields["disagreements"])
    assert "exists; choose another name" in command(f"{report} --disagreements differ.html").err
    assert command(f"{report} --disagreements differ.html --overwrite").code == 0
    assert "the default; choose your own" in command(report.removesuffix(" --margin 0.3")).out
    assert r"\begin{tabular}" in command(f"{report} --format latex").out

    fill("cy.csv", 0.9, 3)
    *text, _ = Path("bo.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("bo.csv").write_text("".join(text), encoding="utf-8")
    report = f"{report} --answers cy.csv"
    assert command(report).err.splitlines() == [
        "note: answers in people/sentences: 9 new, 0 changed, 17 unchanged",
        "warning: bo.csv: tasks with rows missing: left out: 1",
    ]
    Path("bo.csv").unlink()  # what it said is kept
    report = f"{CALL} --report --set draws=300 --margin 0.3"
    team = command(f"{report} --team {{ada & bo=ada,bo}} --json").json["sentences"]["criteria"][0]["agreement"]
    assert next((pair["first"], pair["second"]) for pair in team["pairs"]) == ("ada & bo", "cy")


def answer(sort: TaskSort, says: dict[str, float]) -> None:
    """Answer all tasks as people who say with a chance what the labels say, and else the contrary."""
    tasks = read_tasks(f"people/{sort}.jsonl")
    folder = annotation_folder(Path("people", sort), tasks)
    for name, chance in says.items():
        drawn = random.Random(name)
        for task in tasks.records:
            sources, is_result = LABELS.get((task.paper_id, task.aspect), ({0}, True))
            given: Annotation = MarksAnswer(id=task.id, is_done=True, sentences=tuple(sorted(sources)))
            if tasks.header.criteria:
                label = is_result if task.number is None else task.number in sources
                ratings = {one.name: label is (drawn.random() < chance) for one in tasks.header.criteria}
                given = RatingsAnswer(id=task.id, is_done=True, ratings=ratings)
            folder.save(name, given)


def test_every_sort_is_reported_with_exact_shares_by_what_the_labels_say(command: Command) -> None:
    sorts: tuple[TaskSort, ...] = ("sentences", "pairs", "results", "hypotheses", "aspects")
    for sort in sorts:
        drawn = "-n 40" if sort in {"pairs", "results"} else ""
        assert command(f"{CALL} --sort {sort} {drawn} --for csv").code == 0
        answer(sort, {"Ada": 1.0, "Bo": 0.8})
    found = command(f"{CALL} --report --set draws=200")
    assert found.code == 0, found.err
    assert all(len(line) <= 80 for line in found.out.splitlines())
    fields = command(f"{CALL} --report --set draws=200 --json").json
    assert list(fields) == [*sorts, "warnings"]
    for name, group in (("pairs", "not labelled"), ("results", "not labelled"), ("hypotheses", "all")):
        (ada, *_) = [one for one in fields[name]["criteria"][0]["counts"] if one["group"] == group]
        k, n = (9, 9) if group == "all" else (0, 20)
        assert (ada["rater"], ada["n_yes"], ada["n_judged"]) == ("Ada", k, n)
    (labelled, *_) = fields["pairs"]["criteria"][0]["counts"]
    assert (labelled["group"], labelled["n_yes"], round(labelled["low"], 3)) == ("labelled", 20, 0.832)
    pairs = fields["pairs"]["criteria"][0]["agreement"]["pairs"]
    assert [(pair["first"], pair["second"]) for pair in pairs] == [
        *(("Ada", "Bo"), ("Ada", "model"), ("Bo", "model")),
        ("people together", "model"),
    ]
    assert pairs[1]["measures"]["kappa"]["value"] == 1.0
    for path in Path("people/pairs").iterdir():
        path.unlink()
    begun = RatingsAnswer(id=read_tasks("people/pairs.jsonl").records[0].id, ratings={})
    annotation_folder(Path("people/pairs"), read_tasks("people/pairs.jsonl")).save("Ada", begun)
    partly = command(f"{CALL} --report --set draws=200 --json")
    assert list(partly.json) == ["sentences", "results", "hypotheses", "aspects", "warnings"]
    assert partly.json["warnings"] == ["people/pairs.jsonl: expected answers, but no annotator is done with a task"]
    assert "no annotator" in command(f"{CALL} --report --sort pairs").refusal
    assert list(command(f"{CALL} --report --sort results --set draws=200 --json").json) == ["results", "warnings"]


def test_a_decision_is_compared_with_the_labels(command: Command) -> None:
    drawn = command(f"{CALL} --seed 5 --for csv --json").json
    assert (drawn["n_tasks"], drawn["header"]["population"]) == (9, {"papers": 9})
    tasks = read_tasks("people/sentences.jsonl")
    folder = annotation_folder(Path("people/sentences"), tasks)
    for name in ("Ada", "Bo"):
        for number, task in enumerate(tasks.records):
            marks = (1,) if number == 0 and name == "Bo" else LABELS[task.paper_id, task.aspect][0]
            folder.save(name, MarksAnswer(id=task.id, sentences=tuple(sorted(marks)), is_done=number < 8))
    first = tasks.records[0]
    sources = tuple(sorted(LABELS[first.paper_id, first.aspect][0]))
    folder.agree("Cleo", MarksAnswer(id=first.id, sentences=sources, is_done=True))
    found = command(f"{CALL} --report --set draws=200 --json").json["sentences"]["criteria"][0]["agreement"]["pairs"]
    pairs = {(one["first"], one["second"]): one for one in found}
    assert set(pairs) == {("Ada", "Bo"), ("Ada", "model"), ("Bo", "model"), ("people together", "model")}
    assert {names: one["n_tasks"] for names, one in pairs.items()} == dict.fromkeys(pairs, 8)
    assert pairs["people together", "model"]["measures"]["kappa"]["value"] == 1.0
    assert pairs["Bo", "model"]["measures"]["kappa"]["value"] < 1.0


def test_a_work_folder_has_a_place_of_its_own_and_the_labels_of_today(tmp_path: Path, command: Command) -> None:
    """A sentence that is no label any more is none of the model's marks, though the data set is not made again."""
    paper, sources = SAMPLE[0].query, [SAMPLE[0].labels.sources[aspect] for aspect in SAMPLE[0].labels.aspects]
    (tmp_path / "work" / "dataset").mkdir(parents=True)
    write_dataset(tmp_path / "work" / "dataset" / "test.json", [SAMPLE[0]])
    judging = Judging(
        paper_sha256="",
        n_sentences=len(paper.sentences),
        window=10,
        overlap=5,
        rounds=(),
        sources=tuple(tuple(held[1:]) for held in sources),
    )
    texts = tuple(SAMPLE[0].labels.texts[aspect] for aspect in SAMPLE[0].labels.aspects)
    draft = Draft(id="d", review_id="r", paper_id=paper.paper_id, summary="All.", aspects=texts, judging=judging)
    write_drafts(tmp_path / "work" / "filtered.jsonl", [draft])
    work = tmp_path / "work"
    assert command(f"construct validate {work} --for csv").code == 0
    tasks = read_tasks(work / "validation" / "sentences.jsonl")
    (task,) = tasks.records
    held = sources[texts.index(task.aspect)]
    folder = annotation_folder(work / "validation" / "sentences", tasks)
    folder.save("Ada", MarksAnswer(id=task.id, sentences=tuple(sorted(held)), is_done=True))
    found = command(f"construct validate {work} --report --set draws=100 --json").json["sentences"]["criteria"][0]
    assert {one["rater"]: one["n_yes"] for one in found["counts"]} == {"Ada": len(held), "model": len(held) - 1}
    (marked,) = marked_aspects(work)
    assert (set(marked.marked), set(marked.labelled), marked.weight) == (set(held), set(held[1:]), len(texts))
    assert marked_aspects(tmp_path / "nothing") == ()
    others = tuple(f"{text} again" for text in texts)
    write_drafts(work / "filtered.jsonl", [msgspec.structs.replace(draft, aspects=others)])
    assert marked_aspects(work) == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("construct validate sample", "give --folder"),
        ("construct validate own.py --folder own", "own.py"),
        (f"{CALL} --report", "people: expected answers of people, got none"),
        (f"{CALL} --answers nothing.csv", "nothing.csv"),
        (f"{CALL} --answers people/sentences.jsonl", "expected a sheet that"),
        (f"{CALL} --sort pairs --report", "people/pairs.jsonl"),
        (f"{CALL} --sort passages --for csv", "the work folder of a construction"),
        (f"{CALL} --report --team x", "expected NAME=MEMBER,MEMBER"),
        (f"{CALL} --report --margin 0", "margin"),
        (f"{CALL} --report --team a=b --team a=c", "each team once"),
        (f"{CALL} --report --disagreements - --json", "standard output has the report"),
        (f"{CALL} --for csv", "people/sentences.csv: exists"),
        (f"{CALL} -n 5", "drawn already; choose another --folder"),
        (f"{CALL} --json", "expected --report or --for"),
    ],
)
def test_bad_input_is_told(command: Command, arguments: str, words: str) -> None:
    command(f"{CALL} --for csv")
    assert words in command(arguments).refusal
