"""The list's filters and orders against plain Python, over random numbers."""

from math import isnan, nan
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.pages.app.listing import Columns, ListQuery, Only, Order, Sort, matching_positions
from evidencebench.pages.viewer.page_records import ListRow

N_SYSTEMS, N_TASKS, CEILING = 3, 2, 2

recalls = st.one_of(st.none(), st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0]))
rows: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    n_sentences=st.integers(0, 4),
    n_aspects=st.integers(0, 4),
    n_results=st.integers(0, 2),
    recalls=st.tuples(*[st.tuples(*[recalls] * N_TASKS)] * N_SYSTEMS),
)
listings = st.builds(
    ListQuery,
    task=st.one_of(st.none(), st.integers(0, N_TASKS - 1)),
    a=st.one_of(st.none(), st.integers(0, N_SYSTEMS - 1)),
    b=st.one_of(st.none(), st.integers(0, N_SYSTEMS - 1)),
    sort=st.sampled_from(Sort.__args__),  # type: ignore[attr-defined]  # of a literal type
    order=st.sampled_from(Order.__args__),  # type: ignore[attr-defined]  # as above
    only=st.sampled_from(Only.__args__),  # type: ignore[attr-defined]  # as above
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
        return nan if row is None else row["n_aspects" if listing.sort == "aspects" else "n_sentences"]
    return a if listing.sort == "score" else a - b


def is_chosen(row: dict[str, Any] | None, listing: ListQuery) -> bool:
    a, b = recall(row, listing.a, listing.task), recall(row, listing.b, listing.task)
    if listing.only == "":
        return True
    if row is None:
        return False
    chosen: dict[str, bool] = {
        "has_results": row["n_results"] != 0,
        "no_results": row["n_results"] == 0,
        "missed": a < recall(row, CEILING, listing.task),
        "failed": a == 0,
        "a_better": a > b,
        "b_better": b > a,
    }
    return chosen[listing.only]


@given(st.lists(st.one_of(st.none(), rows), max_size=20), listings, st.sets(st.integers(0, 19)), st.booleans())
def test_the_list_is_what_a_plain_sort_makes_of_it(
    data: list[dict[str, Any] | None],
    listing: ListQuery,
    found: set[int],
    is_searched: bool,  # noqa: FBT001 - hypothesis gives arguments by their place
) -> None:
    columns = Columns(len(data), N_SYSTEMS, N_TASKS, ceiling=CEILING)
    for position, row in enumerate(data):
        if row is not None:
            columns.set(ListRow(position=position, id="", paper_id="", hypothesis="", **row))
    positions = [position for position in range(len(data)) if not is_searched or position in found]
    chosen = [position for position in positions if is_chosen(data[position], listing)]
    keys = {position: key(position, data[position], listing) for position in chosen}
    sign = -1 if listing.order == "desc" else 1
    with_value = sorted((p for p in chosen if not isnan(keys[p])), key=lambda p: (sign * keys[p], p))
    expected = with_value + [p for p in chosen if isnan(keys[p])]
    given_positions = np.array(sorted(positions), dtype=np.intp) if is_searched else None
    assert matching_positions(columns, listing, given_positions).tolist() == expected
    assert columns.n_known == sum(row is not None for row in data)


def test_what_was_set_comes_back_and_what_was_not_is_unknown() -> None:
    columns = Columns(3, 1, 2)
    row = ListRow(
        position=1, id="", paper_id="", hypothesis="", n_sentences=5, n_aspects=2, n_results=0, recalls=((0.5, None),)
    )
    columns.set(row)
    columns.set(row)
    columns.leave_out()
    assert columns.n_known == 1 + 1
    assert [columns.recalls_at(position) for position in range(3)] == [None, ((0.5, None),), None]
