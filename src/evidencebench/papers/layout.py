"""How a plain text is laid out: one sentence a line, a paragraph a line, or paragraphs broken into lines."""

import re
from collections.abc import Iterable, Sized
from enum import StrEnum
from itertools import islice, pairwise

from evidencebench.papers.sentences import sentence_spans

_MOST_LINES = 2000  # that are examined


class Layout(StrEnum):
    """How the lines of a text are to be read."""

    SENTENCES = "one sentence a line"
    PARAGRAPHS = "a paragraph a line"
    WRAPPED = "paragraphs broken into lines"


_CLOSING = "\"'\u2019\u201d)\\]"
# A line that ends as a sentence does, perhaps with the number of a source. The others are titles and cells of tables,
# unless so many sentences end within them.
_ENDED = re.compile(rf"[.!?][{_CLOSING}]*\d*$")
_LINE_STOP = re.compile(rf"[.!?:;][{_CLOSING}]*\d*$")

# Signs that tell paragraphs from sentences: (fewest, more of them a line). In real papers of one sentence a line, at
# most 0.13 gaps stand in a line that ends, and 8 in 100 lines go on in the next one, which begins with a small letter;
# broken at 80 columns, 70 in 100 do. Few signs in a short file may be abbreviations or titles, unless they are dense:
# of 25,830 parts of two to twenty lines of the 96 papers of train, 7 have so many gaps, and 10 such lines.
_GAPS = ((7, 0.5), (3, 0.99))
_GAPS_OF_PROSE = 3
_WRAPPED = ((7, 0.3), (3, 0.49))
# Of long lines alone, as titles and cells are short: none of 14,062 parts of those papers has so many. Of 995 pieces of
# two broken paragraphs with eight short lines, it tells 980, and the signs above 746.
_LONG = 50  # characters
_LONG_WRAPPED = (3, 0.3)


def layout_of(lines: Iterable[str]) -> Layout:
    """Return how a text is laid out, given its lines that are not empty, without white space around them."""
    lines = [line for line in islice(lines, _MOST_LINES) if line[0] != "#"]
    wrapped = [line for line, after in pairwise(lines) if not _LINE_STOP.search(line) and after[0].islower()]
    long, long_wrapped = ([line for line in some if len(line) >= _LONG] for some in (lines, wrapped))
    if any(_has_signs(len(wrapped), lines, sign) for sign in _WRAPPED) or _has_signs(
        len(long_wrapped), long, _LONG_WRAPPED
    ):
        return Layout.WRAPPED
    gaps = [len(sentence_spans(line)) - 1 for line in lines]
    if len(lines) == 1 and gaps[0]:
        return Layout.PARAGRAPHS
    of_prose = [n for n, line in zip(gaps, lines, strict=True) if _ENDED.search(line) or n >= _GAPS_OF_PROSE]
    if any(_has_signs(sum(of_prose), of_prose, sign) for sign in _GAPS):
        return Layout.PARAGRAPHS
    return Layout.SENTENCES


def _has_signs(n: int, lines: Sized, sign: tuple[int, float]) -> bool:
    fewest, share = sign
    return n >= fewest and n > share * len(lines)
