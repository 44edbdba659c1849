"""Text with anchors (offset of each run), white space, super- and subscripts, formulas."""

import re
from collections.abc import Iterator
from html.entities import html5
from typing import Literal

from evidencebench.papers.paper import SourcedText, TextWriter
from evidencebench.papers.tree import Characters, Element

# Of MathML, whose tokens are written with ``^`` and ``/`` where they are set.
_LEFT_OUT = frozenset({"annotation", "annotation-xml"})

_TEX_BODY = re.compile(r"\$\$?(.+?)\$\$?|\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)
_TEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_TEX_SCRIPT = re.compile(r"\s*([_^])\s*(?:\{([^{}]*)\})?")
_END = "\0"  # behind a command's name that letters would follow
_TEX_COMMAND = re.compile(r"\\([A-Za-z]+)\*?|\\(.)|[{}$&~]", re.DOTALL)
_TEX_SIGNS = {"le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "cdot": "·", "pm": "±", "bar": "¯"}
_TEX_NAMES = frozenset({"exp", "ln", "log", "max", "min", "sin", "cos", "tan", "lim"})
_MOST_TEX = 20_000


def _math_pieces(formula: Element) -> Iterator[Characters | str]:
    """Return the text of a ``math`` element, piece by piece: what the file has, and marks that it lacks."""
    waiting: list[Element | Characters | str] = [formula]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Element):
            if node.tag not in _LEFT_OUT:
                waiting.extend(reversed(_parts(node)))
        else:
            yield node


def _tex_text(tex: str) -> str:
    match = _TEX_BODY.search(tex[:_MOST_TEX])
    text = (match[1] or match[2]) if match else tex[:_MOST_TEX]
    text = re.sub(r"\\(?:mathrm|mathit|mathbf|text|textit|textbf|operatorname)\s*\{([^{}]*)\}", f"{_END}\\1", text)
    text = _TEX_SCRIPT.sub(lambda match: f"{_END}{'^' * (match[1] == '^')}{match[2] or ''}", text)
    text = _TEX_FRACTION.sub(lambda match: f"{_END}{_grouped(match[1])}/{_grouped(match[2])}", text)
    return " ".join(_TEX_COMMAND.sub(_tex_sign, text).replace(_END, "").split())


def _parts(node: Element) -> list[Element | Characters | str]:
    parts: list[Element | Characters] = list(node.elements)
    written: list[Element | Characters | str]
    match node.tag, parts:
        case "msup", [under, above]:
            written = [under, "^", *_group(above)]
        case "msubsup", [under, below, above]:
            written = [under, below, "^", *_group(above)]
        case "mfrac", [above, below]:
            written = [*_group(above), "/", *_group(below)]
        case "mroot", [under, degree]:
            written = ["√(", under, ")", degree]
        case "msqrt", _:
            written = ["√(", *parts, ")"]
        case "mfenced", _:
            written = [node.attributes.get("open", "("), *parts, node.attributes.get("close", ")")]
        case (("mspace" | "mtr" | "mtd"), _):
            written = [" ", *parts]
        case _:
            written = list(node.children)
    return written


def _group(part: Element | Characters) -> list[Element | Characters | str]:
    leaf = isinstance(part, Characters) or sum(bool(piece.text.strip()) for piece in part.characters()) <= 1
    return [part] if leaf else ["(", part, ")"]


def _grouped(text: str) -> str:
    return text if re.fullmatch(r"\s*[\w\0]*\s*", text) else f"({text})"


def _tex_sign(match: re.Match[str]) -> str:
    command = match[1]
    if command is None:
        return match[2] if (match[2] or " ") in "%&$#_{}" else "" if match[0] in "{}" else " "
    if command in _TEX_NAMES:
        return command
    return _TEX_SIGNS.get(command) or html5.get(f"{command};", " ")


_INLINE = frozenset({"xref", "sup"})

_NUMBER = re.compile(r"\s*[-+\u2010-\u2015\u2212]?\s*\d+(?:\.\d+)?\s*")
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
        self._last = ""  # the last character that was written
        self._visible = ""  # the last one that is no white space
        self._space: Characters | None = None  # white space at the end, which may have to go
        # The references that are being written: none, in brackets of the file, or in brackets that we add.
        self._run: Literal["none", "plain", "marked"] = "none"
        self._held: list[Characters] = []  # what may stand between two references
        self._raised: list[bool] = []  # for each open superscript or reference: whether it is set as a raised one
        self._n_references = 0  # that are open

    @property
    def is_empty(self) -> bool:
        return not self._visible

    def enter(self, element: Element) -> None:
        if element.tag not in _INLINE:
            return
        raised = any(self._raised) or _is_raised(element) or self._is_glued(element)
        self._raised.append(raised)
        self._n_references += element.tag == "xref"
        if element.tag == "sup" and not raised and _NUMBER.fullmatch(element.text):
            self._end_run()
            if self._last.isdigit() or self._last == ")":
                self.add_mark("^")

    def leave(self, element: Element) -> None:
        """End an element within the paragraph, unless it began in the paragraph before."""
        if element.tag in _INLINE and self._raised:
            self._raised.pop()
            self._n_references -= element.tag == "xref"

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
        """Add a ``math`` or ``tex-math`` element; returns what was added, without marks."""
        self._end_run()
        if formula.tag == "tex-math":
            pieces = list(formula.characters())
            text = _tex_text(formula.raw_text)
            if text:
                self._write(Characters(text, pieces[0].start, pieces[-1].stop))
            return text
        added = list(_math_pieces(formula))
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
        for held in self._held:
            self._write(held)
        self._held.clear()
        self._write(piece)

    def _end_run(self) -> None:
        if self._run == "marked":
            self._writer.add_mark("]")
            self._last = "]"
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
        self._last = piece.text[-1:] if self._visible else ""

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
