"""A paper as it was read, without a hypothesis."""

from dataclasses import dataclass

from evidencebench.errors import UnreadableError
from evidencebench.query import Kind, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The sentences of a paper in order, headings included, with their kinds; ``name`` is its file or source."""

    name: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]

    def query_for(self, hypothesis: str) -> Query:
        """Return the query of a hypothesis and this paper; raises `UnreadableError` if the hypothesis is empty."""
        if not hypothesis.strip():
            raise UnreadableError("hypothesis: expected a sentence, got an empty one")
        return Query(
            instance_id=self.name,
            paper_id=self.name,
            hypothesis=hypothesis,
            sentences=self.sentences,
            kinds=self.kinds,
        )
