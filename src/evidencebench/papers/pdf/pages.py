"""The pages of a PDF as characters with their places, taken out by a child process."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import and_

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.papers.pdf import characters
from evidencebench.papers.pdf.characters import Found, PageArrays, PageFound, PdfFont, turned

_SURROGATES = re.compile("[\ud800-\udfff]")
_PROGRAM = "evidencebench.papers.pdf.extraction"


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPage:
    """A page; the places of its characters are those on a page turned so that most of its text stands upright."""

    number: int  # from 1
    start: int  # where its text begins in the text of all pages, joined by form feeds
    text: str  # one character an entry of ``arrays``
    arrays: PageArrays
    box: tuple[float, float, float, float]  # left, top, right, bottom of what is shown of it, downwards, in points
    direction: int  # which text stands upright, as in `PageArrays.directions`
    is_recognised: bool  # its text lies invisibly over the picture of a scanned page
    is_broken: bool  # PDFium could not read it

    @property
    def unread(self) -> Mapping[str, str]:
        """Sort -> the text that cannot be seen, and that which is turned otherwise than most of the page's."""
        seen = [self.is_shown(index) for index in range(len(self.text))]
        turned_away = [direction != self.direction for direction in self.arrays.directions]
        texts = {
            "hidden text": "".join(letter for letter, is_seen in zip(self.text, seen, strict=True) if not is_seen),
            "rotated text": "".join(compress(self.text, map(and_, seen, turned_away))),
        }
        return {sort: text for sort, text in texts.items() if text.strip()}

    def is_shown(self, index: int) -> bool:
        """Whether a character can be seen."""
        flags = self.arrays.flags[index]
        return not flags & characters.OFF_PAGE and (self.is_recognised or not flags & characters.HIDDEN)


def pages_of(content: bytes, name: str) -> tuple[tuple[PdfPage, ...], tuple[PdfFont, ...]]:
    """Return the pages of a PDF and the fonts of its text; raises `UnreadableError` if it cannot be opened."""
    try:
        ended = subprocess.run(  # noqa: S603 our own program
            [sys.executable, "-P", "-m", _PROGRAM],
            input=content,
            capture_output=True,
            timeout=characters.SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UnreadableError(
            f"{name}: PDF: expected to be read in {characters.SECONDS} seconds, got no end; it may be damaged: open it "
            "in a viewer and print it to a new PDF"
        ) from error
    head, _, data = ended.stdout.partition(b"\n")
    if ended.returncode or not head:
        raise UnreadableError(
            f"{name}: PDF: damaged: PDFium, which reads it, ended with status {ended.returncode}; open it in a viewer "
            "and print it to a new PDF"
        )
    answer = msgspec.json.decode(head, type=Found)
    if answer.error:
        raise UnreadableError(f"{name}: PDF: {_refusal(answer)}")
    return tuple(_pages(answer.pages, data)), tuple(answer.fonts)


def _refusal(found: Found) -> str:
    if found.error == "encrypted":
        return "encrypted: it opens only with a password; save a copy without one"
    if found.error == "damaged":
        return "damaged: PDFium cannot open it; fetch it again, or open it in a viewer and print it to a new PDF"
    if found.error == "pages":
        most = f"expected 1 to {characters.MOST_PAGES:,} pages, got {found.amount:,}"
        return f"{most}; take the pages of one paper out of it"
    return (
        f"expected at most {characters.MOST_CHARACTERS:,} characters, but its first {found.amount:,} pages hold more; "
        "take the pages of one paper out of it"
    )


def _pages(heads: Sequence[PageFound], data: bytes) -> list[PdfPage]:
    pages: list[PdfPage] = []
    position, start = 0, 0
    for number, page in enumerate(heads, start=1):
        arrays = PageArrays()
        for values in arrays.all:
            size = page.n_characters * values.itemsize
            values.frombytes(data[position : position + size])
            position += size
        text = _SURROGATES.sub("\ufffd", "".join(map(chr, arrays.codes)))
        seen = [not flags & (characters.GENERATED | characters.OFF_PAGE) for flags in arrays.flags]
        directions = Counter(compress(arrays.directions, seen))
        direction = max((0, 1, 3, 2), key=directions.__getitem__)
        hidden = sum(flags & characters.HIDDEN for flags in compress(arrays.flags, seen))
        pages.append(
            PdfPage(
                number=number,
                start=start,
                text=text,
                arrays=arrays,
                box=turned(*page.box, direction),
                direction=direction,
                is_recognised=2 * hidden > sum(seen),
                is_broken=page.is_broken,
            )
        )
        start += len(text) + 1
    return pages
