"""A paper as it was read, before anything is asked of it."""

from dataclasses import dataclass

from evidencebench.errors import UnreadableError
from evidencebench.query import Kind, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The sentences of a paper in order, headings included, and what each is; ``name`` is where it comes from."""

    name: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]

    def asked(self, hypothesis: str) -> Query:
        """Return the query that asks the paper with a hypothesis; raises `UnreadableError` if that is empty."""
        if not hypothesis.strip():
            raise UnreadableError("hypothesis: expected a sentence, got an empty one")
        return Query(
            instance_id=self.name,
            paper_id=self.name,
            hypothesis=hypothesis,
            sentences=self.sentences,
            kinds=self.kinds,
        )
