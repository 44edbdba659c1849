"""How charts look: the rules of the page's figures.css, with colours of their own where they are in a file."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

_FONTS = (
    '"Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", "DejaVu Sans", "Noto Sans", Helvetica, sans-serif'
)

LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "ink": "#1b1f24",
        "paper": "#ffffff",
        "muted": "#57606a",
        "line": "#d0d7de",
        "control": "#6e7781",
        "series-0": "#0b5cad",
        "series-1": "#a33b00",
        "series-2": "#00684f",
        "series-3": "#8a2f6b",
        "series-4": "#7d4e00",
        "series-5": "#1a6e8e",
        "series-6": "#5b45a8",
        "series-7": "#57606a",
        "font": _FONTS,
    }
)
"""The colours of a file on light ground; those of the page's tokens."""

DARK: Mapping[str, str] = MappingProxyType(
    {
        "ink": "#e6edf3",
        "paper": "#0d1117",
        "muted": "#9aa5b1",
        "line": "#30363d",
        "control": "#8b949e",
        "series-0": "#6cb6ff",
        "series-1": "#ffa657",
        "series-2": "#4cc9a0",
        "series-3": "#f08cc6",
        "series-4": "#e3c341",
        "series-5": "#6fd3f2",
        "series-6": "#b8a6ff",
        "series-7": "#aeb7c0",
        "font": _FONTS,
    }
)
"""The colours of a file on dark ground."""

_GROUND = ".chart .chart-ground { fill: var(--paper); }\n"


@cache
def rules_of_charts() -> str:
    """Return the rules of charts, in the variables of a page's tokens."""
    return (files("evidencebench.pages.viewer") / "assets" / "figures.css").read_text(encoding="utf-8")


def style_of_file(theme: Literal["both", "light"]) -> str:
    """Return the style that a file carries inside: literal colours, light, and dark where the reader asks for it."""
    rules = rules_of_charts() + _GROUND
    light = _with_colours(rules, LIGHT)
    if theme == "light":
        return light
    return f"{light}@media screen and (prefers-color-scheme: dark) {{\n{_with_colours(rules, DARK)}}}\n"


def _with_colours(rules: str, colours: Mapping[str, str]) -> str:
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: colours[found[1]], rules)
