"""The scripts and styles of the page, whole: one text each, so that a page holds or names one of each."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from evidencebench.pages.markup import shown
from evidencebench.pages.viewer.exhibit import Exhibit
from evidencebench.pages.viewer.records import InstanceRecord, Overview, Row, encoded

SHARED_SCRIPTS = (
    "dom",
    "theme",
    "route",
    "sources",
    "choices",
    "marks",
    "graded",
    "definitions",
    "comparison",
    "account",
    "map",
    "text",
    "aspects",
    "paper",
    "list",
    "pane",
    "keys",
    "viewer",
)
"""Scripts of the viewer, in the order they are joined in; a later one may use what an earlier one names."""

REPORT_SCRIPTS = (*SHARED_SCRIPTS, "scatter", "report")
APP_SCRIPTS = (*SHARED_SCRIPTS, "active", "desk", "sheet", "tabs", "picking", "review", "people", "app")
REPORT_STYLES = ("tokens", "viewer", "paper", "figures", "report")
APP_STYLES = ("tokens", "viewer", "paper", "people")
BARE_SCRIPTS = (*SHARED_SCRIPTS, "bare")
BARE_STYLES = ("tokens", "viewer", "paper")


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


def security_policy(script_text: str, style_text: str) -> str:
    """Return the content-security policy of a page in one file: its own script and style, and nothing from outside."""
    return (
        f"default-src 'none'; script-src {content_hash(script_text)}; style-src {content_hash(style_text)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def data_elements(overview: Overview, rows: Sequence[Row], records: Iterable[InstanceRecord]) -> Iterator[str]:
    """Yield the elements that hold what a page in one file shows, where its script looks for them."""
    yield f'<script type="application/json" id="overview">{encoded(overview).decode()}</script>\n'
    yield f'<script type="application/json" id="rows">{encoded(rows).decode()}</script>\n'
    for record in records:
        place = f'class="instance" id="instance-{record.paper.position}"'
        yield f'<script type="application/json" {place}>{encoded(record).decode()}</script>\n'


def bare_page(exhibit: Exhibit) -> str:
    """Return a page in one file that shows the papers and nothing else."""
    script_text, style_text = script(BARE_SCRIPTS), style(BARE_STYLES)
    instances = list(enumerate(exhibit.dataset))
    rows = [exhibit.row(position, instance) for position, instance in instances]
    records = (exhibit.record(position, instance) for position, instance in instances)
    title = escape(shown(exhibit.title))
    return "".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{security_policy(script_text, style_text)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{title}</title>\n<style>{style_text}</style>\n</head>\n<body>\n",
            '<header class="page-head"></header>\n<main id="viewer"></main>\n',
            *data_elements(exhibit.overview(), rows, records),
            f"<script>{script_text}</script>\n</body>\n</html>\n",
        )
    )


def _asset(name: str) -> str:
    return (files("evidencebench.pages.viewer") / "assets" / name).read_text(encoding="utf-8")
