"""The cache of embeddings: what it keeps through kill -9, with several processes, and what it refuses."""

import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from doors import (
    CacheError,
    EncodedText,
    ModelError,
    VectorBatch,
    VectorCache,
    embed,
)
from kit.command_line import Command, until

TESTS = Path(__file__).parents[1]


class Slow:
    """An encoder in batches of four, that says what it was asked and can be wrong."""

    def __init__(
        self, identity: str = "slow", *, seconds: float = 0.0, dimension: int = 3, bad: float | None = None
    ) -> None:
        self.identity = identity
        self.asked: list[EncodedText] = []
        self._seconds, self._dimension, self._bad = (
            seconds,
            dimension,
            bad,
        )  # seconds: of each batch but the first three

    def batches(self, texts: Sequence[EncodedText]) -> Iterator[VectorBatch]:
        for start in range(0, len(texts), 4):
            of_batch = texts[start : start + 4]
            time.sleep(self._seconds if start >= 12 else 0)
            self.asked += of_batch
            vectors = np.stack([vector_of(text, self._dimension) for text in of_batch])
            if self._bad is not None and start:
                vectors[-1, 0] = self._bad
            positions = range(start, start + len(of_batch))
            yield VectorBatch(
                positions=positions, vectors=vectors, is_truncated=[len(text.text) > 3 for text in of_batch]
            )


def vector_of(text: EncodedText, dimension: int = 3) -> NDArray[np.float32]:
    seed = zlib.crc32(repr(text).encode())
    return np.random.default_rng(seed).normal(size=dimension).astype(np.float32)


def numbered(n: int) -> list[EncodedText]:
    return [EncodedText(f"t{number}") for number in range(n)]


encoded_texts = st.builds(EncodedText, st.text(max_size=5), st.text(max_size=2), st.none() | st.text(max_size=2))


@given(asked=st.lists(st.lists(encoded_texts, max_size=12), max_size=4))
def test_with_a_store_every_text_is_encoded_once_and_the_vectors_are_those_without(
    asked: list[list[EncodedText]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    encoder = Slow()
    cache = VectorCache(tmp_path_factory.mktemp("cache"), encoder.identity)
    for texts in asked:
        found, plain = embed(encoder, cache, texts), embed(Slow(), None, texts)
        assert np.array_equal(found.vectors, plain.vectors) or not texts
        assert found.n_truncated == plain.n_truncated == sum(len(text.text) > 3 for text in texts)
    cache.close()
    assert len(encoder.asked) == len(set(encoder.asked)) == len({text for texts in asked for text in texts})


def test_encoders_do_not_see_each_others_vectors(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(tmp_path))
    embed(Slow("one"), VectorCache(tmp_path, "one"), numbered(5))
    other = Slow("other", dimension=7)
    embed(other, VectorCache(tmp_path, "other"), numbered(5))
    assert len(other.asked) == 5
    found = command("cache list --json").json["embeddings"]["encoders"]
    assert [(one["identity"], one["dimension"]) for one in found] == [("one", 3), ("other", 7)]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_batch_with_a_number_that_is_not_finite_is_not_kept(tmp_path: Path, bad: float) -> None:
    cache = VectorCache(tmp_path, "slow")
    with pytest.raises(ModelError, match=r"slow: .*finite"):
        embed(Slow(bad=bad), cache, numbered(12))
    assert set(cache.get(numbered(12))) == set(numbered(4))


def test_a_model_that_changed_its_dimension_under_its_name_is_refused(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "slow")
    embed(Slow(), cache, numbered(4))
    with pytest.raises(ModelError, match="got 7"):
        embed(Slow(dimension=7), cache, numbered(5))
    with pytest.raises(CacheError):
        cache.put(numbered(1), np.ones((1, 7), np.float32), [False])
    assert len(cache.get(numbered(5))) == 4


_ENCODE = """
import sys
from pathlib import Path
from models.test_vector_cache import Slow, numbered
from doors import embed
from doors import VectorCache
encoder = Slow(seconds=float(sys.argv[2]))
texts = numbered(int(sys.argv[3]))
embed(encoder, VectorCache(Path(sys.argv[1]), "slow"), texts if len(sys.argv) < 5 else texts[::-1])
print(len(encoder.asked))
"""


def encoding(folder: Path, seconds: float, n_texts: int, *order: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", _ENCODE, str(folder), str(seconds), str(n_texts), *order]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def test_kill_9_while_encoding_loses_at_most_one_batch(tmp_path: Path) -> None:
    with encoding(tmp_path, 60, 400) as process:
        cache = VectorCache(tmp_path, "slow")
        until(lambda: (tmp_path / "embeddings.sqlite").exists() and len(cache.get(numbered(400))) >= 12, process)
        n_before = len(cache.get(numbered(400)))
        process.send_signal(signal.SIGKILL)
    kept = cache.get(numbered(400))
    assert n_before <= len(kept) < 400
    assert set(kept) == set(numbered(len(kept)))
    assert len(kept) % 4 == 0
    assert all(np.array_equal(found.vector, vector_of(text)) for text, found in kept.items())
    with encoding(tmp_path, 0, 400) as again:
        assert again.communicate()[0] == f"{400 - len(kept)}\n"


def test_two_processes_fill_one_store(tmp_path: Path) -> None:
    with encoding(tmp_path, 0.001, 400) as one, encoding(tmp_path, 0.001, 400, "backwards") as other:
        assert (one.wait(), other.wait()) == (0, 0)
    found = VectorCache(tmp_path, "slow").get(numbered(400))
    assert len(found) == 400
    assert all(np.array_equal(stored.vector, vector_of(text)) for text, stored in found.items())


def test_a_folder_that_cannot_be_made_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CacheError, match=r"file/cache/embeddings\.sqlite"):
        VectorCache(tmp_path / "file" / "cache", "slow").get(numbered(1))


@pytest.mark.parametrize(
    "damage",
    [
        "vector = x'00'",
        "vector = zeroblob(length(vector))",
        "vector = substr(vector, 1, length(vector) - 8)",  # as an earlier version kept them, unchecked
        "vector = (SELECT vector FROM embedding AS other WHERE other.text > embedding.text ORDER BY text LIMIT 1)",
        "is_truncated = 1 - is_truncated",
        "text = zeroblob(32)",
        "encoder = 2",
    ],
)
def test_a_damaged_vector_is_computed_again_and_then_kept(damage: str, tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "slow")
    intact = embed(Slow(), cache, numbered(4))
    cache.close()
    with sqlite3.connect(cache.path) as connection:
        first = "SELECT min(text) FROM embedding"
        connection.execute(f"UPDATE embedding SET {damage} WHERE text = ({first})")  # noqa: S608 - ours
    connection.close()
    assert len(cache.get(numbered(4))) == 3
    again = embed(Slow(), cache, numbered(4))
    assert again.vectors.tolist() == intact.vectors.tolist()
    assert again.n_truncated == intact.n_truncated
    assert len(cache.get(numbered(4))) == 4
