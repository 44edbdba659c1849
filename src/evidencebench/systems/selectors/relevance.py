"""How much each sentence, and what stands around it, speaks of each part of the hypothesis."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evidencebench.query import Kind, Query
from evidencebench.systems.selectors.hypothesis_parts import abbreviations, parts_of, root, roots_of, topic_roots

Floats = NDArray[np.float64]

Part = Literal["intervention", "comparator", "outcome", "whole"]
"""A part of the hypothesis, or the whole of it."""

PARTS: tuple[Part, ...] = get_args(Part)

# The words of a topic: the most telling ones of those sentences that speak most of the hypothesis.
_TOPIC_SENTENCES, _TOPIC_WORDS = 40, 100


def windowed(values: Floats, reach: int) -> Floats:
    """Return, for each value, the mean of it and the ``reach`` values on either side, fewer at the ends."""
    n = len(values)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    index = np.arange(n)
    low, high = np.maximum(0, index - reach), np.minimum(n, index + reach + 1)
    means: Floats = (sums[high] - sums[low]) / (high - low)
    return means


class PaperWords:
    """The roots of a paper's words, sentence by sentence, and what its abbreviations stand for."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self.roots = roots_of(sentences)
        self.counts = [Counter(words) for words in self.roots]
        self.full_names = {
            root(short): tuple(dict.fromkeys(map(root, words))) for short, words in abbreviations(sentences).items()
        }


class Relevance:
    """Columns of one number a sentence; each is computed when it is first read."""

    def __init__(self, query: Query, words: PaperWords) -> None:
        self.query = query
        self.n = len(query.sentences)
        self.words = words.roots
        self._of_paper = words
        parts = parts_of(query.hypothesis)
        texts: dict[Part, str] = {
            "intervention": parts.intervention,
            "comparator": parts.comparator,
            "outcome": parts.outcome,
            "whole": query.hypothesis,
        }
        self.wanted: dict[Part, tuple[str, ...]] = {part: topic_roots(text) for part, text in texts.items()}

    @cached_property
    def counts(self) -> list[Counter[str]]:
        """The counts of the roots; where an abbreviation or its full name stands, the hypothesis's words for it too."""
        asked = set(self.wanted["whole"])
        names = self._of_paper.full_names.items()
        helpful = [(short, full) for short, full in names if short in asked or asked.intersection(full)]
        if not helpful:
            return self._of_paper.counts
        counts = []
        for count in self._of_paper.counts:
            more: Counter[str] = Counter()
            for short, full in helpful:
                if short in count:
                    more.update(word for word in full if word in asked and word not in count)
                elif short in asked and all(word in count for word in full):
                    more[short] += 1
            counts.append(count + more if more else count)
        return counts

    @cached_property
    def idf(self) -> dict[str, float]:
        """How rare each root is among the paper's sentences."""
        n_holding = Counter(word for count in self.counts for word in count)
        return {word: math.log(1 + (self.n - n + 0.5) / (n + 0.5)) for word, n in n_holding.items()}

    @cached_property
    def held(self) -> dict[Part, Floats]:
        """Part -> the share of its words that each sentence holds, each weighed by its rarity."""
        unseen = math.log(1 + (self.n + 0.5) / 0.5)  # the rarity of a word that the paper lacks
        shares = {}
        for part, words in self.wanted.items():
            weights = {word: self.idf.get(word, unseen) for word in words}
            total = sum(weights.values()) or 1.0
            shares[part] = np.array([sum(weights[w] for w in words if w in count) / total for count in self.counts])
        return shares

    @cached_property
    def rarest(self) -> dict[Part, Floats]:
        """Part -> 1 where the sentence holds the part's rarest word of those that the paper has."""
        flags = {}
        for part, words in self.wanted.items():
            rarest = max((word for word in words if word in self.idf), key=self.idf.__getitem__, default=None)
            flags[part] = np.array([float(rarest in count) if rarest else 0.0 for count in self.counts])
        return flags

    @cached_property
    def phrase(self) -> dict[Part, Floats]:
        """Part -> the share of its neighbouring words that stand side by side in the sentence."""
        shares = {}
        for part, words in self.wanted.items():
            pairs = set(pairwise(words))
            if not pairs:
                shares[part] = self.held[part]
                continue
            shares[part] = np.array([len(pairs.intersection(pairwise(held))) / len(pairs) for held in self.words])
        return shares

    @cached_property
    def focus(self) -> dict[Part, Floats]:
        """Part -> the share of the sentence's own words, weighed by rarity, that are the part's."""
        totals = np.maximum([sum(self.idf[w] for w in count) for count in self.counts], 1e-9)
        return {
            part: np.array([sum(self.idf[w] for w in words if w in count) for count in self.counts]) / totals
            for part, words in self.wanted.items()
        }

    @cached_property
    def bm25(self) -> dict[Part, Floats]:
        """Part -> BM25 on roots."""
        lengths = np.array([len(words) for words in self.words], dtype=float)
        damping = 0.9 * (0.6 + 0.4 * lengths / max(1e-9, lengths.mean() if self.n else 1.0))
        scores_of = {}
        for part, words in self.wanted.items():
            scores = np.zeros(self.n)
            for word in words:
                if word in self.idf:
                    n = np.array([count.get(word, 0) for count in self.counts], dtype=float)
                    scores += self.idf[word] * n / (n + damping)
            scores_of[part] = scores
        return scores_of

    @cached_property
    def heading(self) -> NDArray[np.intp]:
        """The index of the last heading before each sentence, -1 without."""
        index = np.where([kind is Kind.HEADING for kind in self.query.kinds], np.arange(self.n), -1)
        return np.maximum.accumulate(index)

    def under_heading(self, values: Floats) -> Floats:
        """Return the value of the heading above each sentence; 0 without."""
        of_heading: Floats = np.where(self.heading >= 0, values[self.heading], 0.0)
        return of_heading

    @cached_property
    def topic(self) -> Floats:
        """Cosine with the words that stand where the hypothesis's words stand (a relevance model).

        Each root is weighed by the relevance of the sentences that hold it. It tells the hypothesis's paper from
        another one in the same pool.
        """
        relevance = self.bm25["whole"]
        near = windowed(relevance, 2)
        top = np.argsort(-(relevance + near), kind="stable")[:_TOPIC_SENTENCES]
        weights: Counter[str] = Counter()
        for index in top.tolist():
            count = self.counts[index]
            for word, n in count.items():
                weights[word] += (relevance[index] + near[index]) * n / max(1, len(self.words[index]))
        terms = {word: weight * self.idf[word] for word, weight in weights.items()}
        terms = dict(sorted(terms.items(), key=lambda item: (-item[1], item[0]))[:_TOPIC_WORDS])
        cosines = np.zeros(self.n)
        for index, count in enumerate(self.counts):
            dot = sum(terms[w] * (1 + math.log(n)) * self.idf[w] for w, n in count.items() if w in terms)
            norm = math.sqrt(sum(((1 + math.log(n)) * self.idf[w]) ** 2 for w, n in count.items()))
            cosines[index] = dot / norm if norm else 0.0
        shares: Floats = cosines / max(1e-9, cosines.max(initial=0.0))
        return shares
