"""Text with anchors (offset of each run), white space, super- and subscripts, formulas."""

import re
from typing import Literal

from evidencebench.papers.formulas import formula_text, in_brackets, line_of
from evidencebench.papers.paper import SourcedText, TextWriter
from evidencebench.papers.tex import from_tex
from evidencebench.papers.tree import Characters, Element

_INLINE = frozenset({"xref", "sup"})

_DASHES = r"\u2010-\u2015\u2212-"
_RANGE = re.compile(rf"\d+\s*[{_DASHES}]\s*\d+")
_POWER = re.compile(rf"[+{_DASHES}]?\s*\d+(?:\.\d+)?|[+{_DASHES}]\s?\w[^\s,;]{{0,30}}|{_RANGE.pattern}")
_TEN = re.compile(r"(?:^|[^\w.])10$")
_MOST_TAIL = 3  # characters that show whether a number is 10
NUMBERS = re.compile(r"\s*\d+(?:\s*[,;\u2010-\u2015-]\s*\d+)*\s*")
_BETWEEN = re.compile(r"[\s,;\u2010-\u2015\u2212-]*")
_OPENING = frozenset("[(")
_CLOSING = frozenset(")%\u2019\u201d\u00ae\u2122")
_LABEL_STOPS = frozenset(".:?!-\u2013\u2014")  # behind which a label needs no colon
_GLUE = _CLOSING | set(".,;:")  # what a raised reference stands behind, apart from words


class RunningText:
    """Writes the text of one paragraph or heading; call `enter` and `leave` for each element in it, in order."""

    def __init__(self) -> None:
        self._writer = TextWriter()
        self._tail = ""  # the last characters that were written
        self._visible = ""  # the last one that is no white space
        self._space: Characters | None = None  # white space at the end, which may have to go
        # The references that are being written: none, in brackets of the file, or in brackets that we add.
        self._run: Literal["none", "plain", "marked"] = "none"
        self._held: list[Characters] = []  # what may stand between two references
        self._raised: list[bool] = []  # for each open superscript or reference: whether it is set as a raised one
        self._ends: list[str] = []  # for each of these, the mark at its end
        self._n_references = 0  # that are open
        self._is_next = False  # whether a reference begins right behind another one

    @property
    def is_empty(self) -> bool:
        return not self._visible

    @property
    def _last(self) -> str:
        return self._tail[-1:]

    def enter(self, element: Element) -> None:
        if element.tag not in _INLINE:
            return
        raised = any(self._raised) or _is_raised(element) or self._is_glued(element)
        self._raised.append(raised)
        if element.tag == "xref":
            self._n_references += 1
            self._is_next = self._run == "marked"
        begin = end = ""
        if element.tag == "sup" and not raised and (text := element.text) and _POWER.fullmatch(text):
            self._end_run()
            if self._is_power(text):
                begin, end = in_brackets(text)
                self.add_mark(f"^{begin}")
        self._ends.append(end)

    def _is_power(self, text: str) -> bool:
        """Say whether a raised number belongs to the number before it; a range is a power of ten, or refers."""
        is_behind_number = self._last.isdigit() or self._last == ")"
        return is_behind_number and (_TEN.search(self._tail) is not None or not _RANGE.fullmatch(text))

    def leave(self, element: Element) -> None:
        """End an element within the paragraph, unless it began in the paragraph before."""
        if element.tag in _INLINE and self._raised:
            self._raised.pop()
            self._n_references -= element.tag == "xref"
            if end := self._ends.pop():
                self.add_mark(end)

    def add(self, piece: Characters) -> None:
        is_between = _BETWEEN.fullmatch(piece.text) is not None
        if any(self._raised):
            self._add_reference(piece)
        elif self._run == "marked" and is_between:
            self._held.append(piece)
        else:
            if not is_between:
                self._end_run()
            self._write(piece)
            if self._n_references and not is_between:
                self._run = "plain"

    def add_mark(self, text: str) -> None:
        """Add text that the file lacks, such as a space for an element without text."""
        self._end_run()
        self._write_space()
        self._writer.add_mark(text)

    def end_lead(self, mark: str) -> None:
        """Set what was written apart from what it leads: by ``mark``, or by a space where it ends with a stop."""
        self._end_run()
        self._space = None
        self._writer.add_mark(" " if self._visible in _LABEL_STOPS else mark)

    def add_formula(self, formula: Element) -> str:
        """Add a formula, such as a ``math`` element, in a line; returns what was added, without marks."""
        self._end_run()
        if formula.tag == "tex-math":
            places = list(formula.characters())
            if text := formula_text(from_tex(formula.raw_text)):
                self._write(Characters(text, places[0].start, places[-1].stop))
            return text
        added = list(line_of(formula))
        for piece in added:
            if isinstance(piece, str):
                self.add_mark(piece)
            else:
                self._write(piece)
        return "".join(piece.text for piece in added if isinstance(piece, Characters))

    def finish(self) -> SourcedText:
        self._end_run()
        return self._writer.finish()

    def _is_glued(self, element: Element) -> bool:
        """Say whether a number that refers to the literature stands right behind a word, as if it were raised."""
        is_cited = element.tag == "xref" and element.attributes.get("ref-type", "bibr") in ("bibr", "ref")
        is_behind_word = self._last.isalnum() or self._last in _GLUE
        goes_on = self._run == "marked" or (self._run == "none" and is_behind_word)
        return is_cited and goes_on and NUMBERS.fullmatch(element.text) is not None

    def _add_reference(self, piece: Characters) -> None:
        text = piece.text.strip()
        is_apart = self._last.isalnum() or self._last in _CLOSING
        is_behind_number = self._run == "plain" and self._last.isalnum() and text[:1].isalnum()
        if text and (self._run == "none" or is_behind_number):
            is_open = text[0] in _OPENING or self._last in _OPENING
            self._run = "plain" if is_open else "marked"
            self._write_space()
            self._writer.add_mark((" " if is_apart else "") + ("" if is_open else "["))
        if text and self._is_next and not self._held and self._last.isalnum() and text[:1].isalnum():
            self._writer.add_mark(",")
        self._is_next = self._is_next and not text
        for held in self._held:
            self._write(held)
        self._held.clear()
        self._write(piece)

    def _end_run(self) -> None:
        if self._run == "marked":
            self._writer.add_mark("]")
            self._tail = "]"
        self._run = "none"
        for held in self._held:
            self._write(held)
        self._held.clear()

    def _write(self, piece: Characters) -> None:
        self._write_space()
        visible = piece.text.rstrip()
        if not visible:
            self._space = piece
        elif piece.stop - piece.start == len(piece.text):
            self._writer.add(visible, start=piece.start)
            self._space = Characters(piece.text[len(visible) :], piece.start + len(visible), piece.stop)
        else:
            self._writer.add_replaced(piece.text, start=piece.start, stop=piece.stop)
        self._visible = visible[-1:] or self._visible
        self._tail = (self._tail + piece.text)[-_MOST_TAIL:] if self._visible else ""

    def _write_space(self) -> None:
        if self._space is not None:
            self._writer.add_replaced(self._space.text, start=self._space.start, stop=self._space.stop)
            self._space = None


def _is_raised(element: Element) -> bool:
    """Say whether an element is a raised reference: a superscript of references, or a reference to a superscript."""
    if element.tag == "sup":
        return element.first("xref") is not None
    inner = [(child.text, isinstance(child, Element) and child.tag == "sup") for child in element.children]
    return any(raised for _, raised in inner) and not any(text.strip() for text, raised in inner if not raised)
