"""TF-IDF cosine similarity over the sentences of one paper, on words or on characters."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evidencebench.errors import SystemSpecError
from evidencebench.query import Query
from evidencebench.system import Brief, Ranking, rank_by_score
from evidencebench.systems.retrievers.tokens import tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class TfIdf:
    """Cosine of TF-IDF vectors of words, weighted as scikit-learn's ``TfidfVectorizer`` does by default.

    Attributes
    ----------
    stopwords
        Whether words such as "the" and "of" are left out.
    """

    stopwords: bool = True

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return all sentences by cosine with the hypothesis."""
        return rank_by_score(self.scores(query))

    def scores(self, query: Query) -> list[float]:
        """Return one score a sentence, in paper order."""
        return tfidf_scores(query, lambda text: tokens(text, stopwords=self.stopwords))


@dataclass(frozen=True, slots=True, kw_only=True)
class TfIdfChar:
    """Cosine of TF-IDF vectors of character n-grams within words, which survives inflection and misspelling.

    Attributes
    ----------
    shortest, longest
        Lengths of the n-grams in characters, ``1 <= shortest <= longest``; a space is put before and after each word.
    """

    shortest: int = 3
    longest: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest:
            raise SystemSpecError(
                f"tfidf_char: expected 1 <= shortest <= longest, got shortest={self.shortest}, longest={self.longest}"
            )

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return all sentences by cosine with the hypothesis."""
        return rank_by_score(tfidf_scores(query, self._n_grams))

    def _n_grams(self, text: str) -> list[str]:
        grams: list[str] = []
        for word in tokens(text, stopwords=False):
            padded = f" {word} "
            for size in range(self.shortest, self.longest + 1):
                grams += [padded[start : start + size] for start in range(max(1, len(padded) - size + 1))]
                if size >= len(padded):
                    break  # the whole word, once
        return grams


def tfidf_scores(query: Query, analyse: Callable[[str], Sequence[str]]) -> list[float]:
    """Return the cosine of each sentence with the hypothesis, in paper order.

    tf is the raw count and idf(t) = ln((1 + N) / (1 + n(t))) + 1, counted over the N sentences of the paper.
    """
    counts = [Counter(analyse(sentence)) for sentence in query.sentences]
    n_holding = Counter(term for count in counts for term in count)
    idf = {term: math.log((1 + len(counts)) / (1 + n)) + 1 for term, n in n_holding.items()}
    wanted = {term: n * idf[term] for term, n in Counter(analyse(query.hypothesis)).items() if term in idf}
    wanted_norm = math.hypot(*wanted.values())
    scores = []
    for count in counts:
        dot = sum(n * idf[term] * wanted[term] for term, n in count.items() if term in wanted)
        norm = math.hypot(*(n * idf[term] for term, n in count.items()))
        scores.append(dot / (norm * wanted_norm) if dot else 0.0)
    return scores
