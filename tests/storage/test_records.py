"""A journal is never without its lock, begins anew where it holds nothing, and is written nowhere else."""

import errno
import os
import random
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evidencebench.errors import RunError
from evidencebench.storage.records import open_journal

HEADER = b'{"journal":1}'
BEGINS = b'{"journal":'


def begun(path: Path, *lines: bytes) -> Path:
    with open_journal(path, BEGINS) as journal:
        journal.begin(HEADER)
        for line in lines:
            journal.append(line)
    return path


def test_writers_that_start_over_at_once_never_have_the_file_together(tmp_path: Path) -> None:
    path = begun(tmp_path / "journal")
    wrong: list[str] = []

    def start_over(name: int) -> None:
        for turn in range(200):
            try:
                with open_journal(path, BEGINS, truncate=True) as journal:
                    journal.begin(HEADER)
                    mine = b'{"by":%d,"turn":%d}' % (name, turn)
                    journal.append(mine)
                    if not journal.lies_at(path) or path.read_bytes() != HEADER + b"\n" + mine + b"\n":
                        wrong.append(f"{name} lost the file in turn {turn}")
            except RunError as error:
                if "another process" not in str(error):
                    wrong.append(str(error))

    threads = [threading.Thread(target=start_over, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [one.name for one in tmp_path.iterdir()] == ["journal"]


def test_a_header_alone_is_begun_anew_and_lines_are_not(tmp_path: Path) -> None:
    path, other = begun(tmp_path / "journal"), b'{"journal":1,"limit":2}'
    with open_journal(path, BEGINS) as journal:
        journal.begin(other)
        journal.append(b"{}")
        journal.begin(HEADER)
    assert path.read_bytes() == other + b"\n{}\n"


@pytest.mark.parametrize(("number", "raised"), [(errno.EBADF, KeyboardInterrupt), (errno.ENOSPC, RunError)])
def test_an_interrupt_that_cuts_a_clean_up_short_stays_an_interrupt(
    number: int, raised: type[BaseException], tmp_path: Path
) -> None:
    def work() -> None:
        with open_journal(tmp_path / "j.jsonl", b'{"j":') as journal:
            journal.begin(b'{"j":1}')
            try:
                raise KeyboardInterrupt
            finally:
                raise OSError(number, os.strerror(number))

    with pytest.raises(raised):
        work()
    with open_journal(tmp_path / "j.jsonl", b'{"j":') as journal:
        journal.append(b"{}")


def test_who_reads_a_journal_keeps_it_where_it_starts_over(tmp_path: Path) -> None:
    path = begun(tmp_path / "journal", b'{"a":1}')
    path.chmod(0o640)
    with path.open("rb") as reader, open_journal(path, BEGINS, truncate=True) as journal:
        assert journal.is_empty
        assert reader.read() == HEADER + b'\n{"a":1}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_one_and_what_it_points_to_starts_over(tmp_path: Path) -> None:
    path, link = begun(tmp_path / "journal", b"{}"), tmp_path / "link"
    link.symlink_to(path)
    with open_journal(link, BEGINS, truncate=True) as journal:
        journal.begin(HEADER)
    assert (link.is_symlink(), path.read_bytes()) == (True, HEADER + b"\n")


@pytest.mark.parametrize("options", [{}, {"truncate": True}])
def test_what_is_no_regular_file_is_refused_and_stays(options: dict[str, bool], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    message = f"{pipe}: expected a regular file, to go on in later, got a pipe"
    with pytest.raises(RunError, match=message), open_journal(pipe, BEGINS, **options):
        pass
    assert pipe.is_fifo()


OVER_AND_OVER = """
import sys
from pathlib import Path
from evidencebench.storage.records import open_journal

while True:
    with open_journal(Path(sys.argv[1]), b'{"journal":', truncate=True) as journal:
        journal.begin(b'{"journal":1}')
        for number in range(20):
            journal.append(b'{"number":%d}' % number)
"""


@pytest.mark.slow
def test_a_writer_that_is_killed_while_it_starts_over_leaves_a_journal(tmp_path: Path) -> None:
    path, moments = begun(tmp_path / "journal", b'{"number":0}'), random.Random(0)
    whole = [HEADER, *(b'{"number":%d}' % number for number in range(20))]
    for _ in range(4):
        before = path.stat().st_ino
        process = subprocess.Popen([sys.executable, "-c", OVER_AND_OVER, str(path)])
        while path.stat().st_ino == before:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.02))
        process.kill()
        process.wait()
        with open_journal(path, BEGINS):
            pass
        lines = path.read_bytes().splitlines()
        assert lines == whole[: len(lines)]
