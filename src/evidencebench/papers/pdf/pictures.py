"""Child process: the sizes of a PDF's pages, and a page as a picture."""

import struct
import sys
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import pypdfium2 as pdfium

from evidencebench.decoding import prepared
from evidencebench.errors import UnreadableError
from evidencebench.papers.paper import PageBox
from evidencebench.papers.pdf.child import ask_process, limit_process

MOST_SCALE = 4.0
_MOST_PIXELS = 40_000_000


class PageShape(NamedTuple):
    """What is shown of a page, in points, and by how many right angles it is turned clockwise."""

    left: float
    bottom: float
    right: float
    top: float
    turns: int

    @property
    def size(self) -> tuple[float, float]:
        width, height = self.right - self.left, self.top - self.bottom
        return (height, width) if self.turns % 2 else (width, height)

    def shown(self, box: PageBox) -> tuple[float, float, float, float]:
        """Return left, bottom, right and top of a box on the page as it is shown, from its lower left corner."""
        xs, ys = (box.left - self.left, box.right - self.left), (box.bottom - self.bottom, box.top - self.bottom)
        width, height = self.right - self.left, self.top - self.bottom
        (x0, x1), (y0, y1) = (
            (xs, ys),
            (ys, (width - xs[1], width - xs[0])),
            ((width - xs[1], width - xs[0]), (height - ys[1], height - ys[0])),
            ((height - ys[1], height - ys[0]), xs),
        )[self.turns]
        return round(x0, 1), round(y0, 1), round(x1, 1), round(y1, 1)


def main() -> None:
    limit_process()
    content, number, scale = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[bytes, int, float])
    document = pdfium.PdfDocument(content)
    if number:
        sys.stdout.buffer.write(_png(document[number - 1], scale))
        return
    sys.stdout.buffer.write(
        msgspec.msgpack.encode([(*page.get_bbox(), page.get_rotation() // 90) for page in document])
    )


def page_shapes(content: bytes, name: str) -> tuple[PageShape, ...]:
    answer = ask_process(__name__, msgspec.msgpack.encode((content, 0, 1.0)), name)
    return msgspec.msgpack.decode(answer, type=prepared(tuple[PageShape, ...]))


def page_picture(content: bytes, number: int, scale: float, name: str) -> bytes:
    """Return a page, counted from 1, as PNG of so many pixels a point; raises `UnreadableError`."""
    if number < 1 or not 0 < scale <= MOST_SCALE:
        raise UnreadableError(f"{name}: page {number} cannot be drawn at scale {scale:g}")
    return ask_process(__name__, msgspec.msgpack.encode((content, number, scale)), name)


def _png(page: pdfium.PdfPage, scale: float) -> bytes:
    """Return a page's picture, in the parts that the PNG specification asks for."""
    width, height = page.get_size()
    scale = min(scale, (_MOST_PIXELS / max(1.0, width * height)) ** 0.5)
    pixels = page.render(scale=scale, rev_byteorder=True).to_numpy()
    height, width, n_channels = pixels.shape
    rows = b"".join(b"\0" + row[:, :3].tobytes() for row in pixels) if n_channels > 1 else b""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunks(parts))


def _chunks(parts: tuple[tuple[bytes, bytes], ...]) -> Iterator[bytes]:
    for kind, content in parts:
        yield struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


if __name__ == "__main__":
    main()
