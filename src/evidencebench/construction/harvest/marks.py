"""The citation marks of a review, linked or plain text: where they stand, and which references they name."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from evidencebench.construction.harvest.references import ReferenceList
from evidencebench.errors import UnreadableError
from evidencebench.papers.jats import LEFT_OUT
from evidencebench.papers.tree import Characters, Element

MOST_CITED = 1_000_000  # references that the marks of one review may name together; real ones name some hundreds
_LONGEST_MARK = 200  # characters of a mark of numbers
_DASHES = r"\u2010-\u2015\u2212~\-"
_DASH = re.compile(rf"\s*[{_DASHES}]\s*")
_NUMBERS = re.compile(rf"[\s\[(]*\d{{1,5}}(?:\s*[,;{_DASHES}\s]\s*\d{{1,5}})*[\s\]).,;]*")
_RANGE = re.compile(rf"(\d+)(?:\s*[{_DASHES}]\s*(\d+))?")


class CitationMark(NamedTuple):
    """A mark at characters start..stop-1 of the file's text; an empty ``xref`` is where the text before it ends."""

    start: int
    stop: int
    text: str
    references: tuple[str, ...]  # ids of those that it names, in order; empty where it is not known which


@dataclass(slots=True)
class MarkedText:
    """A review's body: the marks in its running text, and the text between those that are links."""

    marks: list[CitationMark] = field(default_factory=list)  # in order
    pieces: list[Characters] = field(default_factory=list)  # with `LINK` for each mark that is a link

    def between(self, start: int, stop: int) -> str:
        """Return the text outside links at start..stop-1 of the file, whole pieces where they are not cut."""
        first = bisect_right(self.pieces, start, key=lambda piece: piece.start) - 1
        parts: list[str] = []
        for piece in self.pieces[max(0, first) :]:
            if piece.start >= stop:
                break
            if piece.stop > start:
                is_exact = piece.stop - piece.start == len(piece.text)
                parts.append(piece.text[max(0, start - piece.start) : stop - piece.start] if is_exact else piece.text)
        return "".join(parts)


LINK = "\ue000"  # stands in `MarkedText.pieces` for a mark that is a link


def marked_text(body: Element, listed: ReferenceList, *, file: str) -> MarkedText:
    """Return the text of a body with its marks, ranges filled from the reference list."""
    text = MarkedText()
    n_cited, n_before, stop = 0, 0, 0
    for node in _nodes(body, listed):
        if isinstance(node, Characters):
            text.pieces.append(node)
            stop = node.stop
            continue
        characters = list(node.characters()) or [Characters("", stop, stop)]
        mark = CitationMark(characters[0].start, characters[-1].stop, node.text, _named(node, listed))
        between = "".join(piece.text for piece in text.pieces[n_before:])
        if text.marks and _DASH.fullmatch(between) and (filled := _filled(text.marks[-1], mark, listed)):
            mark = filled
            n_cited -= len(text.marks.pop().references)
        text.marks.append(mark)
        text.pieces.append(Characters(LINK, mark.start, mark.stop))
        n_before, stop = len(text.pieces), mark.stop
        n_cited += len(mark.references)
        if n_cited > MOST_CITED:
            raise UnreadableError(
                f"{file}: expected marks that name at most {MOST_CITED:,} references, got more; no review cites so"
            )
    raised = {piece.start for sup in body.all("sup") for piece in sup.characters()}
    text.marks = sorted([*text.marks, *_plain_marks(text, listed, raised)], key=lambda mark: (mark.start, mark.stop))
    return text


def numbers_in(text: str, most: int) -> tuple[int, ...]:
    """Return the numbers of a mark, ranges filled; none where it is no mark of numbers, or has one above ``most``."""
    numbers: list[int] = []
    if len(text) > _LONGEST_MARK or not _NUMBERS.fullmatch(text):
        return ()
    for low, high in _RANGE.findall(text):
        first, last = int(low), int(high or low)
        if not 0 < first <= last <= most:
            return ()
        numbers.extend(range(first, last + 1))
    return tuple(dict.fromkeys(numbers))


def _named(xref: Element, listed: ReferenceList) -> tuple[str, ...]:
    """Return the references that a link leads to, and the others that its numbers name."""
    linked = tuple(dict.fromkeys(xref.attributes.get("rid", "").split()))
    if any(reference not in listed.positions for reference in linked):
        return ()
    named = listed.numbered(numbers_in(xref.text, len(listed.references)))
    if not named or not (listed.is_labelled or set(linked) & set(named)):
        return linked  # places in a list without labels prove nothing against a link
    return named if set(linked) <= set(named) else ()


def _filled(first: CitationMark, last: CitationMark, listed: ReferenceList) -> CitationMark | None:
    """Return the mark of a range, such as 3-7, with all references between its ends; None where it is no range."""
    if not (_NUMBERS.fullmatch(first.text) and _NUMBERS.fullmatch(last.text)):
        return None
    ids: tuple[str, ...] = ()
    if first.references and last.references:
        low, high = listed.positions[first.references[-1]], listed.positions[last.references[0]]
        between = tuple(reference.id for reference in listed.references[low : high + 1]) if low < high else ()
        ids = between and (*first.references[:-1], *between, *last.references[1:])
    return CitationMark(first.start, last.stop, f"{first.text}-{last.text}", ids)


def _nodes(body: Element, listed: ReferenceList) -> Iterator[Characters | Element]:
    """Yield running text and its links in order, links in place of their text."""
    waiting: list[Element | Characters] = [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Characters) or _is_citing(node, listed):
            yield node
        elif node.tag not in LEFT_OUT and node.tag != "title":
            waiting.extend(reversed(node.children))


def _is_citing(element: Element, listed: ReferenceList) -> bool:
    kind, target = (element.attributes.get(name, "") for name in ("ref-type", "rid"))
    return element.tag == "xref" and (kind in ("bibr", "ref") or target in listed.positions)


# From this share of the list on, numbers in brackets are marks where no mark is a link; fewer may be values.
LEAST_NAMED = 0.8
# Possessive and bounded, so that the time is linear.
_NUMBER = rf"(?:\d{{1,4}}|{LINK})"
_BRACKETS = re.compile(rf"\[\s?{_NUMBER}(?:\s?[,;\u2010-\u2015\u2212-]\s?{_NUMBER}){{0,99}}\s?\]")
# Superscripts: by their tags, "trial<sup>12</sup>" but not "10<sup>6</sup>"; or those that a file has lost, "trial.12".
_RAISED_BEHIND = re.compile(
    r"(?:(?<![^\W\d_])(?!(?:mol|min|sec|log|chi|eta|rad|day)s?\Z)[^\W\d_]{3,40}|[.,;:)\u201d])\s?\Z"
)
_LOST = re.compile(rf"(?<=[a-z]{{3}})[)\u201d]?[.,;:](\d{{1,3}}(?:\s?[,{_DASHES}]\s?\d{{1,3}}){{0,20}}+)(?=[\sA-Z]|\Z)")
_NAME = r"[^\W\d_a-z][\w'\u2019-]{1,40}"
_OTHERS = rf"(?:,?\s(?:et\sal\b\.?|and\scolleagues|(?:and|&)\s{_NAME}))"
_WRITTEN = re.compile(
    rf"(?<![\w.-])(?P<name>{_NAME})(?P<others>{_OTHERS}?)(?:,\s?|\s)(?P<open>\(?)"
    rf"(?P<year>(?:19|20)\d\d[a-z]?)\b(?=(?P<close>[);,])?)(?![\s\[(),.]{{0,3}}{LINK})"
)


def _plain_marks(text: MarkedText, listed: ReferenceList, raised: Collection[int]) -> list[CitationMark]:
    whole = "".join(piece.text for piece in text.pieces)
    ends = list(accumulate(len(piece.text) for piece in text.pieces))

    def place(at: int) -> int:
        number = bisect_right(ends, at)
        piece = text.pieces[number]
        within = at - (ends[number] - len(piece.text))
        return piece.start + within if piece.stop - piece.start == len(piece.text) else piece.start

    spans = []
    if not text.marks:
        spans = [match.span(1) for match in _LOST.finditer(whole)]
        for piece, stop in zip(text.pieces, ends, strict=True):
            start = stop - len(piece.text)
            if piece.start in raised and _RAISED_BEHIND.search(whole[max(0, start - 41) : start]):
                spans.append((start, stop))
    found = (*_numbers(whole, listed, spans, has_links=bool(text.marks)), *_written(whole, listed))
    return [
        CitationMark(place(start), place(stop - 1) + 1, whole[start:stop].replace(LINK, ""), references)
        for start, stop, references in found
    ]


_Found = tuple[int, int, tuple[str, ...]]  # where plain text is a mark, and the references that it names


def _numbers(
    whole: str, listed: ReferenceList, raised: Sequence[tuple[int, int]], *, has_links: bool
) -> Iterator[_Found]:
    groups = [group for group in _BRACKETS.finditer(whole) if group[0].strip(f"[] ,;-\u2013{LINK}")]
    if has_links:  # numbers beside a link are marks; numbers in brackets alone are values
        yield from ((*group.span(), ()) for group in groups if LINK in group[0])
        return
    for spans in ([group.span() for group in groups], raised):
        numbers = [numbers_in(whole[start:stop], len(listed.references)) for start, stop in spans]
        n_named = len({number for of_group in numbers for number in of_group})
        if n_named < LEAST_NAMED * len(listed.references):
            continue
        for (start, stop), of_group in zip(spans, numbers, strict=True):
            if of_group or spans is not raised:
                yield start, stop, listed.numbered(of_group)


def _written(whole: str, listed: ReferenceList) -> Iterator[_Found]:
    for match in _WRITTEN.finditer(whole):
        is_in_brackets = bool(match["open"]) or match["close"] is not None
        reference = listed.written(match["name"], match["year"]) if match["others"] or is_in_brackets else None
        if reference is not None:
            yield *match.span(), (reference,)
        elif match["others"].endswith(("al", "al.", "colleagues")):
            yield *match.span(), ()
