"""The similarity of each pair of a paper's sentences, some rows at a time, since all may not fit into memory."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencebench.systems.retrievers.scores import Floats
from evidencebench.systems.retrievers.sentence_words import words_of

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
        self.n = len(sentences)
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
        """Return the cosines of all sentences with the sentence of this index, shape (n,)."""
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
        """Return the rows of sentences ``start`` up to ``stop``, shape (stop - start, n)."""
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


class VectorSimilarity:
    """The cosine of each pair of n vectors, of any length; the cosine with a vector of zeros is 0."""

    def __init__(self, vectors: ArrayLike) -> None:
        wide = np.asarray(vectors, dtype=np.float64)
        norms = np.linalg.norm(wide, axis=1, keepdims=True)
        self._unit: Floats = np.divide(wide, norms, out=np.zeros_like(wide), where=norms > 0)

    def row(self, index: int) -> Floats:
        """Return the cosines of all vectors with the vector of this index, shape (n,)."""
        cosines: Floats = self._unit @ self._unit[index]
        return cosines
