"""Child process: highlights on a PDF, written behind its own bytes."""

import io
import sys
from collections.abc import Sequence
from itertools import chain

import msgspec

from evidencebench.errors import DataError
from evidencebench.papers.paper import PageBox
from evidencebench.papers.pdf.child import ask_process, limit_process

_ENCRYPTED = "encrypted: its text can be read, but nothing be added; save a copy without encryption"
_SIGNED = "signed: its signature would not hold; print it to a new PDF"


class Highlight(msgspec.Struct, frozen=True, kw_only=True):
    """Rectangles of one page that are coloured, and a note."""

    boxes: tuple[PageBox, ...]
    colour: tuple[float, float, float]  # red, green and blue in 0..1
    note: str


def main() -> None:
    limit_process()
    content, highlights = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[bytes, list[Highlight]])
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
    from pypdf import PdfReader, PdfWriter, annotations  # noqa: PLC0415 - an extra
    from pypdf.errors import PyPdfError  # noqa: PLC0415
    from pypdf.generic import ArrayObject, FloatObject, NameObject, TextStringObject  # noqa: PLC0415

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
        lefts, lows, rights, tops = zip(*(box[1:] for box in highlight.boxes), strict=True)
        # Not the order of the standard, but Acrobat's, which all viewers take: by rows, from the top.
        corners = ((x0, y1, x1, y1, x0, y0, x1, y0) for _, x0, y0, x1, y1 in highlight.boxes)
        annotation = annotations.Highlight(
            rect=(min(lefts), min(lows), max(rights), max(tops)),
            quad_points=ArrayObject(map(FloatObject, chain.from_iterable(corners))),
            highlight_color=bytes(round(255 * part) for part in highlight.colour).hex(),
            printing=True,
            title_bar="evidencebench",
        )
        annotation[NameObject("/Contents")] = TextStringObject(highlight.note)
        writer.add_annotation(highlight.boxes[0].page - 1, annotation)
    marked = io.BytesIO()
    writer.write(marked)
    return marked.getvalue(), ""


if __name__ == "__main__":
    main()
