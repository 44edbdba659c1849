"""Lines to paragraphs and their text."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

from evidencebench.papers import sections
from evidencebench.papers.lines import joint
from evidencebench.papers.paper import SourcedText, TextWriter
from evidencebench.papers.pdf.lines import PrintedLine, TypeStyle
from evidencebench.papers.sections import BACK_MATTER_STEMS, SectionSort, plain_title

ABSTRACT_LABEL = re.compile(
    r"(?i:abstract|summary)\s*[.:\u2014\u2013-]+\s*(?=[A-Z])|(?:ABSTRACT|Abstract|SUMMARY)\s+(?=[A-Z])"
)
"""The word before an abstract, in its first line."""

KEYWORDS = re.compile(r"(?:key ?-?words?(?: and phrases)?|index terms|mesh terms)\b", re.IGNORECASE)
"""How the paragraph of keywords begins."""

# What may follow in a heading that is told by its type too: "Outcomes and follow-up", "Funding, and thanks".
_PART_GOES_ON = re.compile(r"(?:,| and|/) ?[a-z, ]+$")
_BACK_MATTER = re.compile(rf"(?:{BACK_MATTER_STEMS})[ ,/][^.]{{0,50}}")
_BODY = re.compile("(?:[a-z]\\.? )?appendi(?:x|ces)[^.]*|statistical analys[ei]s")
_LEAST_SPACED = 4  # letters of a word that is spaced out


def section_of(heading: str) -> SectionSort | None:
    """Return what a heading announces; None where its words are the paper's own."""
    name = name_of(heading)
    if _BACK_MATTER.fullmatch(name):
        return SectionSort.BACK_MATTER
    return SectionSort.BODY if _BODY.fullmatch(name) else sections.section_of(name)


def is_abstract_part(heading: str) -> bool:
    name = name_of(heading)
    return any(map(sections.is_abstract_part, (name, _PART_GOES_ON.sub("", name))))


def name_of(heading: str) -> str:
    """Return a heading as `plain_title` does, letters that are spaced out drawn together."""
    name = plain_title(heading)
    letters = name.split()
    return "".join(letters) if len(letters) >= _LEAST_SPACED and all(len(letter) == 1 for letter in letters) else name


# In sizes of type.
_INDENT = 0.7
_CENTRED = 0.3
_SAME_SIZE = 0.06
_WIDER = 1.25  # of the usual step from line to line: a gap between paragraphs, where a sentence has ended
_MUCH_WIDER = 1.4  # where none has: sub- and superscripts push lines apart
_SLACK = 1.0
_LEAST_STEP = 0.3
_USUAL_STEP = 1.2

_MUCH_ROOM = 0.4  # of the column

ENDED = re.compile(r"[.!?:;][\"'\u2019\u201d)\]]*(?:[\d,\u2013-]*\d|\[[\d, \u2013-]+\])*$")
BEGINS = re.compile(r"[\"'\u2018\u201c(\[]?(?:[A-Z0-9]|[\u2022\u25cf\u25aa\u2013\u2014-] )")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedParagraph:
    """Lines of one paragraph, or a heading's, or a part of one that a column ends."""

    lines: tuple[PrintedLine, ...]

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def style(self) -> TypeStyle:
        styles: Counter[TypeStyle] = Counter()
        for line in self.lines:
            styles[line.style] += len(line.glyphs)
        return styles.most_common(1)[0][0]


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


def paragraphs_of(lines: Sequence[PrintedLine]) -> list[PrintedParagraph]:
    """Return the paragraphs of lines in reading order; one that goes on in the next column is two."""
    steps: dict[float, Counter[float]] = defaultdict(Counter)  # from line to line, by size of type
    for above, below in pairwise(lines):
        step = below.baseline - above.baseline
        if above.page is below.page and above.style.size == below.style.size and 0 < step < 3 * above.size:
            steps[above.style.size][round(step, 0)] += 1
    usual_steps = {size: counter.most_common(1)[0][0] for size, counter in steps.items()}
    groups: list[list[PrintedLine]] = []
    for line in lines:
        if groups and not _is_new(groups[-1], line, usual_steps):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [PrintedParagraph(lines=tuple(group)) for group in groups]


def _is_new(group: Sequence[PrintedLine], line: PrintedLine, usual_steps: Mapping[float, float]) -> bool:
    before = group[-1]
    size = max(before.size, line.size)
    step = line.baseline - before.baseline
    wider = _WIDER if ENDED.search(before.text) else _MUCH_WIDER
    widest = wider * max(usual_steps.get(before.style.size, _USUAL_STEP * size), size)
    return (
        before.page is not line.page
        or before.is_heading != line.is_heading
        or before.column != line.column
        or not _LEAST_STEP * size < step <= widest
        or abs(before.size - line.size) > _SAME_SIZE * size
        or (line.n_lead > 0 and KEYWORDS.match(line.text) is not None)
        or _is_section_name(group, line)
        or _changes_style(group, line)
        or (not _is_centred(before, line, size) and _begins_anew(group, line, size))
    )


def _is_centred(before: PrintedLine, line: PrintedLine, size: float) -> bool:
    """Whether two lines of different widths have one middle, as those of titles can."""
    middles = [(one.left + one.right) / 2 for one in (before, line)]
    return abs(middles[0] - middles[1]) < _CENTRED * size and abs(before.left - line.left) > _INDENT * size


def _begins_anew(group: Sequence[PrintedLine], line: PrintedLine, size: float) -> bool:
    return _is_indented(group, line, size) or _is_broken_off(group[-1], line, size)


def _is_section_name(group: Sequence[PrintedLine], line: PrintedLine) -> bool:
    """Whether the line, or the one before, is the name of a section, as of two headings below each other."""
    if len(group) == 1 and section_of(group[0].text):
        return True
    return (
        BEGINS.match(line.text) is not None
        and section_of(line.text) is not None
        and (len(group) == 1 or ENDED.search(group[-1].text) is not None)
    )


def _changes_style(group: Sequence[PrintedLine], line: PrintedLine) -> bool:
    before = group[-1]
    if not any(map(str.isalpha, line.text)) or not any(map(str.isalpha, before.text)):
        return False
    # Names of species and journals may fill a line within a paragraph.
    return (
        (before.is_bold != line.is_bold and not (before.is_bold and line.n_lead))
        or (before.is_italic and len(group) == 1 and not line.begins_italic)
        or (line.is_italic and not before.is_italic and ENDED.search(before.text) is not None)
    )


def _is_indented(group: Sequence[PrintedLine], line: PrintedLine, size: float) -> bool:
    """Whether the line stands out to the right as a paragraph's first, or to the left as the first of a list's item."""
    before, indent = group[-1], _INDENT * size
    is_indented = line.left > before.left + indent and (len(group) > 1 or ENDED.search(before.text) is not None)
    hangs = len(group) > 1 and line.left < before.left - indent and before.left > group[0].left + indent
    return is_indented or hangs


def _is_broken_off(before: PrintedLine, line: PrintedLine, size: float) -> bool:
    """Whether the line's first word had room on the line before, which ends a sentence or leaves much room."""
    word = line.text.partition(" ")[0]
    width = (line.right - line.left) * len(word) / len(line.text)
    room = before.column[1] - before.right
    is_short = line.right - before.right > _MUCH_ROOM * (before.column[1] - before.column[0])  # text can be narrow
    is_broken = ENDED.search(before.text) is not None or is_short
    return is_broken and room > width + _SLACK * size and BEGINS.match(line.text) is not None


_DASHES = "\u2013\u2014/"  # at a line's end, nothing stands between them and the next line
_NUMBERS = re.compile(r"\d{1,3}(?:\s?[,;\u2010-\u2015\u2212-]\s?\d{1,3})*,?")
_BEHIND_WORD = re.compile(r"[^\W\d_]{2,}[)\]\"'\u2019\u201d%]*$|[.,;:)\]\"'\u2019\u201d%]$")
# "kg/m", "cm", "per min": what is raised behind them is an exponent.
_UNIT = re.compile(
    r"(?:^|[\s\d/(\u00b7\u00d7.*])(?:[kcdm\u00b5\u03bcn]?m|in|ft|sec|min|hr?|[km\u00b5\u03bcn]?g|[md\u00b5\u03bc]?[lL]|[m\u00b5\u03bcn]?mol|"
    r"days?|weeks?|years?|yr|[k]?Pa|mmHg|cells?|log|chi)$"
)


class _Piece(NamedTuple):
    """Characters that stand side by side in the file, or one or two that it lacks, such as a space."""

    text: str
    start: int  # where it stands in the text of the pages; -1 for what the file lacks
    script: int


def text_of_lines(
    lines: Sequence[PrintedLine], words: AbstractSet[str], *, label: Sequence[PrintedLine] = ()
) -> SourcedText:
    """Return the text of a paragraph's lines, behind a label such as "Results"; ``words`` are those of the paper."""
    pieces = _pieces(label, words)
    if pieces:
        pieces.append(_Piece(" " if pieces[-1].text[-1] in ".:?!" else ": ", -1, 0))
    pieces += _pieces(lines, words)
    writer = TextWriter()
    at = 0
    for script, group in groupby(pieces, key=attrgetter("script")):
        run = list(group)
        if script > 0:
            _write_raised(writer, "".join(piece.text for piece in pieces[max(0, at - 20) : at])[-20:], run)
        else:
            _write(writer, run)
        at += len(run)
    return writer.finish()


def _pieces(lines: Sequence[PrintedLine], words: AbstractSet[str]) -> list[_Piece]:
    pieces: list[_Piece] = []
    for number, line in enumerate(lines):
        glyphs, text = line.glyphs, line.page.text
        parted = [
            at
            for at, ((before, _, above), (index, has_space, script)) in enumerate(pairwise(glyphs), start=1)
            if has_space or index != before + 1 or script != above
        ]
        for first, end in pairwise([0, *parted, len(glyphs)]):
            index, has_space, script = glyphs[first]
            if has_space:
                pieces.append(_Piece(" ", -1, script if pieces and pieces[-1].script == script else 0))
            pieces.append(_Piece(text[index : index + end - first], line.page.start + index, script))
        if number + 1 < len(lines):
            n_cut, between = joint(line.text, lines[number + 1].text, words)
            if n_cut:
                last = pieces.pop()
                pieces += [last._replace(text=last.text[:-n_cut])] if last.text[n_cut:] else []
            elif line.text[-1] in _DASHES and line.text[-2:-1].isalnum():
                between = ""
            if between:
                pieces.append(_Piece(between, -1, 0))
    return pieces


def _write_raised(writer: TextWriter, behind: str, run: Sequence[_Piece]) -> None:
    """Write what is raised: a citation in brackets, ``^`` before an exponent of a number, and all else as it is."""
    text = "".join(piece.text for piece in run).strip()
    if _NUMBERS.fullmatch(text) and _BEHIND_WORD.search(behind.rstrip()) and not _UNIT.search(behind):
        is_apart = behind[-1:].isalnum() or behind[-1:] in ")%\u2019\u201d"
        writer.add_mark(" [" if is_apart else "[")
        _write(writer, run)
        writer.add_mark("]")
        return
    if behind[-1:].isdigit() and text[-1:].isdigit():
        writer.add_mark("^")
    _write(writer, run)


def _write(writer: TextWriter, run: Sequence[_Piece]) -> None:
    for text, start, _ in run:
        if start < 0:
            writer.add_mark(text)
        else:
            writer.add(text, start=start)
