"""Formulas within sentences as plain text: MathML's tokens with ``^`` and ``/`` where they are set, TeX's letters.

``<msup><mi>x</mi><mn>2</mn></msup>`` becomes ``x^2``.
"""

import re
from collections.abc import Iterator
from html.entities import html5

from evidencebench.papers.markup_tree import Characters, Element

_LEFT_OUT = frozenset({"annotation", "annotation-xml"})

_TEX_BODY = re.compile(r"\$\$?(.+?)\$\$?|\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)
_TEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_TEX_SCRIPT = re.compile(r"\s*([_^])\s*(?:\{([^{}]*)\})?")
_END = "\0"  # behind a command's name that letters would follow
_TEX_COMMAND = re.compile(r"\\([A-Za-z]+)\*?|\\(.)|[{}$&~]", re.DOTALL)
_TEX_SIGNS = {"le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "cdot": "·", "pm": "±", "bar": "¯"}
_TEX_NAMES = frozenset({"exp", "ln", "log", "max", "min", "sin", "cos", "tan", "lim"})
_MOST_TEX = 20_000


def math_pieces(formula: Element) -> Iterator[Characters | str]:
    """Return the text of a ``math`` element, piece by piece: what the file has, and marks that it lacks."""
    waiting: list[Element | Characters | str] = [formula]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Element):
            if node.tag not in _LEFT_OUT:
                waiting.extend(reversed(_parts(node)))
        else:
            yield node


def tex_text(tex: str) -> str:
    """Return TeX as plain text, without its commands."""
    match = _TEX_BODY.search(tex[:_MOST_TEX])
    text = (match[1] or match[2]) if match else tex[:_MOST_TEX]
    text = re.sub(r"\\(?:mathrm|mathit|mathbf|text|textit|textbf|operatorname)\s*\{([^{}]*)\}", r"\1", text)
    text = _TEX_SCRIPT.sub(lambda match: f"{_END}{'^' * (match[1] == '^')}{match[2] or ''}", text)
    text = _TEX_FRACTION.sub(lambda match: f"{_grouped(match[1])}/{_grouped(match[2])}", text)
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
