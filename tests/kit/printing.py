"""Small PDFs, drawn line by line with reportlab, so that a test knows where each word stands."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

HEIGHT = A4[1]
PLAIN, BOLD = "Times-Roman", "Times-Bold"


@dataclass(slots=True)
class Sheet:
    """Pages to draw on; ``y`` counts downwards from the top, in points. Text can be packed, as most programs do."""

    password: str | None = None
    is_packed: bool = True
    target: io.BytesIO = field(default_factory=io.BytesIO)
    canvas: Canvas = field(init=False)

    def __post_init__(self) -> None:
        self.canvas = Canvas(
            self.target, pagesize=A4, invariant=True, encrypt=self.password, pageCompression=self.is_packed
        )

    def line(self, x: float, y: float, text: str, *, size: float = 10, font: str = PLAIN, rise: float = 0) -> float:
        """Draw a line; return where it ends."""
        self.canvas.setFont(font, size)
        self.canvas.drawString(x, HEIGHT - y + rise, text)
        return x + float(stringWidth(text, font, size))

    def lines(self, x: float, y: float, lines: Sequence[str], *, size: float = 10, font: str = PLAIN) -> float:
        """Draw lines below each other; return where the next one would stand."""
        for text in lines:
            self.line(x, y, text, size=size, font=font)
            y += 1.2 * size
        return y

    def paragraph(
        self, x: float, y: float, text: str, *, width: float = 400, size: float = 10, font: str = PLAIN
    ) -> float:
        """Draw a paragraph, wrapped; return where the next one would stand."""
        return self.lines(x, y, simpleSplit(text, font, size, width), size=size, font=font)

    def end_page(self) -> None:
        self.canvas.showPage()

    def pdf(self) -> bytes:
        self.canvas.save()
        return self.target.getvalue()


def sentences(n: int, word: str = "tea", *, start: int = 1) -> list[str]:
    """Return sentences of a dozen words, no two alike."""
    return [
        f"In group {number} of the trial, the {word} lowered the mean pressure by {number} mmHg over some weeks."
        for number in range(start, start + n)
    ]
