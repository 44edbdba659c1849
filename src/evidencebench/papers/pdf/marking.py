"""Child process: highlights on a PDF, written behind its own bytes."""

import io
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, count, groupby
from typing import TYPE_CHECKING, cast

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import DataError
from evidencebench.papers.paper import PageBox
from evidencebench.papers.pdf.child import ask_process, limit_process

if TYPE_CHECKING:  # an extra
    from pypdf.generic import DictionaryObject

# Of the first question, the second, ...; red, green and blue in 0..1.
COLOURS = ((1, 0.85, 0), (0.35, 0.85, 0.4), (0.4, 0.7, 1), (1, 0.5, 0.7), (1, 0.6, 0.25), (0.75, 0.55, 1))
_ENCRYPTED = "encrypted: its text can be read, but nothing be added; save a copy without encryption"
_SIGNED = "signed: its signature would not hold; print it to a new PDF"


class Highlight(msgspec.Struct, frozen=True, kw_only=True):
    """Rectangles of one page that are coloured, and a note."""

    boxes: tuple[PageBox, ...]
    colour: tuple[float, float, float]  # red, green and blue in 0..1
    note: str


def tinted(colour: tuple[float, float, float], tint: float) -> tuple[float, float, float]:
    """Return a colour mixed with white, of which 1 less the tint is taken."""
    red, green, blue = (round(1 - tint * (1 - part), 3) for part in colour)
    return red, green, blue


def highlights_of(boxes: Sequence[PageBox], colour: tuple[float, float, float], note: str) -> Iterator[Highlight]:
    """Yield a highlight for each page on which a sentence stands."""
    for _, of_page in groupby(boxes, key=lambda box: box.page):
        yield Highlight(boxes=tuple(of_page), colour=colour, note=note)


def free_name(stem: str, taken: set[str]) -> str:
    """Return a name for a marked copy, and take it: names that differ in their case only are one file on some disks."""
    names = map("{}.pdf".format, chain([stem], (f"{stem}-{number}" for number in count(2))))
    name = next(name for name in names if name.casefold() not in taken)
    taken.add(name.casefold())
    return name


def main() -> None:
    limit_process()
    content, highlights = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=prepared(tuple[bytes, list[Highlight]]))
    sys.stdout.buffer.write(msgspec.msgpack.encode(_marked(content, highlights)))


def with_highlights(content: bytes, highlights: Sequence[Highlight], name: str) -> bytes:
    """Return a PDF with annotations behind its bytes; raises `DataError` where nothing can be added."""
    answer = ask_process(__name__, msgspec.msgpack.encode((content, highlights)), name)
    marked, error = msgspec.msgpack.decode(answer, type=tuple[bytes, str])
    if error:
        raise DataError(f"{name}: PDF: {error}")
    return marked


def _marked(content: bytes, highlights: Sequence[Highlight]) -> tuple[bytes, str]:
    """Return the bytes, or why there are none."""
    from pypdf import PdfReader, PdfWriter  # noqa: PLC0415 - an extra
    from pypdf.errors import PyPdfError  # noqa: PLC0415
    from pypdf.generic import DecodedStreamObject, NameObject, TextStringObject, read_object  # noqa: PLC0415

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted:
        return b"", _ENCRYPTED
    form = reader.root_object.get("/AcroForm")
    if "/Perms" in reader.root_object or (form and form.get_object().get("/SigFlags")):
        return b"", _SIGNED
    try:
        writer = PdfWriter(PdfReader(io.BytesIO(content), strict=True), incremental=True)
    except PyPdfError:  # damaged: what is added to such bytes, few viewers find
        writer = PdfWriter(clone_from=reader)
    for highlight in highlights:
        look, annotation = (
            cast("DictionaryObject", read_object(io.BytesIO(fields.encode()), reader)) for fields in _fields(highlight)
        )
        stream = DecodedStreamObject()
        stream.update(look)
        stream.set_data(_drawing(highlight))
        annotation[NameObject("/Contents")] = TextStringObject(highlight.note)
        looks = {"/N": writer._add_object(stream)}  # noqa: SLF001 - there is no other way to add a stream
        writer.add_annotation(highlight.boxes[0].page - 1, {**annotation, "/AP": looks})
    marked = io.BytesIO()
    writer.write(marked)
    return marked.getvalue(), ""


def _fields(highlight: Highlight) -> tuple[str, str]:
    """Return what the drawing of a highlight and its annotation have, as a PDF has it."""
    lefts, bottoms, rights, tops = zip(*(box[1:] for box in highlight.boxes), strict=True)
    bounds = f"[{min(lefts)} {min(bottoms)} {max(rights)} {max(tops)}]"
    # Not the order of the standard, but Acrobat's, which all viewers take: by rows, from the top.
    corners = (f"{left} {top} {right} {top} {left} {low} {right} {low}" for _, left, low, right, top in highlight.boxes)
    looks = f"/Type /XObject /Subtype /Form /BBox {bounds} /Resources << /ExtGState << /Over << /BM /Multiply >> >> >>"
    kind = "/Type /Annot /Subtype /Highlight /T (evidencebench) /F 4"  # 4: it is printed too
    colour = " ".join(map(str, highlight.colour))
    return f"<< {looks} >>", f"<< {kind} /Rect {bounds} /QuadPoints [{' '.join(corners)}] /C [{colour}] >>"


def _drawing(highlight: Highlight) -> bytes:
    """Return what paints the rectangles, multiplied with what lies behind them."""
    sides = (f"{left} {low} {right - left:.1f} {top - low:.1f} re" for _, left, low, right, top in highlight.boxes)
    return " ".join(("/Over gs", *map(str, highlight.colour), "rg", *sides, "f")).encode()


if __name__ == "__main__":
    main()
