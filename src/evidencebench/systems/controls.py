"""Controls without labels: a system's score means something only if it is above theirs."""

from dataclasses import dataclass
from typing import ClassVar

from evidencebench.query import Kind, Query
from evidencebench.system import Brief, Ranking, rank_by_score
from evidencebench.traits import Traits


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomControl:
    """All sentences, without order: the score is the exact mean over random selections of the budget's size."""

    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return the whole paper as a set."""
        return Ranking(sentences=tuple(range(len(query.sentences))), ordered=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The paper from its beginning."""

    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return the sentences in paper order."""
        return Ranking(sentences=tuple(range(len(query.sentences))))


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadNoHeadings:
    """The paper from its beginning, the headings last."""

    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return abstract and body in paper order, then the headings."""
        return Ranking(sentences=query.indices_of(Kind.ABSTRACT, Kind.BODY) + query.indices_of(Kind.HEADING))


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractFirst:
    """The abstract forwards, then the rest in paper order."""

    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return the abstract, then all else."""
        return Ranking(sentences=query.indices_of(Kind.ABSTRACT) + query.indices_of(Kind.HEADING, Kind.BODY))


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractBackwards:
    """The abstract backwards, conclusions and results first, then the rest in paper order."""

    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return the abstract from its end, then all else."""
        return Ranking(sentences=query.indices_of(Kind.ABSTRACT)[::-1] + query.indices_of(Kind.HEADING, Kind.BODY))


@dataclass(frozen=True, slots=True, kw_only=True)
class Longest:
    """The sentences with the most characters."""

    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return the sentences by length."""
        return rank_by_score([len(sentence) for sentence in query.sentences])


@dataclass(frozen=True, slots=True, kw_only=True)
class MostDigits:
    """The sentences with the most digits, where results tend to stand."""

    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return the sentences by their number of digits."""
        return rank_by_score([sum(map(str.isdigit, sentence)) for sentence in query.sentences])


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """The abstract, then the body, then the headings: a prior to fuse with systems that read the text.

    Attributes
    ----------
    abstract, body, heading
        Score of each sentence of that kind.
    """

    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)

    abstract: float = 1.0
    body: float = 0.0
    heading: float = -1.0

    def rank(self, query: Query, brief: Brief) -> Ranking:  # noqa: ARG002 - the contract's signature
        """Return the sentences by the score of their kind."""
        score_of = {Kind.ABSTRACT: self.abstract, Kind.BODY: self.body, Kind.HEADING: self.heading}
        return rank_by_score([score_of[kind] for kind in query.kinds])
