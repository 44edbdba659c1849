"""The list of instances: what of each is sorted and filtered by, a column each, and which of them are asked for."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from evidencebench.pages.viewer.records import Overview, Row

Sort = Literal["position", "score", "difference", "aspects", "length"]
Order = Literal["asc", "desc"]
Only = Literal["", "has_results", "no_results", "missed", "failed", "a_better", "b_better"]
Positions = npt.NDArray[np.intp]

# Recalls are quotients of small numbers: what differs at all differs by more.
_SAME = 1e-9
_CEILING = "oracle"


class Columns:
    """Numbers of every instance, unknown until they are set, from any thread.

    Attributes
    ----------
    n_known
        How many instances are set or left out.
    n_sentences, n_aspects, n_results
        By position; what is not set is NaN.
    recalls
        By position, system and task; NaN where it is not set or the task does not apply.
    ceiling
        Position of the system that covers as much as can be, if it is shown.
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

    def set(self, row: Row) -> None:
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
        """Return the recalls of an instance as a `Row` has them, or None where they are not set."""
        if not self.is_set(position):
            return None
        return tuple(
            tuple(None if np.isnan(recall) else float(recall) for recall in of_system)
            for of_system in self.recalls[position]
        )


def columns_of(overview: Overview) -> Columns:
    """Return columns for all that is shown, with nothing set."""
    ceilings = (
        place for place, system in enumerate(overview.systems) if system.is_control and system.label == _CEILING
    )
    return Columns(overview.n_instances, len(overview.systems), len(overview.tasks), ceiling=next(ceilings, None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which instances are asked for, in which order.

    Attributes
    ----------
    task, a, b
        Positions of a task and of two systems; None: the sort and the filters that need them leave it at nothing.
    sort, order
        By what; ties by position, and what has no value last, in both orders.
    only
        Which instances; empty: all. ``"missed"``: A could have covered more, its recall is below the oracle's;
        ``"failed"``: A covered nothing.
    offset, n
        Which part of the list.
    """

    task: int | None = None
    a: int | None = None
    b: int | None = None
    sort: Sort = "position"
    order: Order = "asc"
    only: Only = ""
    offset: int = 0
    n: int = 50


def listed(columns: Columns, listing: Listing, found: Sequence[int] | Positions | None = None) -> Positions:
    """Return the positions of all instances that a listing asks for, in its order.

    Parameters
    ----------
    columns
        What is known of the instances.
    listing
        What is asked for; its offset and n are left to the caller.
    found
        Positions to choose from, ascending; None: all.
    """
    positions = np.arange(len(columns)) if found is None else np.asarray(found, dtype=np.intp)
    if listing.only:
        positions = positions[_chosen(columns, listing)[positions]]
    values = _values(columns, listing)[positions]
    # A stable sort keeps ties by position and puts NaN last, also of the negated values.
    return positions[np.argsort(values if listing.order == "asc" else -values, kind="stable")]


def _values(columns: Columns, listing: Listing) -> npt.NDArray[np.float64]:
    a = _recalls(columns, listing.a, listing.task)
    match listing.sort:
        case "position":
            return np.arange(len(columns), dtype=np.float64)
        case "aspects":
            return columns.n_aspects
        case "length":
            return columns.n_sentences
        case "score":
            return a
        case "difference":
            return a - _recalls(columns, listing.b, listing.task)


def _chosen(columns: Columns, listing: Listing) -> npt.NDArray[np.bool_]:
    a = _recalls(columns, listing.a, listing.task)
    b = _recalls(columns, listing.b, listing.task)
    chosen: npt.NDArray[np.bool_]
    match listing.only:
        case "":
            chosen = np.ones(len(columns), dtype=np.bool_)
        case "has_results":
            chosen = columns.n_results > 0
        case "no_results":
            chosen = columns.n_results == 0
        case "missed":
            highest = 1.0 if columns.ceiling is None else _recalls(columns, columns.ceiling, listing.task)
            chosen = a < highest - _SAME
        case "failed":
            chosen = a == 0
        case "a_better":
            chosen = a > b + _SAME
        case "b_better":
            chosen = b > a + _SAME
    return chosen


def _recalls(columns: Columns, system: int | None, task: int | None) -> npt.NDArray[np.float64]:
    if system is None or task is None:
        return np.full(len(columns), np.nan)
    column: npt.NDArray[np.float64] = columns.recalls[:, system, task]
    return column
