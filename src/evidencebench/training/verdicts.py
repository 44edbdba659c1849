"""Train the verdict whether a paper answers, on its own questions and on those of the most similar other paper."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evidencebench.query import Query
from evidencebench.systems.finder import Asks
from evidencebench.systems.relevance import root
from evidencebench.systems.verdict import LEAST_SHARE, SIGNS, VerdictWeights
from evidencebench.systems.words import Floats, tokens

_PENALTY, _N_STEPS = 3.0, 25


class _Aims(NamedTuple):
    none: float  # "none" is told to so many questions of others, unless more of a paper's own would be lost
    lost: float  # so many of a paper's own
    wrong: float  # of those told "found", so many may be of others, where both are asked as often


_AIMS: Mapping[Asks, _Aims] = {"effects": _Aims(0.85, 0.04, 0.02), "questions": _Aims(0.85, 0.06, 0.07)}
_MOST_PAPERS = 300


class Foreign(NamedTuple):
    """What a verdict is trained with beside papers' own questions."""

    others: Mapping[str, Query]  # paper id -> the most similar other paper of its fold
    common: Mapping[str, float]  # root -> the share of papers that have it, if that is over `LEAST_SHARE`


NO_FOREIGN = Foreign(others={}, common={})


def foreign_papers(folds: Iterable[Iterable[Query]]) -> Foreign:
    """Return what a verdict is trained with: of the first 300 papers of each fold; shares, of the first 300 of all."""
    others: dict[str, Query] = {}
    all_roots: list[Counter[str]] = []
    for fold in folds:
        of_paper: dict[str, Query] = {}
        for query in fold:
            if len(of_paper) < _MOST_PAPERS:
                of_paper.setdefault(query.paper_id, query)
        papers = list(of_paper.values())
        counts = [
            Counter(root(word) for sentence in paper.sentences for word in tokens(sentence, stopwords=False))
            for paper in papers
        ]
        all_roots += counts
        if len(papers) > 1:
            others.update((paper.paper_id, papers[at]) for paper, at in zip(papers, _most_similar(counts), strict=True))
    n_holding = Counter(word for count in all_roots[:_MOST_PAPERS] for word in count)
    n_papers = min(_MOST_PAPERS, len(all_roots))
    shares = {word: round(n / n_papers, 3) for word, n in sorted(n_holding.items())}
    return Foreign(others=others, common={word: share for word, share in shares.items() if share > LEAST_SHARE})


def _most_similar(counts: Sequence[Counter[str]]) -> list[int]:
    """Return, for each paper, the place of the other one with the highest TF-IDF cosine."""
    column_of = {word: column for column, word in enumerate(dict.fromkeys(word for count in counts for word in count))}
    vectors = np.zeros((len(counts), len(column_of)), np.float32)
    for row, count in enumerate(counts):
        vectors[row, [column_of[word] for word in count]] = 1 + np.log(list(count.values()))
    vectors *= np.log(len(counts) / (vectors > 0).sum(axis=0))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest: list[int] = cosines.argmax(axis=1).tolist()
    return nearest


def fit_verdict(own: Floats, other: Floats, common: Mapping[str, float], asks: Asks = "effects") -> VerdictWeights:
    """Return the verdict that tells apart the signs of papers that answer from those of papers that do not, in rows."""
    table, answers = np.concatenate([own, other]), np.repeat([1.0, 0.0], [len(own), len(other)])
    center, scale = table.mean(axis=0), np.maximum(table.std(axis=0), 1e-6)
    standard = np.column_stack([(table - center) / scale, np.ones(len(table))])
    penalty = np.append(np.full(len(center), _PENALTY), 1e-6)
    weights = np.zeros(len(penalty))
    for _ in range(_N_STEPS):  # Newton's
        chances = 1 / (1 + np.exp(-standard @ weights))
        slope = standard.T @ (chances - answers) + penalty * weights
        bend = (standard * (chances * (1 - chances))[:, None]).T @ standard + np.diag(penalty)
        weights -= np.linalg.solve(bend, slope)
    aims = _AIMS[asks]
    raw = weights[:-1] / scale
    start = float(weights[-1] - raw @ center)
    told_own, told_other = (np.sort(1 / (1 + np.exp(-(start + rows @ raw)))) for rows in (own, other))
    # How many of both are told "found" from each own chance on.
    n_own, n_other = np.arange(len(own), 0, -1), len(other) - np.searchsorted(told_other, told_own)
    is_sure = n_other / len(other) <= aims.wrong * (n_own / len(own) + n_other / len(other))
    none_below = min(told_own[math.floor(aims.lost * len(own))], told_other[math.floor(aims.none * len(other))])
    found_from = told_own[is_sure.argmax()] if is_sure.any() else 1.0
    return VerdictWeights(
        signs=SIGNS,
        weights=tuple(raw.tolist()),
        start=start,
        none_below=float(none_below),
        found_from=float(max(none_below, found_from)),
        common=dict(common),
    )
