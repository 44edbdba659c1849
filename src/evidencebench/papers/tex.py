"""Formulas in TeX, by way of the MathML that latex2mathml makes of them."""

import re
import unicodedata
from itertools import zip_longest

from latex2mathml import converter

from evidencebench.papers.formulas import MINUS, ROWS, SCRIPTS
from evidencebench.papers.tree import Characters, Element, parse_xml, unplaced

_TEX_DOCUMENT = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)
_MOST_TEX = 20_000
# What latex2mathml does not know, and a page does not show.
_TEX_UNSHOWN = re.compile(
    r"\\(?:(?:nolimits|boldmath|nonumber|notag|ensuremath)(?![A-Za-z])|(?:vspace|label)\{[^{}]*\})"
)
_LIKE = str.maketrans({MINUS: "-", "\u2223": "|", "\u00a0": " ", "$": None})
# Signs of mathematics that stand between two things without spaces, or before one.
_CLOSE = frozenset("/\u2215|\u2223\u2225\u221e\u2200\u2203\u2202\u2207\u221a\u222b\u2211\u220f\u00ac\u2205^")
_SIGNS_BEFORE = frozenset("([{<>=,;:/\u2264\u2265\u2248\u223c")  # behind which a minus belongs to a number
_APART_BEHIND = frozenset(",;:")


def from_tex(tex: str) -> Element:
    """Return the tree of a formula in TeX, with the spaces that TeX prints; what cannot be read is text."""
    match = _TEX_DOCUMENT.search(tex[:_MOST_TEX])
    body = (match[1] if match else tex[:_MOST_TEX]).strip().strip("$")
    try:
        formula = parse_xml(converter.convert(_TEX_UNSHOWN.sub("", body)).encode(), name="TeX")
    except Exception:  # noqa: BLE001 - latex2mathml fails in any way at what is no TeX
        return Element("mtext", children=[unplaced(" ".join(body.split()))])
    _set_apart(formula)
    return formula


def _set_apart(formula: Element) -> None:
    """Put the spaces around the signs of a TeX formula; hyphens are again what was written."""
    waiting = [(formula, False)]
    while waiting:
        element, is_script = waiting.pop()
        spaced: list[Element | Characters] = []
        before = ""
        for child, after in zip_longest(element.children, element.children[1:]):
            if isinstance(child, Characters):
                spaced.append(unplaced(child.text.translate(_LIKE)))
                continue
            text = child.raw_text
            if is_script and not text.strip():
                continue
            is_spaced = element.tag in ROWS and not is_script and _is_between(text, before)
            spaced += [unplaced(" "), child, unplaced(" ")] if is_spaced else [child]
            is_assigned = text == ":" and isinstance(after, Element) and after.raw_text == "="
            if text in _APART_BEHIND and not is_script and not is_assigned:
                spaced.append(unplaced(" "))
            before = text.strip()[-1:] or before
            in_script = is_script or (element.tag in SCRIPTS and child is not next(element.elements))
            waiting.append((child, in_script))
        if element.tag not in SCRIPTS or len(spaced) == len(element.children):
            element.children[:] = spaced


def _is_between(sign: str, before: str) -> bool:
    """Say whether a sign stands between two things, with spaces around it, and not before a number."""
    is_sign = len(sign) == 1 and unicodedata.category(sign) == "Sm" and sign not in _CLOSE
    return is_sign and bool(before) and before not in _SIGNS_BEFORE
