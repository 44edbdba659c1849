"""The program of a child process: a PDF on standard input, its characters and where they stand on standard output.

PDFium is C++ that reads untrusted bytes: a damaged file may crash it, keep it busy forever or fill the memory. Here
that ends one process, with limits that the system keeps. What comes out is a line of JSON (`Found`), and behind it the
arrays of each page (`PageArrays`) in their order.
"""

import ctypes
import math
import resource
import sys
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec
import pypdfium2.raw as pdfium

from evidencebench.papers.pdf.characters import (
    GENERATED,
    HIDDEN,
    MOST_CHARACTERS,
    MOST_PAGES,
    OBLIQUE,
    OFF_PAGE,
    SECONDS,
    Found,
    PageArrays,
    PageFound,
    PdfFont,
    turned,
)

_MEMORY_BYTES = 3 << 30
_INVISIBLE = 3  # the render mode of text that a scanner has recognised, and of hidden text
_NAME_BYTES = 256
_UPRIGHT = 0.98  # the cosine of the largest slant of a line of text


def main() -> None:
    """Read standard input and write standard output."""
    for limit, most in ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):  # not every system knows every limit
            resource.setrlimit(limit, (most, most))
    _extract(sys.stdin.buffer.read(), sys.stdout.buffer)


def _extract(content: bytes, target: BinaryIO) -> None:
    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(content, len(content), None)
    n_pages = pdfium.FPDF_GetPageCount(document) if document else 0
    if not document or not 1 <= n_pages <= MOST_PAGES:
        encrypted = not document and pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD
        error = "encrypted" if encrypted else "damaged" if not document else "pages"
        target.write(msgspec.json.encode(Found(error=error, amount=n_pages)) + b"\n")
        return
    fonts: dict[PdfFont, int] = {}
    pages: list[PageFound] = []
    arrays: list[PageArrays] = []
    n_left = MOST_CHARACTERS
    for index in range(n_pages):
        page = pdfium.FPDF_LoadPage(document, index)
        text = pdfium.FPDFText_LoadPage(page) if page else None
        n = pdfium.FPDFText_CountChars(text) if text else -1
        box = pdfium.FS_RECTF()
        if page:
            pdfium.FPDF_GetPageBoundingBox(page, box)
        bounds = (box.left, box.bottom, box.right, box.top)
        pages.append(PageFound(n_characters=max(n, 0), box=bounds, is_broken=n < 0))
        n_left -= max(n, 0)
        if n_left < 0:
            target.write(msgspec.json.encode(Found(error="characters", amount=index + 1)) + b"\n")
            return
        arrays.append(_characters(text, n, bounds, fonts) if n > 0 else PageArrays())
        if text:
            pdfium.FPDFText_ClosePage(text)
        if page:
            pdfium.FPDF_ClosePage(page)
    target.write(msgspec.json.encode(Found(pages=pages, fonts=list(fonts))) + b"\n")
    for page_arrays in arrays:
        target.writelines(one.tobytes() for one in page_arrays.all)


def _characters(text: Any, n: int, bounds: tuple[float, ...], fonts: dict[PdfFont, int]) -> PageArrays:
    found = PageArrays()
    box, matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
    x, y = ctypes.c_double(), ctypes.c_double()
    left, bottom, right, top = bounds
    known: dict[int, tuple[int, int, int]] = {}  # text object -> font, direction, flags
    font, direction, flags = 0, 0, 0
    if not fonts:
        fonts[PdfFont(name="", flags=0, size=0)] = 0
    for index in range(n):
        code = pdfium.FPDFText_GetUnicode(text, index)
        generated = pdfium.FPDFText_IsGenerated(text, index) == 1
        pdfium.FPDFText_GetLooseCharBox(text, index, box)
        pdfium.FPDFText_GetCharOrigin(text, index, x, y)
        if not generated:
            text_object = pdfium.FPDFText_GetTextObject(text, index)
            address = ctypes.cast(text_object, ctypes.c_void_p).value or 0
            if address not in known:
                pdfium.FPDFText_GetMatrix(text, index, matrix)
                known[address] = _look(text, index, text_object, matrix, fonts)
            font, direction, flags = known[address]
        off = not (left <= (box.left + box.right) / 2 <= right and bottom <= y.value <= top)
        start, base, stop, _ = turned(box.left, y.value, box.right, y.value, direction)
        if direction in (1, 3):
            base = x.value if direction == 1 else -x.value
        if code in (0x02, 0xFFFE) and pdfium.FPDFText_IsHyphen(text, index) == 1:
            code = ord("-")
        found.codes.append(code if code <= sys.maxunicode else 0xFFFD)
        found.lefts.append(start)
        found.rights.append(stop)
        found.baselines.append(base)
        found.fonts.append(font)
        found.directions.append(direction)
        found.flags.append(flags | OFF_PAGE * off | GENERATED * generated)
    return found


def _look(text: Any, index: int, text_object: Any, matrix: Any, fonts: dict[PdfFont, int]) -> tuple[int, int, int]:
    """Return font, direction and flags of a character, and so of its text object."""
    name, name_flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text, index, name, _NAME_BYTES, name_flags)
    size = pdfium.FPDFText_GetFontSize(text, index) * math.hypot(matrix.c, matrix.d)
    font = PdfFont(
        name=name.value.decode("utf-8", "replace"),
        flags=name_flags.value,
        size=round(size, 2) if math.isfinite(size) else 0.0,
    )
    place = fonts.setdefault(font, len(fonts)) if len(fonts) < 1 << 16 else 0
    length = math.hypot(matrix.a, matrix.b) or 1.0
    along, up = matrix.a / length, matrix.b / length
    direction = (
        0 if along > _UPRIGHT else 1 if up > _UPRIGHT else 2 if along < -_UPRIGHT else 3 if up < -_UPRIGHT else OBLIQUE
    )
    hidden = bool(text_object) and pdfium.FPDFTextObj_GetTextRenderMode(text_object) == _INVISIBLE
    return place, direction, HIDDEN * hidden


if __name__ == "__main__":
    main()
