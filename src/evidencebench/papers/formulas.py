"""Formulas of MathML, TeX and Word as one tree, which has MathML's names, and each in a line of text."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from evidencebench.papers.tree import NAMES, Characters, Element

Piece = Characters | str
"""Text of the file, or a mark that it lacks, such as ``^``."""

_Node = Element | Characters | str

_NOT_SHOWN = frozenset({"annotation", "annotation-xml", "mphantom", "none", "mprescripts"})
ROWS = frozenset({"math", "mrow", "mstyle", "mpadded", "mtd", "menclose", "merror", "semantics"})
SCRIPTS: dict[str, tuple[str, ...]] = {
    "msub": ("below",),
    "munder": ("below",),
    "msup": ("above",),
    "mover": ("above",),
    "msubsup": ("below", "above"),
    "munderover": ("below", "above"),
}
_ROOTS = {"2": "\u221a", "3": "\u221b", "4": "\u221c"}
_ACCENTS = {
    "^": "\u0302",
    "\u02c6": "\u0302",
    "~": "\u0303",
    "\u02dc": "\u0303",
    "\u223c": "\u0303",
    "\u00af": "\u0304",
    "\u203e": "\u0304",
    "_": "\u0304",
    "\u2015": "\u0304",
    "\u02d9": "\u0307",
    ".": "\u0307",
    "\u22c5": "\u0307",
    "\u00b7": "\u0307",
    "\u00a8": "\u0308",
    "\u2192": "\u20d7",
    "\u20d7": "\u20d7",
} | {chr(code): chr(code) for code in range(0x300, 0x370)}
"""Sign over a letter -> the character that puts it on the letter before it."""
# Raised signs that stand behind what they belong to, without a mark.
_RAISED = re.compile("[\u2032\u2033\u2034'*\u2217\u2020\u2021\u00b0\u2218]+")
_DEGREE = "\u2218"
# What needs no brackets as a part of a formula: a number, a name or a sign, with its sign.
_ATOM = re.compile(r"\s*[-+\u2212\u2013\u00b1]?\s*(?:\d[\d.,]*%?|[^\W\d_]+\d*['\u2032]*|\W)\s*")
_FUNCTIONS = frozenset(NAMES["formulas"]["functions"])  # whose brackets follow at once
_TALL = ("mfrac", "msup", "msubsup", "mover", "munderover")
_NUMBERED = re.compile(r"\d+(?:\s?[^\W\d_]+)*")
_BRACKETS = {"(": ")", "[": "]", "{": "}", "\u27e8": "\u27e9"}
_STARTS = frozenset("([{\\\u221a\u2211\u222b")  # of what may be a factor
MINUS = "\u2212"  # which TeX makes of a hyphen
UNKNOWN = re.compile(r"\\[A-Za-z]+")
"""A command of TeX that stands as its name, since nobody knows its sign."""
_BETWEEN = re.compile("[\u200b\u2061-\u2064]+")  # signs of no width, as between a function and what it is of
_OPENING, _CLOSING = "([{\u27e8|\u2016", ")]}\u27e9|\u2016"
_STYLED = re.compile("[\U0001d400-\U0001d7ff]")
_MOST_LOOKED_AT = 64  # characters or pieces of a part, to say whether it needs brackets


def line_of(formula: Element) -> Iterator[Piece]:
    """Yield what a formula says in a line, piece by piece."""
    waiting: list[_Node] = [formula]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Element):
            waiting.extend(reversed(_written(node)))
        elif isinstance(node, str):
            yield node
        else:  # letters of other styles, such as bold ones, are letters
            yield Characters(_STYLED.sub(_plain_letter, node.text), node.start, node.stop)


def formula_text(formula: Element) -> str:
    """Return what a formula says in a line."""
    line = "".join(piece if isinstance(piece, str) else piece.text for piece in line_of(formula))
    return " ".join(line.split())


def _plain_letter(styled: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", styled[0])


def _written(node: Element) -> Sequence[_Node]:
    """Return the parts of an element in the order of a line, with the marks between them."""
    if node.tag in _NOT_SHOWN:
        return []
    parts = list(node.elements)
    if node.tag in SCRIPTS and len(parts) == 1 + len(SCRIPTS[node.tag]):
        return _with_scripts(parts[0], **dict(zip(SCRIPTS[node.tag], parts[1:], strict=True)))
    write, n_parts = _WRITERS.get(node.tag, (None, 0))
    if write is None or len(parts) < n_parts:
        return _row(node.children)
    return write(node, parts)


def _fraction(node: Element, parts: Sequence[Element]) -> list[_Node]:
    above, below = parts[:2]
    if node.attributes.get("linethickness", "").startswith("0"):
        return [above, " choose ", below]
    return [*_bracketed(above), "/", *_bracketed(below)]


def _root(_: Element, parts: Sequence[Element]) -> list[_Node]:
    under, degree = parts[:2]
    root = _ROOTS.get(_beginning(degree).strip())
    return [root, *_enclosed([under], under)] if root else ["root(", degree, ", ", under, ")"]


def _row(children: Sequence[_Node]) -> list[_Node]:
    """Return parts side by side: words apart from each other, and a fraction in brackets where it is a factor."""
    shown = list(filter(_is_shown, children))
    row: list[_Node] = []
    for number, child in enumerate(shown):
        before = shown[number - 1] if number else ""
        after = shown[number + 1] if number + 1 < len(shown) else ""
        if _is_apart(before, child):
            row.append(" ")
        is_factor = _is_fraction(child) and (_is_operand(before, at=-1) or _is_operand(after, at=0))
        row += ["(", child, ")"] if is_factor else [child]
    return row


def _is_shown(node: _Node) -> bool:
    return not isinstance(node, Element) or not (node.tag in _NOT_SHOWN or _BETWEEN.fullmatch(_beginning(node)))


def _is_apart(before: _Node, after: _Node) -> bool:
    """Say whether two neighbours would run into each other: one is a word, such as ``log``, or the first a power."""
    first, last = _end(before)[-1:], _beginning(after)[:1]
    if not (last.isalnum() or last in _STARTS):
        return False
    if _ends_with_script(before):
        return True
    if not (first.isalnum() or first == "%"):
        return False
    if last in _BRACKETS:
        return _is_word(before) and _beginning(before).strip().lower() not in _FUNCTIONS
    is_in_word = isinstance(inner := _unwrapped(before), Element) and inner.tag in SCRIPTS  # as in VO2max
    return not is_in_word and (_is_word(before) or _is_word(after))


def _is_word(node: _Node) -> bool:
    node = _unwrapped(node)
    text = _beginning(node).strip()
    is_leaf = isinstance(node, Element) and not any(node.elements)
    return is_leaf and len(text) > 1 and (text.isalpha() or UNKNOWN.fullmatch(text) is not None)


def _ends_with_script(node: _Node) -> bool:
    """Say whether what is behind a part would be read as more of its power or limit."""
    while isinstance(node, Element) and node.tag in ROWS and (parts := list(node.elements)):
        node = parts[-1]
    if not isinstance(node, Element) or node.tag not in SCRIPTS or not next(node.elements).text:
        return False
    return any(isinstance(part, str) and part in "^_" for part in _written(node))


def _unwrapped(node: _Node) -> _Node:
    """Return the only part of rows within each other."""
    while isinstance(node, Element) and node.tag in ROWS:
        parts = list(islice(filter(_is_shown, node.elements), 2))
        if len(parts) != 1:
            break
        node = parts[0]
    return node


def _is_fraction(node: _Node) -> bool:
    node = _unwrapped(node)
    return isinstance(node, Element) and node.tag == "mfrac"


def _is_operand(node: _Node, *, at: int) -> bool:
    """Say whether the end of a neighbour that lies at a fraction would be read as a part of it."""
    text = (_beginning(node) if at == 0 else _end(node)).strip()
    return bool(text) and (text[at].isalnum() or text[at] in (_OPENING if at == 0 else _CLOSING) or _is_fraction(node))


def _with_scripts(base: Element, below: Element | None = None, above: Element | None = None) -> list[_Node]:
    text = _beginning(base).strip()
    written: list[_Node] = [base] if _is_single(base) or not text else ["(", base, ")"]
    raised = _beginning(above).strip() if above else ""
    if accent := _ACCENTS.get(raised) if len(text) == 1 and text.isalpha() and above and not below else None:
        return [base, accent]
    if below and (lowered := _beginning(below).strip()):
        name = _name_of(base)
        is_plain = name[-1:].isalpha() and (_NUMBERED.fullmatch(lowered) or (len(name) == 1 and lowered.isalpha()))
        written += [below] if is_plain else ["_", *_grouped(below)]
    if above and raised:
        if raised == _DEGREE:
            place = next(above.characters())
            written.append(Characters("\u00b0", place.start, place.stop))
        elif _RAISED.fullmatch(raised) or _ACCENTS.get(raised):
            written.append(above)
        else:
            written += ["^", *_grouped(above)]
    return written


def _is_single(node: Element) -> bool:
    """Say whether a power of it is read as one of all of it: a number, a name, or what stands in brackets."""
    name = _name_of(node)
    is_atom = _ATOM.fullmatch(name) is not None and not name.startswith(("-", MINUS)) and not _is_fraction(node)
    return is_atom or _is_enclosed(node)


def _name_of(node: Element) -> str:
    """Return the first characters of a part, without the accents of letters."""
    text = _beginning(node).strip()
    return "".join(letter for letter in text if unicodedata.category(letter) not in ("Sk", "Mn")) or text


def _is_enclosed(node: Element) -> bool:
    """Say whether a part stands in brackets of its own."""
    inner = _unwrapped(node)
    if isinstance(inner, Element) and inner.tag == "mfenced":
        return True
    pieces = list(islice(node.characters(), _MOST_LOOKED_AT))
    if len(pieces) == _MOST_LOOKED_AT or any(len(piece.text) > _MOST_LOOKED_AT for piece in pieces):
        return False
    text, depth = " ".join("".join(piece.text for piece in pieces).split()), 0
    if text[:1] not in _BRACKETS or text[-1:] != _BRACKETS[text[:1]]:
        return False
    for character in text[:-1]:
        depth += (character in _BRACKETS) - (character in _BRACKETS.values())
        if not depth:
            return False
    return True


def _enclosed(written: Sequence[_Node], part: Element) -> list[_Node]:
    return list(written) if _is_enclosed(part) else ["(", *written, ")"]


def _grouped(part: Element) -> list[_Node]:
    """Return a part, in brackets unless it is a number, a name or a sign."""
    is_whole = (_ATOM.fullmatch(_name_of(part)) and not part.first(*_TALL)) or _is_enclosed(part)
    return [part] if is_whole else ["(", part, ")"]


def in_brackets(text: str) -> tuple[str, str]:
    """Return the marks around a part that is text, such as a power."""
    return ("", "") if _ATOM.fullmatch(text) else ("(", ")")


def _bracketed(part: Element) -> list[_Node]:
    """Return a part of a fraction, in brackets where it has several parts: ``ab`` may be a product."""
    leaves = [leaf for leaf in islice(_leaves(part), _MOST_LOOKED_AT) if leaf.text]
    is_word = all(leaf.attributes.get("mathvariant") == "normal" for leaf in leaves) and len(leaves) > 1
    is_power = isinstance(inner := _unwrapped(part), Element) and inner.tag in SCRIPTS
    return [part] if is_power or is_word or len(leaves) <= 1 or _is_enclosed(part) else ["(", part, ")"]


def _leaves(node: Element) -> Iterator[Element]:
    waiting = [node]
    while waiting:
        element = waiting.pop()
        parts = list(element.elements)
        if not parts:
            yield element
        waiting += parts[::-1]


def _fenced(node: Element, parts: Sequence[Element]) -> list[_Node]:
    separators = "".join(node.attributes.get("separators", ",").split())
    written: list[_Node] = [node.attributes.get("open", "(")]
    for number, part in enumerate(parts):
        if number and separators:
            written.append(separators[min(number, len(separators)) - 1])
        written.append(part)
    return [*written, node.attributes.get("close", ")")]


def _multiscripts(_: Element, parts: Sequence[Element]) -> list[_Node]:
    base, scripts = parts[0], parts[1:]
    place = next((number for number, part in enumerate(scripts) if part.tag == "mprescripts"), len(scripts))
    behind, before = scripts[:place], scripts[place + 1 :]
    written: list[_Node] = []
    for below, above in zip(before[::2], before[1::2], strict=False):
        written += _with_scripts(Element("mrow"), below, above)
    written += _with_scripts(base, *behind[:2])
    for below, above in zip(behind[2::2], behind[3::2], strict=False):
        written += _with_scripts(Element("mrow"), below, above)
    return written


def _joined(parts: Sequence[Element], mark: str) -> list[_Node]:
    written: list[_Node] = list(parts[:1])
    for part in parts[1:]:
        written += [mark, part]
    return written


_WRITERS: dict[str, tuple[Callable[[Element, Sequence[Element]], Sequence[_Node]], int]] = {
    "mfrac": (_fraction, 2),
    "mroot": (_root, 2),
    "msqrt": (lambda node, parts: ["\u221a", *_enclosed(_row(parts), node)], 1),
    "mfenced": (_fenced, 0),
    "mmultiscripts": (_multiscripts, 1),
    "mtable": (lambda _, rows: _joined(rows, "; "), 0),
    "mtr": (lambda _, cells: _joined(cells, ", "), 0),
    "mspace": (lambda node, _: [] if node.attributes.get("width", "").startswith("-") else [" "], 0),
    "mglyph": (lambda node, _: [node.attributes.get("alt", "")], 0),
}
"""Element -> what writes it, and the least parts that it must have for that."""


def _beginning(node: _Node) -> str:
    """Return the first characters of a part, without marks."""
    if not isinstance(node, Element):
        return node if isinstance(node, str) else node.text
    return "".join(piece.text[:_MOST_LOOKED_AT] for piece in islice(node.characters(), _MOST_LOOKED_AT))


def _end(node: _Node) -> str:
    """Return the characters of a part's last leaf."""
    while isinstance(node, Element):
        shown = [
            child for child in node.children if _is_shown(child) and (isinstance(child, Element) or child.text.strip())
        ]
        if not shown:
            return ""
        node = shown[-1]
    return node if isinstance(node, str) else node.text
