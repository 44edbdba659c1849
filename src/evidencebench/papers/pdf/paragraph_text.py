"""The text of a paragraph from its lines: words joined over line ends, each character with its place."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from evidencebench.papers.pdf.lines import Glyph, PrintedLine
from evidencebench.papers.sourced_text import SourcedText, TextWriter

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HYPHENS = "-\u2010\u00ad"
_SOFT_HYPHEN = "\u00ad"
_LAST_WORD = re.compile(r"[\w-]+$")
_FIRST_WORD = re.compile(r"[\w-]+")


def vocabulary_of(lines: Iterable[PrintedLine]) -> Counter[str]:
    """Return how often each word stands within a line, in lower case, hyphens within it kept."""
    found: Counter[str] = Counter()
    for line in lines:
        words = _WORD.findall(line.text.casefold())
        found.update(words[:-1] if line.text[-1:] in _HYPHENS else words)
    return found


def text_of_lines(lines: Sequence[PrintedLine], vocabulary: Counter[str]) -> SourcedText:
    """Return the text of a paragraph's lines."""
    writer = TextWriter()
    for place, line in enumerate(lines):
        glyphs = line.glyphs
        after = lines[place + 1] if place + 1 < len(lines) else None
        breaks = after is not None and line.text[-1] in _HYPHENS and len(line.text) > 1 and line.text[-2].isalpha()
        if after is not None and breaks and not keeps_hyphen(line.text, after.text, vocabulary):
            glyphs = glyphs[:-1]
        _write(writer, line, glyphs)
        if after is not None and not breaks:
            writer.add_mark(" ")
    return writer.finish()


def keeps_hyphen(line: str, after: str, vocabulary: Counter[str]) -> bool:
    """Say whether the hyphen at the end of a line belongs to its word, by the words of the rest of the paper."""
    first, second = _LAST_WORD.search(line[:-1]), _FIRST_WORD.match(after)
    if line[-1] == _SOFT_HYPHEN or first is None:
        return False
    if second is None or not second[0][0].islower():
        return True  # as in "Mann-Whitney" and "COVID-19"
    before, behind = first[0].casefold(), second[0].casefold()
    whole = vocabulary[before + behind]
    parted = vocabulary[f"{before}-{behind}"]
    if whole or parted:
        return parted > whole
    last = before.rpartition("-")[2]
    return len(last) == 1 or (vocabulary[last] > 0 and vocabulary[behind.partition("-")[0]] > 0)


def _write(writer: TextWriter, line: PrintedLine, glyphs: Sequence[Glyph]) -> None:
    start = line.page.start
    for glyph in glyphs:
        if glyph.has_space:
            writer.add_mark(" ")
        writer.add(line.page.text[glyph.index], start=start + glyph.index)
