"""What each paragraph of a PDF is: title, heading, abstract, body, or something that is left out."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evidencebench.papers.pdf.front import FrontSearch, Rank, is_notice, is_sentence
from evidencebench.papers.pdf.lines import TypeStyle
from evidencebench.papers.pdf.paragraphs import KEYWORDS, PartRole, PrintedParagraph, section_of
from evidencebench.papers.sections import SectionSort, number_of

# In points.
_LARGER = 0.5  # than the body
_SMALLER = 0.6

# In characters.
_LONGEST_TITLE = 500
_LEAST_PROSE = 60

_LEAST_TITLE_WORDS = 4


@dataclass(frozen=True, slots=True)
class PaperPart:
    paragraph: PrintedParagraph
    role: PartRole
    level: int = 0  # of a heading, from 1


def parts_of(paragraphs: Sequence[PrintedParagraph]) -> list[PaperPart]:
    if not paragraphs:
        return []
    reading = _Reading(paragraphs)
    return [PaperPart(paragraph, *reading.role(at)) for at, paragraph in enumerate(paragraphs)]


class _Reading:
    """Goes through the paragraphs in order, and knows in which part of the paper it is."""

    def __init__(self, paragraphs: Sequence[PrintedParagraph]) -> None:
        self._paragraphs = paragraphs
        self._body = _body_style(paragraphs)
        self._title = _title(paragraphs, self._body)
        headings = {at: one for at, one in enumerate(paragraphs) if at != self._title and _is_heading(one)}
        ranks = {at: _rank(heading) for at, heading in headings.items()}
        self._levels = _levels(headings, ranks)
        self._front = FrontSearch(paragraphs, self._title + 1, ranks, self._body).roles()
        self._state = PartRole.BODY if self._title < 0 and not self._front else PartRole.AUTHORS
        self._top = 0  # by how much the levels of the body's headings are too deep
        self._is_first = True  # whether no heading of the body has come
        self._left_out = 0  # the level of the last heading of what is left out
        self._size = 0.0  # of the text right below the last heading; 0: none has come
        self._is_headed = False  # whether a heading stands right before

    def role(self, at: int) -> tuple[PartRole, int]:
        """Return the role of the next paragraph, and its level where it is a heading."""
        role, level = self._role(at)
        if self._is_headed and role is PartRole.BODY:
            self._size = self._paragraphs[at].style.size
        self._is_headed = role is PartRole.HEADING
        return role, level

    def _role(self, at: int) -> tuple[PartRole, int]:
        paragraph, level = self._paragraphs[at], self._levels.get(at, 0)
        if at == self._title:
            return PartRole.TITLE, 0
        if KEYWORDS.match(paragraph.text):
            return PartRole.KEYWORDS, 0
        if role := self._front.get(at):
            return role, int(role is PartRole.HEADING)
        if level and (heading := self._heading(at, level)):
            return heading
        if not level and self._state is PartRole.AUTHORS and self._is_text(at):
            self._state = PartRole.BODY
        usual = min(self._body.size, self._size or self._body.size)
        is_note = self._state is PartRole.BODY and not self._is_headed and paragraph.style.size < usual - _SMALLER
        return PartRole.NOTE if is_note else self._state, 0

    def _heading(self, at: int, level: int) -> tuple[PartRole, int] | None:
        """Return the role and the level of a heading; None where it belongs to what is left out."""
        section = section_of(self._paragraphs[at].text)
        if section in (SectionSort.REFERENCES, SectionSort.BACK_MATTER):
            if self._state is PartRole.AUTHORS:  # of a box beside the first lines
                return None
            self._state = PartRole.REFERENCES if section is SectionSort.REFERENCES else PartRole.BACK_MATTER
            self._left_out = level
            return self._state, 0
        # Back matter may stand within a section, as "Ethics approval" in "Methods".
        is_below = self._state is PartRole.BACK_MATTER and self._left_out > self._top + 1
        is_outside = self._state in (PartRole.REFERENCES, PartRole.BACK_MATTER) and not (
            is_below and level <= self._left_out
        )
        is_box = self._state is PartRole.AUTHORS and not self._is_text(at + 1) and at + 1 not in self._levels
        if section is None and (is_outside or is_box):
            return None
        if self._is_first:
            self._top, self._is_first = level - 1, False
        self._state = PartRole.BODY
        return PartRole.HEADING, max(1, level - self._top)

    def _is_text(self, at: int) -> bool:
        """Whether a paragraph before the body is its first: running text, no notice."""
        if at >= len(self._paragraphs) or self._paragraphs[at].style.size < self._body.size - _SMALLER:
            return False
        text = self._paragraphs[at].text
        return len(text) > _LEAST_PROSE and is_sentence(text) and not is_notice(text)


def _body_style(paragraphs: Sequence[PrintedParagraph]) -> TypeStyle:
    """Return the style of most of the text, references apart, which may be longer than it."""
    counts: Counter[TypeStyle] = Counter()
    ends = [index for index, paragraph in enumerate(paragraphs) if section_of(paragraph.text) is SectionSort.REFERENCES]
    for paragraph in paragraphs[: ends[-1] if ends else None] or paragraphs:
        for line in paragraph.lines:
            counts[line.style] += len(line.glyphs) ** 2  # the lines of text are longer than those of cells
    return counts.most_common(1)[0][0]


def _title(paragraphs: Sequence[PrintedParagraph], body: TypeStyle) -> int:
    """Return the place of what is in the first page's largest type, or a first heading where all is of one size; -1."""
    sizes = {
        at: paragraph.style.size
        for at, paragraph in enumerate(paragraphs)
        if paragraph.lines[0].page is paragraphs[0].lines[0].page
        and len(paragraph.text.split()) >= _LEAST_TITLE_WORDS
        and len(paragraph.text) <= _LONGEST_TITLE
    }
    for at in [at for at in sizes if _names_journal(paragraphs, at)]:
        if any(sizes[other] > body.size + _LARGER for other in sizes if other > at):
            del sizes[at]
    largest = max(sizes, key=sizes.__getitem__, default=0)
    if sizes and sizes[largest] > body.size + _LARGER:
        return largest
    return 0 if 0 in sizes and _is_heading(paragraphs[0]) and section_of(paragraphs[0].text) is None else -1


_JOURNAL = re.compile(
    r"(?i)\b(?:journal|annals|archives|proceedings|transactions|letters|bulletin|reviews?|acta|quarterly|magazine)\b"
)
_ISSUE = re.compile(r"(?i)\b(?:vol(?:ume)?|issue|no|number|issn|doi)\b\.?[\s:]*[\d(]|\bissn\b|https?://|www\.")
_LONGEST_JOURNAL = 10  # words


def _names_journal(paragraphs: Sequence[PrintedParagraph], at: int) -> bool:
    """Whether a paragraph names the journal: by its words, or since its volume or address stands right below."""
    text = paragraphs[at].text
    below = paragraphs[at + 1].text if at + 1 < len(paragraphs) else ""
    is_short = len(text.split()) <= _LONGEST_JOURNAL
    return is_short and (_JOURNAL.search(text) is not None or _ISSUE.search(below[:_LONGEST_TITLE]) is not None)


def _is_heading(paragraph: PrintedParagraph) -> bool:
    return all(line.is_heading for line in paragraph.lines)


def _levels(headings: Mapping[int, PrintedParagraph], ranks: Mapping[int, Rank]) -> dict[int, int]:
    """Return the level of each heading: by its number, or else by how much it stands out."""
    depths = {at: len(number_of(heading.text)) for at, heading in headings.items()}
    usual: dict[Rank, Counter[int]] = defaultdict(Counter)
    for at in filter(depths.__getitem__, depths):
        usual[ranks[at]][depths[at]] += 1
    levels = {rank: level for level, rank in enumerate(sorted(set(ranks.values())), start=1)}
    levels |= {rank: counts.most_common(1)[0][0] for rank, counts in usual.items()}
    return {at: depths[at] or levels[rank] for at, rank in ranks.items()}


def _rank(heading: PrintedParagraph) -> Rank:
    is_bold = all(line.is_bold for line in heading.lines)
    is_italic = all(line.is_italic for line in heading.lines)
    return -round(heading.style.size), not heading.text.isupper(), not is_bold, is_italic
