"""The plain text of a paper, as Evidence Inference has it: its sentences, and where its running text lies.

A line such as ``BODY.RESULTS:``, ``2.1BODY.PATIENTS:`` or ``TITLE:`` stands before each part; what stands
between the title and the first such line is the abstract. A line is a paragraph, a caption or a cell of a table; some
captions stand behind a paragraph on its line, and subscripts or the source's own line ends break some paragraphs.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from evidencebench.papers.blocks import Block, paper_of
from evidencebench.papers.paper import Paper
from evidencebench.papers.sourced_text import TextWriter
from evidencebench.query import Kind

TextPart = Literal["running text", "heading", "caption", "table"]
"""What a line, or the rest of it, is."""

_HEADING = re.compile(r"[\d.]{0,12}+(?P<part>TITLE|ABSTRACT|BODY)(?:\.(?P<title>\S.*?))?:+(?P<rest>[^:\n]*)$")
# Repeats are possessive, so that "Table 12 shows" is not read as "Table 1" with a caption behind it.
_LABEL = r"(?:Supplementary |Online )?+(?:Figure|Fig|Table|Box|Scheme|Chart)s?+\.?+\s{0,3}+(?:S?+\d{1,3}+|[IVX]{1,5}+)"
# "Table 2Ages", "Table 2. Ages" and "Table 2" are captions; "Table 2 shows", "Figure 2B shows" are not.
_CAPTION = re.compile(rf"\s*+{_LABEL}(?:[A-Z](?![a-z])|\([a-z]\))?+[.:|\s]*+(?![a-z(,;])")
# A caption behind a paragraph, on its line: "(Table 2).Table 2Ages".
_GLUED = re.compile(rf"(?<=[.)\]\d]){_LABEL}(?=[A-Z]|\.?\s?[A-Z]|\s*$)")
_LONGEST_HEADING = 1000
_CLOSING = "\"'\u2019\u201d)\\]"
# "fell.", "fell.)", "fell.[3]" and "fell.3,4", with sources cited behind the stop.
_CITED = r"[^\d\s.]\.\d{1,3}(?:[,\u2013-]\d{1,3})*"
_ENDED = re.compile(rf"(?:[.!?:;][{_CLOSING}]*(?:\s*\[[\d,\s\u2013-]+\])?|{_CITED})\s*$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CAPITALIZED = re.compile(r"\s*[^\W\d_a-z][^\W\d_A-Z]{2}")
_LEADER = re.compile(r"\.{4,}")  # dots between the cells of a row
_FEWEST_WORDS_ENDED, _FEWEST_WORDS = 5, 9  # of a line of running text: one that ends as sentences do, and any other


@dataclass(frozen=True, slots=True, kw_only=True)
class _TextPiece:
    """A line or a part of one: characters start..stop-1."""

    start: int
    stop: int
    part: TextPart
    continues: bool = False  # whether it goes on from the piece before it


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialText:
    """A paper's plain text with its sentences; the spans of ``paper`` count its characters."""

    text: str
    paper: Paper
    pieces: tuple[_TextPiece, ...]

    def part_of(self, start: int, stop: int) -> TextPart:
        """Return the part that holds most letters and digits of the characters start..stop-1."""
        n_letters: Counter[TextPart] = Counter()
        first = max(0, bisect_right(self.pieces, start, key=lambda piece: piece.start) - 1)
        for piece in self.pieces[first:]:
            if piece.start >= stop:
                break
            inside = self.text[max(start, piece.start) : min(stop, piece.stop)]
            n_letters[piece.part] += sum(map(str.isalnum, inside))
        return max(n_letters, key=lambda part: n_letters[part], default="running text")


def read_trial_text(text: str, name: str) -> TrialText:
    r"""Return the sentences of a plain text of Evidence Inference, and which of its lines are running text.

    Raises `UnreadableError` where there is no sentence.

    >>> lines = ["BODY.RESULTS:", "Pressure fell by 3 mmHg with tea (Table 1).Table 1Ages", "", "Age", "54 (3.1)"]
    >>> found = read_trial_text("\n".join(lines), "tea.txt")
    >>> found.paper.sentences
    ('RESULTS', 'Pressure fell by 3 mmHg with tea (Table 1).')
    >>> [piece.part for piece in found.pieces]
    ['heading', 'running text', 'caption', 'table', 'table']
    """
    pieces = tuple(_pieces(text))
    blocks = list(_blocks(text, pieces))
    has_title = text.startswith("TITLE") and blocks and blocks[0].kind is Kind.HEADING
    title = blocks[0].text.text if has_title else ""
    paper = paper_of(blocks, name=name, file_format="text of Evidence Inference", title=title)
    return TrialText(text=text, paper=paper, pieces=pieces)


def _pieces(text: str) -> Iterator[_TextPiece]:
    """Yield the pieces of all lines that are not empty."""
    start, in_title = 0, False
    goes_on = False  # whether the line before is running text that has not ended
    lines = text.splitlines(keepends=True)
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        stop, begins = start + len(line), start
        start = stop
        if not line.strip():
            goes_on = False
            continue
        heading = _HEADING.match(line.rstrip()) if len(line) < _LONGEST_HEADING else None
        if heading is not None or in_title:
            in_title = heading is not None and heading["part"] == "TITLE"
            goes_on = False
            yield _TextPiece(start=begins, stop=stop, part="heading")
            continue
        glued = _GLUED.search(line)
        cut = begins + glued.start() if glued is not None else stop
        body = text[begins:cut]
        continues = goes_on and not _is_cell(body)
        part = _part_of_line(body, after, continues=continues)
        yield _TextPiece(start=begins, stop=cut, part=part, continues=continues)
        if cut < stop:
            yield _TextPiece(start=cut, stop=stop, part="caption")
        goes_on = part == "running text" and cut == stop and not _ENDED.search(body)


def _part_of_line(line: str, after: str, *, continues: bool) -> TextPart:
    if _CAPTION.match(line):
        return "caption"
    is_sentence = (
        _ENDED.search(line) is not None or after[:1].islower()
    )  # the source's line ends are kept in some texts
    n_words = 0 if _LEADER.search(line) else len(_WORD.findall(line))
    return (
        "running text" if continues or n_words >= (_FEWEST_WORDS_ENDED if is_sentence else _FEWEST_WORDS) else "table"
    )


def _is_cell(line: str) -> bool:
    """Say whether a line is a cell, rather than goes on from the one before: a number, or a few words and a capital.

    A single digit is a subscript, and a line that ends as sentences do is no cell.
    """
    words = _WORD.findall(line)
    is_number = not words and any(map(str.isdigit, line)) and len(line.strip()) > 1
    is_name = _CAPITALIZED.match(line) is not None and len(words) < _FEWEST_WORDS_ENDED
    return (is_number or is_name) and _ENDED.search(line) is None


def _blocks(text: str, pieces: tuple[_TextPiece, ...]) -> Iterator[Block]:
    """Yield headings and paragraphs; captions and tables are left out."""
    labels = [_HEADING.match(text[one.start : one.stop].rstrip()) for one in pieces]
    # Some texts say ABSTRACT of the whole paper; then the body begins with the introduction.
    has_body = any(label is not None and label["part"] == "BODY" for label in labels)
    kind, section = Kind.BODY, tuple[str, ...]()
    in_body = False
    writer: TextWriter | None = None
    for piece, label in zip(pieces, labels, strict=True):
        if writer is not None and not (piece.continues and piece.part == "running text"):
            yield Block(text=writer.finish(), kind=kind, section=section)
            writer = None
        if piece.part == "running text":
            writer = writer or TextWriter()
            writer.add(text[piece.start : piece.stop], start=piece.start)
        elif piece.part == "heading":
            begin, title = piece.start, text[piece.start : piece.stop]
            if label is not None:
                in_body = label["part"] == "BODY" or (not has_body and (in_body or label["title"] == "INTRODUCTION"))
                kind = Kind.BODY if in_body else Kind.ABSTRACT
                section = (label["title"],) if label["title"] else ()
                begin += label.start("title") if label["title"] else len(title)
                title = text[begin : piece.stop].rstrip().rstrip(":")
            if title.strip():
                heading = TextWriter()
                heading.add(title, start=begin)
                yield Block(text=heading.finish(), kind=Kind.HEADING)
    if writer is not None:
        yield Block(text=writer.finish(), kind=kind, section=section)
