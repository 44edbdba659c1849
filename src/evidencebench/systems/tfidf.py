"""TF-IDF cosine similarity over the sentences of one paper, on words or on characters."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from evidencebench.errors import SystemSpecError
from evidencebench.query import Query
from evidencebench.system import Ranking, RankingTask, rank_by_score
from evidencebench.systems.words import SentenceWords, WeightedTerms, all_tokens, tokens, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TfIdf:
    """Cosine of TF-IDF vectors of words, weighted as scikit-learn's ``TfidfVectorizer`` does by default."""

    stopwords: bool = True  # whether words such as "the" and "of" are left out

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return rank_by_score(self.scores(query))

    def scores(self, query: Query) -> list[float]:
        """Return the cosine of each sentence with the hypothesis, in paper order.

        tf is the raw count and idf(t) = ln((1 + N) / (1 + n(t))) + 1, counted over the N sentences of the paper.
        """
        paper = words_of(query.sentences)
        weighted = paper.weighted if self.stopwords else WeightedTerms(paper, stopwords=False)
        return _cosines(paper, weighted, tokens(query.hypothesis, stopwords=self.stopwords))


def _cosines(paper: SentenceWords, weighted: WeightedTerms, asked: Sequence[str]) -> list[float]:
    terms = Counter(asked)
    wanted = {number: n * float(weighted.idf[number]) for term, n in terms.items() for number in paper.places([term])}
    wanted_norm = math.hypot(*wanted.values())
    is_asked = np.flatnonzero(paper.where(terms)[weighted.terms.numbers])
    dots = [0.0] * paper.n
    for sentence, number, weight in zip(
        weighted.terms.sentences[is_asked].tolist(),
        weighted.terms.numbers[is_asked].tolist(),
        weighted.weights[is_asked].tolist(),
        strict=True,
    ):
        dots[sentence] += weight * wanted[number]
    norms = weighted.norms.tolist()
    return [dot / (norm * wanted_norm) if dot else 0.0 for dot, norm in zip(dots, norms, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TfIdfChar:
    """Cosine of TF-IDF vectors of character n-grams within words, robust to inflection and misspelling."""

    shortest: int = 3  # the lengths of n-grams, in characters; a space is put before and after each word
    longest: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest:
            raise SystemSpecError(
                f"tfidf_char: expected 1 <= shortest <= longest, got shortest={self.shortest}, longest={self.longest}"
            )

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        grams_of = cache(self._grams)

        def cut(text: str) -> list[str]:
            return [gram for word in all_tokens(text) for gram in grams_of(word)]

        paper = SentenceWords(query.sentences, cut)
        return rank_by_score(_cosines(paper, WeightedTerms(paper, stopwords=False), cut(query.hypothesis)))

    def _grams(self, word: str) -> list[str]:
        padded = f" {word} "
        grams: list[str] = []
        for size in range(self.shortest, self.longest + 1):
            grams += [padded[start : start + size] for start in range(max(1, len(padded) - size + 1))]
            if size >= len(padded):
                break  # the whole word, once
        return grams
