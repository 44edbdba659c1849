"""Orders that avoid saying the same thing twice: by marginal relevance, or by discounting what was said."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencebench.retrievers.scores import Floats, checked_scores
from evidencebench.retrievers.tokens import tokens

# Decimals kept of a similarity: how a machine adds up a matrix product must not decide a tie.
_DECIMALS = 9


def discounted_order(scores: ArrayLike, similarity: ArrayLike, *, strength: float = 1.0) -> tuple[int, ...]:
    """Return all sentences in greedy order, each discounted by its likeness to those before it.

    Next comes the sentence with the highest ``score * product over those before it of (1 - strength * similarity)``.
    Equal products are ordered by score, then by place in the paper. Each sentence's product only falls, so the order
    does not depend on how many sentences will count.

    Parameters
    ----------
    scores
        One finite number of at least 0 a sentence, shape (n,); see `evidencebench.retrievers.scores.unit_scores`.
    similarity
        How alike each pair is, shape (n, n), 0..1; what lies outside is cut off. The diagonal is not read.
    strength
        How much of the likeness is taken off, in 0..1; 0: order by score.

    Raises
    ------
    ValueError
        If a score is negative or not finite, the shapes disagree, or the strength lies outside 0..1.

    Examples
    --------
    The second sentence repeats the first, so at a strength of 0.7 only 0.24 of its 0.8 is left:

    >>> alike = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> discounted_order([0.9, 0.8, 0.3], alike, strength=0.7)
    (0, 2, 1)
    >>> discounted_order([0.9, 0.8, 0.3], alike, strength=0)
    (0, 1, 2)
    """
    values = checked_scores(scores)
    if (values < 0).any():
        raise ValueError(f"expected scores of at least 0, got {values.min()}")
    _require_unit("strength", strength)
    by_score = np.argsort(-values, kind="stable")
    kept = 1.0 - strength * _similarity_of(similarity, by_score)
    left = values[by_score]
    is_open = np.ones(len(left), dtype=bool)
    order = []
    for _ in range(len(left)):
        chosen = int(left.argmax())
        order.append(int(by_score[chosen]))
        is_open[chosen] = False
        left[chosen] = -1.0  # below every product
        np.multiply(left, kept[chosen], out=left, where=is_open)
    return tuple(order)


def mmr_order(scores: ArrayLike, similarity: ArrayLike, *, relevance: float = 0.7) -> tuple[int, ...]:
    """Return all sentences by maximal marginal relevance.

    Next comes the sentence with the highest ``relevance * score - (1 - relevance) * its highest similarity to any
    before it``. Equal values are ordered by score, then by place in the paper.

    Parameters
    ----------
    scores
        One finite number a sentence, shape (n,), on the scale of the similarities; see
        `evidencebench.retrievers.scores.unit_scores`.
    similarity
        How alike each pair is, shape (n, n), 0..1; what lies outside is cut off. The diagonal is not read.
    relevance
        Weight of the score against the similarity, in 0..1; 1: order by score. The source calls it lambda.

    Raises
    ------
    ValueError
        If a score is not finite, the shapes disagree, or the relevance lies outside 0..1.

    Source
    ------
    Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing
    Summaries", SIGIR 1998.

    Examples
    --------
    >>> alike = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> mmr_order([0.9, 0.8, 0.3], alike, relevance=0.5)
    (0, 2, 1)
    >>> mmr_order([0.9, 0.8, 0.3], alike, relevance=1)
    (0, 1, 2)
    """
    values = checked_scores(scores)
    _require_unit("relevance", relevance)
    by_score = np.argsort(-values, kind="stable")
    repeated = (1.0 - relevance) * _similarity_of(similarity, by_score)
    worth = relevance * values[by_score]
    penalty = np.zeros_like(worth)
    order = []
    for _ in range(len(worth)):
        chosen = int((worth - penalty).argmax())
        order.append(int(by_score[chosen]))
        np.maximum(penalty, repeated[chosen], out=penalty)
        worth[chosen] = -np.inf
    return tuple(order)


def tfidf_similarity(sentences: Sequence[str]) -> Floats:
    """Return the cosine of each pair of sentences, their words weighted by TF-IDF within the paper.

    The weights are those of the system ``tfidf``, stop words left out. A sentence without words is like no other.

    Parameters
    ----------
    sentences
        The paper.

    Examples
    --------
    >>> tfidf_similarity(["Tea lowers pressure.", "Pressure: tea lowers it.", "Coffee does not."]).round(2).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    counts = [Counter(tokens(sentence)) for sentence in sentences]
    n_holding = Counter(term for count in counts for term in count)
    idf = {term: math.log((1 + len(counts)) / (1 + n)) + 1 for term, n in n_holding.items()}
    # A word that stands in one sentence only makes its vector longer, and likens it to none.
    column_of = {term: column for column, term in enumerate(term for term, n in n_holding.items() if n > 1)}
    rows, columns, weights = [], [], []
    for row, count in enumerate(counts):
        of_row = {term: n * idf[term] for term, n in count.items()}
        norm = math.hypot(*of_row.values())
        shared = [term for term in of_row if term in column_of]
        rows += [row] * len(shared)
        columns += [column_of[term] for term in shared]
        weights += [of_row[term] / norm for term in shared]
    vectors = np.zeros((len(counts), len(column_of)))
    vectors[rows, columns] = weights
    similarity: Floats = vectors @ vectors.T
    np.fill_diagonal(similarity, [float(bool(count)) for count in counts])
    return similarity


def cosine_similarity(vectors: ArrayLike) -> Floats:
    """Return the cosine of each pair of vectors; one of zeros only is like no other.

    Parameters
    ----------
    vectors
        Shape (n, dimensions), of any length.

    Examples
    --------
    >>> cosine_similarity([[2.0, 0.0], [3.0, 0.0], [0.0, 0.0]]).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    wide = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    unit = np.divide(wide, norms, out=np.zeros_like(wide), where=norms > 0)
    similarity: Floats = unit @ unit.T
    return similarity


def _similarity_of(similarity: ArrayLike, order: NDArray[np.intp]) -> Floats:
    """Return the similarities with rows and columns in this order, between 0 and 1 and free of rounding."""
    pairs = np.asarray(similarity, dtype=np.float64)
    if pairs.shape != (len(order), len(order)) and pairs.size + len(order) > 0:
        raise ValueError(f"similarity: expected shape {(len(order), len(order))}, got {pairs.shape}")
    if len(order) == 0:
        return np.zeros((0, 0))
    if np.isnan(pairs).any():
        raise ValueError("similarity: expected numbers, got NaN")
    return pairs[np.ix_(order, order)].clip(0.0, 1.0).round(_DECIMALS)


def _require_unit(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name}: expected a number in 0..1, got {value}")
