"""Tables of a review that go through studies row by row: what each row says of its study."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from evidencebench.construction.harvest.references import ReferenceList
from evidencebench.papers.tree import Element

MOST_CELLS = 20_000  # of a table, spanned ones repeated; larger ones are not read
_LEAST_ROWS = 2  # that cite a study each

_STUDIES = re.compile(r"(?i)\b(?:studies|trials|investigations|cohorts|reviews?|literature|reports)\b")
_STUDY = re.compile(r"(?i)\b(?:stud(?:y|ies)|trials?|authors?|investigat(?:ors?|ions?)|publications?)\b")
_OWN = re.compile(r"(?i)\b(?:used in|(?:this|our|the present) (?:study|trial)|baseline|participants of)\b")


class StudyRow(NamedTuple):
    """What a table says of a study, as "column: cell; column: cell"; characters start..stop-1 of the decoded file."""

    text: str
    caption: str
    section: tuple[str, ...]
    start: int
    stop: int
    marks: tuple[str, ...]
    references: tuple[str, ...]  # that it cites


class _Cell(NamedTuple):
    text: str
    element: Element | None
    references: tuple[str, ...]


_EMPTY = _Cell("", None, ())


def study_rows(article: Element, listed: ReferenceList) -> Iterator[StudyRow]:
    """Yield the rows of an article's tables of studies, in order; rows that one study's cell spans are one."""
    waiting: list[tuple[Element, tuple[str, ...]]] = [(article, ())]
    while waiting:
        element, section = waiting.pop()
        if element.tag == "sec" and (title := element.child("title")) is not None:
            section = (*section, title.text)
        if element.tag == "table-wrap":
            yield from _rows(element, section, listed)
        else:
            waiting += [(child, section) for child in reversed([*element.elements])]


def _rows(table: Element, section: tuple[str, ...], listed: ReferenceList) -> Iterator[StudyRow]:
    caption = table.first("caption")
    title = caption.text if caption else ""
    if _OWN.search(title):
        return
    n_head = sum(1 for head in table.all("thead") for _ in head.all("tr")) or 1
    grid = _grid(list(table.all("tr")), listed)
    heads = [[cell.text for cell in row] for row in grid[:n_head]]
    names = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*heads, strict=True)]
    bodies = [row for row in grid[n_head:] if len({cell.text for cell in row if cell.text}) > 1]
    column = next((n for n in range(len(names)) if sum(bool(row[n].references) for row in bodies) * 2 > len(bodies)), 0)
    if not names or not (_STUDY.search(names[column]) or (column == 0 and _STUDIES.search(title))):
        return
    studies = [(references, [*rows]) for references, rows in groupby(bodies, key=lambda row: row[column].references)]
    studies = [(references, rows) for references, rows in studies if references]
    if sum(len(references) == 1 for references, _ in studies) < _LEAST_ROWS:
        return
    for references, rows in studies:
        named = [pair for row in rows for pair in zip(names, row, strict=True) if pair[1].text]
        cells = {id(cell.element): (name, cell) for name, cell in named}  # a spanned one once
        elements = [cell.element for _, cell in cells.values() if cell.element]
        pieces = [piece for element in elements for piece in element.characters()]
        links = [link for element in elements for link in _links(element, listed)]
        cited = dict.fromkeys(name for _, cell in cells.values() for name in cell.references)
        yield StudyRow(
            text="; ".join(f"{name}: {cell.text}" if name else cell.text for name, cell in cells.values()),
            caption=title,
            section=section,
            start=min(piece.start for piece in pieces),
            stop=max(piece.stop for piece in pieces),
            marks=tuple(dict.fromkeys(link.text for link in links)),
            references=tuple(cited) or references,
        )


def _grid(rows: Sequence[Element], listed: ReferenceList) -> list[list[_Cell]]:
    """Return the cells of each row by column, spanned ones repeated; empty where there are too many."""
    spanned: dict[tuple[int, int], _Cell] = {}
    for y, row in enumerate(rows):
        x = 0
        for element in row.elements:
            while (y, x) in spanned:
                x += 1
            named = (name for link in _links(element, listed) for name in link.attributes.get("rid", "").split())
            cell = _Cell(
                element.text, element, tuple(name for name in dict.fromkeys(named) if name in listed.positions)
            )
            height, width = (_span(element, name) for name in ("rowspan", "colspan"))
            height = min(height, len(rows) - y)
            if len(spanned) + height * width > MOST_CELLS:
                return []
            spanned |= {(y + down, x + right): cell for down in range(height) for right in range(width)}
            x += width
    n_columns = 1 + max((x for _, x in spanned), default=-1)
    if n_columns * len(rows) > MOST_CELLS:
        return []
    return [[spanned.get((y, x), _EMPTY) for x in range(n_columns)] for y in range(len(rows))]


def _links(element: Element, listed: ReferenceList) -> Iterator[Element]:
    links = ((link, link.attributes.get("rid", "").split()) for link in element.all("xref"))
    return (link for link, names in links if any(name in listed.positions for name in names))


def _span(element: Element, name: str) -> int:
    text = element.attributes.get(name, "1").strip()
    return max(1, min(1000, int(text))) if text.isdecimal() and len(text) < 5 else 1  # noqa: PLR2004 - digits
