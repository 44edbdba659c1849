"""A paper as the pages show it, without labels."""

from collections.abc import Iterable

import msgspec

from evidencebench.query import Kind, Query

_LETTERS = {Kind.HEADING: "h", Kind.ABSTRACT: "a", Kind.BODY: "b"}


class PaperRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A paper without its labels. ``kinds`` has a letter for each sentence: h(eading), a(bstract) or b(ody)."""

    position: int
    id: str
    paper_id: str
    hypothesis: str
    sentences: tuple[str, ...]
    kinds: str


def paper_of(position: int, query: Query) -> PaperRecord:
    """Return the paper of a query; ``position`` is the query's 0-based place in the data."""
    return PaperRecord(
        position=position,
        id=query.instance_id,
        paper_id=query.paper_id,
        hypothesis=query.hypothesis,
        sentences=query.sentences,
        kinds=kind_letters(query.kinds),
    )


def kind_letters(kinds: Iterable[Kind]) -> str:
    """Return a letter for each kind, as `PaperRecord.kinds` has them."""
    return "".join(_LETTERS[kind] for kind in kinds)
