"""A construction that is killed in each step, with edits in between: the tool that measures it."""

from pathlib import Path

from kill_construction import ENDED, N_PAPERS, STEPS, kill_construction
from kit.examples import IS_THOROUGH


def test_killed_and_edited_it_ends_with_the_same_bytes_and_asks_nothing_again_that_is_stored(tmp_path: Path) -> None:
    steps = STEPS if IS_THOROUGH else ("judge", "recheck", "assemble")
    n_kills, n_papers = (20, N_PAPERS) if IS_THOROUGH else (len(steps), 3)
    found = kill_construction(tmp_path, n_kills=n_kills, seed=0, steps=steps, n_papers=n_papers)
    assert (found.is_same, found.n_stored_again) == (True, 0)
    assert {*found.kills} >= {"harvest", "filter", "assemble"} & {*steps}
    assert found.kills[ENDED] <= n_kills // 4
