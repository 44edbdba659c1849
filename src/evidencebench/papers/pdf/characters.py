"""What the child process sends: the characters of a PDF and where they stand."""

from array import array
from dataclasses import dataclass, field
from typing import Any

import msgspec

MOST_PAGES = 2000
MOST_CHARACTERS = 3_000_000
SECONDS = 60
"""How long a PDF may take; one of 20 pages takes under half a second."""

HIDDEN, OFF_PAGE, GENERATED = 1, 2, 4
"""Flags: in invisible type; outside of what is shown of the page; not in the file, such as spaces that PDFium adds."""

OBLIQUE = 4
"""The direction of text that is not upright (0) nor turned by one (counter-clockwise), two or three right angles."""


class PdfFont(msgspec.Struct, frozen=True, kw_only=True):
    """A font in a size; ``flags`` are those of PDF's font descriptors."""

    name: str
    flags: int
    size: float


class PageFound(msgspec.Struct, frozen=True, kw_only=True):
    """A page: how many characters it has; left, bottom, right, top of what is shown of it; whether it is broken."""

    n_characters: int
    box: tuple[float, float, float, float]
    is_broken: bool = False


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What the child found: an error by its name, or the pages, and their fonts."""

    error: str = ""
    amount: int = 0
    pages: list[PageFound] = []
    fonts: list[PdfFont] = []


@dataclass(slots=True)
class PageArrays:
    """The characters of a page, one an entry."""

    codes: "array[int]" = field(default_factory=lambda: array("I"))  # code points
    # In points, as if the page were turned so that the character stands upright; baselines grow downwards.
    lefts: "array[float]" = field(default_factory=lambda: array("f"))
    rights: "array[float]" = field(default_factory=lambda: array("f"))
    baselines: "array[float]" = field(default_factory=lambda: array("f"))
    fonts: "array[int]" = field(default_factory=lambda: array("H"))  # places in `Found.fonts`
    directions: "array[int]" = field(default_factory=lambda: array("B"))  # in right angles, or `OBLIQUE`
    flags: "array[int]" = field(default_factory=lambda: array("B"))  # `HIDDEN`, `OFF_PAGE`, `GENERATED`

    @property
    def all(self) -> "tuple[array[Any], ...]":
        """All arrays, in the order in which they are sent."""
        return self.codes, self.lefts, self.rights, self.baselines, self.fonts, self.directions, self.flags


def turned(left: float, bottom: float, right: float, top: float, direction: int) -> tuple[float, float, float, float]:
    """Return left, top, right, bottom of a box, downwards, on a page turned so that text of a direction is upright."""
    return {
        1: (bottom, left, top, right),
        2: (-right, bottom, -left, top),
        3: (-top, -right, -bottom, -left),
    }.get(direction, (left, -top, right, -bottom))
