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
from typing import Any

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
_BREAKS = frozenset(b" \r\n")
_HYPHENS = (0x02, 0xFFFE)  # how PDFium gives a hyphen at a line's end
_UPRIGHT = 0.98  # the cosine of the largest slant of a line of text


def main() -> None:
    """Read a PDF from standard input, and write its characters to standard output."""
    for limit, most in ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):  # not every system knows every limit
            resource.setrlimit(limit, (most, most))
    content, target = sys.stdin.buffer.read(), sys.stdout.buffer
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
        target.writelines(array.tobytes() for array in page_arrays.all)


def _characters(text: Any, n: int, bounds: tuple[float, ...], fonts: dict[PdfFont, int]) -> PageArrays:
    arrays = PageArrays()
    box, x, y = pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    box_pointer, x_pointer, y_pointer = ctypes.pointer(box), ctypes.pointer(x), ctypes.pointer(y)
    left, bottom, right, top = bounds
    text_object = pdfium.FPDFText_GetTextObject
    text_object.restype = ctypes.c_void_p  # an address, which is compared faster than a pointer
    traits: dict[int | None, tuple[int, int, int]] = {}  # text object -> font, direction, flags
    font, direction, flags = 0, 0, 0
    if not fonts:
        fonts[PdfFont(name="", flags=0, size=0)] = 0
    for index in range(n):
        code = pdfium.FPDFText_GetUnicode(text, index)
        pdfium.FPDFText_GetLooseCharBox(text, index, box_pointer)
        pdfium.FPDFText_GetCharOrigin(text, index, x_pointer, y_pointer)
        start, stop = box.left, box.right
        is_generated = code in _BREAKS and pdfium.FPDFText_IsGenerated(text, index) == 1
        if not is_generated:
            address = text_object(text, index)
            if address not in traits:
                traits[address] = _traits(text, index, address, fonts)
            font, direction, flags = traits[address]
        is_off = not (left <= (start + stop) / 2 <= right and bottom <= y.value <= top)
        base = -y.value
        if direction not in (0, OBLIQUE):
            start, _, stop, _ = turned(start, box.bottom, stop, box.top, direction)
            base = (x.value, y.value, -x.value)[direction - 1]
        if code in _HYPHENS and pdfium.FPDFText_IsHyphen(text, index) == 1:
            code = ord("-")
        arrays.codes.append(code if code <= sys.maxunicode else 0xFFFD)
        arrays.lefts.append(start)
        arrays.rights.append(stop)
        arrays.baselines.append(base)
        arrays.fonts.append(font)
        arrays.directions.append(direction)
        arrays.flags.append(flags | OFF_PAGE * is_off | GENERATED * is_generated)
    return arrays


def _traits(text: Any, index: int, address: int | None, fonts: dict[PdfFont, int]) -> tuple[int, int, int]:
    """Return font, direction and flags of a character, and so of its text object."""
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
    return number, direction, HIDDEN * is_hidden


if __name__ == "__main__":
    main()
