"""Plain text: layout, lines, headings."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import islice, pairwise
from typing import NamedTuple

from evidencebench.errors import UnreadableError
from evidencebench.papers.blocks import Block, paper_of, sentence_spans, text_of
from evidencebench.papers.lines import Line, captioned, joint, lines_of, page_edges, words_of
from evidencebench.papers.paper import Loss, Paper, Part, SourcedText, TextWriter
from evidencebench.papers.sections import Outline, SectionSort, is_known_title, level_of, number_of, section_of
from evidencebench.query import Kind

_HEADING_STOP = re.compile(r"[.!?,;:]$")
_NOT_TITLES = re.compile(r"key ?-?words?\s*:", re.IGNORECASE)
_MOST_WORDS = 12
_LEAST_LETTERS = 4
# What follows a heading: a line that ends as text does, or a long one. Cells of tables are neither.
_LEAST_TEXT = 40


class HeadingFinder:
    """Tells known titles, and short lines alone that begin with a capital or the next number, as 2.1 behind 2."""

    def __init__(self) -> None:
        self._last: tuple[int, ...] = (0,)

    def level(self, line: str, *, before: str, after: str, alone: bool) -> int | None:
        """Return the level of a heading, None for any other line; ``before`` is empty where that line is apart."""
        number, last = number_of(line), self._last
        is_next = number in [(*last, 1), *((*last[:depth], last[depth] + 1) for depth in range(len(last)))]
        is_known = is_known_title(line) and not line[0].islower() and (not before or _HEADING_STOP.search(before))
        is_titled = is_next or (line[0].isupper() and sum(map(str.isalpha, line)) >= _LEAST_LETTERS)
        if not is_known and not (alone and is_titled and self._may_be_title(line, after)):
            return None
        self._last = number if is_next else last
        return level_of(line)

    def _may_be_title(self, line: str, after: str) -> bool:
        leads_on = len(after) >= _LEAST_TEXT or bool(_HEADING_STOP.search(after)) or is_known_title(after)
        is_other = _HEADING_STOP.search(line) or _NOT_TITLES.match(line) or captioned(line)
        return len(line.split()) <= _MOST_WORDS and not is_other and leads_on


_MOST_LINES = 2000  # that are examined


class Layout(StrEnum):
    SENTENCES = "one sentence a line"
    PARAGRAPHS = "a paragraph a line"
    WRAPPED = "paragraphs broken into lines"


_CLOSING = "\"'\u2019\u201d)\\]"
# A line that ends as a sentence does, perhaps with the number of a source. The others are titles and cells of tables,
# unless so many sentences end within them.
_ENDED = re.compile(rf"[.!?][{_CLOSING}]*\d*$")
_LINE_STOP = re.compile(rf"[.!?:;][{_CLOSING}]*\d*$")

# Signs that tell paragraphs from sentences: (fewest, more of them a line). In real papers of one sentence a line, at
# most 0.13 gaps stand in a line that ends, and 8 in 100 lines go on in the next one, which begins with a small letter;
# broken at 80 columns, 70 in 100 do. Few signs in a short file may be abbreviations or titles, unless they are dense:
# of 25,830 parts of two to twenty lines of the 96 papers of train, 7 have so many gaps, and 10 such lines.
_GAPS = ((7, 0.5), (3, 0.99))
_GAPS_OF_PROSE = 3
_WRAPPED = ((7, 0.3), (3, 0.49))
# Of long lines alone, as titles and cells are short: none of 14,062 parts of those papers has so many. Of 995 pieces of
# two broken paragraphs with eight short lines, it tells 980, and the signs above 746.
_LONG = 50  # characters
_LONG_WRAPPED = (3, 0.3)


def layout_of(lines: Iterable[str]) -> Layout:
    """Return how a text is laid out, given its lines that are not empty, without white space around them."""
    lines = [line for line in islice(lines, _MOST_LINES) if line[0] != "#"]
    wrapped = [line for line, after in pairwise(lines) if not _LINE_STOP.search(line) and after[0].islower()]
    long, long_wrapped = ([line for line in group if len(line) >= _LONG] for group in (lines, wrapped))
    if _has_signs(len(wrapped), len(lines), *_WRAPPED) or _has_signs(len(long_wrapped), len(long), _LONG_WRAPPED):
        return Layout.WRAPPED
    gaps = [len(sentence_spans(line)) - 1 for line in lines]
    if len(lines) == 1 and gaps[0]:
        return Layout.PARAGRAPHS
    of_prose = [n for n, line in zip(gaps, lines, strict=True) if _ENDED.search(line) or n >= _GAPS_OF_PROSE]
    return Layout.PARAGRAPHS if _has_signs(sum(of_prose), len(of_prose), *_GAPS) else Layout.SENTENCES


def _has_signs(n: int, n_lines: int, *signs: tuple[int, float]) -> bool:
    return any(n >= fewest and n > share * n_lines for fewest, share in signs)


# Evidence Inference writes a line before each part: "TITLE:", "ABSTRACT.RESULTS:", "BODY.1. METHODS:".
LABELLED = re.compile(r"^(?:TITLE|ABSTRACT\..+):\s*$", re.MULTILINE)
_LABEL = re.compile(r"(?P<part>TITLE|ABSTRACT|BODY)(?:\.(?P<title>\S.*?))?:?")

_LONGEST_TITLE, _MOST_PARTS_OF_TITLE = 300, 2  # a title may have a subtitle: "Tea. A trial"
_STOPPED = re.compile(r"[.!;:,]$")
_BULLET = re.compile(r"[-*\u2022\u25aa\u25cf] \S")


class _Unit(NamedTuple):
    """The lines of a paragraph, or of a heading with its level, from 1; the paper's title has level 0."""

    lines: list[Line]
    level: int | None = None
    kind: Kind | None = None  # of paragraphs; None: as the outline says
    is_sentence: bool = False


def read_plain(content: bytes, name: str) -> Paper:
    text = text_of(content, name=name)
    lines, count, words = lines_of(text), Loss(), words_of(text)
    if LABELLED.search(text):
        return _paper(_labelled(lines), count, words, name=name, file_format="text with labelled parts")
    edges = page_edges(lines)
    body = [line for number, line in enumerate(lines) if number not in edges]
    layout = layout_of(line.text for line in body)
    if layout is Layout.SENTENCES:
        return _paper(_sentences(lines), count, words, name=name, file_format="text, one sentence a line")
    for number in sorted(edges):
        count.leave_out("page number or running head", lines[number].text)
    units = _paragraphs(body, layout)
    start = " ".join(line.text for line in units[0].lines)  # the title, but in files with pages
    is_short = len(start) <= _LONGEST_TITLE and len(sentence_spans(start)) <= _MOST_PARTS_OF_TITLE
    if body[0].page is None and is_short and not (_STOPPED.search(start) or is_known_title(start)):
        units[0] = units[0]._replace(level=0)
    return _paper(units, count, words, name=name, file_format="text with paragraphs")


def _sentences(lines: Iterable[Line]) -> Iterator[_Unit]:
    for number, line in enumerate(lines):
        title = line.text.lstrip("#").lstrip()
        if title == line.text:
            yield _Unit([line], is_sentence=True)
        elif title:
            level = 0 if number == 0 and not is_known_title(title) else 1
            yield _Unit([_cut(line, len(line.text) - len(title))], level=level, is_sentence=True)


def _labelled(lines: Iterable[Line]) -> Iterator[_Unit]:
    part = ""
    for line in lines:
        label = _LABEL.fullmatch(line.text)
        part = label["part"] if label else part
        kind = Kind.BODY if part == "BODY" else Kind.ABSTRACT
        if label is None:
            yield _Unit([line], level=0 if part == "TITLE" else None, kind=kind)
            part = "ABSTRACT" if part == "TITLE" else part  # an abstract without parts has no label
        elif title := label["title"]:
            yield _Unit([_cut(line, *label.span("title"))], level=level_of(title), kind=kind)


def _paragraphs(lines: Sequence[Line], layout: Layout) -> list[_Unit]:
    finder = HeadingFinder()
    units: list[_Unit] = []
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        is_last = layout is Layout.PARAGRAPHS or after is None or after.after_blank
        before = units[-1].lines[-1] if units and units[-1].level is None else None
        goes_on = before and before.page != line.page and not _STOPPED.search(before.text) and line.text[0].islower()
        is_apart = line.after_blank and not goes_on  # what goes on behind a page's end is not
        level = finder.level(
            line.text,
            before="" if line.after_blank or before is None else before.text,
            after=after.text if after else "",
            alone=line.after_blank and is_last,
        )
        if level or before is None or layout is Layout.PARAGRAPHS or _BULLET.match(line.text) or is_apart:
            units.append(_Unit([line], level=level))
        else:
            units[-1].lines.append(line)
    return units


def _cut(line: Line, start: int, stop: int | None = None) -> Line:
    return replace(line, text=line.text[start:stop], start=line.start + start)


def _paper(units: Iterable[_Unit], count: Loss, words: frozenset[str], *, name: str, file_format: str) -> Paper:
    outline, blocks, title = Outline(), list[Block](), ""
    for unit in units:
        text, kept, hyphens = _joined(unit.lines, words)
        if not text.text:
            continue
        above = outline.path
        if unit.level:
            above = outline.enter(text.text, level=unit.level)
        elif unit.level is None:
            outline.pass_paragraph()
        is_reference = any(section_of(title) is SectionSort.REFERENCES for title in outline.path)
        if is_reference and not unit.is_sentence:
            count.leave_out("references", text.text)
            continue
        kind = unit.kind or outline.kind
        part: Part = "abstract" if kind is Kind.ABSTRACT else "body"
        if unit.level == 0 and not title:
            part, title = "title", text.text
        count.read(part, kept)
        for hyphen in hyphens:
            count.leave_out("hyphen at a line's end", hyphen)
        count.keep(part, text.text)
        kind = kind if unit.level is None else Kind.HEADING
        page, is_sentence = unit.lines[0].page, unit.is_sentence
        blocks.append(Block(text=text, kind=kind, section=above, page=page, is_sentence=is_sentence))
    if all(block.kind is Kind.HEADING for block in blocks):
        raise UnreadableError(f"{name}: expected a paper as text, got no sentence")
    return paper_of(blocks, name=name, file_format=file_format, title=title, loss=count)


def _joined(lines: Sequence[Line], words: frozenset[str]) -> tuple[SourcedText, str, str]:
    """Return the text of lines, the characters of the lines that are in it, and the hyphens that are not."""
    writer, kept, hyphens = TextWriter(), "", ""
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        n_cut, between = joint(line.text, after.text, words) if after else (0, "")
        stop = len(line.text) - n_cut
        writer.add(line.text[:stop], start=line.start)
        writer.add_mark(between)
        kept, hyphens = kept + line.text[:stop], hyphens + line.text[stop:]
    return writer.finish(), kept, hyphens
