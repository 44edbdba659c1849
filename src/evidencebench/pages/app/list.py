"""The list of instances: the columns by which it is sorted and filtered, and the query for a part of it."""

import threading
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from evidencebench.pages.paper import ListRow, RowGrades, Status

Sort = Literal["position", "score", "score_b", "difference", "aspects", "length"]
Only = Literal[
    "", "has_results", "no_results", "missed", "failed", "a_better", "b_better",
    "no_answer", "answer_failed", "answer_empty", "answer_missing",
]  # fmt: skip
Where = Literal["", "hypothesis", "text"]
"""Where the searched words shall stand; empty: in the hypothesis, the text or the id, each word in any of them."""

_STATUSES: tuple[Status, ...] = get_args(Status)  # the first is "answered"
Positions = npt.NDArray[np.intp]
_Floats = npt.NDArray[np.float64]

_LEAST_DIFFERENCE = 1e-9  # recalls are quotients of small numbers: two different ones differ by more


class Columns:
    """Numbers of every instance, by its position in the data; NaN until they are set. Threads may share it."""

    def __init__(
        self, n_instances: int, n_systems: int, n_tasks: int, *, n_counted: int = 0, ceiling: int | None = None
    ) -> None:
        shape = n_instances, n_systems, n_tasks
        self.n_sentences: _Floats = np.full(n_instances, np.nan)
        self.n_aspects: _Floats = np.full(n_instances, np.nan)
        self.n_results: _Floats = np.full(n_instances, np.nan)
        self.recalls: _Floats = np.full(shape, np.nan)  # NaN also where the task does not apply
        self.statuses: npt.NDArray[np.uint8] = np.zeros(shape, dtype=np.uint8)  # places in `_STATUSES`
        # See `RowGrades`.
        self.found: npt.NDArray[np.uint32] = np.zeros((n_instances, n_tasks, n_counted + 1), dtype=np.uint32)
        self.ceiling = ceiling  # the oracle's place among the systems; None: it is not shown
        self._is_known = np.zeros(n_instances, dtype=np.bool_)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.n_sentences)

    @property
    def n_known(self) -> int:
        """How many instances are set or left out."""
        return int(np.count_nonzero(self._is_known))

    def set(self, row: ListRow) -> None:
        position = row.position
        with self._lock:
            self.n_aspects[position], self.n_results[position] = row.n_aspects, row.n_results  # None becomes NaN
            self.recalls[position] = row.recalls
            for task, (unanswered, found) in enumerate(zip(row.unanswered, row.found, strict=True)):
                for system, status in unanswered.items():
                    self.statuses[position, system, task] = _STATUSES.index(status)
                self.found[position, task, : len(found)] = found
            self.n_sentences[position] = row.n_sentences  # last, since `is_set` reads it
            self._is_known[position] = True

    def is_set(self, position: int) -> bool:
        return not np.isnan(self.n_sentences[position])

    def leave_out(self, position: int) -> None:
        self._is_known[position] = True

    def grades_at(self, position: int) -> RowGrades | None:
        if not self.is_set(position):
            return None
        return RowGrades(
            recalls=tuple(
                tuple(None if np.isnan(recall) else float(recall) for recall in of_system)
                for of_system in self.recalls[position]
            ),
            unanswered=tuple(
                {int(system): _STATUSES[of_task[system]] for system in of_task.nonzero()[0]}
                for of_task in self.statuses[position].T
            ),
            found=tuple(tuple(np.trim_zeros(of_task, "b").tolist()) for of_task in self.found[position]),
        )


MOST_ROWS = 200
Number = Annotated[int, msgspec.Meta(ge=0)]


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What an address asks of the list."""

    q: Annotated[str, msgspec.Meta(max_length=1_000)] = ""  # searched words
    where: Where = msgspec.field(default="", name="in")
    task: Number | None = None  # position of a task; None: all recalls count as unknown
    a: Number | None = None  # positions of two systems, A and B; None: their recalls count as unknown
    b: Number | None = None
    sort: Sort = "position"  # ties by position; instances without a value come last, in both orders
    order: Literal["asc", "desc"] = "asc"
    only: Only = ""  # empty: all; "missed": A's recall is below the oracle's; "failed": A's recall is 0
    found: Number | None = None  # only instances with an aspect that exactly so many systems find; None: all
    offset: Number = 0  # rows before the part
    n: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS)] = 50  # rows in the part


def matches_of(
    columns: Columns, query: ListQuery, searched: Sequence[int] | Positions | None = None
) -> tuple[Positions, Mapping[str, object]]:
    """Return what passes a query, of the positions ``searched`` (None: of all); its offset and n are not applied.

    What is told of it: ``means`` of A, B and the ceiling (None: nothing is known), over ``n_means`` instances; and
    ``found``, for no system, one, two ... the aspects that so many find, before the filter of that name.
    """
    positions = np.arange(len(columns)) if searched is None else np.asarray(searched, dtype=np.intp)
    if query.only:
        positions = positions[_filter_mask(columns, query)[positions]]
    counts = np.zeros((len(columns), 0)) if query.task is None else columns.found[:, query.task]
    found = counts[positions].sum(axis=0, dtype=np.int64).tolist()
    if query.found is not None:
        is_there = query.found < counts.shape[1]
        positions = positions[counts[positions, query.found] > 0] if is_there else positions[:0]
    shown = [_recalls_of(columns, system, query.task) for system in (query.a, query.b, columns.ceiling)]
    known = [recalls[~np.isnan(recalls)] for recalls in (of_all[positions] for of_all in shown)]
    means = [float(recalls.mean()) if len(recalls) else None for recalls in known]
    a, b, _ = shown
    sorts: dict[Sort, npt.NDArray[np.float64]] = {
        "position": np.arange(len(columns), dtype=np.float64),
        "aspects": columns.n_aspects,
        "length": columns.n_sentences,
        "score": a,
        "score_b": b,
        "difference": a - b,
    }
    values = sorts[query.sort][positions]
    # A stable sort keeps ties in the order of positions. It puts NaN last, among negated values too.
    positions = positions[np.argsort(values if query.order == "asc" else -values, kind="stable")]
    return positions, {"means": means, "n_means": max(map(len, known)), "found": found}


def _filter_mask(columns: Columns, query: ListQuery) -> npt.NDArray[np.bool_]:
    a, b = (_recalls_of(columns, system, query.task) for system in (query.a, query.b))
    is_known = query.a is not None and query.task is not None
    status = is_known * columns.statuses[:, query.a or 0, query.task or 0]
    highest = 1.0 if columns.ceiling is None else _recalls_of(columns, columns.ceiling, query.task)
    masks: dict[Only, npt.NDArray[np.bool_]] = {
        "": np.ones(len(columns), dtype=np.bool_),
        "has_results": columns.n_results > 0,
        "no_results": columns.n_results == 0,
        "missed": a < highest - _LEAST_DIFFERENCE,
        "failed": a == 0,
        "no_answer": status > 0,
        "answer_failed": status == _STATUSES.index("failed"),
        "answer_empty": status == _STATUSES.index("empty"),
        "answer_missing": status == _STATUSES.index("missing"),
        "a_better": a > b + _LEAST_DIFFERENCE,
        "b_better": b > a + _LEAST_DIFFERENCE,
    }
    return masks[query.only]


def _recalls_of(columns: Columns, system: int | None, task: int | None) -> npt.NDArray[np.float64]:
    if system is None or task is None:
        return np.full(len(columns), np.nan)
    column: npt.NDArray[np.float64] = columns.recalls[:, system, task]
    return column
