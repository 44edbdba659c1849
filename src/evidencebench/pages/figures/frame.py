"""What every chart has around it: a name and a description for those who do not see it, a title, an axis."""

import hashlib
from collections.abc import Sequence

from evidencebench.pages.figures.lettering import TITLE_SIZE, fitted, title_name
from evidencebench.pages.figures.scale import Scale
from evidencebench.pages.markup import Child, Node, node

WIDTH = 640
"""Units across a chart; with text of 12 units it stays readable down to 500 pixels."""

MARGIN = 10
"""Units that stay free at the edges."""

HEAD = 34
"""Units that the title takes."""

_SVG = "http://www.w3.org/2000/svg"


def chart(title: str, description: str, *body: Child, height: int, key: str | None = None) -> Node:
    """Return an ``<svg>`` that scales, ``height`` units high, with its title drawn above its body.

    ``description`` tells the numbers in words; ``key`` makes its ids unique on a page, None: derived from both.
    """
    told = title_name(title)
    root = _root(told, description, height=height, role="img", key=key)
    root.append(text(MARGIN, 20, fitted(told, WIDTH - 2 * MARGIN, TITLE_SIZE), "chart-title"))
    root.extend(child for child in body if isinstance(child, Node))
    return root


def stacked(charts: Sequence[Node], *, title: str, key: str | None = None) -> Node:
    """Return charts below one another as one picture; a single one stays what it is."""
    if len(charts) == 1:
        return charts[0]
    told = title_name(title)
    heights = [size_of(one)[1] for one in charts]
    gap = 2 * MARGIN
    height = sum(heights) + gap * max(0, len(charts) - 1)
    names = "; ".join(one.findtext("title") or "" for one in charts)
    root = _root(told, names, height=height or 1, role="group", key=key)
    top = 0
    for one, its_height in zip(charts, heights, strict=True):
        # Of the class of a part, since the page's rules for a chart's size are for the whole.
        inner = node(
            "svg", {**one.attrib, "class": "chart-part", "x": 0, "y": top, "width": WIDTH, "height": its_height}
        )
        inner.extend(one)
        root.append(inner)
        top += its_height + gap
    return root


def size_of(picture: Node) -> tuple[int, int]:
    """Return the width and height of a chart in its own units."""
    _, _, width, height = picture.attrib["viewBox"].split()
    return int(width), int(height)


def _root(told: str, description: str, *, height: int, role: str, key: str | None) -> Node:
    key = key or hashlib.sha256(f"{told}\n{description}".encode(errors="replace")).hexdigest()[:12]
    attributes: dict[str, str | int | float] = {
        "xmlns": _SVG,
        "class": "chart",
        "viewBox": f"0 0 {WIDTH} {height}",
        "role": role,
        "aria-labelledby": f"chart-{key}-title",
        "aria-describedby": f"chart-{key}-desc",
    }
    return node(
        "svg",
        attributes,
        node("title", {"id": f"chart-{key}-title"}, told),
        node("desc", {"id": f"chart-{key}-desc"}, description),
    )


def text(x: float, y: float, words: str, look: str = "", anchor: str = "start") -> Node:
    """Return words at a place: ``anchor`` says which of their ends stands there."""
    attributes: dict[str, str | int | float] = {"x": round(x, 1), "y": round(y, 1)}
    if look:
        attributes["class"] = look
    if anchor != "start":
        attributes["text-anchor"] = anchor
    return node("text", attributes, words)


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> Node:
    """Return a straight line."""
    places = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return node("line", {"class": look, **{name: round(place, 1) for name, place in places.items()}})


def upright_lines(scale: Scale, named: Sequence[tuple[float, str]], top: float, bottom: float) -> list[Node]:
    """Return a line at each tick, from ``top`` to ``bottom``."""
    places = (scale.at(value) for value, _ in named)
    return [line(x, top, x, bottom, "chart-grid") for x in places]


def tick_names(scale: Scale, named: Sequence[tuple[float, str]], y: float) -> list[Node]:
    """Return the name of each tick at a height."""
    return [text(scale.at(value), y, name, "chart-tick", "middle") for value, name in named]
