"""A query with what several features are computed from, each computed once."""

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evidencebench.query import Kind, Query
from evidencebench.retrievers.bm25 import BM25
from evidencebench.retrievers.tfidf import TfIdf
from evidencebench.retrievers.tokens import tokens
from evidencebench.selectors.lexicon import CUES, count_cues
from evidencebench.selectors.redundancy import tfidf_similarity
from evidencebench.selectors.structure import runs_of, sections_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

EVIDENCE_CUES = (
    "p_value",
    "interval",
    "ratio",
    "percent",
    "increase",
    "decrease",
    "association",
    "significance",
    "negation",
    "finding",
    "conclusion",
    "comparison",
)
"""The cues of wording that reports findings."""


class Embedder(Protocol):
    """What turns a query's texts into vectors of length 1."""

    def embed_sentences(self, query: Query) -> NDArray[np.float32]:
        """Return one row a sentence."""
        ...

    def embed_hypothesis(self, query: Query) -> NDArray[np.float32]:
        """Return one vector."""
        ...


class Page:
    """What can be computed about the n sentences of a query, one entry a sentence, in paper order.

    Parameters
    ----------
    query
        The hypothesis and the paper.
    embedder
        Makes the vectors that features of the group ``embedding`` compare; None where none of those is asked for.
    """

    def __init__(self, query: Query, embedder: Embedder | None = None) -> None:
        self.query = query
        self._embedder = embedder
        self.n = len(query.sentences)
        self.index = np.arange(self.n, dtype=float)

    @cached_property
    def is_heading(self) -> Flags:
        """Which are headings."""
        return np.array([kind is Kind.HEADING for kind in self.query.kinds], dtype=bool)

    @cached_property
    def is_abstract(self) -> Flags:
        """Which stand in the abstract."""
        return np.array([kind is Kind.ABSTRACT for kind in self.query.kinds], dtype=bool)

    @cached_property
    def abstract_place(self) -> Floats:
        """How many sentences of the abstract stand before."""
        return (np.cumsum(self.is_abstract) - self.is_abstract).astype(float)

    @cached_property
    def abstract_position(self) -> Floats:
        """The same from 0 to 1 over the abstract."""
        return self.abstract_place / max(1, int(self.is_abstract.sum()) - 1)

    @cached_property
    def sections(self) -> NDArray[np.int64]:
        """The number of the `Section`."""
        return np.array([int(section) for section in sections_of(self.query)], dtype=np.int64)

    @cached_property
    def section_position(self) -> Floats:
        """The place among the sentences of the same class, abstract apart, from 0 to 1."""
        keys = self.sections * 2 + self.is_abstract
        positions = np.zeros(self.n)
        for key in np.unique(keys):
            members = np.flatnonzero(keys == key)
            positions[members] = np.arange(len(members)) / max(1, len(members) - 1)
        return positions

    @cached_property
    def _runs(self) -> Floats:
        return np.array(runs_of(self.query.kinds), dtype=float).reshape(self.n, 2)

    @property
    def run_place(self) -> Floats:
        """Sentences since the last heading."""
        return self._runs[:, 0]

    @property
    def run_length(self) -> Floats:
        """Sentences from the last heading to the next."""
        return self._runs[:, 1]

    @cached_property
    def cues(self) -> Floats:
        """How often each cue of `CUES` occurs, one column a cue."""
        return count_cues(self.query.sentences)

    @cached_property
    def evidence(self) -> Floats:
        """How much of the wording reports findings: ln(1 + count) of each of `EVIDENCE_CUES`, summed."""
        columns = [number for number, cue in enumerate(CUES) if cue.name in EVIDENCE_CUES]
        sums: Floats = np.log1p(self.cues[:, columns]).sum(axis=1)
        return sums

    @cached_property
    def n_characters(self) -> Floats:
        """Length in characters."""
        return np.array([len(sentence) for sentence in self.query.sentences], dtype=float)

    @cached_property
    def capitals(self) -> Floats:
        """The share of letters that are capitals."""
        n_capitals = np.array([sum(map(str.isupper, sentence)) for sentence in self.query.sentences], dtype=float)
        n_letters = np.array([sum(map(str.isalpha, sentence)) for sentence in self.query.sentences], dtype=float)
        shares: Floats = n_capitals / np.maximum(1, n_letters)
        return shares

    @cached_property
    def digits(self) -> Floats:
        """The share of characters that are digits."""
        n_digits = np.array([sum(map(str.isdigit, sentence)) for sentence in self.query.sentences], dtype=float)
        shares: Floats = n_digits / np.maximum(1, self.n_characters)
        return shares

    @cached_property
    def cosines(self) -> Floats:
        """The n x n TF-IDF cosines between sentences, 0 on the diagonal: no sentence counts as its own likeness."""
        cosines = tfidf_similarity(self.query.sentences)
        np.fill_diagonal(cosines, 0.0)
        return cosines

    @cached_property
    def hypothesis_cosine(self) -> Floats:
        """The TF-IDF cosine with the hypothesis."""
        return np.array(TfIdf().scores(self.query), dtype=float)

    @cached_property
    def bm25(self) -> Floats:
        """The BM25 score for the hypothesis."""
        return np.array(BM25().scores(self.query), dtype=float)

    @cached_property
    def terms_held(self) -> Floats:
        """The share of the hypothesis's words that a sentence holds."""
        wanted = set(tokens(self.query.hypothesis))
        held = [len(wanted.intersection(tokens(sentence))) for sentence in self.query.sentences]
        return np.array(held, dtype=float) / max(1, len(wanted))

    @cached_property
    def vectors(self) -> Floats:
        """One vector a sentence, of length 1."""
        if self._embedder is None:
            raise ValueError("expected a page with an embedder")
        return self._embedder.embed_sentences(self.query).astype(float)

    @cached_property
    def hypothesis_vector(self) -> Floats:
        """The hypothesis's vector, of length 1."""
        if self._embedder is None:
            raise ValueError("expected a page with an embedder")
        return self._embedder.embed_hypothesis(self.query).astype(float)
