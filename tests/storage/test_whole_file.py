"""An output is a file that appears whole, or a stream that is written into; nothing else loses what it is."""

import ast
import os
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import evidencebench
from doors import (
    DataError,
    RunError,
    draw_examples,
    open_journal,
    put_in_place,
    whole_file,
    write_examples,
    write_folder,
    write_whole,
)
from doors import atomic as whole_file_module
from evidencebench import load_sample, write_dataset
from kit.patience import MOST_SECONDS
from kit.unwritable import no_file_longer_than


@contextmanager
def reading(pipe: Path) -> Iterator[list[bytes]]:
    """Read a pipe to its end beside the block."""
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    yield found
    reader.join()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("name", ["pipe.json", "link.json", "pipe.json.gz"])
def test_a_pipe_or_a_link_to_one_is_written_into_as_a_file_and_stays_what_it_is(name: str, pipe: Path) -> None:
    path, file = pipe.with_name(name), pipe.with_name(f"file.{name.partition('.')[2]}")
    if name == "link.json":
        path.symlink_to(pipe)
    elif path != pipe:
        os.mkfifo(path)
    with reading(path) as found:
        write_dataset(path, load_sample())
    write_dataset(file, load_sample())
    assert found == [file.read_bytes()]
    assert (path.is_symlink(), stat.S_ISFIFO(path.stat().st_mode)) == (name == "link.json", True)


def test_a_pipe_that_nobody_reads_is_said_and_not_waited_for_without_end(
    pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_file_module, "_WAIT_SECONDS", 0.05)
    with pytest.raises(DataError, match=r"pipe\.json: .*pipe that nobody reads.*start"):
        write_whole(pipe, b"tea")


def test_a_pipe_whose_reader_comes_late_and_reads_slowly_gets_all(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[bytes] = []
    is_waited_for, sleep = threading.Event(), time.sleep

    def wait(seconds: float) -> None:
        is_waited_for.set()
        sleep(seconds)

    def read() -> None:
        assert is_waited_for.wait(MOST_SECONDS)
        with pipe.open("rb") as file:
            found.extend(iter(lambda: file.read(1 << 18), b""))

    reader = threading.Thread(target=read)
    reader.start()
    monkeypatch.setattr(time, "sleep", wait)
    monkeypatch.setattr(whole_file_module, "_WAIT_SECONDS", 60.0)
    write_whole(pipe, bytes(1 << 20))  # many times what a pipe holds
    reader.join()
    assert b"".join(found) == bytes(1 << 20)


def test_into_a_pipe_all_is_written_or_nothing(pipe: Path) -> None:
    def broken_off() -> None:
        with whole_file(pipe) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()  # which would wait for a reader here if it had begun to write
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


@pytest.fixture
def terminal() -> Iterator[tuple[Path, int]]:
    """Give the path of a terminal, and a descriptor of what is written into it."""
    ours, theirs = os.openpty()
    try:
        yield Path(os.ttyname(theirs)), ours
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_device_is_written_into_and_stays_one(terminal: tuple[Path, int]) -> None:
    path, written = terminal
    write_whole(path, b"tea")
    assert os.read(written, 3) == b"tea"
    assert stat.S_ISCHR(path.stat().st_mode)


WRITING = """
import sys
from pathlib import Path
from doors import write_whole
print("before", flush=True)
write_whole(Path(sys.argv[1]), b"written\\n")
print("after", flush=True)
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_name_is_gone_on_with_and_not_replaced(name: str, tmp_path: Path) -> None:
    if not os.path.lexists(name):
        pytest.skip(f"this system has no {name}")
    path = tmp_path / "log"
    path.write_bytes(b"old\n")
    command = [sys.executable, "-c", WRITING, name]
    with path.open("ab") as log:
        subprocess.run(command, stdout=log, check=True)
    assert path.read_bytes() == b"old\nbefore\nwritten\nafter\n"
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == b"before\nwritten\nafter\n"


def test_what_is_neither_a_file_nor_a_stream_is_refused(pipe: Path) -> None:
    """As a draft, which is read again, must be; a disk and a socket are refused by the same line."""
    with pytest.raises(DataError, match=r"pipe\.json: .*regular file.*choose"), whole_file(pipe, follows_links=False):
        pass
    with pytest.raises(DataError, match="is a folder; expected the name of a file"):
        write_whole(pipe.parent, b"")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Note every inode whose bytes are waited for until they are on the disk; a rename keeps the inode."""
    found: set[int] = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        found.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return found


WRITERS: dict[str, Callable[[Path], object]] = {
    "examples": lambda folder: write_examples(folder / "examples.json", draw_examples(load_sample(), 1, seed=0)),
    "data": lambda folder: write_dataset(folder / "data.json.gz", load_sample()),
    "lines": lambda folder: write_whole(folder / "lines", [b"tea"]),
    "a folder": lambda folder: write_folder(folder, {"card": b"1"}, names_all="card", owned=()),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_has_its_name_only_when_its_bytes_are_on_the_disk(writer: str, synced: set[int], tmp_path: Path) -> None:
    WRITERS[writer](tmp_path)
    written = list(tmp_path.iterdir())
    assert written
    assert {path.stat().st_ino for path in [*written, tmp_path]} <= synced  # the folder, so that the names are too


def test_a_file_that_finds_no_room_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with no_file_longer_than(100), pytest.raises(DataError):
        write_whole(path, bytes(200))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("truncate", [False, True])
def test_a_journal_is_neither_a_pipe_nor_a_device(pipe: Path, terminal: tuple[Path, int], *, truncate: bool) -> None:
    for path in (pipe, terminal[0]):
        words = f"{re.escape(str(path))}: .*regular file.*a pipe or a device.*another name"
        with pytest.raises(RunError, match=words), open_journal(path, b"{", truncate=truncate):
            pass
        assert (path.is_file(), path.exists()) == (False, True)


def at_the_same_time(write: Callable[[int], object]) -> None:
    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()


def test_of_two_that_write_at_once_one_is_there_whole(tmp_path: Path) -> None:
    path, folder = tmp_path / "data.json.gz", tmp_path / "model"
    write_dataset(path, load_sample())
    expected = path.read_bytes()
    at_the_same_time(lambda _: write_dataset(path, load_sample()))
    assert path.read_bytes() == expected
    assert list(tmp_path.iterdir()) == [path]

    def write(writer: int) -> None:
        for number in range(10):
            name = f"trees-{writer}-{number}.txt"
            write_folder(folder, {name: b"1", "card": name.encode()}, names_all="card", owned=("trees-*.txt",))

    at_the_same_time(write)
    assert {one.name for one in folder.iterdir()} == {"card", (folder / "card").read_text()}
    with pytest.raises(DataError):
        write_folder(path, {"card": b""}, names_all="card", owned=())


KILLED = """
import os, signal, sys
from pathlib import Path
from doors import whole_file
with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def make_old(path: Path) -> None:
    days_ago = time.time() - 2 * 86_400
    os.utime(path, (days_ago, days_ago))


def test_what_a_killed_process_left_goes_with_the_next_writing_of_that_name_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    others = {".a.json.part", ".a.json.abcdefg.part", ".a.json.ABCDEFGH.part", ".b.json.abcdefgh.part", "a.json.part"}
    for name in others:
        (tmp_path / name).write_bytes(b"mine")
        make_old(tmp_path / name)
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    left = {one.name for one in tmp_path.iterdir()} - others
    assert len(left) == 2  # which may be another process's, as long as they are new
    for name in left:
        make_old(tmp_path / name)
    with whole_file(path) as living:
        living.write(b"one")
        write_whole(path, b"two")
        assert len(list(tmp_path.glob(".a.json.????????.part"))) == 2  # of the living one, and one of another pattern
        assert path.read_bytes() == b"two"
    assert path.read_bytes() == b"one"
    assert {one.name for one in tmp_path.iterdir()} == others | {"a.json"}


def test_a_run_that_starts_over_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_journal(path, b"{") as journal:
        journal.append(b"{}")
    path.with_name(".run.jsonl.abcdefgh.part").write_bytes(b"")
    make_old(path.with_name(".run.jsonl.abcdefgh.part"))
    with open_journal(path, b"{", truncate=True) as journal:
        journal.append(b"{}")
        journal.append(b"{}")
    assert [one.name for one in tmp_path.iterdir()] == ["run.jsonl"]
    assert path.read_bytes() == b"{}\n{}\n"


PACKAGE = Path(evidencebench.__file__).parent


def writes_by_itself(call: ast.Call) -> bool:
    """Say whether a call writes a whole file or gives one its name without `storage.whole_file`."""
    if isinstance(call.func, ast.Name):
        name, mode = call.func.id, call.args[1:2]
    elif isinstance(call.func, ast.Attribute):
        name, mode = call.func.attr, call.args[:1]
    else:
        return False
    modes = mode + [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    return (
        name in {"write_text", "write_bytes", "rename", "renames", "hardlink_to", "NamedTemporaryFile", "mkstemp"}
        or (name == "replace" and len(call.args) == 1 and not call.keywords)  # of text it has two arguments
        or (ast.unparse(call.func) in {"os.replace", "os.link", "shutil.move"})
        or (
            name == "open"
            and any(isinstance(one, ast.Constant) and one.value in {"w", "wb", "x", "xb"} for one in modes)
        )
    )


def test_one_module_alone_writes_whole_files() -> None:
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).as_posix() != "files/atomic.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and writes_by_itself(node)
    }
    assert not found, f"written without storage.whole_file: {sorted(found)}"


def test_text_bytes_and_parts_are_written_alike(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents: list[str | bytes | Iterator[bytes]] = ["tée", "tée".encode(), iter(["té".encode(), b"e"])]
    for content in contents:
        write_whole(path, content)
        assert path.read_text(encoding="utf-8") == "tée"


def test_a_folder_gets_its_name_when_all_in_it_is_on_the_disk(synced: set[int], tmp_path: Path) -> None:
    part = tmp_path / "part"
    (part / "inner").mkdir(parents=True)
    (part / "inner" / "file").write_bytes(b"tea")
    put_in_place(part, tmp_path / "model")
    whole = tmp_path / "model"
    assert {path.stat().st_ino for path in (tmp_path, whole, whole / "inner", whole / "inner" / "file")} <= synced
