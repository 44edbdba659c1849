"""Train the verdict whether a paper answers, on its own questions and on those of the most similar other paper."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from evidencebench.query import Query
from evidencebench.systems.paper_columns import Floats
from evidencebench.systems.relevance import root
from evidencebench.systems.verdict import SIGNS, VerdictWeights
from evidencebench.systems.words import words_of

_PENALTY, _N_STEPS = 3.0, 25
# "None" is told to nine in ten questions of the most similar other paper, unless more of a paper's own would be lost.
# Of those told "found", so many may be another paper's, where both are asked as often.
_NONE, _LOST, _WRONG = 0.9, 0.04, 0.02
_MOST_PAPERS = 300


def similar_papers(queries: Sequence[Query]) -> dict[str, Query]:
    """Return paper id -> the most similar other paper, by the TF-IDF cosine of their words; of the first 300 papers."""
    papers = list({query.paper_id: query for query in reversed(queries)}.values())[:_MOST_PAPERS]
    if len(papers) < 2:  # noqa: PLR2004 - of a single paper there is no other
        return {}
    counts: list[Counter[str]] = []
    for paper in papers:
        words = words_of(paper.sentences)
        n_of = np.bincount(words.numbers, minlength=len(words.words)).tolist()
        of_roots: Counter[str] = Counter()
        for word, n in zip(words.words, n_of, strict=True):
            of_roots[root(word)] += n
        counts.append(of_roots)
    column_of = {word: column for column, word in enumerate(dict.fromkeys(word for count in counts for word in count))}
    vectors = np.zeros((len(papers), len(column_of)), np.float32)
    for row, count in enumerate(counts):
        columns = [column_of[word] for word in count]
        vectors[row, columns] = 1 + np.log(list(count.values()))
    vectors *= np.log(len(papers) / (vectors > 0).sum(axis=0))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = cosines.argmax(axis=1).tolist()
    return {paper.paper_id: papers[other] for paper, other in zip(papers, nearest, strict=True)}


def fit_verdict(own: Floats, other: Floats) -> VerdictWeights:
    """Return the verdict that tells apart the signs of papers that answer from those of papers that do not, in rows."""
    table, answers = np.concatenate([own, other]), np.repeat([1.0, 0.0], [len(own), len(other)])
    center, scale = table.mean(axis=0), np.maximum(table.std(axis=0), 1e-6)
    standard = np.column_stack([(table - center) / scale, np.ones(len(table))])
    penalty = np.full(standard.shape[1], _PENALTY)
    penalty[-1] = 1e-6
    weights = np.zeros(standard.shape[1])
    for _ in range(_N_STEPS):  # Newton's
        chances = 1 / (1 + np.exp(-standard @ weights))
        slope = standard.T @ (chances - answers) + penalty * weights
        bend = (standard * (chances * (1 - chances))[:, None]).T @ standard + np.diag(penalty)
        weights -= np.linalg.solve(bend, slope)
    raw = weights[:-1] / scale
    verdict = VerdictWeights(
        signs=SIGNS, weights=tuple(raw.tolist()), start=float(weights[-1] - raw @ center), none_below=0, found_from=1
    )
    told = [np.sort([verdict.chance(signs).chance for signs in rows]) for rows in (own, other)]
    none_below = min(float(told[0][math.floor(_LOST * len(own))]), float(told[1][math.floor(_NONE * len(other))]))
    # How many of both are told "found" from each own chance on.
    n_own = np.arange(len(own), 0, -1)
    n_other = len(other) - np.searchsorted(told[1], told[0])
    is_sure = n_other / len(other) <= _WRONG * (n_own / len(own) + n_other / len(other))
    found_from = float(told[0][int(is_sure.argmax())]) if is_sure.any() else 1.0
    return VerdictWeights(
        signs=verdict.signs,
        weights=verdict.weights,
        start=verdict.start,
        none_below=none_below,
        found_from=max(none_below, found_from),
    )
