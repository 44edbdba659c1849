"""Orders without repetition: the similarity of sentences, and the system that discounts by it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evidencebench.errors import SystemSpecError
from evidencebench.query import Query
from evidencebench.system import NamedSystem, Ranking, RankingTask
from evidencebench.systems.fusion import scores_of, unit_scores
from evidencebench.systems.words import Floats, words_of

Rows = Callable[[int], Floats]
"""Sentence index -> the similarities of all n sentences to that sentence, shape (n,)."""

MOST_CHOSEN = 2_000
"""The most sentences that are chosen one by one, which takes time for all n sentences each. Papers have hundreds."""

# The similarities of so many sentences are made ready together, 2 MB of them: row by row takes longer.
_MOST_TOGETHER = 512

# Decimals of a similarity: rounding removes differences between machines, which would decide ties.
_DECIMALS = 9


def discounted_order(scores: Floats, rows: Rows, *, strength: float) -> tuple[int, ...]:
    """Return all sentences, chosen one by one; a score falls the more similar its sentence is to those chosen before.

    Chosen next is the sentence with the highest ``score * product of (1 - strength * similarity)``, the product taken
    over the sentences chosen before. No score is below 0. Equal values are ordered by score, then by place in the
    paper. Behind the first `MOST_CHOSEN`, the others follow by the value that they have then.
    """
    by_score = np.argsort(-scores, kind="stable")
    alike = _rows_by_place(rows, by_score)
    worth = scores[by_score]
    is_open = np.ones(len(worth), dtype=bool)
    order = []
    for _ in range(min(len(worth), MOST_CHOSEN)):
        chosen = int(worth.argmax())
        order.append(chosen)
        is_open[chosen] = False
        worth[chosen] = -1.0  # below every product
        np.multiply(worth, 1.0 - strength * alike(chosen), out=worth, where=is_open)
    others = np.argsort(-worth, kind="stable")[: len(worth) - len(order)]
    return tuple(by_score[[*order, *others]].tolist()) if len(worth) else ()


def _rows_by_place(rows: Rows, by_score: NDArray[np.intp]) -> Rows:
    """Return a function: place in the order -> the similarities to its sentence, in that order, clipped and rounded."""

    def ready(similarities: Floats) -> Floats:
        return similarities[..., by_score].clip(0.0, 1.0).round(_DECIMALS)

    if 0 < len(by_score) <= _MOST_TOGETHER:
        together: Rows = ready(np.stack([rows(index) for index in by_score.tolist()])).__getitem__
        return together
    return lambda place: ready(rows(int(by_score[place])))


MOST_PAIRS = 2_000_000
"""The most pairs in memory at a time: 16 MB of 64-bit numbers."""

# Blocks of 2 MB stay in the processor's cache: larger ones take twice the time.
_PAIRS_OF_BLOCK = 250_000

# A word in a larger share of the sentences is a column of a dense matrix; any other word is in a sparse one.
_COMMON = 0.25


class WordSimilarity:
    """The cosine of each pair of sentences, by the weights of the system ``tfidf``; 0 with the sentence itself.

    A paper of at most ``most_pairs`` pairs is computed once; of a longer one, at most so many are in memory at a time.
    """

    def __init__(self, sentences: Sequence[str], *, most_pairs: int = MOST_PAIRS) -> None:
        self.n: int = len(sentences)
        self._most_pairs = most_pairs
        weighted = words_of(tuple(sentences)).weighted
        # A word of a single sentence adds to no cosine's numerator; it only makes that sentence's vector longer.
        is_shared = weighted.n_holding > 1
        is_common = is_shared & (weighted.n_holding > _COMMON * self.n)
        is_rare = is_shared & ~is_common
        holders, numbers, _ = weighted.terms
        weights = weighted.weights / weighted.norms[holders]
        common, rare = is_common[numbers], is_rare[numbers]
        self._common = np.zeros((self.n, int(is_common.sum())))
        self._common[holders[common], (np.cumsum(is_common) - 1)[numbers[common]]] = weights[common]
        holders, terms, weights = holders[rare], (np.cumsum(is_rare) - 1)[numbers[rare]], weights[rare]
        # The same entries twice: by sentence, and by term.
        self._of_row = _Entries(holders, terms, weights, self.n)
        self._of_term = _Entries(terms, holders, weights, int(is_rare.sum()))

    def row(self, index: int) -> Floats:
        cosines: Floats = self._whole[index] if self._is_small else self.rows(index, index + 1)[0]
        return cosines

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield all rows in blocks: the slice of row numbers, and an array of shape (rows, n)."""
        if self._is_small:
            yield slice(0, self.n), self._whole
            return
        size = max(1, min(self._most_pairs, _PAIRS_OF_BLOCK) // self.n)
        for start in range(0, self.n, size):
            stop = min(start + size, self.n)
            yield slice(start, stop), self.rows(start, stop)

    def rows(self, start: int, stop: int) -> Floats:
        terms, weights, n_terms = self._of_row.of(np.arange(start, stop))
        holders, their_weights, n_holders = self._of_term.of(terms)
        rows = np.repeat(np.repeat(np.arange(stop - start) * self.n, n_terms), n_holders)
        products = np.repeat(weights, n_holders) * their_weights
        sums = np.bincount(rows + holders, products, minlength=(stop - start) * self.n)
        # bincount of nothing gives integers
        cosines = sums.astype(np.float64, copy=False).reshape(stop - start, self.n)
        if self._common.shape[1]:
            cosines += self._common[start:stop] @ self._common.T
        cosines[np.arange(stop - start), np.arange(start, stop)] = 0.0
        return cosines

    @property
    def _is_small(self) -> bool:
        return self.n * self.n <= self._most_pairs

    @cached_property
    def _whole(self) -> Floats:
        return self.rows(0, self.n)


class _Entries:
    """A sparse matrix: each entry has a key (its row), another index (its column) and a weight."""

    def __init__(self, keys: NDArray[np.intp], others: NDArray[np.intp], weights: Floats, n_keys: int) -> None:
        order = np.argsort(keys, kind="stable")
        self._others, self._weights = others[order], weights[order]
        self._lengths = np.bincount(keys, minlength=n_keys)
        self._starts = np.cumsum(self._lengths) - self._lengths

    def of(self, keys: NDArray[np.intp]) -> tuple[NDArray[np.intp], Floats, NDArray[np.intp]]:
        """Return the other indices and the weights of all entries of these keys, and the number of entries a key."""
        starts, lengths = self._starts[keys], self._lengths[keys]
        ends = np.cumsum(lengths)
        entries = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
        return self._others[entries], self._weights[entries], lengths


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverse:
    """Another system's answer, with sentences that are similar to earlier ones moved back.

    The system's scores are scaled to 0..1 within the paper; if it does not score every sentence, the negative places
    are its scores. Then the sentences are chosen one by one, see `discounted_order`. Similarity is the cosine of the
    sentences' words, weighted by TF-IDF within the paper.
    """

    system: NamedSystem
    # A score is multiplied by 1 - strength * similarity for each sentence chosen before; 0: the system's own order.
    strength: float = 0.2

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise SystemSpecError(f"diverse: strength: expected a number in 0..1, got {self.strength}")

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        answer = self.system.rank(query, task)
        scores = unit_scores(scores_of(answer, len(query.sentences)))
        order = discounted_order(scores, WordSimilarity(query.sentences).row, strength=self.strength)
        return Ranking(sentences=order, notes=answer.notes)
