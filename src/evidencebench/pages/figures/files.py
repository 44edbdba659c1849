"""Charts as files: SVG text that holds its style, and PNG bytes."""

import importlib.util
import re
from copy import copy
from functools import cache
from pathlib import Path
from typing import Literal

from evidencebench.errors import DataError, MissingExtraError
from evidencebench.files.atomic import write_whole
from evidencebench.pages.figures.drawing import size_of
from evidencebench.pages.html import Node, as_xml, node, read_asset
from evidencebench.tables import printable

_FONTS = (
    '"Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", "DejaVu Sans", "Noto Sans", Helvetica, sans-serif'
)


def write_chart(path: Path, chart: Node) -> Path:
    """Write a chart as its name says; raises `ValueError` where it says neither, and `DataError`."""
    if (suffix := path.suffix.lower()) not in {".svg", ".png"}:
        raise ValueError(f"{printable(str(path))}: expected a name that ends in .svg or .png")
    write_whole(path, png_file(chart) if suffix == ".png" else svg_file(chart))
    return path


def svg_file(chart: Node) -> str:
    """Return a chart as the text of an SVG file that needs no other file, dark where the reader's system prefers it."""
    width, height = size_of(chart)
    head = [part for part in chart if part.tag in {"title", "desc"}]
    root = node(
        "svg",
        {**chart.attrib, "width": width, "height": height},
        *map(copy, head),
        node("style", None, _style_of_file()),
        node("rect", {"class": "chart-ground", "width": width, "height": height}),
        *chart[len(head) :],
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{as_xml(root)}\n'


def png_file(chart: Node) -> bytes:
    """Return a chart as the bytes of a PNG file: light, two pixels a unit. Raises the errors of `require_png`."""
    require_png()
    return _render(svg_file(chart))


def require_png() -> None:
    """Raise `MissingExtraError` where resvg_py is not installed, and `DataError` where the machine has no font."""
    if importlib.util.find_spec("resvg_py") is None:
        raise MissingExtraError(
            "pictures as PNG: need resvg_py, which is not installed: pip install 'evidencebench[plot]'; "
            "SVG needs nothing"
        )
    attributes = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": "0 0 40 40", "class": "chart"}
    style = node("style", None, _style_of_file())
    letter, nothing = (as_xml(node("svg", attributes, style, node("text", {"x": 4, "y": 30}, s))) for s in ("M", ""))
    if _render(letter) == _render(nothing):
        raise DataError(
            "pictures as PNG: this machine has none of the fonts they are written in; "
            "install one (Debian: apt install fonts-dejavu-core), or use .svg"
        )


def _render(svg: str) -> bytes:
    import resvg_py  # noqa: PLC0415 - an optional dependency

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=2, background="#ffffff"))


@cache
def colours_of(theme: Literal["dark", "light"]) -> dict[str, str]:
    """Return token name, such as ``ink``, -> its value in ``tokens.css``; ``font`` is replaced by one for files."""
    pairs = re.findall(r"--([a-z0-9-]+): light-dark\((.+?), (.+?)\);", read_asset("tokens.css"))
    return {**{name: light if theme == "light" else dark for name, light, dark in pairs}, "font": _FONTS}


@cache
def _style_of_file() -> str:
    """Return the style of an SVG file, colours in place of tokens; dark is a media query, which a PNG ignores."""
    rules = read_asset("figures.css") + ".chart .chart-ground { fill: var(--paper); }\n"

    def coloured(shown: Literal["dark", "light"]) -> str:
        return re.sub(r"var\(--([a-z0-9-]+)\)", lambda name: colours_of(shown)[name[1]], rules)

    return f"{coloured('light')}@media screen and (prefers-color-scheme: dark) {{\n{coloured('dark')}}}\n"
