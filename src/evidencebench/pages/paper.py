"""A paper as it is shown where labels must stay hidden."""

import msgspec

from evidencebench.query import Kind, Query

_LETTERS = {Kind.HEADING: "h", Kind.ABSTRACT: "a", Kind.BODY: "b"}


class PaperRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a system, or a person who picks, may see. ``kinds``: a letter a sentence, h(eading), a(bstract), b(ody)."""

    position: int
    id: str
    paper_id: str
    hypothesis: str
    sentences: tuple[str, ...]
    kinds: str


def paper_of(position: int, query: Query) -> PaperRecord:
    """Return the paper of a query that stands at a position of the data."""
    return PaperRecord(
        position=position,
        id=query.instance_id,
        paper_id=query.paper_id,
        hypothesis=query.hypothesis,
        sentences=query.sentences,
        kinds="".join(_LETTERS[kind] for kind in query.kinds),
    )
