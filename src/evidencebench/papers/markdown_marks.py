r"""Marks of Pandoc and of tools that make Markdown of PDFs, which CommonMark lacks: formulas, scripts, attributes.

=============================  ==========================
``$\alpha < 0.05$``            a formula within a sentence
``$$x = 1$$``                  a display formula
``10^6^``, ``H~2~O``           superscript, subscript
``^[A note.]``                 a footnote
``# Methods {#methods}``       attributes, which are dropped
``::: {.note}``                a fence, which is dropped
=============================  ==========================
"""

import re

from markdown_it.rules_inline import StateInline

_ATTRIBUTE = r"(?:[#.][\w:.-]+|[\w-]+=(?:\"[^\"\n]*\"|[^\s{}\"]+))"

# Type of token -> how it is written; group 1 is what is kept of it. No part can run on behind the next mark.
_PATTERNS = {
    "display_formula": re.compile(r"\$\$([^$]{1,5000})\$\$"),
    "formula": re.compile(r"\$(?=[^\s$])([^$\n]{0,500}[^\s$\\])\$(?!\d)"),
    "footnote": re.compile(r"\^\[([^\[\]\n]{1,1000})\]"),
    "sup": re.compile(r"(?<=[^\s^])\^([^\s^~\[\]]{1,20})\^"),
    "sub": re.compile(r"(?<=[^\s~])~([^\s^~\[\]]{1,20})~(?!~)"),
    "dropped": re.compile(rf"\{{{_ATTRIBUTE}(?: {_ATTRIBUTE}){{0,20}}\}}()|(?:^|(?<=\n)):{{3,}}[^\n]{{0,200}}()"),
}
_FIRST = {
    "$": ("display_formula", "formula"),
    "^": ("footnote", "sup"),
    "~": ("sub",),
    "{": ("dropped",),
    ":": ("dropped",),
}

MARKS = frozenset(_PATTERNS)
"""The types of the tokens."""


def read_mark(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as the parser calls it
    """Read the mark at a place; the markup of its token is all that is written."""
    for sort in _FIRST.get(state.src[state.pos], ()):
        if match := _PATTERNS[sort].match(state.src, state.pos, state.posMax):
            if not silent:
                token = state.push(sort, "", 0)
                token.content, token.markup = match[1] or "", match[0]
            state.pos = match.end()
            return True
    return False
