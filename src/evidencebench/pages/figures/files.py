"""Charts as files: SVG text with its style inside, and PNG bytes."""

import importlib.util
from copy import copy
from typing import Literal

from evidencebench.errors import DataError, MissingExtraError
from evidencebench.pages.figures.frame import size_of
from evidencebench.pages.figures.style import style_of_file
from evidencebench.pages.markup import Node, as_xml, node

_ZOOM = 2


def svg_file(chart: Node, *, theme: Literal["both", "light"] = "both") -> str:
    """Return a chart as the text of an SVG file that needs nothing else.

    ``theme`` is both: light, and dark for readers who ask for it; or light only, as paper is.
    """
    width, height = size_of(chart)
    root = node("svg", {**chart.attrib, "width": width, "height": height})
    head = [one for one in chart if one.tag in {"title", "desc"}]
    root.extend(map(copy, head))
    root.append(node("style", None, style_of_file(theme)))
    root.append(node("rect", {"class": "chart-ground", "width": width, "height": height}))
    root.extend(chart[len(head) :])
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{as_xml(root)}\n'


def png_file(chart: Node) -> bytes:
    """Return a chart as the bytes of a PNG file, light, two pixels a unit; raises as `require_png`."""
    require_png()
    return _rendered(svg_file(chart, theme="light"))


def require_png() -> None:
    """Raise unless this machine can make PNG files: has resvg_py, and a font to write with."""
    if importlib.util.find_spec("resvg_py") is None:
        raise MissingExtraError(
            "pictures as PNG: need resvg_py, which is not installed: pip install 'evidencebench[plot]'; "
            "SVG needs nothing"
        )
    if _rendered(_probe("M")) == _rendered(_probe("")):
        raise DataError(
            "pictures as PNG: this machine has none of the fonts they are written in; "
            "install one (Debian: apt install fonts-dejavu-core), or use .svg"
        )


def _probe(words: str) -> str:
    frame = node("svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": "0 0 40 40", "class": "chart"})
    frame.append(node("style", None, style_of_file("light")))
    frame.append(node("text", {"x": 4, "y": 30}, words))
    return as_xml(frame)


def _rendered(svg: str) -> bytes:
    import resvg_py  # noqa: PLC0415 - an extra

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_ZOOM, background="#ffffff"))
