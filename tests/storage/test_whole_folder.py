"""A folder that is replaced is the old one or the new one, whatever ends the process that replaces it, and when."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evidencebench.errors import DataError
from evidencebench.storage.whole_folder import whole_folder
from examples import IS_THOROUGH

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


# A process that replaces the folder is sent a signal at each line that is executed within the package or for it.
SIGNALLED = """
import json, os, shutil, signal, sys
from pathlib import Path

sys.path[:0] = [sys.argv[2], str(Path(sys.argv[2]).parent)]
from test_whole_folder import NEW, OLD, content, fill, replace

os.fsync = lambda _: None  # which takes most of the time
folder, name = Path(sys.argv[1]) / "folder", sys.argv[3]
signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command line has it


def send_at(moment, times):
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if not frame.f_code.co_filename.endswith(FILES):
            return None
        if event == "line":
            seen += 1
            if seen in range(moment, moment + 5 * times, 5):
                os.kill(os.getpid(), signal.Signals[name])
        return trace

    sys.settrace(trace)


FILES = ("whole_folder.py", "whole_file.py", "locks.py", "shutil.py", "contextlib.py")
found, moment, ended = [], 1 - int(sys.argv[5]), None
while ended != 0:
    moment += int(sys.argv[5])
    shutil.rmtree(folder, ignore_errors=True)
    fill(folder, OLD)
    child = os.fork()
    if child == 0:
        send_at(moment, int(sys.argv[4]))
        try:
            replace(folder)
        except BaseException:
            os._exit(1)
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    found.append([content(folder), sorted(path.name for path in folder.parent.iterdir())])
print(json.dumps(found))
"""


def at_each_moment(name: str, times: int, tmp_path: Path) -> list[Any]:
    step = 1 if IS_THOROUGH else 5
    code = [sys.executable, "-c", SIGNALLED, str(tmp_path), str(Path(__file__).parent), name, str(times), str(step)]
    ended = subprocess.run(code, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found: list[Any] = json.loads(ended.stdout)
    assert len(found) > 200 // step  # moments
    assert found[0][0] == OLD
    assert found[-1][0] == NEW
    return found


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_whenever_a_signal_ends_it_a_folder_is_exactly_the_old_or_the_new_one(name: str, tmp_path: Path) -> None:
    for now, _ in at_each_moment(name, 1, tmp_path):
        assert now in (OLD, NEW)


@pytest.mark.parametrize(("name", "times"), [("SIGKILL", 1), ("SIGINT", 3)])
def test_whenever_it_is_killed_the_next_command_finds_the_old_or_the_new_folder(
    name: str, times: int, tmp_path: Path
) -> None:
    for now, there in at_each_moment(name, times, tmp_path):
        assert now in (OLD, NEW) or (now == {} and there == ["folder.part"])
    folder = tmp_path / "folder"
    (tmp_path / "folder.part").mkdir()
    (tmp_path / "folder.part" / "lock").touch()
    folder.rename(tmp_path / "folder.part" / "old")
    with pytest.raises(DataError, match="folder: exists; choose another name, or replace it with --overwrite"):
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
            with pytest.raises(DataError, match="folder: exists"):
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
