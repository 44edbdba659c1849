"""What each paragraph of a PDF is: title, heading, abstract, body, or something that is left out."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidencebench.papers.pdf.lines import Style
from evidencebench.papers.pdf.paragraphs import Paragraph, is_uniform
from evidencebench.papers.pdf.section_names import (
    ABSTRACT_LABEL,
    ABSTRACT_PART,
    CAPTION,
    KEYWORDS,
    NUMBERING,
    PICTURES,
    Section,
    name_of,
    section_of,
)

# In points.
_LARGER = 0.5  # than the body
_SMALLER = 0.6
_MUCH_SMALLER = 1.5

# In characters.
_LONGEST_TITLE = 500
_LONGEST_HEADING = 160
_LONGEST_SENTENCE_HEADING = 80
_LEAST_ABSTRACT = 300  # where no heading says that it is one
_LEAST_PROSE = 60

_LEAST_TITLE_WORDS = 4
_LEAST_CAPITALS = 4
_PROSE_WIDTH = 0.6  # of the column


class Role(StrEnum):
    """What a paragraph is; the values of those that are left out are words of the loss report."""

    TITLE = "title"
    HEADING = "heading"
    ABSTRACT = "abstract"
    BODY = "body"
    AUTHORS = "authors and affiliations"
    KEYWORDS = "keywords"
    TABLE = "table"
    FIGURE = "figure"
    FOOTNOTE = "footnote"
    REFERENCES = "references"
    BACK_MATTER = "back matter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A paragraph and what it is; ``level`` of a heading, from 1."""

    paragraph: Paragraph
    role: Role
    level: int = 0


def parts_of(paragraphs: Sequence[Paragraph], styles: Sequence[Style]) -> list[Part]:
    """Return the paragraphs with their roles, in order."""
    return list(_Reading(paragraphs, styles).parts()) if paragraphs else []


class _Reading:
    """Goes through the paragraphs in order, and knows in which part of the paper it is."""

    def __init__(self, paragraphs: Sequence[Paragraph], styles: Sequence[Style]) -> None:
        self._paragraphs, self._styles = paragraphs, styles
        self._body = _body_style(paragraphs)
        self._title = _title(paragraphs, self._body)
        self._levels = _levels([one for one in paragraphs if one is not self._title], self._body, styles)
        self._has_abstract = any(
            section_of(one.text) is Section.ABSTRACT or ABSTRACT_LABEL.match(one.text) for one in paragraphs
        )
        self._state = Role.BODY if self._title is None else Role.AUTHORS
        self._top = 0  # by how much the levels of the body's headings are too deep
        self._float: Role | None = None  # the table that paragraphs may belong to
        self._labels: dict[str, object] = {}  # of the abstract's parts -> how they stand out
        self._is_abstract_headed = False  # by the paragraph before this one

    def parts(self) -> Iterator[Part]:
        """Yield the paragraphs with their roles."""
        for paragraph in self._paragraphs:
            role, level = self._role(paragraph)
            self._is_abstract_headed = role is Role.HEADING and self._state is Role.ABSTRACT
            yield Part(paragraph=paragraph, role=role, level=level)

    def _role(self, paragraph: Paragraph) -> tuple[Role, int]:
        if paragraph is self._title:
            return Role.TITLE, 0
        text, level = paragraph.text, self._levels.get(id(paragraph), 0)
        role = self._float_role(paragraph, level)
        if role is None and KEYWORDS.match(text):
            role = Role.KEYWORDS
        if role is not None:
            return role, 0
        if level and (found := self._heading(paragraph, level)):
            return found
        if not level and self._state is Role.AUTHORS:
            self._state = self._front(text, is_prose=_is_prose(paragraph, self._body))
        is_note = paragraph.style.size < self._body.size - _SMALLER and not _is_prose(paragraph, self._body)
        return Role.FOOTNOTE if is_note and self._state is Role.BODY else self._state, 0

    def _float_role(self, paragraph: Paragraph, level: int) -> Role | None:
        """Return what a caption, or what belongs to a table, is; None for anything else."""
        text = paragraph.text
        if caption := CAPTION.match(text):
            is_figure = caption["what"].lower().startswith(PICTURES)
            self._float = None if is_figure else Role.TABLE
            return Role.FIGURE if is_figure else Role.TABLE
        if _is_prose(paragraph, self._body) or (level and (section_of(text) or NUMBERING.match(text))):
            self._float = None
        return self._float

    def _heading(self, paragraph: Paragraph, level: int) -> tuple[Role, int] | None:
        """Return the role and the level of a heading; None where it belongs to what is left out."""
        name, section = name_of(paragraph.text).lower(), section_of(paragraph.text)
        if section is Section.ABSTRACT:
            self._state = Role.ABSTRACT
            return Role.HEADING, 1
        # The abstract's first part begins right behind "Abstract"; the others look like it.
        rank = _rank(paragraph, self._styles)
        may_be_part = rank in self._labels.values() if self._labels else self._is_abstract_headed
        if self._state is Role.ABSTRACT and may_be_part and ABSTRACT_PART.fullmatch(name) and name not in self._labels:
            self._labels[name] = rank
            return Role.HEADING, 2
        if section in (Section.REFERENCES, Section.BACK_MATTER):
            self._state = Role.REFERENCES if section is Section.REFERENCES else Role.BACK_MATTER
            return self._state, 0
        is_outside = self._state in (Role.REFERENCES, Role.BACK_MATTER)
        if section is None and (is_outside or (self._state is Role.AUTHORS and self._has_abstract)):
            return None
        if self._state is not Role.BODY:
            self._state, self._top = Role.BODY, level - 1
        return Role.HEADING, max(1, level - self._top)

    def _front(self, text: str, *, is_prose: bool) -> Role:
        """Return what a paragraph behind the title is."""
        if ABSTRACT_LABEL.match(text):
            return Role.ABSTRACT
        if not self._has_abstract and is_prose and len(text) > (_LEAST_ABSTRACT if self._levels else _LEAST_PROSE):
            return Role.ABSTRACT if self._levels else Role.BODY
        return Role.AUTHORS


def _body_style(paragraphs: Sequence[Paragraph]) -> Style:
    counts: Counter[Style] = Counter()
    for paragraph in paragraphs:
        for line in paragraph.lines:
            counts[line.style] += len(line.glyphs)
    return counts.most_common(1)[0][0]


def _title(paragraphs: Sequence[Paragraph], body: Style) -> Paragraph | None:
    """Return the paragraph of the first page in the largest type, of those that have some words."""
    first = paragraphs[0].lines[0].page
    found = [
        paragraph
        for paragraph in paragraphs
        if paragraph.lines[0].page is first
        and paragraph.style.size > body.size + _LARGER
        and len(paragraph.text.split()) >= _LEAST_TITLE_WORDS
        and len(paragraph.text) <= _LONGEST_TITLE
    ]
    return max(found, key=lambda paragraph: paragraph.style.size, default=None)


def _is_heading(paragraph: Paragraph, body: Style, styles: Sequence[Style]) -> bool:
    text, style, section = paragraph.text, paragraph.style, section_of(paragraph.text)
    n_letters = sum(map(str.isalpha, text))
    if (
        not n_letters
        or len(text) > _LONGEST_HEADING
        or CAPTION.match(text)
        or not (text[0].isupper() or text[0].isdigit())
        or text[-1] in ",;-"
        or style.size < body.size - _MUCH_SMALLER
    ):
        return False
    if section is not None:
        return len(paragraph.lines) == 1
    is_bold = all(is_uniform(line, "is_bold", styles) for line in paragraph.lines)
    is_italic = all(is_uniform(line, "is_italic", styles) for line in paragraph.lines)
    is_distinct = (
        style.size > body.size + _LARGER
        or is_bold > body.is_bold
        or is_italic > body.is_italic
        or (text.isupper() and n_letters >= _LEAST_CAPITALS)
    )
    return is_distinct and not (text[-1] == "." and len(text) > _LONGEST_SENTENCE_HEADING)


def _levels(paragraphs: Sequence[Paragraph], body: Style, styles: Sequence[Style]) -> Mapping[int, int]:
    """Return the identity of each heading -> its level: by its number, or else by how much it stands out."""
    headings = [paragraph for paragraph in paragraphs if _is_heading(paragraph, body, styles)]
    ranks = {id(heading): _rank(heading, styles) for heading in headings}
    order = sorted(set(ranks.values()))
    numbers = {id(heading): NUMBERING.match(heading.text) for heading in headings}
    depths = {key: found["number"].count(".") + 1 for key, found in numbers.items() if found}
    usual: dict[tuple[int, bool, bool, bool], Counter[int]] = defaultdict(Counter)
    for key, depth in depths.items():
        usual[ranks[key]][depth] += 1
    levels = {rank: place for place, rank in enumerate(order, start=1)}
    levels |= {rank: counts.most_common(1)[0][0] for rank, counts in usual.items()}
    return {key: depths.get(key, levels[rank]) for key, rank in ranks.items()}


def _rank(heading: Paragraph, styles: Sequence[Style]) -> tuple[int, bool, bool, bool]:
    """Return how a heading stands out, the more the smaller."""
    is_bold = all(is_uniform(line, "is_bold", styles) for line in heading.lines)
    is_italic = all(is_uniform(line, "is_italic", styles) for line in heading.lines)
    return -round(heading.style.size), not heading.text.isupper(), not is_bold, is_italic


def _is_prose(paragraph: Paragraph, body: Style) -> bool:
    """Say whether it is running text, and no cell or label: in the body's size, and as wide as its column."""
    if paragraph.style.size < body.size - _SMALLER:
        return False
    widest = max(paragraph.lines, key=lambda line: line.right - line.left)
    width = widest.column[1] - widest.column[0]
    return len(paragraph.text) > _LEAST_PROSE or widest.right - widest.left > _PROSE_WIDTH * width
