"""Records survive a kill at any byte; a damaged, foreign or other file is refused in words, and stays as it is."""

import errno
import os
import random
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest

from doors import PeopleError, RecordFormat, RunError, RunFormatError, RunMismatchError, open_journal
from kit.command_line import until

HEADER = b'{"journal":1}'
BEGINS = b'{"journal":'


class Cupboard(msgspec.Struct, frozen=True):
    cupboard: int = 1
    owner: str = "Ada"


class Tea(msgspec.Struct, frozen=True):
    id: str
    grams: int = 0


def weighed(tea: Tea, _: memoryview) -> None:
    if tea.grams < 0:
        raise PeopleError(f"{tea.id} weighs too little")


TEAS = RecordFormat(
    header=Cupboard,
    record=Tea,
    begins=b'{"cupboard":',
    what="a cupboard",
    a_record="a tea",
    made_by="evidencebench teas",
    version_field="cupboard",
    check=weighed,
)
WHOLE_TEAS = replace(TEAS, grows=False)
MADE = [Tea(id=f"tea_{number}", grams=number) for number in range(9)]


def keep_teas(path: Path, *teas: Tea, header: Cupboard = Cupboard(), overwrite: bool = False) -> list[Tea]:  # noqa: B008
    """Append the teas that a file lacks; return those that it held before."""
    with TEAS.append(path, header, overwrite=overwrite) as journal:
        before = [line.record for line in TEAS.scan(path)[1]]
        for tea in teas:
            if tea not in before:
                journal.append(msgspec.json.encode(tea))
    return before


def test_cut_at_any_byte_a_file_is_read_and_gone_on_with_to_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "teas.jsonl"
    WHOLE_TEAS.write(path, Cupboard(), MADE)
    whole = path.read_bytes()
    assert WHOLE_TEAS.read(path).records == tuple(MADE)
    for n_bytes in range(len(whole)):
        path.write_bytes(whole[:n_bytes])
        n_whole = max(0, (whole[:n_bytes] + b"\n").count(b"}\n") - 1)
        if n_whole:
            assert [line.record for line in TEAS.scan(path)[1]] == MADE[:n_whole]
        assert keep_teas(path, *MADE) == MADE[:n_whole]
        assert path.read_bytes() == whole


def test_a_record_is_where_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "teas.jsonl"
    keep_teas(path, *MADE)
    content = path.read_bytes()
    for line in TEAS.scan(path)[1]:
        assert content[line.start :].startswith(bytes(line.content) + b"\n")
        assert content.splitlines()[line.number - 1] == line.content


def test_a_file_that_was_made_otherwise_is_told_and_kept_and_a_header_alone_is_replaced(tmp_path: Path) -> None:
    path, bo = tmp_path / "teas.jsonl", Cupboard(owner="Bo")
    keep_teas(path)
    keep_teas(path, MADE[0], header=bo)
    before = path.read_bytes()
    with pytest.raises(RunMismatchError, match=r"teas\.jsonl: .*owner was 'Bo', now 'Ada'.*start over"):
        keep_teas(path, MADE[1])
    assert path.read_bytes() == before
    assert keep_teas(path, MADE[1], overwrite=True) == []
    assert TEAS.scan(path)[0] == Cupboard()


DAMAGED = {
    b"": "line 1: .*cupboard.*'evidencebench teas'.*nothing",
    b"[]\n": "line 1: .*cupboard.*object",
    b'{"cupboard":2}\n': "version 2.*reads 1.*'pip install",
    b'{"cupboard":1}\n\n{"id":3}\n{"id":"a"}\n': "line 3: .*tea.*str",
    b'{"cupboard":1}\n{"id":"a","grams":-1}\n': "line 2: a weighs too little",
}
DAMAGED_WHOLE = {
    b'{"cupboard":1}\n': "tea .*none",
    b'{"cupboard":1}\n{"id":"a"}\n{"id":"b"': "line 3: .*truncated",
    b'{"cupboard":1}\n{"id":"a"}\n{"id":"a"}\n': "line 3: 'a' .*once",
}


@pytest.mark.parametrize("content", [*DAMAGED, *DAMAGED_WHOLE])
def test_a_damaged_file_is_told_by_its_line_and_stays(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "teas.jsonl"
    path.write_bytes(content)
    words = {**DAMAGED, **DAMAGED_WHOLE}[content]
    with pytest.raises(RunFormatError, match=words):
        WHOLE_TEAS.read(path)
    if content in DAMAGED:
        with pytest.raises(RunFormatError, match=words):
            list(TEAS.scan(path)[1])
    if content.startswith(TEAS.begins) and content in DAMAGED and content.count(b"\n") > 1:
        with pytest.raises(RunFormatError, match=words):
            keep_teas(path)
        assert path.read_bytes() == content


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


OVER_AND_OVER = """
import sys
from pathlib import Path
from doors import open_journal

while True:
    with open_journal(Path(sys.argv[1]), b'{"journal":', truncate=True) as journal:
        journal.begin(b'{"journal":1}')
        for number in range(20):
            journal.append(b'{"number":%d}' % number)
"""


def is_another(path: Path, before: os.stat_result) -> bool:
    return path.stat().st_ino != before.st_ino


@pytest.mark.slow
def test_a_writer_that_is_killed_while_it_starts_over_leaves_a_journal(tmp_path: Path) -> None:
    path, moments = begun(tmp_path / "journal", b'{"number":0}'), random.Random(0)
    whole = [HEADER, *(b'{"number":%d}' % number for number in range(20))]
    for _ in range(4):
        before = path.stat()
        process = subprocess.Popen([sys.executable, "-c", OVER_AND_OVER, str(path)])
        until(partial(is_another, path, before))
        time.sleep(moments.uniform(0, 0.02))
        process.kill()
        process.wait()
        with open_journal(path, BEGINS):
            pass
        lines = path.read_bytes().splitlines()
        assert lines == whole[: len(lines)]
