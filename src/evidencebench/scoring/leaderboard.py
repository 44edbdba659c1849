"""The leaderboard of a task: runs and controls, the best first, with the ranks that each can claim."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.scoring.compare import mean_recalls
from evidencebench.scoring.controls import CONTROLS, knows_labels
from evidencebench.scoring.measures import ASPECT_RECALL
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Estimate, Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.signature import signature_of
from evidencebench.scoring.significance import pairwise_p_values, ranges_from
from evidencebench.tables import Cell
from evidencebench.wording import counted, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A row of a leaderboard: a run, named by its label, or a control, by its name."""

    system: str
    recall: Estimate
    rank: tuple[int, int] | None  # best and worst that it can claim; None for a system that knows the labels
    n: int
    failed: int
    empty: int
    missing: int
    is_control: bool  # computed here, beside the runs
    signature: str | None  # None for a control
    trained_on_it: bool | None = None  # None where the run cannot say

    def __repr__(self) -> str:
        rank = "" if self.rank is None else f"rank {self.rank[0]}..{self.rank[1]}"
        return one_line(self, repr(self.system), f"aspect recall {self.recall.mean:.3f}", f"n={self.n}", rank)

    @property
    def unfinished(self) -> str:
        """How many instances it answered where some have no answer, such as ``3 of 12``; empty where all have one.

        An instance without an answer scores 0, so that the mean of an unfinished run is lower than what it can do.
        """
        return f"{self.n - self.missing:,} of {self.n:,}" if self.missing else ""

    @property
    def rank_text(self) -> str:
        """Its range of ranks, such as ``1-3`` or ``2``; empty where it has none."""
        return "" if self.rank is None else "-".join(map(str, dict.fromkeys(self.rank)))

    def fields(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return {ASPECT_RECALL.key if name == "recall" else name: value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of every leaderboard: of tables, the report and CSV. To add one, add an entry to `COLUMNS`.

    ``cell`` returns its value for a row; an `Estimate` is formatted where it is shown. ``csv`` maps the name of a CSV
    column to its value.
    """

    heading: str = ""  # in the tables of ``leaderboard``; empty: not shown
    page_heading: str = ""  # in the report; empty: not shown
    cell: Callable[[Standing], Cell | Estimate] = lambda _: None
    csv: Mapping[str, Callable[[Standing], Cell]] = field(default_factory=dict)


def _field_column(name: str, page_heading: str) -> Column:
    value: Callable[[Standing], Cell] = lambda row: getattr(row, name)  # noqa: E731 - typed at once
    return Column(heading=name, page_heading=page_heading, cell=value, csv={name: value})


def _flag_text(value: bool | None) -> str | None:  # noqa: FBT001 - what is shown
    return None if value is None else str(value).lower()


COLUMNS: tuple[Column, ...] = (
    Column(
        heading="aspect recall",
        page_heading="aspect recall, %",
        cell=lambda row: row.recall,
        csv={
            "mean": lambda row: row.recall.mean,
            "low": lambda row: row.recall.low,
            "high": lambda row: row.recall.high,
        },
    ),
    Column(
        heading="ranks",
        page_heading="ranks",
        cell=lambda row: row.rank_text,
        csv={
            "rank_best": lambda row: row.rank and row.rank[0],
            "rank_worst": lambda row: row.rank and row.rank[1],
        },
    ),
    _field_column("n", "instances"),
    Column(page_heading="papers", cell=lambda row: row.recall.n_clusters),
    *(_field_column(name, name) for name in ("failed", "empty", "missing")),
    Column(
        csv={
            "is_control": lambda row: _flag_text(row.is_control),
            "signature": lambda row: row.signature,
            "trained_on_it": lambda row: _flag_text(row.trained_on_it),
        }
    ),
)
"""The columns that follow the name of the system."""

SystemKey = tuple[str, bool]
"""A run's label or a control's name, and whether it is a control: a run may have a control's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The leaderboard of one task: its rows, the best first, and two systems -> their p-value, adjusted by Holm.

    A control that is also among the runs has one row.
    """

    standings: tuple[Standing, ...]
    p_values: Mapping[frozenset[SystemKey], float]

    def __repr__(self) -> str:
        return one_line(self, counted(len(self.standings), "system"), ", ".join(one.system for one in self.standings))

    def p_value(self, first: Standing, second: Standing) -> float:
        """Return the p-value that decides whether one of two systems ranks above the other."""
        return self.p_values[frozenset({(first.system, first.is_control), (second.system, second.is_control)})]


def board_of(scored: ScoredRuns, task: Task, resampling: Resampling = DEFAULT_RESAMPLING) -> Board:
    """Return the leaderboard of a task."""
    columns = {(label, False): scores[task.name] for label, scores in scored.scores.items()} | {
        (name, True): scores[task.name]
        for name, scores in scored.controls.items()
        if task.name in scores and run_of_control(scored, name, task) is None
    }
    recalls = dict(zip(columns, mean_recalls(list(columns.values()), resampling), strict=True))
    ranked = {key: found.recalls for key, found in columns.items() if not _knows_labels(scored, key)}
    p_values = pairwise_p_values(ranked, next(iter(columns.values())).clusters, resampling)
    rank_of = ranges_from({key: recalls[key].mean for key in ranked}, p_values)
    rows = [
        Standing(
            system=label,
            recall=recalls[label, is_control],
            rank=rank_of.get((label, is_control)),
            n=len(found.ids),
            failed=found.counts.failed,
            empty=found.counts.empty,
            missing=found.counts.missing,
            is_control=is_control,
            signature=None if is_control else signature_of(scored, label, task, resampling),
            trained_on_it=False if is_control else scored.trained_on_it(label),
        )
        for (label, is_control), found in columns.items()
    ]
    return Board(
        standings=tuple(sorted(rows, key=lambda row: -row.recall.mean)),
        p_values={frozenset(pair): p_value for pair, p_value in p_values.items()},
    )


def run_of_control(scored: ScoredRuns, control: str, task: Task) -> str | None:
    """Return the label of the run that replaces a control: it has the same name, and the same score on every instance.

    None where there is none: a run with the name but other scores, or without some answers, is a run like any other.
    """
    computed = scored.controls[control][task.name].recalls
    for label, run in scored.runs.items():
        is_named = run.header is not None and run.header.control is None and run.header.system.name == control
        if is_named and np.array_equal(scored.scores[label][task.name].recalls, computed):
            return label
    return None


def _knows_labels(scored: ScoredRuns, key: SystemKey) -> bool:
    label, is_control = key
    return CONTROLS[label].knows_labels if is_control else knows_labels(scored.runs[label])
