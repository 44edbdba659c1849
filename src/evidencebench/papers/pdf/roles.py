"""What each paragraph of a PDF is: title, heading, abstract, body, or something that is left out."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

from evidencebench.papers.pdf.lines import TypeStyle
from evidencebench.papers.pdf.paragraphs import (
    ABSTRACT_LABEL,
    KEYWORDS,
    PrintedParagraph,
    is_abstract_part,
    name_of,
    section_of,
)
from evidencebench.papers.sections import SectionSort, number_of

_Rank: TypeAlias = tuple[int, bool, bool, bool]

# In points.
_LARGER = 0.5  # than the body
_SMALLER = 0.6

# In characters.
_LONGEST_TITLE = 500
_LEAST_ABSTRACT = 300  # where no heading says that it is one
_LEAST_PROSE = 60

_LEAST_TITLE_WORDS = 4
_LEAST_SMALL = 0.5  # the share of words in small letters in sentences
_PROSE_WIDTH = 0.6  # of the usual column


class PartRole(StrEnum):
    """What a paragraph is; the values of those that are left out are words of the loss report."""

    TITLE = "title"
    HEADING = "heading"
    LABEL = "label of a part of the abstract"
    ABSTRACT = "abstract"
    BODY = "body"
    AUTHORS = "author or affiliation"
    KEYWORDS = "keyword"
    NOTE = "note in small type"
    REFERENCES = "references"
    BACK_MATTER = "other back matter"


@dataclass(frozen=True, slots=True)
class PaperPart:
    paragraph: PrintedParagraph
    role: PartRole
    level: int = 0  # of a heading, from 1


def parts_of(paragraphs: Sequence[PrintedParagraph]) -> list[PaperPart]:
    if not paragraphs:
        return []
    reading = _Reading(paragraphs)
    return [PaperPart(paragraph, *reading.role(paragraph)) for paragraph in paragraphs]


class _Reading:
    """Goes through the paragraphs in order, and knows in which part of the paper it is."""

    def __init__(self, paragraphs: Sequence[PrintedParagraph]) -> None:
        self._paragraphs = paragraphs
        self._body = _body_style(paragraphs)
        self._width = _usual_width(paragraphs, self._body)
        self._title = _title(paragraphs, self._body)
        others = [paragraph for paragraph in paragraphs if paragraph is not self._title]
        headings = [paragraph for paragraph in others if _is_heading(paragraph)]
        self._levels = _levels(headings)
        self._best: dict[str, _Rank] = {}  # name -> how the heading that stands out most does so
        for heading in headings:
            name, rank = name_of(heading.text), _rank(heading)
            self._best[name] = min(rank, self._best.get(name, rank))
        self._has_abstract = any(
            section_of(paragraph.text) is SectionSort.ABSTRACT or ABSTRACT_LABEL.match(paragraph.text)
            for paragraph in paragraphs
        )
        self._state = PartRole.BODY if self._title is None else PartRole.AUTHORS
        self._top = 0  # by how much the levels of the body's headings are too deep
        self._abstract: _Rank | None = None  # how the abstract's heading stands out
        self._parts: dict[str, _Rank] = {}  # of the abstract -> how their names stand out
        self._ranks: set[_Rank] = set()  # of the body's headings
        self._left_out = 0  # the level of the last heading of what is left out
        self._size = 0.0  # of the text right below the last heading; 0: none has come
        self._is_headed = False  # whether a heading stands right before

    def role(self, paragraph: PrintedParagraph) -> tuple[PartRole, int]:
        """Return the role of the next paragraph, and its level where it is a heading."""
        role, level = self._role(paragraph)
        if self._is_headed and role in (PartRole.ABSTRACT, PartRole.BODY):
            self._size = paragraph.style.size
        self._is_headed = role in (PartRole.HEADING, PartRole.LABEL)
        return role, level

    def _role(self, paragraph: PrintedParagraph) -> tuple[PartRole, int]:
        if paragraph is self._title:
            return PartRole.TITLE, 0
        text, level = paragraph.text, self._levels.get(id(paragraph), 0)
        if KEYWORDS.match(text):
            self._state = PartRole.BODY if self._state is PartRole.ABSTRACT else self._state
            return PartRole.KEYWORDS, 0
        if level and (heading := self._heading(paragraph, level)):
            return heading
        if not level and self._state is PartRole.AUTHORS:
            self._state = self._front(text, is_prose=_is_prose(paragraph, self._body, self._width))
        is_running = self._state in (PartRole.ABSTRACT, PartRole.BODY) and not self._is_headed
        usual = min(self._body.size, self._size or self._body.size)
        is_note = is_running and paragraph.style.size < usual - _SMALLER
        return PartRole.NOTE if is_note else self._state, 0

    def _heading(self, paragraph: PrintedParagraph, level: int) -> tuple[PartRole, int] | None:
        """Return the role and the level of a heading; None where it belongs to what is left out."""
        name, section, rank = name_of(paragraph.text), section_of(paragraph.text), _rank(paragraph)
        if section is SectionSort.ABSTRACT:
            self._state, self._abstract = PartRole.ABSTRACT, rank
            return PartRole.HEADING, 1
        if self._is_part(paragraph, name, rank):
            self._state = PartRole.ABSTRACT
            self._parts[name] = rank
            return PartRole.LABEL, 0
        if section in (SectionSort.REFERENCES, SectionSort.BACK_MATTER):
            self._state = PartRole.REFERENCES if section is SectionSort.REFERENCES else PartRole.BACK_MATTER
            self._left_out = level
            return self._state, 0
        # Back matter may stand within a section, as "Ethics approval" in "Methods".
        is_below = self._state is PartRole.BACK_MATTER and self._left_out > self._top + 1
        is_outside = self._state in (PartRole.REFERENCES, PartRole.BACK_MATTER) and not (
            is_below and level <= self._left_out
        )
        if section is None and (is_outside or (self._state is PartRole.AUTHORS and self._has_abstract)):
            return None
        if not self._ranks:
            self._top = level - 1
        self._state = PartRole.BODY
        self._ranks.add(rank)
        return PartRole.HEADING, max(1, level - self._top)

    def _is_part(self, paragraph: PrintedParagraph, name: str, rank: _Rank) -> bool:
        """Whether a heading stands within the abstract."""
        is_known = is_abstract_part(paragraph.text)
        if self._state is PartRole.ABSTRACT:  # the first stands right behind its heading, and the others look like it
            is_lower = rank > self._abstract if self._abstract else self._below(paragraph).style != self._body
            is_like = rank in self._parts.values() if self._parts else self._is_headed
            return is_like and name not in self._parts and (is_known or is_lower)
        if self._state is not PartRole.AUTHORS or self._has_abstract or not is_known:
            return False
        # Without a heading of the abstract, the body has one of this name that stands out more, or another style.
        return self._best[name] < rank or self._below(paragraph).style != self._body

    def _below(self, paragraph: PrintedParagraph) -> PrintedParagraph:
        return next(below for above, below in pairwise((*self._paragraphs, paragraph)) if above is paragraph)

    def _front(self, text: str, *, is_prose: bool) -> PartRole:
        if ABSTRACT_LABEL.match(text):
            return PartRole.ABSTRACT
        words = text.split()
        is_sentence = sum(word[0].islower() for word in words) > _LEAST_SMALL * len(words)
        least = _LEAST_ABSTRACT if self._levels else _LEAST_PROSE
        if not self._has_abstract and is_prose and is_sentence and len(text) > least:
            return PartRole.ABSTRACT if self._levels else PartRole.BODY
        return PartRole.AUTHORS


def _body_style(paragraphs: Sequence[PrintedParagraph]) -> TypeStyle:
    """Return the style of most of the text, references apart, which may be longer than it."""
    counts: Counter[TypeStyle] = Counter()
    ends = [index for index, paragraph in enumerate(paragraphs) if section_of(paragraph.text) is SectionSort.REFERENCES]
    for paragraph in paragraphs[: ends[-1] if ends else None] or paragraphs:
        for line in paragraph.lines:
            counts[line.style] += len(line.glyphs) ** 2  # the lines of text are longer than those of cells
    return counts.most_common(1)[0][0]


def _title(paragraphs: Sequence[PrintedParagraph], body: TypeStyle) -> PrintedParagraph | None:
    """Return the paragraph of the first page in the largest type, or a first heading where all are of one size."""
    first = [
        paragraph
        for paragraph in paragraphs
        if paragraph.lines[0].page is paragraphs[0].lines[0].page
        and len(paragraph.text.split()) >= _LEAST_TITLE_WORDS
        and len(paragraph.text) <= _LONGEST_TITLE
    ]
    larger = [paragraph for paragraph in first if paragraph.style.size > body.size + _LARGER]
    if larger:
        return max(larger, key=lambda paragraph: paragraph.style.size)
    is_heading = first[:1] == [paragraphs[0]] and _is_heading(paragraphs[0])
    return paragraphs[0] if is_heading and section_of(paragraphs[0].text) is None else None


def _is_heading(paragraph: PrintedParagraph) -> bool:
    return all(line.is_heading for line in paragraph.lines)


def _levels(headings: Sequence[PrintedParagraph]) -> Mapping[int, int]:
    """Return the identity of each heading -> its level: by its number, or else by how much it stands out."""
    ranked = [(id(heading), _rank(heading), len(number_of(heading.text))) for heading in headings]
    usual: dict[_Rank, Counter[int]] = defaultdict(Counter)
    for _, rank, depth in ranked:
        if depth:
            usual[rank][depth] += 1
    levels = {rank: level for level, rank in enumerate(sorted({rank for _, rank, _ in ranked}), start=1)}
    levels |= {rank: counts.most_common(1)[0][0] for rank, counts in usual.items()}
    return {key: depth or levels[rank] for key, rank, depth in ranked}


def _rank(heading: PrintedParagraph) -> _Rank:
    is_bold = all(line.is_bold for line in heading.lines)
    is_italic = all(line.is_italic for line in heading.lines)
    return -round(heading.style.size), not heading.text.isupper(), not is_bold, is_italic


def _usual_width(paragraphs: Sequence[PrintedParagraph], body: TypeStyle) -> float:
    counts: Counter[int] = Counter()
    for paragraph in paragraphs:
        for line in paragraph.lines:
            if line.style == body:
                counts[round(line.column[1] - line.column[0])] += len(line.glyphs)
    return counts.most_common(1)[0][0]


def _is_prose(paragraph: PrintedParagraph, body: TypeStyle, width: float) -> bool:
    """Whether it is running text, and no cell or label: in the body's size, and as wide as columns are."""
    if paragraph.style.size < body.size - _SMALLER:
        return False
    widest = max(line.right - line.left for line in paragraph.lines)
    return len(paragraph.text) > _LEAST_PROSE or widest > _PROSE_WIDTH * width
