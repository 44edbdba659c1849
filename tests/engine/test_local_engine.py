"""Work in processes: what was begun is handed over whatever happens, and errors come in their own words."""

from collections.abc import Callable

import pytest

from evidencebench.engine.local import work_off
from evidencebench.errors import ChangedDataError


def failing_at(number: int) -> Callable[[int], int]:
    def work(item: int) -> int:
        if item == number:
            raise ChangedDataError(f"{item} has changed")
        return item

    return work


def never_ready() -> Callable[[int], int]:
    raise ChangedDataError("the file is another one")


def test_an_error_of_the_work_is_raised_once_what_was_begun_is_handed_over() -> None:
    found: list[int] = []
    with pytest.raises(ChangedDataError, match=r"^3 has changed$"):
        work_off(failing_at, (3,), range(1000), found.append, jobs=2)
    assert {0, 1, 2} <= set(found)
    assert len(found) < 20


def test_what_keeps_a_process_from_starting_its_work_is_told_in_its_own_words() -> None:
    with pytest.raises(ChangedDataError, match=r"^the file is another one$"):
        work_off(never_ready, (), range(4), print, jobs=2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_item_is_begun_once_it_is_over(jobs: int) -> None:
    found: list[int] = []
    work_off(failing_at, (-1,), range(1000), found.append, jobs=jobs, is_over=lambda: len(found) >= 5)
    assert 5 <= len(found) < 20
