"""The columns from which features are made: one entry a sentence, each column computed once for a query."""

from collections.abc import Callable, Hashable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from evidencebench.query import Kind, Query
from evidencebench.systems.bm25 import BM25
from evidencebench.systems.diverse import WordSimilarity
from evidencebench.systems.lexicon import CUES, Role, count_cues, roles_of, runs_of
from evidencebench.systems.question import ParsedQuestion, is_statement, question_of
from evidencebench.systems.relevance import PaperWords, Relevance
from evidencebench.systems.tfidf import TfIdf
from evidencebench.systems.words import Flags, Floats, tokens, words_of

_Column = TypeVar("_Column")

_EVIDENCE_CUES = """
p_value interval ratio percent increase decrease association significance negation finding conclusion comparison
"""
EVIDENCE_CUES = tuple(_EVIDENCE_CUES.split())

ALIKE = 0.4
"""Two sentences with a higher cosine count as alike."""

# Decimals of a sum: rounding gives equal sentences equal sums.
_DECIMALS = 9


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


def _of_paper(compute: Callable[[Any], _Column]) -> _Column:
    """Make a property of a column that is the same for every hypothesis: it is computed once for a paper."""

    def column(columns: "PaperColumns") -> _Column:
        return columns.of_paper(compute.__name__, lambda: compute(columns))

    return cast("_Column", property(column, doc=compute.__doc__))


class PaperColumns:
    """Columns of one entry for each of the n sentences of a query; each is computed when it is first read.

    `columns_of` returns columns that share what does not depend on the hypothesis.
    """

    def __init__(
        self,
        query: Query,
        *,
        question: ParsedQuestion | None = None,
        asked: str | None = None,
        kept: dict[Hashable, Any] | None = None,
    ) -> None:
        self.query = query
        # As it was put, where only its parts are looked for.
        self.asked: str = query.hypothesis if asked is None else asked
        self._question = question or question_of(query.hypothesis)
        self._kept = {} if kept is None else kept
        self.n: int = len(query.sentences)
        self.index: Floats = np.arange(self.n, dtype=float)

    def of_paper(self, name: Hashable, compute: Callable[[], _Column]) -> _Column:
        """Return what was computed under a name for the paper, whatever the hypothesis; compute it the first time."""
        if name not in self._kept:
            self._kept[name] = compute()
        column: _Column = self._kept[name]
        return column

    @_of_paper
    def is_heading(self) -> Flags:
        return np.array([kind is Kind.HEADING for kind in self.query.kinds], dtype=bool)

    @_of_paper
    def is_abstract(self) -> Flags:
        return np.array([kind is Kind.ABSTRACT for kind in self.query.kinds], dtype=bool)

    @_of_paper
    def n_abstract(self) -> int:
        return int(self.is_abstract.sum())

    @_of_paper
    def abstract_place(self) -> Floats:
        """Return how many sentences of the abstract stand before the sentence."""
        before: Floats = (np.cumsum(self.is_abstract) - self.is_abstract).astype(float)
        return before

    @_of_paper
    def sections(self) -> NDArray[np.int64]:
        """Return the number of the `Role` of the sentence's section, or of its part of the abstract."""
        return np.array([int(section) for section in roles_of(self.query)], dtype=np.int64)

    @_of_paper
    def section_position(self) -> Floats:
        """Return the place among the sentences of the same role, from 0 to 1; the abstract is counted apart."""
        keys = self.sections * 2 + self.is_abstract
        positions = np.zeros(self.n)
        for key in np.unique(keys):
            members = np.flatnonzero(keys == key)
            positions[members] = np.arange(len(members)) / max(1, len(members) - 1)
        return positions

    @_of_paper
    def runs(self) -> tuple[Floats, Floats]:
        """Return two columns: the sentences since the last heading, and from the last heading to the next."""
        places, lengths = np.array(runs_of(self.query.kinds), dtype=float).reshape(self.n, 2).T
        return places, lengths

    @_of_paper
    def cues(self) -> Floats:
        return count_cues(self.query.sentences)

    @_of_paper
    def evidence(self) -> Floats:
        """Return how much of the wording reports findings: ln(1 + count) of each of `EVIDENCE_CUES`, summed."""
        columns = [number for number, cue in enumerate(CUES) if cue.name in EVIDENCE_CUES]
        sums: Floats = np.log1p(self.cues[:, columns]).sum(axis=1)
        return sums

    def where(self, says: Callable[[str], bool]) -> Flags:
        """Flag the sentences of which a function says so; it is asked once for a paper."""
        return self.of_paper(says, lambda: np.array([says(sentence) for sentence in self.query.sentences], dtype=bool))

    @_of_paper
    def n_characters(self) -> Floats:
        return np.array([len(sentence) for sentence in self.query.sentences], dtype=float)

    def count(self, is_counted: Callable[[str], bool]) -> Floats:
        return np.array([sum(map(is_counted, sentence)) for sentence in self.query.sentences], dtype=float)

    @_of_paper
    def similarity(self) -> WordSimilarity:
        return WordSimilarity(self.query.sentences)

    @_of_paper
    def cosines(self) -> Cosines:
        """Return the columns made from these cosines, block by block, since not all cosines need fit into memory."""
        abstract = np.flatnonzero(self.is_abstract)
        results = np.flatnonzero((self.sections == int(Role.RESULTS)) & ~self.is_abstract)
        discussion = np.flatnonzero(np.isin(self.sections, [Role.DISCUSSION, Role.CONCLUSION]) & ~self.is_abstract)
        columns = Cosines(*np.zeros((len(Cosines._fields), self.n)))
        for rows, cosines in self.similarity.blocks():
            columns.total[rows] = cosines.sum(axis=1).round(_DECIMALS)
            columns.highest[rows] = cosines.max(axis=1, initial=0.0)
            before_block = cosines[:, : rows.start].max(axis=1, initial=0.0)
            columns.highest_before[rows] = np.maximum(before_block, np.tril(cosines[:, rows]).max(axis=1, initial=0.0))
            columns.n_alike[rows] = (cosines > ALIKE).sum(axis=1)
            columns.abstract_total[rows] = cosines[:, abstract].sum(axis=1)
            columns.abstract_highest[rows] = cosines[:, abstract].max(axis=1, initial=0.0)
            columns.results_highest[rows] = cosines[:, results].max(axis=1, initial=0.0)
            columns.discussion_highest[rows] = cosines[:, discussion].max(axis=1, initial=0.0)
        return columns

    @cached_property
    def is_statement(self) -> bool:
        """Whether a statement is made, and nothing asked or looked for by keywords."""
        return is_statement(self.asked)

    @cached_property
    def hypothesis_cosine(self) -> Floats:
        return np.array(TfIdf().scores(self.query), dtype=float)

    @cached_property
    def bm25(self) -> Floats:
        return np.array(BM25().scores(self.query), dtype=float)

    @cached_property
    def relevance(self) -> Relevance:
        return Relevance(self.query, self.words, self._question)

    @_of_paper
    def words(self) -> PaperWords:
        return PaperWords(self.query.sentences)

    @cached_property
    def terms_held(self) -> Floats:
        """The share of the hypothesis's words that a sentence holds."""
        wanted = set(tokens(self.query.hypothesis))
        paper = words_of(self.query.sentences)
        sentences, numbers, _ = paper.weighted.terms
        held = np.bincount(sentences[paper.where(wanted)[numbers]], minlength=self.n)
        return held / max(1, len(wanted))


def columns_of(query: Query, question: ParsedQuestion | None = None, asked: str | None = None) -> PaperColumns:
    """Return the columns of a query; what reads no hypothesis is computed once for all that ask about the paper.

    ``question`` are the parts of what is asked, ``asked`` its words; None: those of the hypothesis.
    """
    return PaperColumns(query, question=question, asked=asked, kept=_kept_of(query.sentences, query.kinds))


@lru_cache(maxsize=4)
def _kept_of(
    sentences: tuple[str, ...],  # noqa: ARG001 - it decides which dictionary is returned, as the other does
    kinds: tuple[Kind, ...],  # noqa: ARG001
) -> dict[Hashable, Any]:
    """Return the dictionary in which the columns of a paper are kept; those of the last four papers are."""
    return {}
