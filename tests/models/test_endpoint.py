"""Embeddings from a server, which is run on loopback and breaks the rules in every way on demand."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doors import (
    DenseApi,
    EncodedText,
    Endpoint,
    EndpointEncoder,
    EndpointError,
    ModelError,
    SystemSpecError,
    VectorBatch,
    VectorCache,
    embed,
)
from evidencebench import RankingTask, load_sample, make_system
from kit.embedding_server import embeddings, put, vector_of
from kit.hostile_server import (
    Behaviour,
    HostileServer,
    answer,
    hang,
    hostile_server,
    reset_at_once,
)
from kit.llm_servers import drip
from kit.patience import MOST_SECONDS

pytest.importorskip("aiohttp", reason="needs the extra 'llm'")

QUERY = load_sample()[0].query
TEXTS = [EncodedText(text) for text in ("tea", "coffee", "water", "milk", "juice")]
KEY = "sk-very-secret-0123456789"


@contextmanager
def served(*script: Behaviour, **limits: Any) -> Iterator[tuple[HostileServer, EndpointEncoder, list[float]]]:
    """Give the server, an encoder that asks it, and the waits that the encoder made instead of sleeping."""
    waits: list[float] = []
    with hostile_server(b"", *script) as server:
        of = Endpoint(base_url=server.address("v1"), model="m", **{"timeout_seconds": float(MOST_SECONDS)} | limits)
        yield server, EndpointEncoder(of, sleep=waits.append, jitter=lambda: 0.5), waits


def vectors(batches: Iterator[VectorBatch]) -> np.ndarray[Any, Any]:
    return np.concatenate([batch.vectors for batch in batches])


def test_vectors_come_in_the_order_of_the_texts_whatever_the_order_of_the_reply() -> None:
    with served(embeddings(lambda found: found["data"].reverse())) as (server, encoder, _):
        found = vectors(encoder.batches(TEXTS))
    assert found.tolist() == [vector_of(text.text) for text in TEXTS]
    assert found.dtype == np.float32
    assert [asked.path for asked in server.log] == ["/v1/embeddings"]


def test_vectors_are_read_from_base64_too_and_what_is_damaged_beside_them_or_in_a_text_loses_none() -> None:
    def packed(found: dict[str, Any]) -> None:
        for one in found["data"]:
            one["embedding"] = base64.b64encode(np.array(one["embedding"], "<f4").tobytes()).decode()

    texts, said = [*TEXTS, EncodedText("a\ud800b")], [*(text.text for text in TEXTS), "a�b"]
    with served(embeddings(packed), embeddings(put([float("nan"), "\ud800"], "usage"))) as (server, encoder, _):
        for _ in range(2):
            assert vectors(encoder.batches(texts)).tolist() == list(map(vector_of, said))
    assert [json.loads(asked.body)["input"] for asked in server.log] == [said] * 2


@pytest.mark.parametrize(
    ("limits", "sizes"), [({"batch_texts": 2}, [2, 2, 1]), ({"batch_characters": 8}, [1, 1, 1, 1, 1])]
)
def test_requests_hold_no_more_texts_and_characters_than_allowed(limits: dict[str, int], sizes: list[int]) -> None:
    with served(embeddings(), **limits) as (server, encoder, _):
        found = list(encoder.batches(TEXTS))
    assert [len(json.loads(asked.body)["input"]) for asked in server.log] == sizes
    assert [position for batch in found for position in batch.positions] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("status", [408, 429, 503])
def test_passing_failures_are_asked_again_after_growing_waits(status: int) -> None:
    with served(answer(status), answer(status), answer(status), embeddings()) as (server, encoder, waits):
        assert len(vectors(encoder.batches(TEXTS))) == 5
    assert len(server.log) == 4
    assert waits == [0.5, 1.0, 2.0]


def test_retry_after_is_kept_to_within_a_minute() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    asked = ["7", "86400", "soon", "-3", soon]
    with served(*(answer(429, Retry_After=value) for value in asked), embeddings(), max_attempts=6) as (
        _,
        encoder,
        waits,
    ):
        vectors(encoder.batches(TEXTS))
    assert waits[:4] == [7 * 1.125, 60 * 1.125, 2.0, 4.0]
    assert 20 < waits[4] <= 30 * 1.125


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (embeddings(lambda found: found["data"].pop()), r"5 vectors.*0\.\.4, got 4"),
        (embeddings(put(7, "data", 0, "index")), r"0\.\.4"),
        (embeddings(put([1.0], "data", 0, "embedding")), r"one length.*\[1, 4\]"),
        (embeddings(put([1e300] * 4, "data", 2, "embedding")), "finite"),
        (embeddings(put([0.0] * 4, "data", 2, "embedding")), "zeros"),
        (embeddings(put(base64.b64encode(b"\xff\xff\xff\x7f" * 4).decode(), "data", 2, "embedding")), "finite"),
        (embeddings(put([float("nan")] * 4, "data", 2, "embedding")), "2 attempts.*JSON"),
        (embeddings(put("!", "data", 2, "embedding")), "JSON"),
        (answer(200, b"<html>busy</html>"), "JSON"),
        (answer(200, b"[" * 100_000), "JSON"),
        *((answer(status, b"no such model"), f"status {status}: no such") for status in (400, 401)),
        (answer(429), "m': .*2 attempts.*try again"),
        *((behaviour, "2 attempts") for behaviour in (answer(500), reset_at_once)),
        *((behaviour, r"2 attempts.*0\.3 s") for behaviour in (hang, drip)),
    ],
)
def test_a_reply_that_is_wrong_is_an_error_and_nothing_of_it_is_kept(
    behaviour: Behaviour, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)  # which a server on loopback does not need
    seconds = 0.3 if behaviour in (hang, drip) else MOST_SECONDS
    with served(behaviour, max_attempts=2, timeout_seconds=seconds) as (server, encoder, waits):
        cache = VectorCache(tmp_path, encoder.identity)
        with pytest.raises(EndpointError, match=message):
            embed(encoder, cache, TEXTS)
        assert cache.get(TEXTS) == {}
    assert len(server.log) == 1 + len(waits) == (2 if "2 attempts" in message or "JSON" in message else 1)
    assert "Authorization" not in server.log[0].headers


def test_a_vector_of_another_length_than_before_is_an_error(tmp_path: Path) -> None:
    with served(embeddings(), embeddings(dimension=5), batch_texts=3) as (_, encoder, _):
        cache = VectorCache(tmp_path, encoder.identity)
        with pytest.raises(EndpointError, match="4 numbers, got 5"):
            embed(encoder, cache, TEXTS)
        assert set(cache.get(TEXTS)) == set(TEXTS[:3])
    with served(embeddings(dimension=5)) as (_, another, _):
        with pytest.raises(ModelError, match="got 5"):
            embed(another, cache, TEXTS)
        assert set(cache.get(TEXTS)) == set(TEXTS[:3])


def test_the_key_is_sent_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    wrong = answer(401, f"wrong key {KEY}".encode())
    with served(embeddings(), wrong, key_env="MY_KEY") as (server, encoder, _):
        cache = VectorCache(tmp_path, encoder.identity)
        embed(encoder, cache, TEXTS[:2])
        with pytest.raises(EndpointError, match=r"wrong key \*\*\*") as caught:
            embed(encoder, cache, TEXTS)
        system = make_system(f"dense_api:model=m,base_url=[{server.address('v1')}],key_env=MY_KEY")
    assert [asked.headers["Authorization"] for asked in server.log] == [f"Bearer {KEY}"] * 2
    cache.close()
    shown = f"{caught.value!r}{caught.value.__cause__!r}{system}{system.options}{system.versions()}{encoder.identity}"
    assert KEY not in shown
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": ""}, "base_url: .*'base_url='"),
        ({"base_url": f"http://me:{KEY}@localhost/v1"}, "base_url: .*without user, password"),
        ({"base_url": f"http://localhost/v1?key={KEY}"}, "query"),
        ({"base_url": "https://example.org/v1", "key_env": "UNSET"}, "UNSET"),
        ({"base_url": "http://example.org/v1", "key_env": "SET"}, "expected https"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds"),
        ({"neighbours": -1}, "neighbours"),
    ],
)
def test_bad_options_are_refused_before_anything_is_sent(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNSET", raising=False)
    monkeypatch.setenv("SET", KEY)
    of_endpoint = {key: value for key, value in options.items() if key != "neighbours"}
    of_system = {key: value for key, value in options.items() if key not in of_endpoint}
    with pytest.raises(SystemSpecError, match=message) as caught:
        DenseApi(endpoint=Endpoint(model="m", **{"base_url": "http://localhost/v1"} | of_endpoint), **of_system)
    assert KEY not in str(caught.value)


def test_a_server_ranks_as_its_vectors_say_and_is_asked_each_text_once() -> None:
    with hostile_server(b"", embeddings()) as server:
        system = DenseApi(endpoint=Endpoint(model="m", base_url=server.address("v1")), query_prefix="query: ")
        found = system.rank(QUERY, RankingTask(budget=None))
        assert system.rank(QUERY, RankingTask(budget=3)) == found
    asked = [text for one in server.log for text in json.loads(one.body)["input"]]
    assert sorted(asked) == sorted({f"query: {QUERY.hypothesis}", *QUERY.sentences})
    sentences = np.array([vector_of(text) for text in QUERY.sentences])
    cosines = sentences / np.linalg.norm(sentences, axis=1)[:, None] @ vector_of(f"query: {QUERY.hypothesis}")
    assert found.sentences == tuple(np.argsort(-cosines, kind="stable"))
