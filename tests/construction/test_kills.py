"""A construction that is killed in each step, with edits in between: the tool that measures it."""

from pathlib import Path

from kill_construction import ENDED, N_PAPERS, STEPS, kill_construction
from kit.examples import thorough_only


@thorough_only
def test_killed_and_edited_it_ends_with_the_same_bytes_and_asks_nothing_again_that_is_stored(tmp_path: Path) -> None:
    n_kills = 20
    found = kill_construction(tmp_path, n_kills=n_kills, seed=0, steps=STEPS, n_papers=N_PAPERS)
    assert (found.is_same, found.n_stored_again) == (True, 0)
    assert {*found.kills} >= {"harvest", "filter", "assemble"} & {*STEPS}
    assert found.kills[ENDED] <= n_kills // 4
