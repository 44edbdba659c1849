"""Child process: PDFium's characters with places."""

import ctypes
import math
import re
import sys
import unicodedata
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress, repeat
from operator import and_, neg, not_
from typing import Any

import msgspec
import pypdfium2_raw as pdfium

from evidencebench.decoding import prepared
from evidencebench.errors import UnreadableError
from evidencebench.papers.pdf.child import ask_process, limit_process

MOST_PAGES = 2000
MOST_CHARACTERS = 3_000_000
HIDDEN, OFF_PAGE, GENERATED = 1, 2, 4
"""Flags: in invisible type; outside of what is shown of the page; not in the file, such as spaces that PDFium adds."""

OBLIQUE = 4
"""The direction of text that is not upright (0) nor turned by one (counter-clockwise), two or three right angles."""


class PdfFont(msgspec.Struct, frozen=True, kw_only=True):
    """A font in a size; ``flags`` are those of PDF's font descriptors."""

    name: str
    flags: int
    size: float


class PdfAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the child process says: an error by its name, or the arrays of each page, and the fonts."""

    error: str = ""
    amount: int = 0
    pages: list[tuple[bytes, ...] | None] = []  # None: PDFium could not read it
    fonts: list[PdfFont] = []
    facts: dict[str, str] = {}  # what the file says of itself, by PDF's names


@dataclass(slots=True)
class PageArrays:
    """The characters of a page, one an entry."""

    codes: "array[int]" = field(default_factory=lambda: array("I"))  # code points
    # In points, as if the page were turned so that the character stands upright; baselines grow downwards.
    lefts: "array[float]" = field(default_factory=lambda: array("f"))
    rights: "array[float]" = field(default_factory=lambda: array("f"))
    baselines: "array[float]" = field(default_factory=lambda: array("f"))
    fonts: "array[int]" = field(default_factory=lambda: array("H"))  # places in `PdfAnswer.fonts`
    directions: "array[int]" = field(default_factory=lambda: array("B"))  # in right angles, or `OBLIQUE`
    flags: "array[int]" = field(default_factory=lambda: array("B"))  # `HIDDEN`, `OFF_PAGE`, `GENERATED`

    @property
    def all(self) -> "tuple[array[Any], ...]":
        """All arrays, in the order in which they are sent."""
        return self.codes, self.lefts, self.rights, self.baselines, self.fonts, self.directions, self.flags


_INVISIBLE = 3  # the render mode of text that a scanner has recognised, and of hidden text
_NAME_BYTES, _FACT_BYTES = 256, 2000
_FACTS = ("Subject", "CreationDate")
_BREAKS = frozenset(b" \r\n")
_HYPHENS = (0x02, 0xFFFE)  # how PDFium gives a hyphen at a line's end
_UPRIGHT = 0.98  # the cosine of the largest slant of a line of text


def main() -> None:
    limit_process()
    sys.stdout.buffer.write(msgspec.msgpack.encode(_answer(sys.stdin.buffer.read())))


def _answer(content: bytes) -> PdfAnswer:
    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(content, len(content), None)
    n_pages = pdfium.FPDF_GetPageCount(document) if document else 0
    if not document or not 1 <= n_pages <= MOST_PAGES:
        encrypted = not document and pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD
        error = "encrypted" if encrypted else "damaged" if not document else "pages"
        return PdfAnswer(error=error, amount=n_pages)
    fonts = {PdfFont(name="", flags=0, size=0): 0}  # font -> its place; the first is that of generated characters
    pages: list[tuple[bytes, ...] | None] = []
    n_left = MOST_CHARACTERS
    for index in range(n_pages):
        page = pdfium.FPDF_LoadPage(document, index)
        text = pdfium.FPDFText_LoadPage(page) if page else None
        n = pdfium.FPDFText_CountChars(text) if text else -1
        box = pdfium.FS_RECTF()
        if page:
            pdfium.FPDF_GetPageBoundingBox(page, box)
        bounds = (box.left, box.bottom, box.right, box.top)
        n_left -= max(n, 0)
        if n_left < 0:
            return PdfAnswer(error="characters", amount=index + 1)
        pages.append(None if n < 0 else tuple(map(bytes, _characters(text, n, bounds, fonts).all)))
        if text:
            pdfium.FPDFText_ClosePage(text)
        if page:
            pdfium.FPDF_ClosePage(page)
    return PdfAnswer(pages=pages, fonts=list(fonts), facts={name: _fact(document, name) for name in _FACTS})


def _fact(document: Any, name: str) -> str:
    held = ctypes.create_string_buffer(_FACT_BYTES)
    n_bytes = pdfium.FPDF_GetMetaText(document, name.encode(), held, _FACT_BYTES)
    return held.raw[: max(0, min(n_bytes, _FACT_BYTES) - 2)].decode("utf-16-le", "replace")


def _characters(text: Any, n: int, bounds: tuple[float, ...], fonts: dict[PdfFont, int]) -> PageArrays:
    boxes, origins = array("f", bytes(16 * n)), array("d", bytes(16 * n))  # left, top, right, bottom; x, y
    x_at = origins.buffer_info()[0]
    box, *origin = (range(at, at + 16 * n, 16) for at in (boxes.buffer_info()[0], x_at, x_at + 8))
    _each(pdfium.FPDFText_GetLooseCharBox, text, n, box)
    _each(pdfium.FPDFText_GetCharOrigin, text, n, *origin)
    codes, xs, ys = array("I", _each(pdfium.FPDFText_GetUnicode, text, n)), origins[0::2], origins[1::2]
    pdfium.FPDFText_GetTextObject.restype = ctypes.c_void_p  # an address, which is compared faster than a pointer
    addresses = _each(pdfium.FPDFText_GetTextObject, text, n)
    arrays = PageArrays(codes=codes, lefts=boxes[0::4], rights=boxes[2::4], baselines=array("f", map(neg, ys)))
    left, bottom, right, top = bounds
    traits: dict[int | None, tuple[int, int, int]] = {}  # text object -> font, direction, flags
    font, direction, flags = 0, 0, 0
    characters = zip(codes, addresses, arrays.lefts, arrays.rights, ys, strict=True)
    for index, (code, address, start, stop, y) in enumerate(characters):
        is_generated = code in _BREAKS and pdfium.FPDFText_IsGenerated(text, index) == 1
        if not is_generated:
            if address not in traits:
                traits[address] = _traits(text, index, address, fonts)
            font, direction, flags = traits[address]
        is_off = not (left <= (start + stop) / 2 <= right and bottom <= y <= top)
        if direction not in (0, OBLIQUE):
            upper, lower = boxes[4 * index + 1], boxes[4 * index + 3]
            sides = ((lower, upper), (-stop, -start), (-upper, -lower))[direction - 1]
            arrays.lefts[index], arrays.rights[index] = sides
            arrays.baselines[index] = (xs[index], y, -xs[index])[direction - 1]
        if code in _HYPHENS and pdfium.FPDFText_IsHyphen(text, index) == 1:
            codes[index] = ord("-")
        elif code > sys.maxunicode:
            codes[index] = 0xFFFD
        arrays.fonts.append(font)
        arrays.directions.append(direction)
        own_flags = flags
        if is_off:
            own_flags |= OFF_PAGE
        if is_generated:
            own_flags |= GENERATED
        arrays.flags.append(own_flags)
    return arrays


def _each(function: Any, text: Any, n: int, *addresses: range) -> list[Any]:
    """Return what a function of PDFium gives for each character; what else it says goes to the addresses."""
    function.argtypes = (ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * len(addresses))  # faster than pointers
    return list(map(function, repeat(ctypes.cast(text, ctypes.c_void_p)), range(n), *addresses))


def _traits(text: Any, index: int, address: int | None, fonts: dict[PdfFont, int]) -> tuple[int, int, int]:
    """Return font, direction and flags of a character, which are those of all its text object."""
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(text, index, matrix)
    name, name_flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text, index, name, _NAME_BYTES, name_flags)
    size = pdfium.FPDFText_GetFontSize(text, index) * math.hypot(matrix.c, matrix.d)
    font = PdfFont(
        name=name.value.decode("utf-8", "replace"),
        flags=name_flags.value,
        size=round(size, 2) if math.isfinite(size) else 0.0,
    )
    number = fonts.setdefault(font, len(fonts)) if len(fonts) < 1 << 16 else 0
    length = math.hypot(matrix.a, matrix.b) or 1.0
    along, up = matrix.a / length, matrix.b / length
    direction = (
        0 if along > _UPRIGHT else 1 if up > _UPRIGHT else 2 if along < -_UPRIGHT else 3 if up < -_UPRIGHT else OBLIQUE
    )
    text_object = ctypes.cast(address or 0, pdfium.FPDF_PAGEOBJECT)
    is_hidden = bool(address) and pdfium.FPDFTextObj_GetTextRenderMode(text_object) == _INVISIBLE
    return number, direction, HIDDEN if is_hidden else 0


if __name__ == "__main__":
    main()


# Error of the child -> what is told of it.
_ERRORS = {
    "encrypted": "encrypted: it opens only with a password; save a copy without one",
    "damaged": "damaged: PDFium cannot open it; fetch it again, or open it in a viewer and print it to a new PDF",
    "pages": f"expected 1 to {MOST_PAGES:,} pages, got {{amount:,}}; take the pages of one paper out of it",
    "characters": f"expected at most {MOST_CHARACTERS:,} characters, but its first {{amount:,}} pages hold more; take "
    "the pages of one paper out of it",
}
# An accent without a letter -> the one that combines with the letter before it.
_COMBINING = dict(
    zip(
        "\u00a8\u00b4`\u02c6\u02dc\u02c7\u02d8\u02d9\u02da\u00b8\u02dd",
        "\u0308\u0301\u0300\u0302\u0303\u030c\u0306\u0307\u030a\u0327\u030b",
        strict=True,
    )
)
_ACCENTS = re.compile(f"[{''.join(_COMBINING)}]")
# TeX's fonts of signs, and which of them PDFium gives as their places where the file does not name them. Programs that
# give signs other places leave these two free.
_SYMBOLS, _SIGNS = re.compile(r"(?:CM|MT|TX|RM)\d?SY"), {"!": "\u2192", "\x00": "\u2212", "\x0f": "\u2022"}
_PLACES = re.compile("[\x00-\x08\x0e-\x1b]")  # of signs that nobody names
UNNAMED = "\ufffd"
_NOTHING = "\x00"  # of no width: `lines_of` passes it over
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPage:
    """A page; the places of its characters are those on a page turned so that most of its text stands upright."""

    number: int  # from 1
    start: int  # where its text begins in the text of all pages, joined by form feeds
    text: str  # one character an entry of ``arrays``
    arrays: PageArrays
    direction: int  # which text stands upright, as in `PageArrays.directions`
    is_recognised: bool  # its text lies invisibly over the picture of a scanned page
    is_broken: bool  # PDFium could not read it

    @property
    def letters(self) -> str:
        """Its text without accents of their own and what has no width."""
        return _ACCENTS.sub("", self.text.replace(_NOTHING, ""))

    @property
    def unread(self) -> Mapping[str, str]:
        """Sort -> the text that cannot be seen, and that which is turned otherwise than most of the page's."""
        seen = self.is_shown
        turned_away = map(self.direction.__ne__, self.arrays.directions)
        texts = {
            "hidden text": "".join(compress(self.text, map(not_, seen))),
            "rotated text": "".join(compress(self.text, map(and_, seen, turned_away))),
        }
        return {sort: text for sort, text in texts.items() if text.strip()}

    @property
    def is_shown(self) -> list[bool]:
        """Of each character."""
        unseen = OFF_PAGE if self.is_recognised else OFF_PAGE | HIDDEN
        return [not flags & unseen for flags in self.arrays.flags]


def _with_accents(text: str, arrays: PageArrays) -> str:
    """Return the text with accents that stand over a letter of their own, as TeX prints them, put on that letter."""
    letters = list(text)
    for match in _ACCENTS.finditer(text):
        at = match.start()
        for beside in (at + 1, at - 1, at + 2):
            if not 0 <= beside < len(text) or not text[beside].isalpha():
                continue
            middle = (arrays.lefts[at] + arrays.rights[at]) / 2
            composed = unicodedata.normalize("NFC", text[beside] + _COMBINING[text[at]])
            if arrays.lefts[beside] <= middle <= arrays.rights[beside] and len(composed) == 1:
                letters[beside], letters[at] = composed, _NOTHING
                break
    return "".join(letters)


def pages_of(content: bytes, name: str) -> tuple[tuple[PdfPage, ...], tuple[PdfFont, ...], Mapping[str, str]]:
    answer = msgspec.msgpack.decode(ask_process(__name__, content, name), type=prepared(PdfAnswer))
    if answer.error:
        raise UnreadableError(f"{name}: PDF: {_ERRORS[answer.error].format(amount=answer.amount)}")
    pages: list[PdfPage] = []
    symbols = {number for number, font in enumerate(answer.fonts) if _SYMBOLS.search(font.name)}
    start = 0
    for number, sent in enumerate(answer.pages, start=1):
        arrays = PageArrays()
        for values, sent_bytes in zip(arrays.all, sent or (), strict=False):
            values.frombytes(sent_bytes)
        letters = _SURROGATES.sub("\ufffd", "".join(map(chr, arrays.codes)))
        if symbols and not _SIGNS.keys().isdisjoint(letters):
            pairs = zip(letters, arrays.fonts, strict=True)
            letters = "".join(_SIGNS.get(letter, letter) if font in symbols else letter for letter, font in pairs)
        text = _with_accents(_PLACES.sub(UNNAMED, letters), arrays)
        seen = [not flags & (GENERATED | OFF_PAGE) for flags in arrays.flags]
        directions = Counter(compress(arrays.directions, seen))
        direction = max((0, 1, 3, 2), key=directions.__getitem__)
        hidden = sum(flags & HIDDEN for flags in compress(arrays.flags, seen))
        pages.append(
            PdfPage(
                number=number,
                start=start,
                text=text,
                arrays=arrays,
                direction=direction,
                is_recognised=2 * hidden > sum(seen),
                is_broken=sent is None,
            )
        )
        start += len(text) + 1
    return tuple(pages), tuple(answer.fonts), answer.facts
