"""The drafts of a construction as one HTML page without requests; each is unpacked when it is opened."""

from collections.abc import Iterator

from evidencebench.pages.construction import ShownConstruction
from evidencebench.pages.html import (
    CONSTRUCTION_SCRIPTS,
    CONSTRUCTION_STYLES,
    compressed,
    encode_json,
    one_file,
    page_parts,
    script,
    style,
)

MOST_PAPERS = 200
"""Of so many drafts, the doubtful ones first, a page holds the paper's text; a text takes about 10 kB."""


def construction_page(shown: ShownConstruction, *, most_papers: int = MOST_PAPERS) -> str:
    overview = shown.overview()

    def body() -> Iterator[str]:
        yield '<header class="page-head"></header>\n<main id="viewer"></main>\n'
        yield "<noscript>This page needs JavaScript, which is off.</noscript>\n"
        yield f'<script type="application/json" id="overview">{encode_json(overview).decode()}</script>\n'
        for place, row in enumerate(overview.rows):
            record = encode_json(shown.record(row.id, with_paper=place < most_papers))
            yield f'<script type="text/plain" id="draft-{row.number}">{compressed(record)}</script>\n'

    return one_file(overview.title, body(), page_parts(style(CONSTRUCTION_STYLES), script(CONSTRUCTION_SCRIPTS)))
