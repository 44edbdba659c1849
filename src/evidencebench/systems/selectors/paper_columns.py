"""The columns from which features are made: one entry a sentence, each column computed once for a query."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from evidencebench.query import Kind, Query
from evidencebench.systems.retrievers.bm25 import BM25
from evidencebench.systems.retrievers.tfidf import TfIdf
from evidencebench.systems.retrievers.tokens import tokens
from evidencebench.systems.selectors.lexicon import CUES, asks, count_cues
from evidencebench.systems.selectors.relevance import PaperWords, Relevance
from evidencebench.systems.selectors.rhetorical_roles import Role, roles_of, runs_of
from evidencebench.systems.selectors.similarity import WordSimilarity

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


ALIKE = 0.4
"""Two sentences with a higher cosine count as alike."""

# Decimals of a sum: rounding gives equal sentences equal sums.
_DECIMALS = 9

_DISCUSSION = (int(Role.DISCUSSION), int(Role.CONCLUSION))

# What `PaperColumns.asked` does not keep.
_OF_ONE_QUERY = frozenset({"query", "relevance", "hypothesis_cosine", "bm25", "terms_held", "hypothesis_vector"})


class Cosines(NamedTuple):
    """Sums and maxima of the TF-IDF cosines of each sentence with the paper's other sentences, one entry a sentence."""

    total: Floats  # sum over all other sentences
    highest: Floats
    highest_before: Floats  # with an earlier sentence
    n_alike: Floats  # number of cosines over `ALIKE`
    abstract_total: Floats
    abstract_highest: Floats
    results_highest: Floats  # outside the abstract
    discussion_highest: Floats  # of discussion and conclusion, outside the abstract


class TextEmbedder(Protocol):
    """Turns a query's texts into vectors of length 1."""

    def embed_sentences(self, query: Query) -> NDArray[np.float32]:
        """Return one row a sentence."""
        ...

    def embed_hypothesis(self, query: Query) -> NDArray[np.float32]:
        """Return one vector."""
        ...


class PaperColumns:
    """Columns of one entry for each of the n sentences of a query; each is computed when it is first read.

    Without an embedder there are no vectors, and the features of the group ``embedding`` raise a `ValueError`.
    """

    def __init__(self, query: Query, embedder: TextEmbedder | None = None) -> None:
        self.query = query
        self._embedder = embedder
        self.n = len(query.sentences)
        self.index = np.arange(self.n, dtype=float)

    def asked(self, query: Query) -> Self:
        """Return the columns for another hypothesis of the same paper; what was computed of the paper is kept."""
        other = type(self)(query, self._embedder)
        vars(other).update({name: kept for name, kept in vars(self).items() if name not in _OF_ONE_QUERY})
        return other

    @cached_property
    def is_heading(self) -> Flags:
        """True for a heading."""
        return np.array([kind is Kind.HEADING for kind in self.query.kinds], dtype=bool)

    @cached_property
    def is_abstract(self) -> Flags:
        """True for a sentence of the abstract."""
        return np.array([kind is Kind.ABSTRACT for kind in self.query.kinds], dtype=bool)

    @cached_property
    def abstract_place(self) -> Floats:
        """How many sentences of the abstract stand before the sentence."""
        return (np.cumsum(self.is_abstract) - self.is_abstract).astype(float)

    @cached_property
    def sections(self) -> NDArray[np.int64]:
        """The number of the `Role` of the sentence's section, or of its part of the abstract."""
        return np.array([int(section) for section in roles_of(self.query)], dtype=np.int64)

    @cached_property
    def section_position(self) -> Floats:
        """The place among the sentences of the same role, from 0 to 1; the abstract is counted apart."""
        keys = self.sections * 2 + self.is_abstract
        positions = np.zeros(self.n)
        for key in np.unique(keys):
            members = np.flatnonzero(keys == key)
            positions[members] = np.arange(len(members)) / max(1, len(members) - 1)
        return positions

    @cached_property
    def runs(self) -> tuple[Floats, Floats]:
        """Two columns: the sentences since the last heading, and the sentences from the last heading to the next."""
        places, lengths = np.array(runs_of(self.query.kinds), dtype=float).reshape(self.n, 2).T
        return places, lengths

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
    def asks(self) -> Flags:
        """True for a sentence that asks, names an aim, or says that something is not known."""
        return np.array([asks(sentence) for sentence in self.query.sentences], dtype=bool)

    @cached_property
    def n_characters(self) -> Floats:
        """Length in characters."""
        return np.array([len(sentence) for sentence in self.query.sentences], dtype=float)

    def count(self, is_counted: Callable[[str], bool]) -> Floats:
        """Return how many of the sentence's characters `is_counted` accepts, such as `str.isupper`."""
        return np.array([sum(map(is_counted, sentence)) for sentence in self.query.sentences], dtype=float)

    @cached_property
    def similarity(self) -> WordSimilarity:
        """The TF-IDF cosines between sentences; a sentence's cosine with itself is taken as 0."""
        return WordSimilarity(self.query.sentences)

    @cached_property
    def cosines(self) -> Cosines:
        """The columns made from these cosines, block by block, since not all cosines need fit into memory."""
        abstract = np.flatnonzero(self.is_abstract)
        results = np.flatnonzero((self.sections == int(Role.RESULTS)) & ~self.is_abstract)
        discussion = np.flatnonzero(np.isin(self.sections, _DISCUSSION) & ~self.is_abstract)
        found = Cosines(*np.zeros((len(Cosines._fields), self.n)))
        for rows, cosines in self.similarity.blocks():
            found.total[rows] = cosines.sum(axis=1).round(_DECIMALS)
            found.highest[rows] = cosines.max(axis=1, initial=0.0)
            before_block = cosines[:, : rows.start].max(axis=1, initial=0.0)
            found.highest_before[rows] = np.maximum(before_block, np.tril(cosines[:, rows]).max(axis=1, initial=0.0))
            found.n_alike[rows] = (cosines > ALIKE).sum(axis=1)
            found.abstract_total[rows] = cosines[:, abstract].sum(axis=1)
            found.abstract_highest[rows] = cosines[:, abstract].max(axis=1, initial=0.0)
            found.results_highest[rows] = cosines[:, results].max(axis=1, initial=0.0)
            found.discussion_highest[rows] = cosines[:, discussion].max(axis=1, initial=0.0)
        return found

    @cached_property
    def hypothesis_cosine(self) -> Floats:
        """The TF-IDF cosine with the hypothesis."""
        return np.array(TfIdf().scores(self.query), dtype=float)

    @cached_property
    def bm25(self) -> Floats:
        """The BM25 score for the hypothesis."""
        return np.array(BM25().scores(self.query), dtype=float)

    @cached_property
    def relevance(self) -> Relevance:
        """How much each sentence speaks of each part of the hypothesis."""
        return Relevance(self.query, self.words)

    @cached_property
    def words(self) -> PaperWords:
        """The roots of each sentence's words, and the paper's abbreviations."""
        return PaperWords(self.query.sentences)

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
            raise ValueError("expected an embedder")
        return self._embedder.embed_sentences(self.query).astype(float)

    @cached_property
    def hypothesis_vector(self) -> Floats:
        """The hypothesis's vector, of length 1."""
        if self._embedder is None:
            raise ValueError("expected an embedder")
        return self._embedder.embed_hypothesis(self.query).astype(float)
