"""Damage to what is kept is an error in words, or is made again: never another answer under the same header."""

import hashlib
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from doors import (
    CARD,
    FEATURES,
    CacheError,
    EncodedText,
    Finder,
    FinderCard,
    FinderMember,
    FinderModel,
    Forest,
    LocalModel,
    ModelError,
    OnnxEncoder,
    ReplyCache,
    Tree,
    VectorBatch,
    VectorCache,
    embed,
    require_model,
    write_finder,
)
from evidencebench import RankingTask, make_system
from kit.command_line import SAMPLE
from kit.examples import IS_THOROUGH
from kit.replies import numbered, reply_to

TEXTS = [EncodedText(f"text {number}") for number in range(20)]
QUERY = SAMPLE[0].query
TASK = RankingTask(budget=3)


class Hashes:
    """An encoder whose vectors depend on the text alone."""

    identity = "hashes"

    def batches(self, texts: Sequence[EncodedText]) -> Iterator[VectorBatch]:
        vectors = np.array([[len(text.text), sum(text.text.encode()), 1] for text in texts], np.float32)
        yield VectorBatch(positions=range(len(texts)), vectors=vectors, is_truncated=[False] * len(texts))


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]


def each_flipped(path: Path, n: int) -> Iterator[None]:
    """Flip a byte of a database, anywhere or where something is written, and undo that before the next."""
    content, generator = path.read_bytes(), random.Random(0)
    written = [place for place, byte in enumerate(content) if byte]
    for place in [*generator.sample(range(len(content)), n), *generator.sample(written, n)]:
        for name in ("-wal", "-shm"):
            path.with_name(path.name + name).unlink(missing_ok=True)
        path.write_bytes(flipped(content, place))
        yield


def test_no_flipped_byte_of_the_vectors_changes_one(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, Hashes.identity)
    intact = embed(Hashes(), cache, TEXTS)
    cache.close()
    for _ in each_flipped(cache.path, 60):
        again = VectorCache(tmp_path, Hashes.identity)
        with suppress(CacheError):
            found = embed(Hashes(), again, TEXTS)
            assert (found.vectors.tolist(), found.n_truncated) == (intact.vectors.tolist(), 0)
        again.close()


def test_no_flipped_byte_of_the_replies_changes_one(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    for number in range(12):
        cache.put(numbered(number), reply_to(number), 0.5)
    cache.close()
    for _ in each_flipped(cache.path, 40):
        again = ReplyCache(tmp_path)
        for number in range(12):
            with suppress(CacheError):
                assert again.find(numbered(number).key) in {None, (reply_to(number), 0.5)}
        again.close()


def test_a_converted_model_with_a_flipped_byte_is_converted_again(embedding_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    of = LocalModel(model=str(embedding_model))

    def vectors() -> list[object]:
        encoder = OnnxEncoder(of, folder=tmp_path)  # as in a process that has loaded nothing yet
        return [batch.vectors.tolist() for batch in encoder.batches(TEXTS)]

    expected = vectors()
    (path,) = (tmp_path / "onnx").glob("*.onnx")
    content = path.read_bytes()
    tensors = content.find(b"weight") + 1000
    damages = flipped(content, tensors), content[: len(content) // 2], b""
    for damaged in damages if IS_THOROUGH else damages[:1]:
        path.write_bytes(damaged)
        assert vectors() == expected
        (path,) = (tmp_path / "onnx").iterdir()
        assert path.stem.endswith(f"-{hashlib.sha256(path.read_bytes()).hexdigest()}")
    made = path.stat().st_mtime_ns
    assert vectors() == expected
    assert path.stat().st_mtime_ns == made


# Models that change between the header and the answers.


def tiny_finder(folder: Path, weight: float) -> Path:
    forest = Forest([Tree(leaf=(1.0,))], n_features=1)
    sha256 = hashlib.sha256(forest.text().encode()).hexdigest()
    member = FinderMember(goal="study", scope="all", file="trees-1.txt", sha256=sha256, weights=(weight,))
    card = FinderCard(features=(FEATURES[0].name,), strengths={"study": 0.0}, members=(member,))
    write_finder(FinderModel(card, {"trees-1.txt": forest}), folder)
    return folder


def test_a_finder_that_is_trained_anew_while_it_answers_says_so(tmp_path: Path) -> None:
    system = Finder(model=tiny_finder(tmp_path, 1.0))
    before = system.rank(QUERY, TASK)
    tiny_finder(tmp_path, -1.0)
    for ask in (lambda: system.rank(QUERY, TASK), system.traits.versions):
        with pytest.raises(ModelError, match=r"model has changed.*start again"):
            ask()
    assert Finder(model=tmp_path).rank(QUERY, TASK) != before


@pytest.mark.parametrize("spec", ["dense:model={}", "dense:model={},backend=onnx"])
def test_an_embedding_model_that_changes_after_the_header_says_so(
    spec: str, embedding_model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(embedding_model, folder)
    system = make_system(spec.format(folder))
    system.versions()
    (folder / "extra.txt").write_text("another file")
    with pytest.raises(ModelError, match="changed"):
        system.rank(QUERY, TASK)


def test_a_cross_encoder_that_changes_after_the_header_says_so_and_is_not_taken_from_before(
    cross_encoder: Path, tmp_path: Path
) -> None:
    from kit.cross_encoders import make_cross_encoder  # noqa: PLC0415 - torch, which few tests need

    folder = tmp_path / "model"
    shutil.copytree(cross_encoder, folder)
    spec = f"rerank:system=lead,model={folder}"
    system, short = make_system(spec), replace(QUERY, sentences=QUERY.sentences[:6], kinds=QUERY.kinds[:6])
    versions, before = system.versions(), system.rank(short, TASK)
    shutil.rmtree(folder)
    make_cross_encoder(folder, seed=7)
    with pytest.raises(ModelError, match="changed"):
        system.rank(short, TASK)
    again = make_system(spec)
    assert again.versions() != versions
    assert again.rank(short, TASK) != before


# Absurd sizes.


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"hidden_size": 1000000000000}', "hidden_size: .*100,000,000, got 1,000,000,000,000.*fetch"),
        ('{"num_hidden_layers": 1000000}', "num_hidden_layers"),
        ('{"n_head": 1000000}', "n_head"),
    ],
)
def test_an_embedding_model_of_absurd_sizes_is_refused_before_it_is_loaded(
    line: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(line)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(ModelError, match=words):
        require_model("dense", str(tmp_path), None)


def test_a_card_larger_than_any_is_refused(tmp_path: Path) -> None:
    tiny_finder(tmp_path, 1.0)
    with (tmp_path / CARD).open("ab") as file:
        file.truncate(65 << 20)
    with pytest.raises(ModelError, match=r"card\.json: .*67,108,864"):
        Finder(model=tmp_path)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "flipped": lambda content: flipped(content, len(content) // 2),
    "cut": lambda content: content[: len(content) // 2],
    "emptied": lambda _: b"",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_to_a_trained_model_is_refused_or_seen_in_the_header(
    damage: str, finder_model: Path, tmp_path: Path
) -> None:
    expected = Finder(model=finder_model).traits.versions()[f"model {finder_model}"]
    for number, name in enumerate(sorted(path.name for path in finder_model.iterdir())):
        folder = tmp_path / str(number)  # a folder that was loaded before is not read again
        shutil.copytree(finder_model, folder)
        (folder / name).write_bytes(DAMAGE[damage]((folder / name).read_bytes()))
        try:
            found = Finder(model=folder).traits.versions()[f"model {folder}"]
        except ModelError:
            continue
        assert name == CARD
        assert found != expected
