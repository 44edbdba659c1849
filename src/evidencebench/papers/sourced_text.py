"""Text whose characters know where they stand in the file that they come from."""

import re
from array import array
from dataclasses import dataclass
from itertools import compress, repeat

from evidencebench.papers.paper import SourceSpan

INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
"""Soft hyphens and other characters of no width."""

# Those go; white space becomes one space. Words with single spaces between them stay as they are.
_WORD = rf"[^\s{INVISIBLE}]+"
_PIECE = re.compile(rf"(?P<words>{_WORD}(?: {_WORD})*)|[\s{INVISIBLE}]+")


@dataclass(frozen=True, slots=True)
class SourcedText:
    """A text; character ``i`` of it stands at ``starts[i]..stops[i]-1`` of the source."""

    text: str
    starts: "array[int]"  # array is not subscriptable before Python 3.12
    stops: "array[int]"

    def span(self, start: int, stop: int) -> SourceSpan:
        """Return where the characters start..stop-1 of the text, at least one, stand in the source, marks apart."""
        while start < stop - 1 and self.starts[start] == self.stops[start]:
            start += 1  # a mark has the place where the character before it ends, so only the first ones matter
        return SourceSpan(start=min(self.starts[start:stop]), stop=max(self.stops[start:stop]))

    @property
    def without_marks(self) -> str:
        """The characters that stand in the source."""
        pairs = zip(self.starts, self.stops, strict=True)
        return "".join(compress(self.text, (start < stop for start, stop in pairs)))

    def __getitem__(self, part: slice) -> "SourcedText":
        return SourcedText(self.text[part], self.starts[part], self.stops[part])


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
        self._starts, self._stops = array("q"), array("q")

    def add(self, text: str, *, start: int) -> None:
        """Add characters that stand one by one in the source, from ``start`` on."""
        self._pieces.append(text)
        self._starts.extend(range(start, start + len(text)))
        self._stops.extend(range(start + 1, start + 1 + len(text)))

    def add_replaced(self, text: str, *, start: int, stop: int) -> None:
        """Add characters that stand for start..stop-1 of the source, such as one for a character reference."""
        self._pieces.append(text)
        self._starts.extend(repeat(start, len(text)))
        self._stops.extend(repeat(stop, len(text)))

    def add_mark(self, text: str) -> None:
        """Add characters that the source lacks, such as ``^`` before a superscript."""
        at = self._stops[-1] if self._stops else 0
        self.add_replaced(text, start=at, stop=at)

    def finish(self) -> SourcedText:
        """Return the text without invisible characters, its white space collapsed, none at its ends."""
        text, starts, stops = "".join(self._pieces), array("q"), array("q")
        parts: list[str] = []
        for found in _PIECE.finditer(text):
            start, stop = found.span()
            if found["words"]:
                parts.append(found["words"])
                starts.extend(self._starts[start:stop])
                stops.extend(self._stops[start:stop])
            elif parts and stop < len(text) and any(map(str.isspace, found[0])):
                parts.append(" ")
                starts.append(self._starts[start])
                stops.append(self._stops[stop - 1])
        return SourcedText("".join(parts), starts, stops)
