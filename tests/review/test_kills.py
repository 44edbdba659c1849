"""A desk that is killed while two people decide: the tool that measures it."""

from pathlib import Path

from kill_desk import asked_of, kill_desk
from kit.examples import IS_THOROUGH


def test_killed_while_two_people_decide_it_loses_nothing_and_asks_nothing_again(tmp_path: Path) -> None:
    n_kills = 20 if IS_THOROUGH else 2
    found = kill_desk(tmp_path, n_papers=30, n_questions=3, n_kills=n_kills, seed=0)
    assert (found.n_kills, found.n_lost) == (n_kills, 0)
    assert len(found.saves) > n_kills
    asked = asked_of(tmp_path / "papers")
    assert len(asked) == found.n_found[-1] == 90
    assert set(asked.values()) == {1}
