"""TF-IDF cosine similarity over the sentences of one paper, on words or on characters."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from evidencebench.errors import SystemSpecError
from evidencebench.query import Query
from evidencebench.system import Brief, Ranking, rank_by_score
from evidencebench.systems.words import WeightedTerms, tokens, words_of


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
        """Return the cosine of each sentence with the hypothesis, in paper order.

        tf is the raw count and idf(t) = ln((1 + N) / (1 + n(t))) + 1, counted over the N sentences of the paper.
        """
        paper = words_of(query.sentences)
        weighted = paper.weighted if self.stopwords else WeightedTerms(paper, stopwords=False)
        terms = Counter(tokens(query.hypothesis, stopwords=self.stopwords))
        wanted = {
            number: n * float(weighted.idf[number]) for term, n in terms.items() for number in paper.places([term])
        }
        wanted_norm = math.hypot(*wanted.values())
        is_asked = np.flatnonzero(paper.where(terms)[weighted.terms.numbers])
        dots = [0.0] * len(query.sentences)
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
        grams_of = _GramsOfWords(self.shortest, self.longest)
        counts = [Counter(grams_of.text(sentence)) for sentence in query.sentences]
        n_holding = Counter(term for count in counts for term in count)
        idf = {term: math.log((1 + len(counts)) / (1 + n)) + 1 for term, n in n_holding.items()}
        asked = Counter(grams_of.text(query.hypothesis))
        wanted = {term: n * idf[term] for term, n in asked.items() if term in idf}
        wanted_norm = math.hypot(*wanted.values())
        scores = []
        for count in counts:
            dot = sum(n * idf[term] * wanted[term] for term, n in count.items() if term in wanted)
            norm = math.hypot(*(n * idf[term] for term, n in count.items()))
            scores.append(dot / (norm * wanted_norm) if dot else 0.0)
        return rank_by_score(scores)


class _GramsOfWords:
    def __init__(self, shortest: int, longest: int) -> None:
        self._sizes = range(shortest, longest + 1)
        self._known: dict[str, list[str]] = {}

    def text(self, text: str) -> list[str]:
        """Return the n-grams of a text's words, in order; those of a word are made once."""
        return [gram for word in tokens(text, stopwords=False) for gram in self._of(word)]

    def _of(self, word: str) -> list[str]:
        if word not in self._known:
            padded = f" {word} "
            grams: list[str] = []
            for size in self._sizes:
                grams += [padded[start : start + size] for start in range(max(1, len(padded) - size + 1))]
                if size >= len(padded):
                    break  # the whole word, once
            self._known[word] = grams
        return self._known[word]
