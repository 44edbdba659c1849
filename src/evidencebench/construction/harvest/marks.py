"""The citation marks of a review: where they stand, and which references they name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evidencebench.construction.harvest.references import ReferenceList
from evidencebench.papers.jats_blocks import LEFT_OUT
from evidencebench.papers.markup_tree import Characters, Element

_CITING = frozenset({"bibr", "ref"})
_RANGE = re.compile(r"\s*[-\u2010-\u2015\u2212~]\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationMark:
    """A mark at characters start..stop-1 of the decoded file, and the ids of the references that it names, in order.

    ``references`` is empty where the mark leads to no entry of the list.
    """

    start: int
    stop: int
    text: str
    references: tuple[str, ...]


def marks_in(body: Element, listed: ReferenceList) -> list[CitationMark]:
    """Return the marks in the running text of a review's body, in order; ranges are filled from the list."""
    marks: list[CitationMark] = []
    between: list[str] = []
    stop = 0
    for node in _running_text(body):
        if isinstance(node, Characters):
            between.append(node.text)
            stop = node.stop
            continue
        pieces = list(node.characters())
        mark = CitationMark(
            start=pieces[0].start if pieces else stop,
            stop=pieces[-1].stop if pieces else stop,
            text=node.text,
            references=tuple(one for one in node.attributes.get("rid", "").split() if one in listed.by_id),
        )
        if marks and _RANGE.fullmatch("".join(between)):
            mark = _filled(marks.pop(), mark, listed)
        marks.append(mark)
        between.clear()
        stop = mark.stop
    return marks


def _filled(first: CitationMark, last: CitationMark, listed: ReferenceList) -> CitationMark:
    """Return the mark of a range, such as 3-7, with all references between its ends."""
    ids: tuple[str, ...] = ()
    if first.references and last.references:
        low, high = listed.positions[first.references[-1]], listed.positions[last.references[0]]
        between = tuple(one.id for one in listed.references[low : high + 1]) if low < high else ()
        ids = (*first.references[:-1], *between, *last.references[1:])
    return CitationMark(start=first.start, stop=last.stop, text=f"{first.text}-{last.text}", references=ids)


def _running_text(body: Element) -> Iterator[Characters | Element]:
    """Yield the text outside headings, tables, figures and the like, and each citing ``xref`` in place of its text."""
    waiting: list[Element | Characters] = [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Characters) or _is_citing(node):
            yield node
        elif node.tag not in LEFT_OUT and node.tag != "title":
            waiting.extend(reversed(node.children))


def _is_citing(element: Element) -> bool:
    return element.tag == "xref" and element.attributes.get("ref-type", "") in _CITING
