"""A folder that is replaced is the old one or the new one, whatever ends the process that replaces it, and when."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doors import DataError, whole_folder
from kit.examples import IS_THOROUGH
from kit.moments import at_each_moment

OLD, NEW = {"marker": "old", "a/b": "old"}, {"marker": "new", "a/c": "new"}


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def replace(folder: Path, *, overwrite: bool = True) -> None:
    with whole_folder(folder, marker="marker", overwrite=overwrite) as (made, scratch):
        fill(made, NEW)
        fill(scratch, OLD)


def prepare(root: Path) -> None:
    fill(root / "folder", OLD)


def work(root: Path) -> None:
    replace(root / "folder")


def state(root: Path) -> list[Any]:
    return [content(root / "folder"), sorted(path.name for path in root.iterdir())]


def moments(name: str, times: int, root: Path) -> list[Any]:
    found = at_each_moment(Path(__file__), name, root, times=times)
    assert (found[0][0], found[-1]) == (OLD, [NEW, ["folder"]])
    return found


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"] if IS_THOROUGH else ["SIGTERM"])
def test_whenever_a_signal_ends_it_a_folder_is_exactly_the_old_or_the_new_one(name: str, tmp_path: Path) -> None:
    for now, _ in moments(name, 1, tmp_path):
        assert now in (OLD, NEW)


@pytest.mark.parametrize(("name", "times"), [("SIGKILL", 1), ("SIGINT", 3)])
def test_whenever_it_is_killed_the_next_command_finds_the_old_or_the_new_folder(
    name: str, times: int, tmp_path: Path
) -> None:
    for now, there in moments(name, times, tmp_path):
        assert now in (OLD, NEW) or (now == {} and there == ["folder.part"])
    folder = tmp_path / "folder"
    fill(folder, OLD)
    (tmp_path / "folder.part").mkdir()
    (tmp_path / "folder.part" / "lock").touch()
    folder.rename(tmp_path / "folder.part" / "old")
    with pytest.raises(DataError, match=r"folder: exists; .*--overwrite"):
        replace(folder, overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


CALLS = ("rename", "replace", "fsync", "mkdir")


def failing(monkeypatch: pytest.MonkeyPatch, moment: int, number: int, *, lasts: bool) -> list[str]:
    """Let a call of the system fail, or all from it on; the list that is returned gets the name of each call."""
    called: list[str] = []

    def wrapped(name: str) -> Callable[..., object]:
        call = getattr(os, name)

        def one(*arguments: Any, **options: Any) -> object:
            called.append(name)
            if len(called) == moment or (lasts and len(called) > moment):
                raise OSError(number, os.strerror(number))
            result: object = call(*arguments, **options)
            return result

        return one

    for name in CALLS:
        monkeypatch.setattr(os, name, wrapped(name))
    return called


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("lasts", [False, True])
def test_whichever_call_fails_a_folder_is_exactly_the_old_or_the_new_one(
    number: int, tmp_path: Path, *, lasts: bool
) -> None:
    folder, moment, is_over = tmp_path / "folder", 0, False
    while not is_over:
        moment += 1
        fill(folder, OLD)
        (folder / "a" / "c").unlink(missing_ok=True)
        error = None
        with pytest.MonkeyPatch.context() as patch:
            called = failing(patch, moment, number, lasts=lasts)
            try:
                replace(folder)
            except DataError as failed:
                error = str(failed)
            is_over = len(called) < moment
        if not folder.exists():  # nothing can be renamed any more: the next command does
            assert lasts
            with pytest.raises(DataError, match="exists"):
                replace(folder, overwrite=False)
        assert content(folder) in (OLD, NEW)
        if error is None:
            assert content(folder) == NEW
        else:
            assert content(folder) == OLD
            assert os.strerror(number) in error
    assert moment > 10


def test_the_new_folder_is_on_the_disk_before_the_old_one_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    fill(folder, OLD)
    synced: set[int] = set()
    moved: list[str] = []
    fsync, rename = os.fsync, os.rename

    def noted(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def checked(source: Path, target: Path) -> None:
        made = tmp_path / "folder.part" / "made"
        if Path(source) == folder:
            moved.append(Path(target).name)
            assert {path.stat().st_ino for path in [made.parent, made, *made.rglob("*")]} <= synced
        rename(source, target)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "rename", checked)
    monkeypatch.setattr(os, "replace", checked)
    replace(folder)
    assert moved == ["old"]
    assert content(folder) == NEW
