"""Formulas and signs of web pages: of several forms of one, such as MathJax leaves in a page, the best alone stays."""

import unicodedata
from collections.abc import Sequence

from evidencebench.papers.tree import FORMULAS, NAMES, Characters, Element, parse_html, unplaced

_WHOLE = frozenset(NAMES["html_formulas"]["whole"])
_FORMS = frozenset(NAMES["html_formulas"]["forms"])
_DISPLAYED = frozenset(NAMES["html_formulas"]["displayed"])
_OF_FORMULAS = _WHOLE | _FORMS
_MOST_SIGN, _LONGEST_NAME, _LONGEST_TEX = 3, 60, 600  # characters of a sign, of its name, of a formula


def keep_one_form(root: Element) -> None:
    """Put one ``math`` or ``tex-math`` in the place of all forms of a formula, and a sign in that of its picture."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if any(isinstance(child, Element) for child in element.children):
            element.children[:] = _with_one_form(element.children)
        inner = (child for child in element.elements if child.tag not in (*FORMULAS, "display-formula"))
        waiting += [child for child in inner if not _is_form(child)]  # in which there is no better one


def _with_one_form(children: Sequence[Element | Characters]) -> list[Element | Characters]:
    kept: list[Element | Characters] = []
    forms: list[Element] = []  # of one formula, side by side
    for child in children:
        if isinstance(child, Element) and _is_form(child):
            if forms and _is_first(child, forms):
                kept.append(_best(forms))
                forms = []
            forms.append(child)
            continue
        if forms and (isinstance(child, Element) or child.text.strip()):
            kept.append(_best(forms))
            forms = []
        kept.append(child)
    return [*kept, _best(forms)] if forms else kept


def _names(element: Element) -> list[str]:
    return [element.tag, *element.attributes.get("class", "").lower().split()]


def _is_form(element: Element) -> bool:
    is_script = element.tag == "script" and element.attributes.get("type", "").startswith("math/")
    is_sign = element.tag == "img" and bool(sign_of(element.attributes.get("alt", "")))
    return is_script or is_sign or not _OF_FORMULAS.isdisjoint(_names(element))


def _is_first(element: Element, forms: Sequence[Element]) -> bool:
    """Say whether a form begins another formula than those before it: a script is the last of one."""
    is_whole = not _WHOLE.isdisjoint(_names(element)) or element.tag == "img"
    return is_whole or forms[-1].tag in ("script", "img") or not _WHOLE.isdisjoint(_names(forms[-1]))


def _best(forms: Sequence[Element]) -> Element:
    """Return the best form: MathML, else TeX, else the text of the first that has one."""
    inside = [element for form in forms for element in (form, *form.all("math", "script", "annotation", "img"))]
    is_displayed = any(
        not _DISPLAYED.isdisjoint(_names(form))
        or "mode=display" in form.attributes.get("type", "")
        or form.attributes.get("display") == "block"
        for form in [*forms, *inside]
    )
    best = _mathml(inside) or _tex(inside) or next((form for form in forms if form.text), forms[0])
    if is_displayed:
        return Element("display-formula", children=[best])
    return best


def _mathml(inside: Sequence[Element]) -> Element | None:
    for element in inside:
        if element.tag == "math" and element.text:
            return element
        if written := element.attributes.get("data-mathml"):
            return parse_html(written, name="formula").first("math")
    return None


def _tex(inside: Sequence[Element]) -> Element | None:
    for element in inside:
        if element.tag == "img":
            sign = sign_of(element.attributes.get("alt", ""))
            if sign:
                return Element("tex-math" if "\\" in sign else "span", children=[unplaced(sign)])
        elif element.tag in ("script", "annotation") and element.text:
            return Element("tex-math", children=element.children)
    return None


def sign_of(alt: str) -> str:
    """Return the sign or formula that stands for a picture; empty where the text tells what it shows.

    >>> sign_of("\u2264"), sign_of("[less-than or equal to]"), sign_of("A cup of tea")
    ('\u2264', '\u2264', '')
    """
    text = alt.strip()
    if not text or len(text) > _LONGEST_TEX:
        return ""
    is_word = text.isascii() and any(map(str.isalnum, text))
    if "\\" in text or (len(text) <= _MOST_SIGN and not is_word):
        return text
    try:
        return unicodedata.lookup(text.strip("[]").upper()) if len(text) <= _LONGEST_NAME else ""
    except KeyError:
        return ""
