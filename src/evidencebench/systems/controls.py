"""Controls without labels: a system's score means something only if it is above theirs."""

from dataclasses import dataclass
from typing import ClassVar

from evidencebench.query import Kind, Query
from evidencebench.system import Ranking, RankingTask, Traits, rank_by_score


class _Blind:
    __slots__ = ()
    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomControl(_Blind):
    """All sentences, without order: the score is the exact mean over random selections of the budget's size."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=tuple(range(len(query.sentences))), ordered=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead(_Blind):
    """The first sentences of the paper, in order."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=tuple(range(len(query.sentences))))


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadNoHeadings(_Blind):
    """The first sentences of the paper, in order, with headings last."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=query.indices_of(Kind.ABSTRACT, Kind.BODY) + query.indices_of(Kind.HEADING))


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractFirst(_Blind):
    """The abstract, then the rest in paper order."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=query.indices_of(Kind.ABSTRACT) + query.indices_of(Kind.HEADING, Kind.BODY))


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractBackwards(_Blind):
    """The abstract, last sentence first (conclusions and results), then the rest in paper order."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=query.indices_of(Kind.ABSTRACT)[::-1] + query.indices_of(Kind.HEADING, Kind.BODY))


@dataclass(frozen=True, slots=True, kw_only=True)
class Longest(_Blind):
    """The sentences with the most characters."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return rank_by_score([len(sentence) for sentence in query.sentences])


@dataclass(frozen=True, slots=True, kw_only=True)
class MostDigits(_Blind):
    """The sentences with the most digits, which often report results."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return rank_by_score([sum(map(str.isdigit, sentence)) for sentence in query.sentences])


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure(_Blind):
    """The abstract, then the body, then the headings: a prior to fuse with systems that read the text."""

    abstract: float = 1.0  # the score of each sentence of that kind
    body: float = 0.0
    heading: float = -1.0

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        score_of = {Kind.ABSTRACT: self.abstract, Kind.BODY: self.body, Kind.HEADING: self.heading}
        return rank_by_score([score_of[kind] for kind in query.kinds])
