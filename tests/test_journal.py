"""A journal is never without its lock, begins anew where it holds nothing, and is written nowhere else."""

import os
import stat
import threading
from pathlib import Path

import pytest

from evidencebench.errors import RunError
from evidencebench.journal import open_journal

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
