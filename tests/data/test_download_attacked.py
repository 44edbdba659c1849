"""A download whose checksum nobody knows is of one version, whole and fetched by one, and no server can hold it up."""

import dataclasses
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evidencebench.data.catalog import CATALOG, Fetched
from evidencebench.data.download import fetch
from evidencebench.data.part_file import locked_part_file
from evidencebench.errors import DownloadError
from evidencebench.web.paced_http import PacedReader
from hostile_server import (
    Behaviour,
    Exchange,
    HostileServer,
    announce,
    answer,
    changed_to,
    cut_after,
    hang_after,
    hostile_server,
    ignore_if_range,
    serve,
)

BODY = json.dumps({"one": "tea " * 250}).encode()
AS_LONG = BODY.upper()
LONGER = json.dumps({"one": "tea " * 300}).encode()
ENTRY = dataclasses.replace(CATALOG["dev"], file_name="file.json", n_instances=1, size_bytes=None, sha256=None)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def get(server: HostileServer, folder: Path, **options: Any) -> Fetched:
    usual: dict[str, Any] = {"url": server.address(), "timeout_seconds": 10.0, "sleep": lambda _seconds: None}
    return fetch(ENTRY, folder, **(usual | options))


def refusal(folder: Path, *script: Behaviour, body: bytes = BODY, **options: Any) -> str:
    with hostile_server(body, *script) as server, pytest.raises(DownloadError) as caught:
        get(server, folder, **options)
    assert not (folder / "file.json").exists()
    return str(caught.value)


# One version.


@pytest.mark.parametrize(
    ("new", "etag"),
    [(LONGER, '"one"'), (BODY[:600] + b'"}', '"one"'), (AS_LONG, None), (AS_LONG, 'W/"one"'), (LONGER, None)],
)
def test_a_part_of_another_version_is_not_put_behind_the_first(tmp_path: Path, new: bytes, etag: str | None) -> None:
    """The server ignores If-Range, and keeps its ETag though the length is another, or says no ETag at all."""
    with hostile_server(BODY, cut_after(400), changed_to(new, etag, ignore_if_range), serve) as server:
        get(server, tmp_path)
    assert (tmp_path / "file.json").read_bytes() == new
    assert [asked.range for asked in server.log] == [None, "bytes=400-", None]


def test_a_416_that_does_not_say_of_which_version_it_is_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file.json.part").write_bytes(AS_LONG)
    with hostile_server(BODY, answer(416, Content_Range=f"bytes */{len(BODY)}"), serve, etag=None) as server:
        origin = {"address": server.address(), "etag": '"one"', "last_modified": None}
        (tmp_path / "file.json.part.json").write_text(json.dumps(origin))
        get(server, tmp_path)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert len(server.log) == 2


def test_a_part_as_long_as_was_announced_is_not_asked_for_again(tmp_path: Path) -> None:
    (tmp_path / "file.json.part").write_bytes(BODY)
    with hostile_server(AS_LONG) as server:
        origin = {"address": server.address(), "etag": '"one"', "last_modified": None, "total": len(BODY)}
        (tmp_path / "file.json.part.json").write_text(json.dumps(origin))
        get(server, tmp_path)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert server.log == []


# The right file.


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"one": {}, "two": {}}', "expected 1 instance, got 2; the part file is deleted"),
        (b'{"one": 1, "one": 2}', "expected 1 instance, got 'one' more than once"),
        (b"{}", "holds no instance.*; expected 1 instance"),
        (b'["one"]', "expected a JSON object .*; expected 1 instance"),
        (b'{"one": "cut', "not valid JSON.*; expected 1 instance"),
    ],
)
def test_a_file_of_another_number_of_instances_is_not_installed(tmp_path: Path, body: bytes, words: str) -> None:
    with hostile_server(body) as server, pytest.raises(DownloadError, match=words):
        get(server, tmp_path)
    assert list(tmp_path.iterdir()) == []
    copy = tmp_path / "copy"
    copy.write_bytes(body)
    with pytest.raises(DownloadError, match=words.replace("the part file is deleted", "give the right file")):
        fetch(ENTRY, tmp_path, source_file=copy)
    copy.rename(tmp_path / "file.json")
    with pytest.raises(DownloadError, match=words.replace("the part file is deleted", "replace it by force")):
        fetch(ENTRY, tmp_path, url="http://127.0.0.1:1/never-asked")


# One at a time.


def test_two_that_fetch_at_once_do_not_write_one_file(tmp_path: Path) -> None:
    with hostile_server(BODY, serve) as server:
        with locked_part_file(tmp_path / "file.json.part"):
            words = r"file\.json\.part\.lock: expected to fetch the file alone, got another process that does; wait"
            with pytest.raises(DownloadError, match=words):
                get(server, tmp_path)
        assert server.log == []
        assert get(server, tmp_path).path.read_bytes() == BODY
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


def test_of_many_that_fetch_at_once_each_has_the_file_or_is_told_why_not(tmp_path: Path) -> None:
    def one(server: HostileServer) -> str | None:
        try:
            get(server, tmp_path)
        except DownloadError as error:
            return str(error)
        return None

    with hostile_server(BODY) as server, ThreadPoolExecutor(8) as pool:
        told = list(pool.map(one, [server] * 24))
    assert None in told
    assert all(words is None or "another process that does; wait for it" in words for words in told)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


def test_a_lock_that_a_killed_process_left_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "file.json.part.lock").touch()
    with hostile_server(BODY) as server:
        get(server, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


@pytest.mark.parametrize("name", ["file.json", "file.json.part", "file.json.part.json", "file.json.part.lock"])
def test_a_pipe_in_a_files_place_is_neither_waited_for_nor_replaced_unasked(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with hostile_server(BODY) as server:
        if name == "file.json":
            with pytest.raises(DownloadError, match="is a pipe; expected a regular file"):
                get(server, tmp_path)
            with pytest.raises(DownloadError, match="expected a regular file to replace, got a pipe or a device"):
                get(server, tmp_path, force=True)
            assert (tmp_path / name).is_fifo()
        else:  # files of our own
            assert get(server, tmp_path).path.read_bytes() == BODY


# Servers that drip, and never end.


def dripping(data: bytes) -> Behaviour:
    """Send bytes one by one until nobody listens."""

    def behave(exchange: Exchange) -> None:
        for number in range(len(data)):
            exchange.handler.wfile.write(data[number : number + 1])
            exchange.handler.wfile.flush()
            if exchange.server.closing.wait(0.01):
                return

    return behave


def after_the_head(behaviour: Behaviour) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        exchange.file_head()
        behaviour(exchange)

    return behave


def endless(data: bytes) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        while not exchange.server.closing.is_set():
            exchange.handler.wfile.write(data)

    return behave


@pytest.mark.parametrize(
    "behaviour", [dripping(b"HTTP/1.1 200 OK\r\nA: " + b"b" * 5000), after_the_head(dripping(BODY))]
)
def test_an_answer_that_drips_is_left(tmp_path: Path, behaviour: Behaviour) -> None:
    message = refusal(tmp_path, behaviour, timeout_seconds=0.2, attempts=2)
    assert "in 2 attempts, the last of which failed: fewer than 1,000 bytes a second came for 0.2" in message


def test_answers_before_the_answer_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencebench.web.paced_http.MOST_HEAD_BYTES", 50_000)
    message = refusal(tmp_path, endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 100))
    assert "expected an answer, got more than 50,000 bytes of headers; give another address" in message


def endless_chunks(exchange: Exchange) -> None:
    exchange.handler.protocol_version = "HTTP/1.1"
    exchange.head(200, {"Transfer-Encoding": "chunked", "Connection": "close"})
    endless(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")(exchange)


def test_a_body_without_end_is_left_where_no_such_file_can_end(tmp_path: Path) -> None:
    assert "expected at most 262,144 bytes, got more" in refusal(tmp_path, endless_chunks)
    assert list(tmp_path.iterdir()) == []
    assert "expected at most 262,144 bytes, got a file of 1,000,000,000,000" in refusal(tmp_path, announce(10**12))


def test_a_server_may_take_its_time_before_it_begins_and_not_afterwards(tmp_path: Path) -> None:
    (tmp_path / "answer").write_bytes(b"x" * 30)
    times = iter([0.0, 29.0, 29.5, 29.5, 59.0])
    with io.FileIO(tmp_path / "answer") as raw:
        paced = PacedReader(raw, 30.0, lambda: next(times))
        assert paced.readinto(bytearray(10)) == 10
        assert paced.readinto(bytearray(10)) == 10
        with pytest.raises(TimeoutError, match="fewer than 1,000 bytes a second came for 30 s"):
            paced.readinto(bytearray(10))


def test_what_came_before_it_hung_is_kept_and_gone_on_with(tmp_path: Path) -> None:
    refusal(tmp_path, hang_after(400), timeout_seconds=0.2, attempts=1)
    assert (tmp_path / "file.json.part").read_bytes() == BODY[:400]
    assert json.loads((tmp_path / "file.json.part.json").read_text())["total"] == len(BODY)
