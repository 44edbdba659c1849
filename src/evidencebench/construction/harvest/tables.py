"""Tables of a review that go through studies row by row: what each row says of its study."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from evidencebench.construction.harvest.marks import CitationMark
from evidencebench.construction.harvest.passages import Passage
from evidencebench.construction.harvest.references import ReferenceList
from evidencebench.papers.tree import Element

MOST_CELLS = 20_000  # of a table, spanned ones repeated; larger ones are not read
_LEAST_ROWS = 2  # that cite a study each

_STUDIES = re.compile(r"(?i)\b(?:studies|trials|investigations|cohorts|reviews?|literature|reports)\b")
_STUDY = re.compile(r"(?i)\b(?:stud(?:y|ies)|trials?|authors?|investigat(?:ors?|ions?)|publications?)\b")
_OWN = re.compile(r"(?i)\b(?:used in|(?:this|our|the present) (?:study|trial)|baseline|participants of)\b")


class _Cell(NamedTuple):
    text: str = ""
    element: Element = Element("")
    references: tuple[str, ...] = ()


def study_rows(article: Element, listed: ReferenceList) -> Iterator[Passage]:
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


def _rows(table: Element, section: tuple[str, ...], listed: ReferenceList) -> Iterator[Passage]:
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
    groups = groupby(bodies, key=lambda row: row[column].references)
    studies = [(references, [*rows]) for references, rows in groups if references]
    if sum(len(references) == 1 for references, _ in studies) < _LEAST_ROWS:
        return
    for _, rows in studies:
        named = [pair for row in rows for pair in zip(names, row, strict=True) if pair[1].text or pair[1].references]
        cells = {id(cell.element): (name, cell) for name, cell in named}  # a spanned one once
        pieces = [piece for _, cell in cells.values() for piece in cell.element.characters()]
        start, stop = min(piece.start for piece in pieces), max(piece.stop for piece in pieces)
        links = dict.fromkeys(link for _, cell in cells.values() for link in _links(cell.element, listed))
        told = (f"{name}: {cell.text}" if name else cell.text for name, cell in cells.values() if cell.text)
        marks = tuple(CitationMark(start, stop, *link) for link in links)
        yield Passage(text="; ".join(told), section=(*section, title), start=start, stop=stop, marks=marks)


def _grid(rows: Sequence[Element], listed: ReferenceList) -> list[list[_Cell]]:
    """Return the cells of each row by column, spanned ones repeated; empty where there are too many."""
    spanned: dict[tuple[int, int], _Cell] = {}
    for y, row in enumerate(rows):
        x = 0
        for element in row.elements:
            while (y, x) in spanned:
                x += 1
            named = dict.fromkeys(name for _, names in _links(element, listed) for name in names)
            cell = _Cell(element.text, element, tuple(named))
            height, width = (_span(element, name) for name in ("rowspan", "colspan"))
            height = min(height, len(rows) - y)
            if len(spanned) + height * width > MOST_CELLS:
                return []
            spanned |= {(y + down, x + right): cell for down in range(height) for right in range(width)}
            x += width
    n_columns = 1 + max((x for _, x in spanned), default=-1)
    if n_columns * len(rows) > MOST_CELLS:
        return []
    empty = _Cell()
    return [[spanned.get((y, x), empty) for x in range(n_columns)] for y in range(len(rows))]


def _links(element: Element, listed: ReferenceList) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the text of each link that leads to references of the list, and these."""
    for link in element.all("xref"):
        if names := tuple(name for name in link.attributes.get("rid", "").split() if name in listed.positions):
            yield link.text, names


def _span(element: Element, name: str) -> int:
    text = element.attributes.get(name, "1").strip()
    return max(1, min(1000, int(text))) if text.isdecimal() and len(text) < 5 else 1  # noqa: PLR2004 - digits
