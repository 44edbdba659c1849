"""The text of a paragraph from its lines: words joined over line ends, raised numbers told from citations."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from evidencebench.papers.line_ends import joint
from evidencebench.papers.pdf.lines import PrintedLine
from evidencebench.papers.sourced_text import SourcedText, TextWriter

_DASHES = "\u2013\u2014/"  # at a line's end, nothing stands between them and the next line
_NUMBERS = re.compile(r"\d{1,3}(?:\s?[,;\u2010-\u2015\u2212-]\s?\d{1,3})*,?")
_BEHIND_WORD = re.compile(r"[^\W\d_]{2,}[)\]\"'\u2019\u201d%]*$|[.,;:)\]\"'\u2019\u201d%]$")
# "kg/m", "cm", "per min": what is raised behind them is an exponent.
_UNIT = re.compile(
    r"(?:^|[\s\d/(\u00b7\u00d7.*])(?:[kcdm\u00b5\u03bcn]?m|in|ft|sec|min|hr?|[km\u00b5\u03bcn]?g|[md\u00b5\u03bc]?[lL]|[m\u00b5\u03bcn]?mol|"
    r"days?|weeks?|years?|yr|[k]?Pa|mmHg|cells?|log|chi)$"
)


@dataclass(slots=True)
class _Character:
    text: str
    start: int  # where it stands in the text of the pages; -1 for a space that the file lacks
    script: int


def text_of_lines(
    lines: Sequence[PrintedLine], words: AbstractSet[str], *, label: Sequence[PrintedLine] = ()
) -> SourcedText:
    """Return the text of a paragraph's lines, behind a label such as "Results"; ``words`` are those of the paper."""
    characters = _characters(label, words)
    if characters:
        characters.append(_Character(" " if characters[-1].text in ".:?!" else ": ", -1, 0))
    characters += _characters(lines, words)
    writer = TextWriter()
    at = 0
    while at < len(characters):
        stop = at + 1
        script = characters[at].script
        while stop < len(characters) and characters[stop].script == script and characters[at].start >= 0:
            stop += 1
        run = characters[at:stop]
        if script > 0:
            _write_raised(writer, characters[max(0, at - 20) : at], run)
        else:
            _write(writer, run)
        at = stop
    return writer.finish()


def _characters(lines: Sequence[PrintedLine], words: AbstractSet[str]) -> list[_Character]:
    characters: list[_Character] = []
    for number, line in enumerate(lines):
        start = line.page.start
        for glyph in line.glyphs:
            if glyph.has_space:
                is_within = characters and characters[-1].script == glyph.script
                characters.append(_Character(" ", -1, glyph.script if is_within else 0))
            characters.append(_Character(line.page.text[glyph.index], start + glyph.index, glyph.script))
        if number + 1 < len(lines):
            n_cut, between = joint(line.text, lines[number + 1].text, words)
            if n_cut:
                del characters[-n_cut:]
            elif line.text[-1] in _DASHES and line.text[-2:-1].isalnum():
                between = ""
            if between:
                characters.append(_Character(between, -1, 0))
    return characters


def _write_raised(writer: TextWriter, before: Sequence[_Character], run: Sequence[_Character]) -> None:
    """Write what is raised: a citation in brackets, ``^`` before an exponent of a number, and all else as it is."""
    text, behind = "".join(character.text for character in run).strip(), "".join(character.text for character in before)
    if _NUMBERS.fullmatch(text) and _BEHIND_WORD.search(behind.rstrip()) and not _UNIT.search(behind):
        is_apart = behind[-1:].isalnum() or behind[-1:] in ")%\u2019\u201d"
        writer.add_mark(" [" if is_apart else "[")
        _write(writer, run)
        writer.add_mark("]")
        return
    if behind[-1:].isdigit() and text[-1:].isdigit():
        writer.add_mark("^")
    _write(writer, run)


def _write(writer: TextWriter, run: Sequence[_Character]) -> None:
    """Write characters, those that stand side by side in the file at once."""
    at = 0
    while at < len(run):
        stop = at + 1
        while stop < len(run) and run[stop].start == run[stop - 1].start + 1 > 0:
            stop += 1
        text = "".join(character.text for character in run[at:stop])
        if run[at].start < 0:
            writer.add_mark(text)
        else:
            writer.add(text, start=run[at].start)
        at = stop
