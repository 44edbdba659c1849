"""How charts look: one set of rules, with the page's colours where they stand in a page, with their own in a file."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

STYLE = """\
.chart text { fill: var(--ink); font-family: var(--font); font-size: 12px; unicode-bidi: isolate; }
.chart .chart-title { font-size: 14px; font-weight: bold; }
.chart .chart-group { font-weight: bold; }
.chart .chart-tick, .chart .chart-note { fill: var(--muted); }
.chart .chart-grid { stroke: var(--line); stroke-width: 1; }
.chart .chart-zero { stroke: var(--muted); stroke-width: 1.5; }
.chart-series-0 { color: var(--series-0); }
.chart-series-1 { color: var(--series-1); }
.chart-series-2 { color: var(--series-2); }
.chart-series-3 { color: var(--series-3); }
.chart-series-4 { color: var(--series-4); }
.chart-series-5 { color: var(--series-5); }
.chart-series-6 { color: var(--series-6); }
.chart-series-7 { color: var(--series-7); }
.chart-control { color: var(--control); }
.chart .chart-interval { stroke: currentColor; stroke-width: 2; }
.chart .chart-line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.chart .chart-lead { stroke: var(--line); stroke-width: 1; }
.chart .chart-band { fill: currentColor; fill-opacity: 0.12; }
.chart .chart-marker { fill: currentColor; stroke: currentColor; stroke-width: 1.5; }
.chart .chart-control .chart-marker { fill: var(--paper); }
.chart .chart-control .chart-interval, .chart .chart-control .chart-line { stroke-width: 1.25; }
"""
"""The rules of charts embedded in a page, in the variables of its tokens; a page's figures.css begins with them."""

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


def style_of_file(theme: Literal["both", "light"]) -> str:
    """Return the style that a file carries inside: literal colours, light, and dark where the reader asks for it."""
    light = _with_colours(STYLE + _GROUND, LIGHT)
    if theme == "light":
        return light
    return f"{light}@media screen and (prefers-color-scheme: dark) {{\n{_with_colours(STYLE + _GROUND, DARK)}}}\n"


def _with_colours(rules: str, colours: Mapping[str, str]) -> str:
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: colours[found[1]], rules)
