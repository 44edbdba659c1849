"""The scripts and styles of the page, whole: one text each, so that a page holds or names one of each."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

SHARED_SCRIPTS = ("dom", "theme", "route", "sources", "marks", "map", "aspects", "paper", "list", "keys", "viewer")
"""Scripts of the viewer, in the order they are joined in; a later one may use what an earlier one names."""

REPORT_SCRIPTS = (*SHARED_SCRIPTS, "scatter", "report")
APP_SCRIPTS = (*SHARED_SCRIPTS, "people", "app")
REPORT_STYLES = ("tokens", "viewer", "paper", "figures", "report")
APP_STYLES = ("tokens", "viewer", "paper", "people")


@cache
def script(names: Sequence[str]) -> str:
    """Return scripts joined into one, in a scope of their own."""
    body = "\n".join(_asset(f"{name}.js") for name in names)
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


@cache
def style(names: Sequence[str]) -> str:
    """Return style sheets joined into one."""
    return "\n".join(_asset(f"{name}.css") for name in names)


def content_hash(text: str) -> str:
    """Return the source expression by which a content-security policy allows one inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("evidencebench.viewer") / "assets" / name).read_text(encoding="utf-8")
