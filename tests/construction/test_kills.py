"""A construction that is killed at random moments of all steps, with edits in between: the tool that measures it."""

from pathlib import Path

from examples import IS_THOROUGH
from kill_construction import kill_construction


def test_killed_and_edited_it_ends_with_the_same_bytes_and_asks_nothing_again_that_is_stored(tmp_path: Path) -> None:
    found = kill_construction(tmp_path, n_kills=20 if IS_THOROUGH else 4, seed=0)
    assert (found.is_same, found.n_stored_again, found.kills.total() - found.kills["ended before"] > 2) == (
        True,
        0,
        True,
    )
