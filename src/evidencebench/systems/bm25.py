"""BM25 over the sentences of one paper."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from evidencebench.errors import SystemSpecError
from evidencebench.query import Kind, Query
from evidencebench.system import Ranking, RankingTask, rank_by_score
from evidencebench.systems.words import tokens, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BM25:
    """Okapi BM25 as Lucene computes it, with each paper as its own collection.

    The sentences of the paper are the documents. A term's rarity (IDF) is counted over them; no other paper is needed.

    Attributes
    ----------
    k1
        Saturation, at least 0: with a low value, repeating a term adds little. 0: only whether it occurs counts.
    b
        How much the score of a long sentence is reduced, in 0..1.
    stopwords
        Whether words such as "the" and "of" are left out.

    References
    ----------
    .. [1] Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
    .. [2] Kamphuis et al., "Which BM25 Do You Mean? A Large-Scale Reproducibility Study of Scoring Variants", ECIR
       2020: the variant "Lucene (accurate)".
    """

    k1: float = 0.9
    b: float = 0.4
    stopwords: bool = True

    def __post_init__(self) -> None:
        if not (self.k1 >= 0 and math.isfinite(self.k1)):
            raise SystemSpecError(f"bm25: k1: expected a finite number of at least 0, got {self.k1}")
        if not 0 <= self.b <= 1:
            raise SystemSpecError(f"bm25: b: expected a number in 0..1, got {self.b}")

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return all sentences by their BM25 score for the hypothesis."""
        return rank_by_score(self.scores(query))

    def scores(self, query: Query) -> list[float]:
        """Return one score a sentence, in paper order.

        The score is the sum, over the hypothesis's terms t, of idf(t) * f / (f + k1 * (1 - b + b * length / mean)).
        Here f counts t in the sentence, and lengths are in terms. With N sentences, n(t) of which hold t,
        idf(t) = ln(1 + (N - n(t) + 0.5) / (n(t) + 0.5)).
        """
        paper, n = words_of(query.sentences), len(query.sentences)
        numbers, sentences = paper.kept(stopwords=self.stopwords)
        terms = Counter(tokens(query.hypothesis, stopwords=self.stopwords))
        is_asked = paper.where(terms)[numbers]
        counts: dict[int, Counter[str]] = {}
        for sentence, number in zip(sentences[is_asked].tolist(), numbers[is_asked].tolist(), strict=True):
            counts.setdefault(sentence, Counter())[paper.words[number]] += 1
        n_holding = Counter(term for count in counts.values() for term in count)
        lengths = np.bincount(sentences, minlength=n).tolist()
        mean_length = len(sentences) / max(1, n) or 1.0
        weights = {
            term: n_asked * math.log(1 + (n - n_holding[term] + 0.5) / (n_holding[term] + 0.5))
            for term, n_asked in terms.items()
        }
        scores = [0.0] * n
        for sentence, count in counts.items():
            damping = self.k1 * (1 - self.b + self.b * lengths[sentence] / mean_length)
            scores[sentence] = sum(weights[term] * n_found / (n_found + damping) for term, n_found in count.items())
        return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class BM25AbstractFirst(BM25):
    """BM25 within the abstract, then BM25 within the rest."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        by_score = rank_by_score(self.scores(query)).sentences
        return Ranking(sentences=tuple(sorted(by_score, key=lambda index: query.kinds[index] is not Kind.ABSTRACT)))
