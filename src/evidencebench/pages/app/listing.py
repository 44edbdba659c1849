"""The list of instances: the columns by which it is sorted and filtered, and the queries that choose a part of it."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from evidencebench.pages.viewer.page_records import ListRow, Overview

Sort = Literal["position", "score", "difference", "aspects", "length"]
Order = Literal["asc", "desc"]
Only = Literal["", "has_results", "no_results", "missed", "failed", "a_better", "b_better"]
Positions = npt.NDArray[np.intp]

# Recalls are quotients of small numbers: what differs at all differs by more.
_SAME = 1e-9


class Columns:
    """Numbers of every instance by its position, unknown (NaN) until set, from any thread.

    ``n_known`` counts the instances that are set or left out. ``recalls`` is by position, system and task; NaN also
    where the task does not apply. ``ceiling`` is the position of the oracle, if it is shown.
    """

    def __init__(self, n_instances: int, n_systems: int, n_tasks: int, *, ceiling: int | None = None) -> None:
        self.n_known = 0
        self.n_sentences = np.full(n_instances, np.nan)
        self.n_aspects = np.full(n_instances, np.nan)
        self.n_results = np.full(n_instances, np.nan)
        self.recalls = np.full((n_instances, n_systems, n_tasks), np.nan)
        self.ceiling = ceiling
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.n_sentences)

    def set(self, row: ListRow) -> None:
        """Keep the numbers of an instance."""
        position = row.position
        with self._lock:
            self.n_known += not self.is_set(position)
            self.n_aspects[position], self.n_results[position] = row.n_aspects, row.n_results
            self.recalls[position] = row.recalls  # where None becomes NaN
            self.n_sentences[position] = row.n_sentences  # last, since it says that all is there

    def is_set(self, position: int) -> bool:
        """Say whether the numbers of an instance are there."""
        return not np.isnan(self.n_sentences[position])

    def leave_out(self) -> None:
        """Count an instance that has no numbers, since it cannot be read, as one that is known."""
        with self._lock:
            self.n_known += 1

    def recalls_at(self, position: int) -> tuple[tuple[float | None, ...], ...] | None:
        """Return the recalls of an instance as a `ListRow` has them, or None where they are not set."""
        if not self.is_set(position):
            return None
        return tuple(
            tuple(None if np.isnan(recall) else float(recall) for recall in of_system)
            for of_system in self.recalls[position]
        )


def columns_of(overview: Overview) -> Columns:
    """Return columns for all that is shown, with nothing set."""
    ceiling = next((place for place, system in enumerate(overview.systems) if system.is_oracle), None)
    return Columns(overview.n_instances, len(overview.systems), len(overview.tasks), ceiling=ceiling)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Which instances are asked for, in which order."""

    task: int | None = None  # position of a task; None: what needs it chooses and sorts nothing
    a: int | None = None  # positions of two systems, as above
    b: int | None = None
    sort: Sort = "position"  # in both orders, ties by position, and what has no value last
    order: Order = "asc"
    only: Only = ""  # empty: all; "missed": A could have covered more, as the oracle does; "failed": A covered nothing
    offset: int = 0  # which part of the list
    n: int = 50


def listed(columns: Columns, query: ListQuery, found: Sequence[int] | Positions | None = None) -> Positions:
    """Return the positions of all instances that a query asks for, in its order, whatever its offset and n.

    ``found``: positions to choose from, ascending; None: all.
    """
    positions = np.arange(len(columns)) if found is None else np.asarray(found, dtype=np.intp)
    if query.only:
        positions = positions[_chosen(columns, query)[positions]]
    values = _values(columns, query)[positions]
    # A stable sort keeps ties by position and puts NaN last, also of the negated values.
    return positions[np.argsort(values if query.order == "asc" else -values, kind="stable")]


def _values(columns: Columns, query: ListQuery) -> npt.NDArray[np.float64]:
    a = _recalls(columns, query.a, query.task)
    match query.sort:
        case "position":
            return np.arange(len(columns), dtype=np.float64)
        case "aspects":
            return columns.n_aspects
        case "length":
            return columns.n_sentences
        case "score":
            return a
        case "difference":
            return a - _recalls(columns, query.b, query.task)


def _chosen(columns: Columns, query: ListQuery) -> npt.NDArray[np.bool_]:
    a = _recalls(columns, query.a, query.task)
    b = _recalls(columns, query.b, query.task)
    highest = 1.0 if columns.ceiling is None else _recalls(columns, columns.ceiling, query.task)
    chosen: dict[Only, npt.NDArray[np.bool_]] = {
        "": np.ones(len(columns), dtype=np.bool_),
        "has_results": columns.n_results > 0,
        "no_results": columns.n_results == 0,
        "missed": a < highest - _SAME,
        "failed": a == 0,
        "a_better": a > b + _SAME,
        "b_better": b > a + _SAME,
    }
    return chosen[query.only]


def _recalls(columns: Columns, system: int | None, task: int | None) -> npt.NDArray[np.float64]:
    if system is None or task is None:
        return np.full(len(columns), np.nan)
    column: npt.NDArray[np.float64] = columns.recalls[:, system, task]
    return column
