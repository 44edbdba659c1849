"""How charts look: the rules of the page's figures.css, in the colours of its tokens.css where they are in a file."""

import re
from functools import cache
from importlib.resources import files
from typing import Literal

_FONTS = (
    '"Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", "DejaVu Sans", "Noto Sans", Helvetica, sans-serif'
)

_GROUND = ".chart .chart-ground { fill: var(--paper); }\n"


@cache
def rules_of_charts() -> str:
    """Return the rules of charts, in the variables of a page's tokens."""
    return _asset("figures.css")


@cache
def colours_of(theme: Literal["dark", "light"]) -> dict[str, str]:
    """Return the page's tokens by name, such as ``ink``; the font is a file's own."""
    start = ":root {" if theme == "light" else ':root[data-theme="dark"] {'
    block = _asset("tokens.css").partition(start)[2].partition("}")[0]
    return {**dict(re.findall(r"--([a-z0-9-]+): ([^;]+);", block)), "font": _FONTS}


def _asset(name: str) -> str:
    return (files("evidencebench.pages.viewer") / "assets" / name).read_text(encoding="utf-8")


def style_of_file(theme: Literal["both", "light"]) -> str:
    """Return the style that a file carries inside: literal colours, light, and dark where the reader asks for it."""
    rules = rules_of_charts() + _GROUND
    light, dark = _with_colours(rules, "light"), _with_colours(rules, "dark")
    return light if theme == "light" else f"{light}@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n"


def _with_colours(rules: str, theme: Literal["dark", "light"]) -> str:
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: colours_of(theme)[found[1]], rules)
