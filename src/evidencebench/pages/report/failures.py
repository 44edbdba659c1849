"""Answers that failed, and what answers cost; an answer counts once, also where it serves several tasks."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product
from statistics import median
from urllib.parse import urlencode

from evidencebench.errors import EvidenceWarning
from evidencebench.pages.html import Node, beginning_of, node
from evidencebench.pages.report.blocks import folding_part, note, section, table_node
from evidencebench.pages.report.data import Findings
from evidencebench.runs.people import SYSTEM_NAME
from evidencebench.runs.run import RunFile
from evidencebench.scoring.significance import cost_text, notes_line, seconds_text
from evidencebench.system import merged_notes
from evidencebench.tables import Cell
from evidencebench.wording import counted, without_folders


def notes_of(run: RunFile, keys: Iterable[tuple[str, str | None]]) -> dict[str, int]:
    """Return the notes of a run's answers put together by `merged_notes`, as in the run's own summary."""
    of_papers: dict[tuple[int, str], list[Mapping[str, int]]] = {}
    for epoch, (instance_id, task) in product(run.epochs, keys):
        if (answer := epoch.answer(instance_id, task)) is not None:
            of_papers.setdefault((epoch.epoch, instance_id), []).append(answer.notes)
    totals: Counter[str] = Counter()
    for notes in of_papers.values():
        totals.update(merged_notes(*notes))
    return dict(sorted(totals.items()))


_ALL_WELL = (
    "Every paper has an answer of every run. None failed, is empty, names a sentence twice or one that does not exist, "
    "or is otherwise odd."
)


def failures_section(findings: Findings, *, has_papers: bool) -> Node:
    notes = {label: notes_of(run, findings.graded_answers(run)) for label, run in findings.every_run.items()}
    listed = findings.scored.runs if has_papers else ()
    rows = [
        [row.system, row.kind, _counted(row, is_listed=row.system in listed), row.task, without_folders(row.text)]
        for row in findings.scored.warnings
    ]
    return section(
        "failures",
        "Answers that failed",
        note("A failed, an empty and a missing answer each score 0." if rows else _ALL_WELL),
        table_node("What was odd, where most answers were", ["run", "what", "answers", "task", "which says"], rows),
        *_left_out(findings),
        _replies(notes),
    )


def _counted(row: EvidenceWarning, *, is_listed: bool) -> str | Node:
    """Return how many answers of how many; where the page lists the papers of just these, with a link to them."""
    text, status = f"{row.n:,} of {row.n_all:,}" if row.n_all else "", row.kind.partition(":")[0]
    if not is_listed or status not in {"failed", "empty", "missing"} or row.system != beginning_of(row.system):
        return text  # a name that is too long to be shown whole is none for an address
    asked = urlencode({"a": row.system, "task": row.task, "only": f"answer_{status}"})
    return node("a", {"href": f"#/papers?{asked}"}, text)


def _left_out(findings: Findings) -> list[Node]:
    first = next(iter(findings.scored.scores.values()))
    tasks: dict[int, list[str]] = {}
    for task in findings.tasks:
        if n_left_out := first[task.name].counts.not_applicable:
            tasks.setdefault(n_left_out, []).append(task.name)
    return [
        note(f"{counted(n, 'paper')} without an aspect that counts: left out of {', '.join(names)}.")
        for n, names in tasks.items()
    ]


def _replies(notes: Mapping[str, Mapping[str, int]]) -> Node | None:
    replies = {
        label: {
            name.removeprefix("reply_").replace("_", " "): n for name, n in of_run.items() if name.startswith("reply_")
        }
        for label, of_run in notes.items()
    }
    classes = sorted({name for counts in replies.values() for name in counts})
    rows: list[list[Cell]] = [
        [label, sum(counts.values()), *(counts.get(name, 0) for name in classes)]
        for label, counts in replies.items()
        if counts
    ]
    return table_node("Replies of language models by class", ["run", "replies", *classes], rows)


def costs_section(findings: Findings) -> Node:
    runs = findings.every_run
    notes = {label: of_run for label, run in runs.items() if (of_run := notes_of(run, run.done))}
    # The first cells of a run's row in each table: its label, how many answers it holds, how many are graded.
    named: dict[str, tuple[Cell, ...]] = {}
    for label in notes:
        epochs = runs[label].epochs
        n_graded = len(findings.graded_answers(runs[label])) * len(epochs)
        named[label] = (label, sum(len(epoch.done) for epoch in epochs), n_graded)
    columns = ["answers in the run", "graded here"]
    asked = [label for label, of_run in notes.items() if "requests" in of_run or cost_text(of_run) is not None]
    counts = ("requests", "prompt_tokens", "completion_tokens")
    texts = {label: (cost_text(notes[label]) or "none noted", seconds_text(notes[label])) for label in asked}
    spent: list[list[Cell]] = [
        [*named[label], *(notes[label].get(name, 0) for name in counts), *texts[label]] for label in asked
    ]
    title = "All that the runs note"
    all_notes = [[*named[label], notes_line(of_run)] for label, of_run in notes.items()]
    return section(
        "costs",
        "Cost",
        note(
            "Counted over all answers that a run holds: the tables say how many they are, and how many are graded here."
        )
        if notes
        else None,
        table_node(
            "Language models",
            ["run", *columns, "requests", "prompt tokens", "completion tokens", "cost", "time"],
            spent,
        )
        or note("No run here asked a language model, so none has a cost."),
        note(
            "A reply that was stored before counts what it cost then, and one that serves several answers counts for "
            "each. What a provider did not price is never counted as $0."
        )
        if asked
        else None,
        table_node(
            "People",
            ["person", *columns, "median seconds", "seconds in all"],
            [[*named[label], float(median(took)), sum(took)] for label in notes if (took := _seconds(runs[label]))],
        ),
        folding_part(title, table_node(title, ["run", *columns, "notes"], all_notes)) if notes else None,
    )


def _seconds(run: RunFile) -> list[int]:
    """Return the seconds that a person took for each instance; empty where the run is not a person's."""
    is_person = run.header is not None and run.header.system.name == SYSTEM_NAME
    answers = (run.answer(*key) for key in run.done if is_person)
    return [answer.notes["seconds"] for answer in answers if answer is not None and "seconds" in answer.notes]
