"""Paragraphs: lines that belong together by spacing, indentation and style."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evidencebench.papers.pdf.lines import PrintedLine, TypeStyle
from evidencebench.papers.pdf.section_names import section_of

# In sizes of type.
_INDENT = 0.7
_SAME_SIZE = 0.06
_WIDER = 1.25  # of the usual step from line to line: a gap between paragraphs, where a sentence has ended
_MUCH_WIDER = 1.4  # where none has: sub- and superscripts push lines apart
_SLACK = 1.0
_LEAST_STEP = 0.3
_USUAL_STEP = 1.2

_MUCH_ROOM = 0.4  # of the column

ENDED = re.compile(r"[.!?:;][\"'\u2019\u201d)\]]*(?:[\d,\u2013-]|\[[\d, \u2013-]+\])*$")
BEGINS = re.compile(r"[\"'\u2018\u201c(\[]?(?:[A-Z0-9]|[\u2022\u25cf\u25aa\u2013\u2014-] )")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedParagraph:
    """Lines of one paragraph, or a heading's, or a part of one that a column ends."""

    lines: tuple[PrintedLine, ...]

    @property
    def text(self) -> str:
        """Its text, hyphens at line ends kept."""
        return " ".join(line.text for line in self.lines)

    @property
    def style(self) -> TypeStyle:
        """That of most of its characters."""
        styles: Counter[TypeStyle] = Counter()
        for line in self.lines:
            styles[line.style] += len(line.glyphs)
        return styles.most_common(1)[0][0]


def paragraphs_of(lines: Sequence[PrintedLine], styles: Sequence[TypeStyle]) -> list[PrintedParagraph]:
    """Return the paragraphs of lines in reading order; one that goes on in the next column is two."""
    steps = _usual_steps(lines)
    groups: list[list[PrintedLine]] = []
    for line in lines:
        if groups and not _is_new(groups[-1], line, steps, styles):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [PrintedParagraph(lines=tuple(group)) for group in groups]


def _usual_steps(lines: Sequence[PrintedLine]) -> Mapping[float, float]:
    """Return size of type -> the most frequent step from line to line, in points."""
    steps: dict[float, Counter[float]] = defaultdict(Counter)
    for above, below in pairwise(lines):
        step = below.baseline - above.baseline
        if above.page is below.page and above.style.size == below.style.size and 0 < step < 3 * above.size:
            steps[above.style.size][round(step, 0)] += 1
    return {size: counter.most_common(1)[0][0] for size, counter in steps.items()}


def _is_new(
    group: Sequence[PrintedLine], line: PrintedLine, steps: Mapping[float, float], styles: Sequence[TypeStyle]
) -> bool:
    before = group[-1]
    size = max(before.size, line.size)
    step = line.baseline - before.baseline
    wider = _WIDER if ENDED.search(before.text) else _MUCH_WIDER
    widest = wider * max(steps.get(before.style.size, _USUAL_STEP * size), size)
    return (
        before.page is not line.page
        or before.column != line.column
        or not _LEAST_STEP * size < step <= widest
        or abs(before.size - line.size) > _SAME_SIZE * size
        or _is_section_name(group, line)
        or _changes_style(group, line, styles)
        or _is_indented(group, line, size)
        or _is_broken_off(before, line, size)
    )


def _is_section_name(group: Sequence[PrintedLine], line: PrintedLine) -> bool:
    """Whether the line, or the one before, is the name of a section, as of two headings below each other."""
    if len(group) == 1 and section_of(group[0].text):
        return True
    return (
        BEGINS.match(line.text) is not None
        and section_of(line.text) is not None
        and (len(group) == 1 or ENDED.search(group[-1].text) is not None)
    )


def _changes_style(group: Sequence[PrintedLine], line: PrintedLine, styles: Sequence[TypeStyle]) -> bool:
    before = group[-1]
    if is_uniform(before, "is_bold", styles) != is_uniform(line, "is_bold", styles):
        return True
    was_italic, is_italic = (is_uniform(side, "is_italic", styles) for side in (before, line))
    first = styles[line.page.arrays.fonts[line.glyphs[0].index]]
    # Names of species and journals may fill a line within a paragraph.
    return (was_italic and len(group) == 1 and not first.is_italic) or (
        is_italic and not was_italic and ENDED.search(before.text) is not None
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
    is_broken = ENDED.search(before.text) is not None or room > _MUCH_ROOM * (before.column[1] - before.column[0])
    return is_broken and room > width + _SLACK * size and BEGINS.match(line.text) is not None


def is_uniform(line: PrintedLine, trait: str, styles: Sequence[TypeStyle]) -> bool:
    """Say whether all letters of a line are bold (``is_bold``), or italic (``is_italic``)."""
    fonts = line.page.arrays.fonts
    return all(
        getattr(styles[fonts[glyph.index]], trait)
        for glyph in line.glyphs
        if not glyph.script and line.page.text[glyph.index].isalpha()
    )
