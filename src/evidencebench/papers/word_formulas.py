"""Formulas of Word, as MathML has them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lxml import etree

from evidencebench.papers.paper import n_visible
from evidencebench.papers.tree import Element, unplaced

_MOST_NESTED = 60
OFF = ("0", "off", "false")
"""What Word writes where a property does not hold."""
_NO_PARTS = frozenset({"del", "moveFrom"})  # what was deleted

# Element of Word's formulas -> that of MathML, and what its parts are called in Word, in MathML's order.
_ALIKE = {
    "sSup": ("msup", ("e", "sup")),
    "sSub": ("msub", ("e", "sub")),
    "sSubSup": ("msubsup", ("e", "sub", "sup")),
    "limLow": ("munder", ("e", "lim")),
    "limUpp": ("mover", ("e", "lim")),
    "m": ("mtable", ("mr",)),
    "mr": ("mtr", ("e",)),
    "eqArr": ("mtable", ("e",)),
}


class WordElement(Protocol):
    """What is read of an element of lxml, which has no types of its own."""

    @property
    def tag(self) -> object: ...  # a text; of a comment, a function

    @property
    def attrib(self) -> Mapping[str, str]: ...

    def __iter__(self) -> "Iterator[WordElement]": ...

    def itertext(self) -> Iterator[str]: ...

    def find(self, path: str) -> "WordElement | None": ...


def from_word(formula: WordElement, depth: int = 0) -> Element:
    """Return the tree of a formula of Word, or of a part of one."""
    name = local_name(formula)
    if name == "t" or depth == _MOST_NESTED:
        return _leaf("".join(formula.itertext()))
    shown = [part for part in formula if isinstance(part.tag, str) and not local_name(part).endswith("Pr")]
    parts = _Parts(
        [(local_name(part), from_word(part, depth + 1)) for part in shown if local_name(part) not in _NO_PARTS]
    )
    if name in _ALIKE:
        tag, names = _ALIKE[name]
        return Element(tag, children=[*parts(*names)])
    make = _MAKERS.get(name)
    return make(formula, parts) if make else Element("mrow", children=[*parts()])


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of an element, by what they are called in Word."""

    named: Sequence[tuple[str, Element]]

    def __call__(self, *names: str) -> list[Element]:
        return [part for name, part in self.named if name in names or not names]


def _fraction(formula: WordElement, parts: _Parts) -> Element:
    attributes = {"linethickness": "0"} if _property(formula, "type") == "noBar" else {}
    return Element("mfrac", attributes, [*parts("num"), *parts("den")])


def _root(_: WordElement, parts: _Parts) -> Element:
    degree = [part for part in parts("deg") if n_visible(part.raw_text)]
    return Element("mroot" if degree else "msqrt", children=[*parts("e"), *degree])


def _sum(formula: WordElement, parts: _Parts) -> Element:
    """Return a sum, a product or an integral with those of its limits that have a text."""
    sign = _leaf(_property(formula, "chr", "\u222b"), "mo")
    lower, upper = ([part for part in parts(name) if n_visible(part.raw_text)] for name in ("sub", "sup"))
    tag = "munderover" if lower and upper else "munder" if lower else "mover"
    limited = Element(tag, children=[sign, *lower, *upper]) if lower or upper else sign
    return Element("mrow", children=[limited, *parts("e")])


def _fenced(formula: WordElement, parts: _Parts) -> Element:
    marks = {"open": ("begChr", "("), "separators": ("sepChr", "|"), "close": ("endChr", ")")}
    given = {key: _property(formula, own, default) for key, (own, default) in marks.items()}
    return Element("mfenced", given, [*parts("e")])


def _before(_: WordElement, parts: _Parts) -> Element:
    scripts = [*parts("sub"), *parts("sup")]
    return Element("mmultiscripts", children=[*parts("e"), Element("mprescripts"), *scripts])


def _accent(formula: WordElement, parts: _Parts) -> Element:
    sign = _property(formula, "chr", "\u0302") if local_name(formula) == "acc" else "\u00af"
    return Element("mover", children=[*parts("e"), _leaf(sign, "mo")])


def _phantom(formula: WordElement, parts: _Parts) -> Element:
    is_shown = _property(formula, "show", "1") not in OFF
    return Element("mrow" if is_shown else "mphantom", children=[*parts()])


def _run(_: WordElement, parts: _Parts) -> Element:
    return _leaf("".join(part.raw_text for part in parts()))


_MAKERS: dict[str, Callable[[WordElement, _Parts], Element]] = {
    "f": _fraction,
    "rad": _root,
    "nary": _sum,
    "sPre": _before,
    "d": _fenced,
    "acc": _accent,
    "bar": _accent,
    "phant": _phantom,
    "r": _run,
}


def _leaf(text: str, tag: str = "mi") -> Element:
    return Element(tag, children=[unplaced(text)] if text else [])


def local_name(element: WordElement) -> str:
    name: str = etree.QName(element).localname
    return name


def _property(element: WordElement, name: str, default: str = "") -> str:
    """Return a property of an element, such as the sign of its opening bracket; one without a value is empty."""
    found = element.find(f"{{*}}{local_name(element)}Pr/{{*}}{name}")
    return default if found is None else next(iter(found.attrib.values()), "")
