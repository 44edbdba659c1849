"""Text whose runs know where they stand in the file that they come from."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import NamedTuple

from evidencebench.papers.paper import SourceSpan

INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
"""Soft hyphens and other characters of no width."""

# Those go; white space becomes one space. Words with single spaces between them stay as they are.
_WORD = rf"[^\s{INVISIBLE}]+"
_PIECE = re.compile(rf"(?P<words>{_WORD}(?: {_WORD})*)|[\s{INVISIBLE}]+")


class _SourceRun(NamedTuple):
    """Characters of the text from ``at`` on: one by one from ``start`` of the source on, or all for start..stop-1."""

    at: int
    end: int
    start: int
    stop: int

    def within(self, at: int, end: int) -> "_SourceRun":
        """Return the run of the characters at..end-1 of the text, as far as they are in this one."""
        at, end = max(at, self.at), min(end, self.end)
        if self.stop - self.start != self.end - self.at:
            return _SourceRun(at, end, self.start, self.stop)
        return _SourceRun(at, end, self.start + at - self.at, self.start + end - self.at)


@dataclass(frozen=True, slots=True)
class SourcedText:
    """A text and its runs, in order and without gaps; a mark, which the source lacks, has the same start and stop."""

    text: str
    runs: tuple[_SourceRun, ...]

    def span(self, start: int, stop: int) -> SourceSpan:
        """Return where the characters start..stop-1 of the text, at least one, stand in the source, marks apart."""
        runs = _between(self.runs, start, stop)
        # A mark has the place where the run before it ends, so only marks at the beginning matter.
        places = [run for run in runs if run.start < run.stop] or runs[-1:]
        return SourceSpan(start=min(run.start for run in places), stop=max(run.stop for run in places))

    def __getitem__(self, part: slice) -> "SourcedText":
        start, stop, _ = part.indices(len(self.text))
        runs = tuple(run._replace(at=run.at - start, end=run.end - start) for run in _between(self.runs, start, stop))
        return SourcedText(self.text[part], runs)

    @property
    def without_marks(self) -> str:
        """The characters that stand in the source."""
        return "".join(self.text[run.at : run.end] for run in self.runs if run.start < run.stop)


class TextWriter:
    """Puts a `SourcedText` together from pieces of a source, in order.

    >>> writer = TextWriter()
    >>> writer.add("It  was ", start=10)
    >>> writer.add_replaced("<", start=18, stop=22)  # &lt; in the file
    >>> writer.add(" 5.", start=22)
    >>> text = writer.finish()
    >>> text.text, text.span(7, 8)
    ('It was < 5.', SourceSpan(start=18, stop=22))
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._runs: list[_SourceRun] = []

    def add(self, text: str, *, start: int) -> None:
        """Add characters that stand one by one in the source, from ``start`` on."""
        self.add_replaced(text, start=start, stop=start + len(text))

    def add_replaced(self, text: str, *, start: int, stop: int) -> None:
        """Add characters that stand for start..stop-1 of the source, such as one for a character reference."""
        if text:
            at = self._runs[-1].end if self._runs else 0
            self._pieces.append(text)
            self._runs.append(_SourceRun(at, at + len(text), start, stop))

    def add_mark(self, text: str) -> None:
        """Add characters that the source lacks, such as ``^`` before a superscript."""
        at = self._runs[-1].stop if self._runs else 0
        self.add_replaced(text, start=at, stop=at)

    def finish(self) -> SourcedText:
        """Return the text without invisible characters, its white space collapsed, none at its ends."""
        text = "".join(self._pieces)
        parts: list[str] = []
        runs: list[_SourceRun] = []
        length = 0
        for match in _PIECE.finditer(text):
            at, end = match.span()
            if match["words"]:
                parts.append(match["words"])
                moved = length - at
                runs += [run._replace(at=run.at + moved, end=run.end + moved) for run in _between(self._runs, at, end)]
            elif parts and end < len(text) and any(map(str.isspace, match[0])):
                parts.append(" ")
                first, *_, last = (*_between(self._runs, at, at + 1), *_between(self._runs, end - 1, end))
                runs.append(_SourceRun(length, length + 1, first.start, last.stop))
            length = runs[-1].end if runs else 0
        return SourcedText("".join(parts), tuple(runs))


def _between(runs: Sequence[_SourceRun], at: int, end: int) -> list[_SourceRun]:
    """Return the parts of runs that hold the characters at..end-1 of their text."""
    first = bisect_right(runs, at, key=lambda run: run.at) - 1
    return [run.within(at, end) for run in takewhile(lambda run: run.at < end, islice(runs, max(0, first), None))]
