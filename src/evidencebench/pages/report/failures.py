"""Answers that failed, and what answers cost; an answer counts once, also where it serves several tasks."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import median
from typing import NamedTuple
from urllib.parse import urlencode

from evidencebench.data.tasks import Task
from evidencebench.errors import EvidenceWarning
from evidencebench.pages.figures.charts import BROAD, NARROW, RowAxis, axes
from evidencebench.pages.figures.data import Series, bar_title, fit_text, shown_name, title_name, value_text
from evidencebench.pages.figures.drawing import Scale, chart, line, look_of, marker, text, ticks
from evidencebench.pages.html import Child, Node, beginning_of, node
from evidencebench.pages.report.blocks import by_task, figure, folding_part, note, section, table_node
from evidencebench.pages.report.data import Findings
from evidencebench.pages.viewer import task_title
from evidencebench.runs.answers import PERSON
from evidencebench.runs.run import RunFile
from evidencebench.scoring.significance import cost_text, notes_line, seconds_text
from evidencebench.system import merged_notes
from evidencebench.tables import Cell
from evidencebench.wording import counted, shown_seconds, without_folders


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
    "Every run has an answer for every instance. None failed, is empty, repeats a sentence or names one that does not "
    "exist, and there is no other warning."
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
        "Failed answers and warnings",
        note("Failed, empty and missing answers score 0." if rows else _ALL_WELL),
        table_node("Warnings by run", ["run", "warning", "answers", "task", "detail"], rows),
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
        note(f"{counted(n, 'instance')} without an aspect that counts: left out of {', '.join(names)}.")
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


class Spent(NamedTuple):
    """What a run's answers on a task took; 0 where nothing was paid or timed, or it is not known."""

    dollars: float
    seconds: float  # of all its replies, or of the person
    words: str
    bar: Series  # its recall


def spent_on(findings: Findings, task: Task) -> list[Spent]:
    """Return what answers on a task took, of the runs that note it, the dearest first."""
    spent = []
    rows = [row for row in findings.boards[task.name].standings if not row.is_control]
    for label, row in [(label, one) for one in rows for label in one.systems]:
        run = findings.scored.runs[label]
        notes = notes_of(run, (key for key in findings.graded_answers(run) if key[1] in (None, task.name)))
        dollars = notes.get("cost_microusd", 0) / 1e6
        seconds = notes.get("milliseconds", 0) / 1000 or notes.get("seconds", 0)
        least = "at least " if {"unpriced_replies", "maybe_charged"} & notes.keys() else ""
        words = [f"{least}${dollars:,.4f}"] if dollars else []
        if seconds:
            words.append(shown_seconds(seconds))
        if words:
            number = findings.number_of(label, is_control=False)
            bar = replace(findings.bar(row), name=label, number=number)
            spent.append(Spent(dollars, seconds, ", ".join(words), bar))
    return sorted(spent, key=lambda one: one[:2], reverse=True)


def costs_section(findings: Findings, spent: Mapping[str, Sequence[Spent]], *, has_papers: bool) -> Node:
    runs = findings.every_run
    notes = {label: of_run for label, run in runs.items() if (of_run := notes_of(run, run.done))}
    # The first cells of a run's row in each table: its label, how many answers it holds, how many are graded.
    named: dict[str, tuple[Cell, ...]] = {}
    for label in notes:
        epochs = runs[label].epochs
        n_graded = len(findings.graded_answers(runs[label])) * len(epochs)
        named[label] = (label, sum(len(epoch.done) for epoch in epochs), n_graded)
    columns = ["answers in the run", "scored here"]
    asked = [label for label, of_run in notes.items() if "requests" in of_run or cost_text(of_run) is not None]
    counts = ("requests", "prompt_tokens", "completion_tokens")
    texts = {label: (cost_text(notes[label]) or "none noted", seconds_text(notes[label])) for label in asked}
    models: list[list[Cell]] = [
        [*named[label], *(notes[label].get(name, 0) for name in counts), *texts[label]] for label in asked
    ]
    title = "All notes of the runs"
    all_notes = [[*named[label], notes_line(of_run)] for label, of_run in notes.items()]
    return section(
        "costs",
        "Cost",
        *by_task(
            findings.tasks if any(spent.values()) else (), lambda task: _cost_figure(findings, task, spent[task.name])
        ),
        note("Counted over all answers in a run; the tables say how many these are, and how many are scored here.")
        if notes
        else None,
        table_node(
            "Language models",
            ["run", *columns, "requests", "prompt tokens", "completion tokens", "cost", "time"],
            models,
        )
        or note("No run used a language model, so there is no cost."),
        note(
            "A stored reply counts with what it cost originally, and a reply that serves several answers counts for "
            "each. A reply of unknown price is never counted as $0. ",
            node("a", {"href": "#/replies"}, "All replies, with a filter") if has_papers else None,
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
    is_person = run.header is not None and run.header.system.name == PERSON
    answers = (run.answer(*key) for key in run.done if is_person)
    return [answer.notes["seconds"] for answer in answers if answer is not None and "seconds" in answer.notes]


# Recall against cost.

_SPANS = 10  # costs that differ by such a factor are on a log axis
_LONGEST_LOG = 3
_TOP, _BOTTOM, _LINE = 58, 274, 14


def _cost_figure(findings: Findings, task: Task, spent: Sequence[Spent]) -> list[Child]:
    """Return recall against dollars, or against seconds where nothing was paid."""
    is_paid = any(one.dollars for one in spent)
    points = [(cost, one.bar) for one in spent if (cost := one.dollars if is_paid else one.seconds)]
    extent = counted(findings.boards[task.name].standings[0].recall.n, "instance")
    told = (
        f"Aspect recall ({task_title(task)}, {extent}) against the cost of the answers, for runs that record it. "
        "Higher and further left is better. Vertical lines are "
        f"{100 * findings.resampling.level:g} % intervals that resample papers."
    )
    unit = f"{'dollars' if is_paid else 'seconds'} for {extent}"
    title = f"Recall against {unit.partition(' ')[0]}, {task_title(task)}"
    return [figure(told, *(_cost_chart(points, title, unit, width) for width in (NARROW, BROAD)))] if points else []


def _cost_chart(points: Sequence[tuple[float, Series]], title: str, unit: str, width: int) -> Node:
    low, high = min(cost for cost, _ in points), max(cost for cost, _ in points)
    is_log = high >= _SPANS * low
    scaled: Callable[[float], float] = math.log10 if is_log else float
    low, high = (low / 2, 2 * high) if is_log else (0.0, 1.15 * high)
    steps = (1,) if is_log and math.log10(high / low) > _LONGEST_LOG else (1, 2, 5)
    named = [step * 10.0**power for power in range(-9, 10) for step in steps] if is_log else ticks(0, high, most=4)
    marks = [(scaled(tick), f"{tick:,.9g}") for tick in named if low <= tick <= high]
    left, right = 50, width - 14
    across = RowAxis(low=scaled(low), high=scaled(high), start=left, end=right, unit="", ticks=marks)
    up = Scale(low=0, high=1, start=_BOTTOM, end=_TOP)
    drawn, free = [], float(_TOP)
    for cost, bar in sorted(points, key=lambda one: -one[1].point.mean):
        x, y = across.at(scaled(cost)), up.at(bar.point.mean)
        free = max(free, y) + _LINE  # names stand below one another
        side, anchor, room = (8, "start", right - x) if x < width / 2 else (-8, "end", x - left)
        name = text(x + side, free - _LINE + 4, fit_text(shown_name(bar.name), room), "chart-name", anchor)
        ends = [up.at(end) for end in bar.point.interval or ()]
        interval = line(x, ends[0], x, ends[1], "chart-interval") if ends else None
        parts = (node("title", None, bar_title(bar)), interval, marker(x, y, bar.number), name)
        drawn.append(node("g", {"class": look_of(bar)}, *parts))
    words = (f"{title_name(bar.name)}: {cost:,.4g} {unit}, recall {value_text(bar.point)} %" for cost, bar in points)
    return chart(
        title,
        "; ".join(words),
        *axes(across, up, f"{unit}, log scale" if is_log else unit, "aspect recall, %", left=left, right=right),
        *drawn,
        height=_BOTTOM + 46,
        width=width,
    )
