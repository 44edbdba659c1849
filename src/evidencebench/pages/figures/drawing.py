"""The parts of every chart: the ``<svg>`` with its name and description, text, lines, axes and marks."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from evidencebench.pages.figures.data import TITLE_SIZE, Series, fit_text, title_name
from evidencebench.pages.html import Child, Node, node

# In units: the width of a chart, whose text of 12 units stays readable where the chart is 500 pixels wide; the empty
# space at the edges; the height of the title.
WIDTH = 640
MARGIN, HEAD = 10, 34

# Eight looks, which differ in shape and dashes as well as in colour, for readers who see no colour.
_N_SERIES = 8
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "12 4", "2 6", "9 3 2 3 2 3")

# A bound that differs from a multiple of the step by rounding only, up to this share of it, counts as the multiple.
_ROUNDING = 1e-9


def chart(title: str, description: str, *body: Child, height: int, width: int = WIDTH) -> Node:
    """Return an ``<svg>``, its size in units; ``description`` has the numbers in words, and both texts make its ids."""
    name = title_name(title)
    key = hashlib.sha256(f"{name}\n{description}\n{width}".encode(errors="replace")).hexdigest()[:12]
    attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "chart",
        "viewBox": f"0 0 {width} {height}",
        "role": "img",
        "aria-labelledby": f"chart-{key}-title",
        "aria-describedby": f"chart-{key}-desc",
    }
    head = (node("title", {"id": f"chart-{key}-title"}, name), node("desc", {"id": f"chart-{key}-desc"}, description))
    heading = text(MARGIN, 20, fit_text(name, width - 2 * MARGIN, TITLE_SIZE), "chart-title")
    return node("svg", attributes, *head, heading, *body)


def size_of(picture: Node) -> tuple[int, int]:
    _, _, width, height = picture.attrib["viewBox"].split()
    return int(width), int(height)


Place: TypeAlias = float | str
"""A coordinate, in units or, as a text, as a share of the width or height."""


def _shown(places: Mapping[str, Place]) -> dict[str, Place]:
    return {name: place if isinstance(place, str) else round(place, 1) for name, place in places.items()}


def text(x: Place, y: Place, words: str, look: str, anchor: str = "start") -> Node:
    """Return a text at (x, y); ``anchor`` says which part of it lies at x: its start, middle or end."""
    ends = {"text-anchor": anchor} if anchor != "start" else {}
    return node("text", {**_shown({"x": x, "y": y}), "class": look, **ends}, words)


def line(x1: Place, y1: Place, x2: Place, y2: Place, look: str) -> Node:
    return node("line", {"class": look, **_shown({"x1": x1, "y1": y1, "x2": x2, "y2": y2})})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A linear axis: the number ``low`` is drawn at the coordinate ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the coordinate of a number; a number beyond an end is drawn at that end."""
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.5
        return round(self.start + min(1.0, max(0.0, share)) * (self.end - self.start), 1)


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Return at most ``most`` round numbers from ``low`` to ``high``, with equal steps.

    >>> ticks(0, 20)
    [0.0, 5.0, 10.0, 15.0, 20.0]
    >>> ticks(-0.13, 0.08)
    [-0.1, -0.05, 0.0, 0.05]
    """
    least = (high - low) / (most - 1)
    if least < 1e-300:  # noqa: PLR2004 - numbers so near each other are taken as equal
        return [low]
    power = 10.0 ** math.floor(math.log10(least))
    step = next((nice * power for nice in (1, 2, 5, 10) if nice * power >= least * (1 - _ROUNDING)), 10 * power)
    first, last = math.ceil(low / step - _ROUNDING), math.floor(high / step + _ROUNDING)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def percent_lines(up: Scale, left: float, right: float) -> list[Node]:
    """Return the level lines of an upright axis from 0 to 100 %, each with its number at the left."""
    drawn: list[Node] = []
    for tick in (0, 25, 50, 75, 100):
        y = up.at(tick / 100)
        drawn += [line(left, y, right, y, "chart-grid"), text(left - 5, y + 4, str(tick), "chart-tick", "end")]
    return drawn


def look_of(series: Series) -> str:
    if series.is_context:
        return "chart-context"
    look = "chart-control" if series.is_control else f"chart-series-{series.number % _N_SERIES}"
    return f"{look}{' chart-unfinished' if series.unfinished else ''}"


def dashes_of(series: Series) -> dict[str, str]:
    dashes = _DASHES[_variant(series.number)]
    return {"stroke-dasharray": dashes} if dashes else {}


def _variant(number: int) -> int:
    return (number + number // _N_SERIES) % _N_SERIES


def marker(x: float, y: float, number: int = 0, *, size: float = 4.5) -> Node:
    """Return the mark of a series; the element around it gives the colour."""
    shape = _variant(number)
    if shape == 0:
        return node("circle", {"class": "chart-marker", "cx": x, "cy": y, "r": size})
    corners = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in _SHAPES[shape - 1])
    return node("polygon", {"class": "chart-marker", "points": corners})


def _rotate(corners: list[tuple[float, float]]) -> list[tuple[float, float]]:
    half = 0.5**0.5
    return [(half * (x - y), half * (x + y)) for x, y in corners]


_SQUARE = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]
_TRIANGLE = [(0.0, -1.15), (1.15, 0.85), (-1.15, 0.85)]
_PLUS = [
    *((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4)),
    *((0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
]
_ANGLES = [math.pi * step / 5 - math.pi / 2 for step in range(10)]
_STAR = [
    (radius * math.cos(angle), radius * math.sin(angle))
    for radius, angle in zip([1.25, 0.5625] * 5, _ANGLES, strict=True)
]
_SHAPES = (
    _SQUARE,
    _TRIANGLE,
    _rotate([(1.1 * x, 1.1 * y) for x, y in _SQUARE]),
    [(x, -y) for x, y in _TRIANGLE],
    _PLUS,
    _STAR,
    _rotate(_PLUS),
)
