"""Answers that failed, and what answers cost; an answer counts once, also where it serves several tasks."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from urllib.parse import urlencode

from evidencebench.data.tasks import Task
from evidencebench.errors import EvidenceWarning
from evidencebench.pages.figures.data import Series, bar_title, fit_text, shown_name, title_name, value_text
from evidencebench.pages.figures.drawing import (
    MARGIN,
    Scale,
    chart,
    line,
    look_of,
    marker,
    percent_lines,
    text,
    ticks,
)
from evidencebench.pages.html import Child, Node, node
from evidencebench.pages.report.blocks import by_task, figure, folding_part, note, section, table_node
from evidencebench.pages.report.data import Findings
from evidencebench.pages.viewer import task_title
from evidencebench.runs.people import SYSTEM_NAME
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
    if not is_listed or status not in {"failed", "empty", "missing"}:
        return text
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a run's answers on a task took."""

    label: str
    words: str
    bar: Series  # its recall
    dollars: float  # 0: nothing was paid, or it is not known
    seconds: float  # of all its replies, or of the person; 0: not known


def spent_on(findings: Findings, task: Task) -> list[Spent]:
    """Return the runs of which it is known what their answers on a task cost, or how long they took, dearest first."""
    asked, spent = (None, task.name), []
    for row in findings.boards[task.name].standings:
        run = None if row.is_control else findings.scored.runs[row.system]
        notes = {} if run is None else notes_of(run, (key for key in findings.graded_answers(run) if key[1] in asked))
        dollars = notes.get("cost_microusd", 0) / 1e6
        seconds = notes.get("milliseconds", 0) / 1000 or notes.get("seconds", 0)
        if dollars or seconds:
            least = "at least " if {"unpriced_replies", "maybe_charged"} & notes.keys() else ""
            words = [f"{least}${dollars:,.4f}"] if dollars else []
            words += [shown_seconds(seconds)] if seconds else []
            bar, of_run = findings.bar(row), ", ".join(words)
            spent.append(Spent(label=row.system, words=of_run, bar=bar, dollars=dollars, seconds=seconds))
    return sorted(spent, key=lambda one: (one.dollars, one.seconds), reverse=True)


def costs_section(findings: Findings, spent: Mapping[str, Sequence[Spent]], *, has_papers: bool) -> Node:
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
    models: list[list[Cell]] = [
        [*named[label], *(notes[label].get(name, 0) for name in counts), *texts[label]] for label in asked
    ]
    title = "All that the runs note"
    all_notes = [[*named[label], notes_line(of_run)] for label, of_run in notes.items()]
    return section(
        "costs",
        "Cost",
        *by_task(findings.tasks if any(spent.values()) else (), lambda task: _cost_charts(findings, task, spent)),
        note(
            "Counted over all answers that a run holds: the tables say how many they are, and how many are graded here."
        )
        if notes
        else None,
        table_node(
            "Language models",
            ["run", *columns, "requests", "prompt tokens", "completion tokens", "cost", "time"],
            models,
        )
        or note("No run here asked a language model, so none has a cost."),
        note(
            "A reply that was stored before counts what it cost then, and one that serves several answers counts for "
            "each. What a provider did not price is never counted as $0. ",
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
    is_person = run.header is not None and run.header.system.name == SYSTEM_NAME
    answers = (run.answer(*key) for key in run.done if is_person)
    return [answer.notes["seconds"] for answer in answers if answer is not None and "seconds" in answer.notes]


# Recall against cost.

_WIDTH, _HEIGHT = 480, 320
_UP = Scale(low=0, high=1, start=_HEIGHT - 46, end=58)
_ACROSS = (46, _WIDTH - 12)
_SPANS, _MOST_DECADES = 10, 3  # costs that differ by such a factor are on a log axis, of tens alone where it is long
_LINE = 14


def _cost_charts(findings: Findings, task: Task, spent: Mapping[str, Sequence[Spent]]) -> list[Child]:
    of_task = spent[task.name]
    n_papers = counted(findings.boards[task.name].standings[0].recall.n, "paper")
    costs = {
        f"dollars for {n_papers}": [(one.dollars, one.bar) for one in of_task if one.dollars],
        f"seconds for {n_papers}": [(one.seconds, one.bar) for one in of_task if one.seconds],
    }
    charts = [_cost_chart(points, unit, task) for unit, points in costs.items() if points]
    words = (
        f"Aspect recall ({task_title(task)}, {n_papers}) against what the answers took: the higher and the further "
        f"left, the better. Upright lines are {100 * findings.resampling.level:g} % intervals that resample papers; a "
        "run that is not drawn took nothing, or notes nothing."
    )
    return [node("div", {"class": "panels"}, *(figure(words, one) for one in charts))] if charts else []


def _cost_chart(points: Sequence[tuple[float, Series]], unit: str, task: Task) -> Node:
    """Return a chart with a mark for each system, at its cost and its recall; costs that span much have a log axis."""
    low, high = min(cost for cost, _ in points), max(cost for cost, _ in points)
    is_log = high >= _SPANS * low
    if is_log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        steps = (1,) if last - first > _MOST_DECADES else (1, 2, 5)
        named = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        named = [tick for tick in named if low / 2 <= tick <= 2 * high]
    else:
        named = ticks(0, 1.15 * high)
    place: Callable[[float], float] = math.log10 if is_log else float
    ends = (low / 2, 2 * high) if is_log else (0, 1.15 * high)
    across = Scale(low=place(ends[0]), high=place(ends[1]), start=_ACROSS[0] + 4, end=_ACROSS[1] - 4)
    marks = [(place(tick), f"{tick:,.10g}") for tick in named]
    drawn: list[Node] = []
    heights: list[float] = []
    for cost, bar in sorted(points, key=lambda one: -one[1].point.mean):
        x, y = across.at(place(cost)), _UP.at(bar.point.mean)
        height = max([y + 4, *(one + _LINE for one in heights if one + _LINE > y + 4)])
        heights.append(height)
        is_left = x < sum(_ACROSS) / 2
        room = (_ACROSS[1] - x if is_left else x - _ACROSS[0]) - 8
        name = text(
            x + (8 if is_left else -8),
            height,
            fit_text(shown_name(bar.name), room),
            "chart-name",
            "start" if is_left else "end",
        )
        interval = (
            [line(x, _UP.at(bar.point.interval[0]), x, _UP.at(bar.point.interval[1]), "chart-interval")]
            if bar.point.interval
            else []
        )
        drawn.append(
            node(
                "g",
                {"class": look_of(bar)},
                node("title", None, bar_title(bar)),
                *interval,
                marker(x, y, bar.number),
                name,
            )
        )
    return chart(
        f"Recall against {unit.partition(' ')[0]}, {task_title(task)}",
        "; ".join(
            f"{title_name(bar.name)}: {cost:,.4g} {unit}, recall {value_text(bar.point)} %" for cost, bar in points
        ),
        *percent_lines(_UP, *_ACROSS),
        *(line(across.at(at), _UP.end, across.at(at), _UP.start, "chart-grid") for at, _ in marks),
        *(text(across.at(at), _UP.start + 15, name, "chart-tick", "middle") for at, name in marks),
        text(sum(_ACROSS) / 2, _UP.start + 32, f"{unit}{', log scale' if is_log else ''}", "chart-tick", "middle"),
        text(MARGIN, _UP.end - 10, "aspect recall, %", "chart-tick"),
        *drawn,
        height=_HEIGHT,
        width=_WIDTH,
    )
