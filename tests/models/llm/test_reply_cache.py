"""The cache of replies: what it gives back, through kill -9 and with several processes, and what it refuses."""

import gc
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import CacheError, ChatReply, ChatRequest, Message, ReplyCache
from kit.command_line import until
from kit.examples import examples
from kit.in_threads import begun, ended
from kit.patience import MOST_SECONDS
from kit.replies import numbered, reply_to, requests_and_replies


@given(pairs=st.lists(requests_and_replies, max_size=12))
@examples(40)
def test_what_was_put_is_got_back_equal_by_this_and_by_another_reader(
    pairs: list[tuple[ChatRequest, ChatReply, float | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    cache, other = ReplyCache(folder), ReplyCache(folder)

    for pair in pairs:
        cache.put(*pair)
    for request, reply, cost_usd in {pair[0].key: pair for pair in reversed(pairs)}.values():
        assert cache.find(request.key) == other.find(request.key) == (reply, cost_usd)
    cache.close()
    other.close()


def test_the_name_of_a_keys_variable_and_the_key_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET_NAME", "sk-secret-value")
    cache = ReplyCache(tmp_path)
    request = ChatRequest(model="openai/x", messages=(Message("user", "hi"),), key_env="MY_SECRET_NAME")
    cache.put(request, reply_to(0), None)
    cache.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"MY_SECRET_NAME" not in content
    assert b"sk-secret-value" not in content


def test_all_that_waits_is_written_in_one_transaction(tmp_path: Path) -> None:
    statements: list[str] = []
    cache, everyone_waits = ReplyCache(tmp_path), threading.Event()
    cache.change(lambda connection: connection.set_trace_callback(statements.append))

    def change(connection: sqlite3.Connection) -> object:
        everyone_waits.wait()
        return connection.execute("SELECT 7").fetchone()[0]

    waiting = [begun(cache.change, change) for _ in range(300)]
    until(lambda: len(cache._waiting) == 299)  # noqa: SLF001 - all but the one that commits
    everyone_waits.set()
    assert ended(waiting) == [7] * 300
    cache.close()
    assert statements.count("COMMIT") <= 3


def test_a_change_that_fails_for_a_reason_of_its_own_fails_alone(tmp_path: Path) -> None:
    everyone_waits = threading.Event()
    cache = ReplyCache(tmp_path)

    def change(connection: sqlite3.Connection, number: int) -> object:
        everyone_waits.wait()
        statement = "no SQL" if number == 2 else "INSERT INTO wanted (key, sender) VALUES (x'00', ?)"
        return connection.execute(statement, (number,) if number != 2 else ())

    waiting = [begun(cache.change, partial(change, number=number)) for number in range(5)]
    everyone_waits.set()
    assert [type(future.exception()) for future in waiting] == [
        CacheError if number == 2 else type(None) for number in range(5)
    ]
    cache.close()
    with ReplyCache(tmp_path).reading() as connection:
        kept = connection.execute("SELECT sender FROM wanted ORDER BY sender").fetchall()
    assert [sender for (sender,) in kept] == ["0", "1", "3", "4"]


def test_closing_does_not_wait_for_ever_for_a_file_that_another_process_holds(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    filled(tmp_path)
    with sqlite3.connect(path, isolation_level=None) as holder:
        holder.execute("BEGIN IMMEDIATE")
        writer = ReplyCache(tmp_path)
        done = begun(writer.change, lambda connection: connection.execute("DELETE FROM wanted"))
        until(writer._writing.locked)  # noqa: SLF001
        with pytest.raises(CacheError, match=r"another process.*not written yet"):
            writer.close(0.05)
        holder.execute("ROLLBACK")
        done.result(timeout=MOST_SECONDS)
    holder.close()


def test_a_store_that_is_dropped_leaves_no_thread_and_no_warning(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put(numbered(0), reply_to(0), None)
    cache.find(numbered(0).key)
    del cache
    gc.collect()
    assert ReplyCache(tmp_path).find(numbered(0).key) == (reply_to(0), None)


def test_a_reader_is_not_held_up_by_a_writer_in_the_middle_of_a_transaction(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put(numbered(0), reply_to(0), None)
    with sqlite3.connect(cache.path, isolation_level=None) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("DELETE FROM reply")
        assert cache.find(numbered(0).key) == (reply_to(0), None)
        writer.execute("ROLLBACK")
    writer.close()


_WRITE = """
import sys
from pathlib import Path
from doors import ReplyCache
from kit.in_threads import at_once
from kit.replies import numbered, reply_to
cache, start, stop = ReplyCache(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
def put(n):
    cache.put(numbered(n), reply_to(n), n / 8)
    sys.stdout.write(f"{n}\\n")
    sys.stdout.flush()
def put_all():
    step = 1 if start < stop else -1
    for first in range(start, stop, 20 * step):
        ended = at_once(put, range(first, first + 20 * step, step))
        assert ended == [None] * 20, ended
put_all()
"""


def writing(folder: Path, start: int, stop: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", _WRITE, str(folder), str(start), str(stop)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("seed", range(3))
def test_kill_9_loses_nothing_whose_put_had_returned(tmp_path: Path, seed: int) -> None:
    n_before = random.Random(seed).randrange(1, 400)
    with writing(tmp_path, 0, 100_000) as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(n_before)]
        process.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
    cache = ReplyCache(tmp_path)
    assert len(acknowledged) >= n_before
    assert all(cache.find(numbered(n).key) == (reply_to(n), n / 8) for n in acknowledged)
    with cache.reading() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    cache.put(numbered(-1), reply_to(0), None)


def test_two_processes_fill_one_store_from_both_ends(tmp_path: Path) -> None:
    with writing(tmp_path, 0, 200) as one, writing(tmp_path, 199, -1) as other:
        for process in (one, other):
            assert process.communicate(timeout=MOST_SECONDS)[0].count("\n") == 200
    cache = ReplyCache(tmp_path)
    assert all(cache.find(numbered(n).key) == (reply_to(n), n / 8) for n in range(200))


def filled(folder: Path) -> ReplyCache:
    cache = ReplyCache(folder)
    for n in range(30):
        cache.put(numbered(n), reply_to(n), n / 8)
    cache.close()
    return cache


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE reply SET reply = x'00'",
        "UPDATE reply SET reply = (SELECT reply FROM reply WHERE id = 7)",
        "UPDATE reply SET cost_usd = 0",
        "UPDATE reply SET reply = substr(reply, 1, length(reply) - 1)",
        "UPDATE reply SET digest = x'00'",
    ],
)
def test_a_damaged_row_is_refused_with_what_to_do(tmp_path: Path, change: str) -> None:
    cache = filled(tmp_path)
    with sqlite3.connect(cache.path) as connection:
        connection.execute(f"{change} WHERE id = 4")
    connection.close()
    with pytest.raises(CacheError, match=r"the reply .*prune --damaged"):
        cache.find(numbered(3).key)
    assert cache.find(numbered(6).key) == (reply_to(6), 6 / 8)


@given(data=st.data())
@examples(60)
def test_a_file_with_any_bytes_overwritten_never_gives_a_wrong_reply(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cache = filled(tmp_path_factory.mktemp("cache"))
    content = bytearray(cache.path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    rubbish = data.draw(st.binary(min_size=1, max_size=200))
    content[place : place + len(rubbish)] = rubbish
    cache.path.write_bytes(content)
    for n in range(30):
        try:
            found = cache.find(numbered(n).key)
        except CacheError:
            continue
        assert found in {None, (reply_to(n), n / 8)}
    cache.close()


def _letter(path: Path) -> None:
    path.write_text("Dear Ada,", encoding="utf-8")


def _others(path: Path) -> None:
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE letters (text)")
    theirs.close()


def _later_version(path: Path) -> None:
    filled(path.parent)
    with sqlite3.connect(path) as ours:
        ours.execute("PRAGMA user_version = 99")
    ours.close()


def _deleted_but_for_its_log(path: Path) -> None:
    path.with_name("replies.sqlite-wal").write_bytes(b"pages")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_letter, r"replies.sqlite: .*damaged.*move it"),
        (_others, "something else.*move it"),
        (_later_version, "version 1 .*version 99"),
        (_deleted_but_for_its_log, "replies.sqlite-wal.*put it back"),
    ],
)
def test_a_file_that_is_something_else_is_left_alone(
    tmp_path: Path, make: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "replies.sqlite"
    make(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    cache = ReplyCache(tmp_path)
    with pytest.raises(CacheError, match=message):
        cache.find(numbered(0).key)
    with pytest.raises(CacheError):
        cache.put(numbered(0), reply_to(0), None)
    cache.close()
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_file_that_is_moved_away_gets_a_successor_and_one_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "one")
    cache.put(numbered(0), reply_to(0), None)
    assert cache.find(numbered(0).key) is not None
    other = ReplyCache(tmp_path / "other")
    other.put(numbered(1), reply_to(1), None)
    other.close()
    for path in list(cache.path.parent.iterdir()):
        path.unlink()
    other.path.rename(cache.path)
    assert cache.find(numbered(0).key) is None
    assert cache.find(numbered(1).key) == (reply_to(1), None)
    for path in list(cache.path.parent.iterdir()):
        path.unlink()
    cache.put(numbered(2), reply_to(2), None)
    assert ReplyCache(cache.path.parent).find(numbered(2).key) == (reply_to(2), None)


def test_a_folder_that_cannot_be_made_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = ReplyCache(tmp_path / "file" / "cache")
    with pytest.raises(CacheError, match=r"file/cache/replies\.sqlite.*'off'"):
        cache.put(numbered(0), reply_to(0), None)
