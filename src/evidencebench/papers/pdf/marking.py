"""Child process: highlights on a PDF, written behind its own bytes."""

import io
import sys
from collections.abc import Sequence

import msgspec

from evidencebench.errors import DataError
from evidencebench.papers.paper import PageBox
from evidencebench.papers.pdf.child import ask_process, limit_process
from evidencebench.provenance import require_extra

_AUTHOR = "evidencebench"
_ERRORS = {
    "encrypted": "encrypted: its text can be read, but nothing be added; save a copy without encryption",
    "signed": "signed: its signature would not hold; print it to a new PDF",
}


class Highlight(msgspec.Struct, frozen=True, kw_only=True):
    """Rectangles of one page behind which it is coloured, and a note."""

    boxes: tuple[PageBox, ...]
    colour: tuple[float, float, float]  # red, green and blue in 0..1
    note: str


class _Order(msgspec.Struct, frozen=True):
    content: bytes
    highlights: Sequence[Highlight]


class _Marked(msgspec.Struct, frozen=True):
    content: bytes = b""
    error: str = ""


def main() -> None:
    limit_process()
    order = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=_Order)
    sys.stdout.buffer.write(msgspec.msgpack.encode(_marked(order)))


def require_marking(what: str) -> None:
    require_extra(what, "mark", "pypdf")


def with_highlights(content: bytes, highlights: Sequence[Highlight], name: str) -> bytes:
    """Return a PDF with annotations behind its bytes; raises `DataError` where nothing can be added."""
    answer = ask_process(__name__, msgspec.msgpack.encode(_Order(content, highlights)), name)
    marked = msgspec.msgpack.decode(answer, type=_Marked)
    if marked.error:
        raise DataError(f"{name}: PDF: {marked.error}")
    return marked.content


def _marked(order: _Order) -> _Marked:
    from pypdf import PdfReader, PdfWriter  # noqa: PLC0415 - an extra
    from pypdf.annotations import Highlight as Annotation  # noqa: PLC0415
    from pypdf.generic import (  # noqa: PLC0415
        ArrayObject,
        DecodedStreamObject,
        DictionaryObject,
        FloatObject,
        NameObject,
        TextStringObject,
    )

    reader = PdfReader(io.BytesIO(order.content))
    if reader.is_encrypted:
        return _Marked(error=_ERRORS["encrypted"])
    form = reader.root_object.get("/AcroForm")
    flags = form.get_object().get("/SigFlags") if form else 0
    if "/Perms" in reader.root_object or flags:
        return _Marked(error=_ERRORS["signed"])
    writer = PdfWriter(reader, incremental=True)
    multiplied = DictionaryObject({NameObject("/BM"): NameObject("/Multiply")})
    states = DictionaryObject({NameObject("/Over"): multiplied})
    for highlight in order.highlights:
        lefts, bottoms, rights, tops = zip(*(box[1:] for box in highlight.boxes), strict=True)
        bounds = min(lefts), min(bottoms), max(rights), max(tops)
        look = DecodedStreamObject()
        look.set_data(_drawing(highlight))
        look[NameObject("/Type")], look[NameObject("/Subtype")] = NameObject("/XObject"), NameObject("/Form")
        look[NameObject("/BBox")] = ArrayObject(map(FloatObject, bounds))
        look[NameObject("/Resources")] = DictionaryObject({NameObject("/ExtGState"): states})
        # Not the order of the standard, but Acrobat's, which all viewers take: by rows, from the top.
        corners = [
            FloatObject(side)
            for _, left, bottom, right, top in highlight.boxes
            for side in (left, top, right, top, left, bottom, right, bottom)
        ]
        annotation = Annotation(rect=bounds, quad_points=ArrayObject(corners), printing=True, title_bar=_AUTHOR)
        annotation[NameObject("/C")] = ArrayObject(map(FloatObject, highlight.colour))
        annotation[NameObject("/Contents")] = TextStringObject(highlight.note)
        reference = writer._add_object(look)  # noqa: SLF001 - there is no other way to add a stream
        annotation[NameObject("/AP")] = DictionaryObject({NameObject("/N"): reference})
        writer.add_annotation(highlight.boxes[0].page - 1, annotation)
    marked = io.BytesIO()
    writer.write(marked)
    return _Marked(content=marked.getvalue())


def _drawing(highlight: Highlight) -> bytes:
    """Return what paints the rectangles, multiplied with what lies behind them."""
    rectangles = (
        f"{left} {bottom} {right - left:.1f} {top - bottom:.1f} re" for _, left, bottom, right, top in highlight.boxes
    )
    return " ".join(("/Over gs", *map(str, highlight.colour), "rg", *rectangles, "f")).encode()


if __name__ == "__main__":
    main()
