"""Caches that can be read and not written: nothing is paid for or computed that could not be kept."""

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from doors import (
    CacheError,
    ChatClient,
    ChatReply,
    EncodedText,
    Encoder,
    FailingCacheError,
    PendingError,
    PriceTable,
    ReplyCache,
    VectorCache,
    embed,
)
from kit.batching import requests_to, sender_of
from kit.command_line import Command
from kit.in_threads import at_once
from kit.llm_servers import DictCache, SlowSender
from kit.replies import numbered, reply_to
from kit.unwritable import no_file_longer_than, open_to_all, read_only

pytest.importorskip("aiohttp", reason="needs the extra 'llm'")  # before somebody runs who may not read it

NO_PRICES = PriceTable(as_of="2026-01-01", models={})

Ways = Callable[[Path], AbstractContextManager[None]]


def another_users_file(path: Path) -> AbstractContextManager[None]:
    path.parent.chmod(0o777)  # where the files beside it can be made
    return read_only(path)


def another_users_folder(path: Path) -> AbstractContextManager[None]:
    return read_only(path, path.parent)


def full_disk(path: Path) -> AbstractContextManager[None]:
    return no_file_longer_than(path.stat().st_size + 100_000)


WAYS = pytest.mark.parametrize("way", [another_users_file, another_users_folder, full_disk])


def filled(folder: Path) -> ReplyCache:
    cache = ReplyCache(folder)
    cache.put(numbered(0), reply_to(0), None)
    cache.close()
    return cache


def ask(cache: ReplyCache | DictCache, sender: SlowSender, *numbers: int) -> list[object]:
    """Ask as a run that starts now does."""
    client = ChatClient(sender=sender, cache=cache, prices=NO_PRICES)

    try:
        return at_once(client.ask, map(numbered, numbers))
    finally:
        client.close()


@WAYS
def test_nothing_is_asked_where_its_reply_could_not_be_kept(way: Ways) -> None:
    with open_to_all() as folder:
        cache, sender = filled(folder), SlowSender()
        with way(cache.path):
            found = ask(cache, sender, 1, 2)
            cache.close()
    assert [type(one) for one in found] == [FailingCacheError] * 2
    assert all(part in str(found[0]) for part in ("replies.sqlite: ", "nothing more is sent", "paid for again"))
    assert sender.asked == []


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
@pytest.mark.parametrize("name", ["replies.sqlite", "replies.sqlite-wal", "replies.sqlite-shm"])
def test_nothing_is_asked_where_something_else_stands_in_the_place_of_a_file(
    tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    cache, sender = filled(tmp_path), SlowSender()
    (tmp_path / name).unlink(missing_ok=True)
    make(tmp_path / name)
    (found,) = ask(cache, sender, 1)
    assert isinstance(found, FailingCacheError)
    assert sender.asked == []


def test_what_another_user_has_kept_is_read_all_the_same() -> None:
    with open_to_all() as folder:
        cache, sender = filled(folder), SlowSender()
        with another_users_file(cache.path):
            (found,) = ask(cache, sender, 0)
            cache.close()
    assert getattr(found, "reply", found) == reply_to(0)


def test_a_store_is_written_to_once_before_many_requests_and_grows_no_further(tmp_path: Path) -> None:
    cache, sender = ReplyCache(tmp_path), SlowSender()
    ask(cache, sender, 1)
    cache.close()
    size = cache.path.stat().st_size
    for number in range(2, 8):
        ask(cache, sender, number)
    cache.close()
    assert cache.path.stat().st_size == size
    with cache.reading() as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'room'").fetchall() == []


def test_a_store_that_can_be_written_again_is_asked_for_again_by_the_same_client() -> None:
    cache, sender = DictCache(is_read_only=True), SlowSender()
    client = ChatClient(sender=sender, cache=cache, prices=NO_PRICES)
    with pytest.raises(FailingCacheError):
        client.ask(numbered(0))
    cache.is_read_only = False
    assert client.ask(numbered(0)).reply == ChatReply(text="reply to seed 0", usage=sender.usage)
    client.close()


@WAYS
def test_no_batch_is_made_that_could_not_be_written_down(way: Ways) -> None:
    with open_to_all() as folder:
        cache = filled(folder)
        with way(cache.path):
            requests = requests_to("http://127.0.0.1:9/v1", "openai/gpt-x", 400)
            found = at_once(sender_of(cache).send, requests)
            cache.close()
    assert CacheError in {type(one) for one in found} <= {CacheError, PendingError}


@WAYS
def test_what_cannot_be_removed_from_a_store_is_said(
    way: Ways, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_to_all() as folder:
        monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(folder))
        replies, vectors = filled(folder), VectorCache(folder, "x")
        vectors.put([EncodedText(f"{n}") for n in range(500)], np.ones((500, 300), np.float32), [False] * 500)
        vectors.close()
        assert command("cache list").done
        if way is full_disk:  # where removing writes too much
            with no_file_longer_than(10_000):
                assert "embeddings.sqlite" in command("cache prune --embeddings --yes").refusal
            return
        with way(replies.path):
            assert re.search(r"readonly.*free the disk", command("cache prune --replies --yes").refusal)
        with way(vectors.path):
            assert re.search(r"readonly.*or delete", command("cache prune --embeddings --yes").refusal)


class Costly:
    """An encoder that must not be asked in vain."""

    identity = "costly"

    def __init__(self) -> None:
        self.n_asked = 0

    def batches(self, texts: list[EncodedText]) -> list[object]:
        self.n_asked += len(texts)
        raise AssertionError


@WAYS
def test_nothing_is_encoded_where_its_vectors_could_not_be_kept(way: Ways) -> None:
    encoder: Encoder = Costly()  # type: ignore[assignment]
    with open_to_all() as folder:
        cache = VectorCache(folder, "costly")
        cache.put([EncodedText("known")], np.ones((1, 3), np.float32), [False])
        cache.close()
        with way(cache.path):
            known = embed(encoder, cache, [EncodedText("known")]) if way is not another_users_folder else None
            with pytest.raises(CacheError, match="set EVIDENCEBENCH_CACHE"):
                embed(encoder, cache, [EncodedText("known"), EncodedText("new")])
            cache.close()
    assert known is None or known.vectors.tolist() == [[1.0, 1.0, 1.0]]
