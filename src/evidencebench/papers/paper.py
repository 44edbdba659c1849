"""Paper, its text with places in the file, what was lost."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, NamedTuple

from evidencebench.errors import UnreadableError
from evidencebench.query import Goal, Kind, Query
from evidencebench.wording import counted, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a sentence stands; a heading has the sections around it, and the number of the paragraph behind it."""

    section: tuple[str, ...] = ()  # titles, outermost first
    paragraph: int = 0  # from 0
    page: int | None = None  # from 1; None in a format without pages


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpan:
    """Characters start..stop-1 of the text of a file: see `Paper.spans`."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What a reader left out of one sort of element, such as ``table``: how many, and their characters."""

    n_elements: int
    n_characters: int


class UnitKind(StrEnum):
    TABLE_ROW = "table row"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    END_MATTER = "end matter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A readable line of what a paper says beside its running text, such as a row of a table with its head."""

    text: str  # of a row: "Table 2. Pain at week 4. Tea: 3.1 (0.4); water: 5.0 (0.6)"
    kind: UnitKind
    label: str = ""  # "Table 2", "Figure 1", "Funding"; empty where it has none
    row: int | None = None  # of a table: its row from 1, heads not counted
    place: Place = field(default_factory=Place)

    @property
    def name(self) -> str:
        """Its label and row, such as ``Table 2, row 3``, or its kind."""
        return name_of_unit(self.label, self.row, self.kind)


def name_of_unit(label: str, row: int | None, kind: str) -> str:
    """Return the label and row of a unit, such as ``Table 2, row 3``, or its kind."""
    name = label or ("table" if row else kind)
    return f"{name}, row {row}" if row else name


class PageBox(NamedTuple):
    """A rectangle on a page of a PDF, in points from its lower left corner, as PDF counts."""

    page: int  # from 1
    left: float
    bottom: float
    right: float
    top: float


class PaperLine(NamedTuple):
    """A sentence or a unit, and where it stands; only a sentence has a span, only a unit what names it."""

    text: str
    kind: Kind | UnitKind
    place: Place
    span: SourceSpan | None = None
    label: str = ""
    row: int | None = None
    unit: str = ""  # its label and row, or its kind


Part = Literal["title", "abstract", "body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """How much of a file became sentences, as its reader counts it; white space is not counted."""

    # Characters of running text in the file, and those in the sentences.
    n_characters: Counter[Part] = field(default_factory=Counter)
    n_kept: Counter[Part] = field(default_factory=Counter)
    # Sort of element, such as ``table``, ``figure``, ``references`` -> what was left out by design.
    left_out: dict[str, LeftOut] = field(default_factory=dict)

    def read(self, part: Part, text: str) -> None:
        self.n_characters[part] += n_visible(text)

    def keep(self, part: Part, text: str) -> None:
        self.n_kept[part] += n_visible(text)

    def leave_out(self, sort: str, text: str, *, n_elements: int = 1) -> None:
        """Count elements of a sort, such as ``table``, that do not belong into the sentences."""
        before = self.left_out.get(sort) or LeftOut(n_elements=0, n_characters=0)
        n_elements, n_characters = before.n_elements + n_elements, before.n_characters + n_visible(text)
        self.left_out[sort] = LeftOut(n_elements=n_elements, n_characters=n_characters)

    @property
    def n_counted(self) -> int:
        return self.n_characters.total() + sum(out.n_characters for out in self.left_out.values())

    def check(self, n_characters: int, *, n_before: int = 0) -> None:
        """Take what a second count of the file has more than was counted since ``n_before`` as text that is lost."""
        n_lost = n_characters - (self.n_counted - n_before)
        if n_lost > 0:
            self.n_characters["body"] += n_lost

    @property
    def share_kept(self) -> float:
        """The share of the running text that is in the sentences, in 0..1; 1 where there is none."""
        n = self.n_characters.total()
        return self.n_kept.total() / n if n else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The sentences of a paper in order, headings included: a kind, a place and a span for each.

    Units, which are lines beside the running text such as rows of tables, have places of their own. Paragraphs count
    from 0, pages and rows from 1; ``boxes`` are in points.
    """

    name: str  # of its file or source, for messages
    format: str  # that was read, such as ``JATS XML``
    title: str  # empty where the file has none; where there is one, it is the first sentence too, as a heading
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]
    places: tuple[Place, ...]
    # Characters of the file's text: of XML and HTML, all that stands between the tags; of a PDF, the text of its pages,
    # joined by form feeds; of BioC, its own offsets.
    spans: tuple[SourceSpan, ...]
    units: tuple[Unit, ...] = ()  # what is beside the running text, in the file's order; `find` alone searches it
    boxes: tuple[tuple[PageBox, ...], ...] = ()  # of a PDF: where each sentence stands, a rectangle a line
    ids: Mapping[str, str] = field(default_factory=dict)  # such as ``{"pmcid": "PMC13901"}``, as the file names them
    year: int | None = None  # of publication
    about: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # authors, journal, volume, where they are named
    loss: Loss = field(default_factory=Loss)
    warnings: tuple[str, ...] = ()  # sentences that say what could not be read, such as a page of a PDF

    def __repr__(self) -> str:
        return one_line(self, repr(self.name), counted(len(self.sentences), "sentence"))

    def place(self, index: int) -> Place:
        """Return where a sentence stands, with its own page: in a PDF, its paragraph may begin on the page before."""
        place, boxes = self.places[index], self.boxes[index] if self.boxes else ()
        return replace(place, page=boxes[0].page) if boxes else place

    def line(self, number: int) -> PaperLine:
        """Return a sentence, or the unit whose number follows the sentences'."""
        if number < len(self.sentences):
            span = self.spans[number]
            return PaperLine(self.sentences[number], self.kinds[number], self.place(number), span)
        unit = self.units[number - len(self.sentences)]
        return PaperLine(unit.text, unit.kind, unit.place, label=unit.label, row=unit.row, unit=unit.name)

    def query_for(self, hypothesis: str, *, goal: Goal | None = None, with_units: bool = False) -> Query:
        """Return what a system is asked about this paper, its units behind its sentences if they are wanted.

        Raises `EvidenceBenchError` for an empty hypothesis.
        """
        units = self.units if with_units else ()
        if not hypothesis.strip():
            raise UnreadableError("hypothesis: expected a sentence, got an empty one")
        return Query(
            instance_id=self.name,
            paper_id=self.name,
            hypothesis=hypothesis,
            sentences=(*self.sentences, *(unit.text for unit in units)),
            kinds=(*self.kinds, *[Kind.BODY] * len(units)),
            goal=goal,
            n_beside=len(units),
        )


# Soft hyphens and other characters of no width.
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
# Those go; white space becomes one space. Words with single spaces between them stay as they are.
_WORD = rf"[^\s{_INVISIBLE}]+"
_PIECE = re.compile(rf"(?P<words>{_WORD}(?: {_WORD})*)|[\s{_INVISIBLE}]+")
_UNSEEN = re.compile(rf"[\s{_INVISIBLE}]+")


class _SourceRun(NamedTuple):
    """Characters of the text from ``at`` on: one by one from ``start`` of the source on, or all for start..stop-1."""

    at: int
    end: int
    start: int
    stop: int

    def within(self, at: int, end: int) -> "_SourceRun":
        """Return the run of the characters at..end-1 of the text, as far as they are in this one."""
        if at <= self.at and self.end <= end:
            return self
        at, end = max(at, self.at), min(end, self.end)
        if self.stop - self.start != self.end - self.at:
            return _SourceRun(at, end, self.start, self.stop)
        return _SourceRun(at, end, self.start + at - self.at, self.start + end - self.at)


@dataclass(frozen=True, slots=True)
class SourcedText:
    """A text and its runs, in order and without gaps; a mark, which the source lacks, has the same start and stop."""

    text: str
    runs: tuple[_SourceRun, ...]

    def pieces(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return where characters start..stop-1 of the text, at least one, stand in the source: ends, marks apart."""
        runs = _between(self.runs, start, stop)
        # A mark has the place where the run before it ends, so only marks at the beginning matter.
        return [(run.start, run.stop) for run in runs if run.start < run.stop] or [(runs[-1].start, runs[-1].stop)]

    def __getitem__(self, part: slice) -> "SourcedText":
        start, stop, _ = part.indices(len(self.text))
        return SourcedText(self.text[part], tuple(_moved(_between(self.runs, start, stop), -start)))


class TextWriter:
    """Puts a `SourcedText` together from pieces of a source, in order."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._runs: list[_SourceRun] = []

    def add(self, text: str, *, start: int) -> None:
        """Add characters that stand one by one in the source, from ``start`` on."""
        self.add_replaced(text, start=start, stop=start + len(text))

    def add_replaced(self, text: str, *, start: int, stop: int) -> None:
        """Add characters that stand for start..stop-1 of the source, such as one for a character reference."""
        if text:
            at = self._runs[-1].end if self._runs else 0
            self._pieces.append(text)
            self._runs.append(_SourceRun(at, at + len(text), start, stop))

    def add_mark(self, text: str) -> None:
        """Add characters that the source lacks, such as ``^`` before a superscript."""
        at = self._runs[-1].stop if self._runs else 0
        self.add_replaced(text, start=at, stop=at)

    def finish(self) -> SourcedText:
        """Return the text without invisible characters, its white space collapsed, none at its ends."""
        text = "".join(self._pieces)
        parts: list[str] = []
        runs: list[_SourceRun] = []
        length = 0
        for match in _PIECE.finditer(text):
            at, end = match.span()
            if match["words"]:
                parts.append(match["words"])
                runs += _moved(_between(self._runs, at, end), length - at)
            elif parts and end < len(text) and any(map(str.isspace, match[0])):
                parts.append(" ")
                first, *_, last = (*_between(self._runs, at, at + 1), *_between(self._runs, end - 1, end))
                runs.append(_SourceRun(length, length + 1, first.start, last.stop))
            length = runs[-1].end if runs else 0
        return SourcedText("".join(parts), tuple(runs))


def _between(runs: Sequence[_SourceRun], at: int, end: int) -> list[_SourceRun]:
    """Return the parts of runs that hold the characters at..end-1 of their text."""
    first, last = bisect_right(runs, at, key=lambda run: run.at), bisect_left(runs, end, key=lambda run: run.at)
    return [run.within(at, end) for run in runs[max(0, first - 1) : last]]


def _moved(runs: Sequence[_SourceRun], by: int) -> Sequence[_SourceRun]:
    return [_SourceRun(at + by, end + by, start, stop) for at, end, start, stop in runs] if by else runs


def n_visible(text: str) -> int:
    """Count the characters, without white space and those of no width."""
    return len(_UNSEEN.sub("", text))
