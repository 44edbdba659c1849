"""The list of instances: the columns by which it is sorted and filtered, and the query for a part of it."""

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

# Recalls are quotients of small numbers: two different ones differ by more than this.
_LEAST_DIFFERENCE = 1e-9


class Columns:
    """Numbers of every instance, by its position in the data; NaN until they are set. Threads may share it.

    ``n_known`` counts the instances that are set or left out. ``recalls`` has the axes instance, system, task; it is
    NaN also where the task does not apply. ``ceiling`` is the oracle's place among the systems; None: it is not shown.
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
        """Set the numbers of an instance."""
        position = row.position
        with self._lock:
            self.n_known += not self.is_set(position)
            self.n_aspects[position], self.n_results[position] = row.n_aspects, row.n_results
            self.recalls[position] = row.recalls  # None becomes NaN
            self.n_sentences[position] = row.n_sentences  # last, since `is_set` reads it

    def is_set(self, position: int) -> bool:
        """Say whether the numbers of an instance are set."""
        return not np.isnan(self.n_sentences[position])

    def leave_out(self) -> None:
        """Count one more instance as known; it has no numbers, since it cannot be read."""
        with self._lock:
            self.n_known += 1

    def recalls_at(self, position: int) -> tuple[tuple[float | None, ...], ...] | None:
        """Return the recalls of an instance in the form of `ListRow.recalls`, or None where they are not set."""
        if not self.is_set(position):
            return None
        return tuple(
            tuple(None if np.isnan(recall) else float(recall) for recall in of_system)
            for of_system in self.recalls[position]
        )


def columns_of(overview: Overview) -> Columns:
    """Return columns for the instances, systems and tasks of an overview, with no number set."""
    ceiling = next((place for place, system in enumerate(overview.systems) if system.is_oracle), None)
    return Columns(overview.n_instances, len(overview.systems), len(overview.tasks), ceiling=ceiling)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """A filter (``only``), an order (``sort``, ``order``) and a part (``offset``, ``n``) of the list of instances."""

    task: int | None = None  # position of a task; None: all recalls count as unknown
    a: int | None = None  # positions of two systems, A and B; None: their recalls count as unknown
    b: int | None = None
    sort: Sort = "position"  # ties by position; instances without a value come last, in both orders
    order: Order = "asc"
    only: Only = ""  # empty: all; "missed": A's recall is below the oracle's; "failed": A's recall is 0
    offset: int = 0  # rows before the part
    n: int = 50  # rows in the part


def matching_positions(columns: Columns, query: ListQuery, found: Sequence[int] | Positions | None = None) -> Positions:
    """Return the positions of all instances that pass the query's filter, in its order; offset and n are not applied.

    ``found``: only these positions, ascending; None: all.
    """
    positions = np.arange(len(columns)) if found is None else np.asarray(found, dtype=np.intp)
    if query.only:
        positions = positions[_filter_mask(columns, query)[positions]]
    values = _sort_values(columns, query)[positions]
    # A stable sort keeps ties in the order of positions. It puts NaN last, among negated values too.
    return positions[np.argsort(values if query.order == "asc" else -values, kind="stable")]


def _sort_values(columns: Columns, query: ListQuery) -> npt.NDArray[np.float64]:
    a = _recalls_of(columns, query.a, query.task)
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
            return a - _recalls_of(columns, query.b, query.task)


def _filter_mask(columns: Columns, query: ListQuery) -> npt.NDArray[np.bool_]:
    a = _recalls_of(columns, query.a, query.task)
    b = _recalls_of(columns, query.b, query.task)
    highest = 1.0 if columns.ceiling is None else _recalls_of(columns, columns.ceiling, query.task)
    masks: dict[Only, npt.NDArray[np.bool_]] = {
        "": np.ones(len(columns), dtype=np.bool_),
        "has_results": columns.n_results > 0,
        "no_results": columns.n_results == 0,
        "missed": a < highest - _LEAST_DIFFERENCE,
        "failed": a == 0,
        "a_better": a > b + _LEAST_DIFFERENCE,
        "b_better": b > a + _LEAST_DIFFERENCE,
    }
    return masks[query.only]


def _recalls_of(columns: Columns, system: int | None, task: int | None) -> npt.NDArray[np.float64]:
    if system is None or task is None:
        return np.full(len(columns), np.nan)
    column: npt.NDArray[np.float64] = columns.recalls[:, system, task]
    return column
