"""Citation marks that are plain text: ``[12]`` with a numbered list, ``(Smith et al., 2004)`` by author and year.

They are trusted only where they are exact; where they are marks that may name anything, they name no reference.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from evidencebench.construction.harvest.marks import LINK, CitationMark, MarkedText, numbers_in
from evidencebench.construction.harvest.references import ReferenceList

LEAST_NAMED = 0.8
"""From this share of the list on, numbers in brackets are marks where no mark is a link; fewer may be values."""

# Possessive and bounded, so that the time is linear.
_NUMBER = rf"(?:\d{{1,4}}|{LINK})"
_BRACKETS = re.compile(rf"\[\s?{_NUMBER}(?:\s?[,;\u2010-\u2015\u2212-]\s?{_NUMBER}){{0,99}}\s?\]")
_NAME = r"[^\W\d_a-z][\w'\u2019-]{1,40}"
_OTHERS = rf"(?:,?\s(?:et\sal\b\.?|and\scolleagues|(?:and|&)\s{_NAME}))"
_WRITTEN = re.compile(
    rf"(?<![\w.-])(?P<name>{_NAME})(?P<others>{_OTHERS}?)(?:,\s?|\s)(?P<open>\(?)"
    rf"(?P<year>(?:19|20)\d\d[a-z]?)\b(?=(?P<close>[);,])?)(?![\s\[(),.]{{0,3}}{LINK})"
)


def plain_marks(text: MarkedText, listed: ReferenceList) -> list[CitationMark]:
    """Return the marks of a review that are no links, in order."""
    whole = "".join(piece.text for piece in text.pieces)
    ends = list(accumulate(len(piece.text) for piece in text.pieces))

    def place(at: int) -> int:
        number = bisect_right(ends, at)
        piece = text.pieces[number]
        within = at - (ends[number] - len(piece.text))
        return piece.start + within if piece.stop - piece.start == len(piece.text) else piece.start

    matches = [*_numbers(whole, listed, has_links=bool(text.linked)), *_written(whole, listed)]
    return sorted(
        (
            CitationMark(
                start=place(start),
                stop=place(stop - 1) + 1,
                text=whole[start:stop].replace(LINK, ""),
                references=references,
            )
            for start, stop, references in matches
        ),
        key=lambda mark: mark.start,
    )


_Found = tuple[int, int, tuple[str, ...]]


def _numbers(whole: str, listed: ReferenceList, *, has_links: bool) -> Iterator[_Found]:
    groups = [group for group in _BRACKETS.finditer(whole) if group[0].strip(f"[] ,;-\u2013{LINK}")]
    if has_links:  # numbers beside a link are marks; numbers in brackets alone are values
        yield from ((*group.span(), ()) for group in groups if LINK in group[0])
        return
    numbers = [numbers_in(group[0], len(listed.references)) for group in groups]
    n_named = len({number for of_group in numbers for number in of_group})
    if n_named < LEAST_NAMED * len(listed.references):
        return
    for group, of_group in zip(groups, numbers, strict=True):
        ids = [listed.numbered(number) for number in of_group]
        yield *group.span(), tuple(reference for reference in ids if reference is not None) if None not in ids else ()


def _written(whole: str, listed: ReferenceList) -> Iterator[_Found]:
    for match in _WRITTEN.finditer(whole):
        is_in_brackets = bool(match["open"]) or match["close"] is not None
        reference = listed.written(match["name"], match["year"]) if match["others"] or is_in_brackets else None
        if reference is not None:
            yield *match.span(), (reference,)
        elif match["others"].endswith(("al", "al.", "colleagues")):
            yield *match.span(), ()
