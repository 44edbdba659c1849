"""One at a time holds a file or a folder; where files are kept is never the root of the disk."""

import errno
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import doors
from doors import (
    RunError,
    cache_folder,
    data_folder,
    hold,
    open_journal,
    whole_folder,
    write_whole,
)
from evidencebench import EvidenceBenchError


def test_a_file_that_is_held_is_not_waited_for_and_is_free_again_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        with hold(path) as is_held, hold(path) as is_held_twice:
            assert (is_held, is_held_twice) == (True, False)
    assert not path.exists()


def test_a_file_that_is_held_is_waited_for_where_that_is_asked_for(tmp_path: Path) -> None:
    told: list[str] = []

    def wait() -> None:
        with hold(tmp_path / "lock", waits=True):
            told.append("second")

    with hold(tmp_path / "lock"):
        thread = threading.Thread(target=wait)
        thread.start()
        told.append("first")
    thread.join()
    assert told == ["first", "second"]


def test_never_two_hold_a_file_though_whoever_held_it_removes_it(tmp_path: Path) -> None:
    n_inside = 0
    most_inside: list[int] = []

    def take_turns() -> None:
        nonlocal n_inside
        for _ in range(200):
            with hold(tmp_path / "lock") as is_held:
                if is_held:
                    n_inside += 1
                    most_inside.append(n_inside)
                    n_inside -= 1

    threads = [threading.Thread(target=take_turns) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most_inside) == {1}
    assert not list(tmp_path.iterdir())


def _refuse(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(doors.places, "lock_descriptor", refuse)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP])
def test_where_a_file_system_has_no_locks_the_work_goes_on_with_a_warning(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, number)
    words = f"locks .*{os.strerror(number)}.*no two commands"

    def write() -> None:
        for is_anew in (False, True):
            with open_journal(tmp_path / "run", b"{", truncate=is_anew) as run:
                run.append(b"{}")
        with whole_folder(tmp_path / "x", marker="m", overwrite=False) as (made, _):
            (made / "m").touch()
        write_whole(tmp_path / "y", b"tea")

    with pytest.warns(RuntimeWarning, match=words) as warned:
        write()
    assert len({(one.filename, one.lineno, str(one.message)) for one in warned}) == 1  # so it is said once
    assert (tmp_path / "run").read_bytes() == b"{}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"run", "x", "y"}


def test_another_error_of_a_lock_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refuse(monkeypatch, errno.EIO)
    with (
        pytest.raises(RunError, match=r"run: .*Input/output error"),
        open_journal(tmp_path / "run", b"{"),
    ):
        pass


FOLDERS: list[tuple[Callable[[Mapping[str, str]], Path | None], str, str]] = [
    (cache_folder, "EVIDENCEBENCH_CACHE", ".cache"),
    (data_folder, "EVIDENCEBENCH_DATA", ".local/share"),
]


@pytest.mark.parametrize(("folder", "own", "default"), FOLDERS)
def test_files_lie_where_the_environment_says_or_where_the_system_keeps_such(
    folder: Callable[[Mapping[str, str]], Path | None], own: str, default: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    assert folder({own: "~/x"}) == Path("/home/ada/x")
    if sys.platform == "linux":
        assert folder({}) == Path("/home/ada") / default / "evidencebench"


@pytest.mark.parametrize(("folder", "own", "default"), FOLDERS)
def test_a_home_that_is_not_known_is_said_in_words(
    folder: Callable[[Mapping[str, str]], Path | None], own: str, default: str
) -> None:
    del default
    with pytest.raises(EvidenceBenchError, match=f"{own}: .*'~nobody-here/x'"):
        folder({own: "~nobody-here/x"})
