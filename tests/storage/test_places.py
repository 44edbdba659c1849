"""One at a time holds a file or a folder; where files are kept is never the root of the disk."""

import errno
import fcntl
import os
import pwd
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from doors import (
    RunError,
    cache_folder,
    data_folder,
    locked_file,
    locked_folder,
    open_journal,
    whole_folder,
    write_whole,
)
from evidencebench import EvidenceBenchError


def test_a_file_that_is_held_is_not_waited_for_and_is_free_again_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        with locked_file(path) as is_held, locked_file(path) as is_held_twice:
            assert (is_held, is_held_twice) == (True, False)
    with locked_file(path) as is_held:
        assert is_held


def test_a_folder_that_is_held_is_waited_for(tmp_path: Path) -> None:
    told: list[str] = []

    def wait() -> None:
        with locked_folder(tmp_path):
            told.append("second")

    with locked_folder(tmp_path):
        thread = threading.Thread(target=wait)
        thread.start()
        told.append("first")
    thread.join()
    assert told == ["first", "second"]


def _refuse(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP])
def test_where_a_file_system_has_no_locks_the_work_goes_on_with_a_warning(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, number)
    words = f"locks .*{os.strerror(number)}.*no two commands"
    (tmp_path / ".y.abcdefgh.part").touch()  # another process may be writing it

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
    assert {path.name for path in tmp_path.iterdir()} == {"run", "x", "y", ".y.abcdefgh.part"}


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
@pytest.mark.parametrize("home", [{}, {"HOME": ""}])
def test_an_empty_home_is_as_good_as_none(
    folder: Callable[[Mapping[str, str]], Path | None],
    own: str,
    default: str,
    home: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "")  # which the system's own answer must not fall back on
    by_the_system = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert folder(home) == by_the_system / default / "evidencebench"
    assert folder({own: "~/x", **home}) == by_the_system / "x"
    assert folder({own: "~/x", "HOME": "/home/ada"}) == Path("/home/ada/x")


@pytest.mark.parametrize(("folder", "own", "default"), FOLDERS)
def test_a_home_that_is_not_known_is_said_in_words(
    folder: Callable[[Mapping[str, str]], Path | None], own: str, default: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EvidenceBenchError, match=f"{own}: .*'~nobody-here/x'"):
        folder({own: "~nobody-here/x"})
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)  # as in a container
    with pytest.raises(EvidenceBenchError, match=f"HOME: .*nothing.*set HOME, or {own}"):
        folder({})
    assert folder({"HOME": "/home/ada"}) == Path("/home/ada") / default / "evidencebench"
