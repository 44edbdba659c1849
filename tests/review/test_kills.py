"""A desk that is killed while two people decide: the tool that measures it."""

from pathlib import Path

from kill_desk import asked_of, kill_desk
from kit.examples import thorough_only


@thorough_only
def test_killed_while_two_people_decide_it_loses_nothing_and_asks_nothing_again(tmp_path: Path) -> None:
    n_kills, n_papers = 20, 30
    found = kill_desk(
        tmp_path, n_papers=n_papers, n_questions=3, n_kills=n_kills, seed=0, most_seconds=0.5, idle_seconds=0.2
    )
    assert (found.n_kills, found.n_lost) == (n_kills, 0)
    assert len(found.saves) > n_kills
    asked = asked_of(tmp_path / "papers")
    assert len(asked) == found.n_found[-1] == 3 * n_papers
    assert set(asked.values()) == {1}
