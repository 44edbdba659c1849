"""Train the verdict whether a paper answers, on its own questions and on those of the most similar other paper."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evidencebench.query import Query
from evidencebench.systems.paper_columns import Floats
from evidencebench.systems.relevance import root
from evidencebench.systems.verdict import LEAST_SHARE, SIGNS, VerdictWeights
from evidencebench.systems.words import words_of

_PENALTY, _N_STEPS = 3.0, 25
# "None" is told to so many questions of the most similar other paper, unless more of a paper's own would be lost.
# Of those told "found", so many may be another paper's, where both are asked as often.
_NONE, _LOST, _WRONG = 0.85, 0.04, 0.02
_MOST_PAPERS = 300


def _root_counts(query: Query) -> Counter[str]:
    words = words_of(query.sentences)
    counts: Counter[str] = Counter()
    for word, n in zip(words.words, np.bincount(words.numbers, minlength=len(words.words)).tolist(), strict=True):
        counts[root(word)] += n
    return counts


def _papers(queries: Iterable[Query]) -> list[Query]:
    papers: dict[str, Query] = {}
    for query in queries:
        if query.paper_id not in papers and len(papers) < _MOST_PAPERS:
            papers[query.paper_id] = query
    return list(papers.values())


def common_roots(queries: Iterable[Query]) -> dict[str, float]:
    """Return the share of papers that have a root, for those that one in twenty has; of the first 300 papers."""
    papers = _papers(queries)
    n_of = Counter(word for paper in papers for word in _root_counts(paper))
    shares = {word: n / len(papers) for word, n in n_of.items()}
    return {word: round(share, 3) for word, share in sorted(shares.items()) if share > LEAST_SHARE}


def similar_papers(queries: Iterable[Query]) -> dict[str, Query]:
    """Return paper id -> the most similar other paper, by the TF-IDF cosine of their words; of the first 300 papers."""
    papers = _papers(queries)
    if len(papers) < 2:  # noqa: PLR2004 - of a single paper there is no other
        return {}
    counts = [_root_counts(paper) for paper in papers]
    column_of = {word: column for column, word in enumerate(dict.fromkeys(word for count in counts for word in count))}
    vectors = np.zeros((len(papers), len(column_of)), np.float32)
    for row, count in enumerate(counts):
        vectors[row, [column_of[word] for word in count]] = 1 + np.log(list(count.values()))
    vectors *= np.log(len(papers) / (vectors > 0).sum(axis=0))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = cosines.argmax(axis=1).tolist()
    return {paper.paper_id: papers[other] for paper, other in zip(papers, nearest, strict=True)}


class Foreign(NamedTuple):
    """What a verdict is trained with beside papers' own questions."""

    others: Mapping[str, Query]  # paper id -> the most similar other paper of its fold
    common: Mapping[str, float]


NO_FOREIGN = Foreign(others={}, common={})


def foreign_papers(folds: Sequence[Sequence[Query]]) -> Foreign:
    others = {paper: other for fold in folds for paper, other in similar_papers(fold).items()}
    return Foreign(others=others, common=common_roots(query for fold in folds for query in fold))


def fit_verdict(own: Floats, other: Floats, common: Mapping[str, float]) -> VerdictWeights:
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
    raw = weights[:-1] / scale
    start = float(weights[-1] - raw @ center)
    told_own, told_other = (np.sort(1 / (1 + np.exp(-(start + rows @ raw)))) for rows in (own, other))
    # How many of both are told "found" from each own chance on.
    n_own, n_other = np.arange(len(own), 0, -1), len(other) - np.searchsorted(told_other, told_own)
    is_sure = n_other / len(other) <= _WRONG * (n_own / len(own) + n_other / len(other))
    none_below = min(told_own[math.floor(_LOST * len(own))], told_other[math.floor(_NONE * len(other))])
    found_from = told_own[is_sure.argmax()] if is_sure.any() else 1.0
    return VerdictWeights(
        signs=SIGNS,
        weights=tuple(raw.tolist()),
        start=start,
        none_below=float(none_below),
        found_from=float(max(none_below, found_from)),
        common=dict(common),
    )
