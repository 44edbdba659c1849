"""The list's filters and orders against plain Python, over random numbers."""

from math import isnan, nan
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import Columns, ListQuery, ListRow, Only, RowGrades, Sort, matches_of

N_SYSTEMS, N_TASKS, CEILING, N_COUNTED = 3, 2, 2, 2

UNANSWERED = ("empty", "failed", "missing", "invalid")

recalls = st.one_of(st.none(), st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0]))
rows: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    n_sentences=st.integers(0, 4),
    n_aspects=st.none() | st.integers(1, 4),
    n_results=st.none() | st.integers(0, 2),
    recalls=st.tuples(*[st.tuples(*[recalls] * N_TASKS)] * N_SYSTEMS),
    unanswered=st.tuples(*[st.dictionaries(st.integers(0, N_SYSTEMS - 1), st.sampled_from(UNANSWERED))] * N_TASKS),
    found=st.tuples(*[st.lists(st.integers(0, 3), max_size=N_COUNTED + 1).map(tuple)] * N_TASKS),
)
listings = st.builds(
    ListQuery,
    task=st.one_of(st.none(), st.integers(0, N_TASKS - 1)),
    a=st.one_of(st.none(), st.integers(0, N_SYSTEMS - 1)),
    b=st.one_of(st.none(), st.integers(0, N_SYSTEMS - 1)),
    sort=st.sampled_from(Sort.__args__),  # type: ignore[attr-defined]  # of a literal type
    order=st.sampled_from(["asc", "desc"]),
    only=st.sampled_from(Only.__args__),  # type: ignore[attr-defined]  # as above
    found=st.one_of(st.none(), st.integers(0, N_COUNTED + 1)),
)


def recall(row: dict[str, Any] | None, system: int | None, task: int | None) -> float:
    if row is None or system is None or task is None:
        return nan
    found = row["recalls"][system][task]
    return nan if found is None else found


def key(position: int, row: dict[str, Any] | None, listing: ListQuery) -> float:
    a, b = recall(row, listing.a, listing.task), recall(row, listing.b, listing.task)
    if listing.sort == "position":
        return position
    if listing.sort in ("aspects", "length"):
        value = None if row is None else row["n_aspects" if listing.sort == "aspects" else "n_sentences"]
        return nan if value is None else value
    return {"score": a, "score_b": b, "difference": a - b}[listing.sort]


def is_chosen(row: dict[str, Any] | None, listing: ListQuery) -> bool:
    a, b = recall(row, listing.a, listing.task), recall(row, listing.b, listing.task)
    if listing.only == "":
        return True
    if row is None:
        return False
    status = None if None in (listing.a, listing.task) else row["unanswered"][listing.task].get(listing.a)
    chosen: dict[str, bool] = {
        "has_results": bool(row["n_results"]),
        "no_results": row["n_results"] == 0,
        "missed": a < recall(row, CEILING, listing.task),
        "failed": a == 0,
        "no_answer": status is not None,
        **{f"answer_{one}": status == one for one in UNANSWERED},
        "a_better": a > b,
        "b_better": b > a,
    }
    return chosen[listing.only]


def found_by(row: dict[str, Any] | None, n: int, task: int | None) -> int:
    """Return how many aspects of an instance n systems find."""
    counts = () if row is None or task is None else row["found"][task]
    return counts[n] if n < len(counts) else 0


@given(st.lists(st.one_of(st.none(), rows), max_size=20), listings, st.sets(st.integers(0, 19)), st.booleans())
def test_the_list_is_what_a_plain_sort_makes_of_it(
    data: list[dict[str, Any] | None],
    listing: ListQuery,
    found: set[int],
    is_searched: bool,  # noqa: FBT001 - hypothesis gives arguments by their place
) -> None:
    columns = Columns(len(data), N_SYSTEMS, N_TASKS, n_counted=N_COUNTED, ceiling=CEILING)
    for position, row in enumerate(data):
        if row is not None:
            columns.set(ListRow(position=position, id="", paper_id="", hypothesis="", **row))
    positions = [position for position in range(len(data)) if not is_searched or position in found]
    before = [position for position in positions if is_chosen(data[position], listing)]
    n = listing.found
    chosen = [position for position in before if n is None or found_by(data[position], n, listing.task)]
    keys = {position: key(position, data[position], listing) for position in chosen}
    sign = -1 if listing.order == "desc" else 1
    with_value = sorted((p for p in chosen if not isnan(keys[p])), key=lambda p: (sign * keys[p], p))
    expected = with_value + [p for p in chosen if isnan(keys[p])]
    given_positions = np.array(sorted(positions), dtype=np.intp) if is_searched else None
    matched, told = matches_of(columns, listing, given_positions)
    assert matched.tolist() == expected
    known = [
        [one for p in chosen if not isnan(one := recall(data[p], system, listing.task))]
        for system in (listing.a, listing.b, CEILING)
    ]
    assert told["means"] == pytest.approx([sum(one) / len(one) if one else None for one in known])
    assert told["n_means"] == max(map(len, known))
    counts = [sum(found_by(data[p], n, listing.task) for p in before) for n in range(N_COUNTED + 1)]
    assert told["found"] == ([] if listing.task is None else counts)
    assert columns.n_known == sum(row is not None for row in data)


def test_what_was_set_comes_back_and_what_was_not_is_unknown() -> None:
    columns = Columns(3, 1, 2, n_counted=3)
    grades = RowGrades(recalls=((0.5, None),), unanswered=({}, {0: "empty"}), found=((0, 2), ()))
    row = ListRow(
        position=1,
        id="",
        paper_id="",
        hypothesis="",
        n_sentences=5,
        n_aspects=2,
        n_results=0,
        **msgspec.structs.asdict(grades),
    )
    columns.set(row)
    columns.set(row)
    columns.leave_out(2)
    columns.leave_out(2)
    assert columns.n_known == 1 + 1
    assert [columns.grades_at(position) for position in range(3)] == [None, grades, None]
