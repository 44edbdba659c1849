"""The script and the style of a page: each is one text, joined from the files in ``assets/``."""

import base64
import hashlib
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice

from evidencebench.pages.markup import encode_json, read_asset
from evidencebench.pages.viewer.page_records import GradedInstance, ListRow, Overview

# In the order in which they are joined; a file may use the names that earlier files define.
SHARED_SCRIPTS = (
    *("dom", "storage", "theme", "route", "row_values", "choice_bar"),
    *("marks", "graded", "definitions", "score_explanation"),
    *("paper_map", "paper_text", "aspect_matrix", "picks", "paper_view", "exchanges"),
    *("hits", "list_rows", "list_summary", "paper_list"),
    *("paper_pane", "keyboard", "viewer", "share_paper"),
)
REPORT_SCRIPTS = (*SHARED_SCRIPTS, "embedded_source", "scatter", "pairs", "report")
APP_SCRIPTS = (
    *(*SHARED_SCRIPTS, "server", "server_source", "work_clock", "autosave", "task_server", "sign_in"),
    *("task_answers", "task_sorts", "task_work", "pick_view", "merge_picks", "pick_page", "review_page", "task_pages"),
    "app",
)
FIND_SCRIPTS = ("dom", "storage", "theme", "server", "found_paper", "find_page")
REPORT_STYLES = ("tokens", "viewer", "paper", "figures", "report", "verdict")
APP_STYLES = ("tokens", "viewer", "paper", "people")
FIND_STYLES = ("tokens", "viewer", "find_page")
FINDINGS_STYLES = ("tokens", "findings")

_COMPRESSION = 5  # 6 takes half as long again and saves 1 %
_MOST_WAITING = 8  # pieces that are compressed or wait for it


@cache
def script(names: Sequence[str]) -> str:
    """Return the scripts joined into one text, inside a function, so that they define no global names."""
    body = "\n".join(read_asset(f"{name}.js") for name in names)
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


@cache
def style(names: Sequence[str]) -> str:
    """Return the style sheets joined into one text."""
    return "\n".join(read_asset(f"{name}.css") for name in names)


def content_hash(text: str) -> str:
    """Return the expression with which a content-security policy allows one inline script or style: its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def security_policy(script_text: str, style_text: str) -> str:
    """Return the content-security policy of a page in one file: it allows this script and style, and no requests."""
    return (
        f"default-src 'none'; script-src {content_hash(script_text)}; style-src {content_hash(style_text)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


PAPERS_A_PIECE = 16
"""So many papers are compressed together: more would be little smaller, and slower to open."""


def data_elements(overview: Overview, papers: Iterable[tuple[ListRow, GradedInstance]]) -> Iterator[str]:
    """Yield the script elements that hold the data of a page in one file; its script finds them by their ids."""
    rows: list[ListRow] = []

    def lines() -> Iterator[bytes]:
        for row, record in papers:
            rows.append(row)
            yield encode_json(record)

    yield f'<script type="application/json" id="overview">{encode_json(overview).decode()}</script>\n'
    for number, piece in enumerate(compressed_pieces(lines())):
        yield f'<script type="text/plain" class="papers" id="papers-{number}">{piece}</script>\n'
    yield f'<script type="application/json" id="rows">{encode_json(rows).decode()}</script>\n'


def exchange_elements(asked: Iterable[object]) -> Iterator[str]:
    """Yield the script elements that hold what language models were asked, one a paper, in the order of the rows."""
    for number, record in enumerate(asked):
        packed = _compressed(encode_json(record))
        yield f'<script type="text/plain" class="exchanges" id="exchanges-{number}">{packed}</script>\n'


def compressed_pieces(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines in pieces of `PAPERS_A_PIECE`; threads compress them while the next lines are made."""
    remaining = iter(lines)
    with ThreadPoolExecutor(max_workers=2) as threads:
        waiting: deque[Future[str]] = deque()
        while piece := b"\n".join(islice(remaining, PAPERS_A_PIECE)):
            waiting.append(threads.submit(_compressed, piece))
            if len(waiting) > _MOST_WAITING:
                yield waiting.popleft().result()
        for one in waiting:
            yield one.result()


def _compressed(piece: bytes) -> str:
    return base64.b64encode(zlib.compress(piece, _COMPRESSION)).decode()
