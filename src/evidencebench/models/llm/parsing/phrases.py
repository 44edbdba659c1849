"""Phrases instead of a list or behind one: that nothing is selected, refusals, remarks."""

import re

from evidencebench.models.llm.parsing.text import has_digit, has_letter

MARKS = " \t.!?,;:*`_\"'$\\&+/|)]}<>#~-"
"""The characters that may stand around a list and mean nothing."""

_WINDOW = 400
_NONE = re.compile(
    r"[\s\"'`*_(\[{<\\]*(?:none|nil|null|n/?a|nothing|not\s+applicable|empty(?:\s?(?:list|set))?|varnothing"
    r"|(?:there\s+(?:is|are)\s+)?(?:no|zero|0)\s+(?:[a-z]+\s+){0,4}?(?:sentences?|evidence|indices|selection))(?![^\W_])",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?<![^\W_])(?:i(?:'m|\s+am)?\s+(?:[a-z]+\s+)?(?:can(?:\s?not|'t)|won't|will\s+not|must\s+not|(?:un|not\s+)able)"
    r"\s+(?:to\s+)?(?:help|assist|comply|answer|provide|fulfill?|do|engage|complete|continue|process|respond|give)"
    r"|i\s+(?:must|have\s+to|respectfully)\s+(?:decline|refuse)|against\s+(?:my|our|the)\s+(?:\w{1,20}\s+)?"
    r"(?:guidelines|polic(?:y|ies)))(?![^\W_])",
    re.IGNORECASE,
)
_REMARK = re.compile(r"[\s*_`\"')\]}>$\\!?~]*+(?:[,;:.(-]|(?:because|since|as|for|which|that)(?![^\W_]))")
_ASIDE = re.compile(r"\([^()\n]{0,200}\)|</[A-Za-z_]{1,20}>")


def says_none(text: str) -> bool:
    """Whether a text begins by saying that no sentence is selected, and no digit follows in its paragraph.

    Examples
    --------
    >>> says_none("None of them."), says_none("none but [12]"), says_none("Nonetheless")
    (True, False, False)
    """
    found = _NONE.match(text[:_WINDOW])
    return found is not None and not has_digit(text[found.end() : _WINDOW].split("\n\n", 1)[0])


def refuses(text: str) -> bool:
    """Whether a reply without a list says, at its beginning or end, that the model will not answer.

    Examples
    --------
    >>> refuses("I'm sorry, but I can't help with that."), refuses("Patients could not answer the questionnaire.")
    (True, False)
    """
    text = text.strip()
    return _REFUSAL.search(text[:_WINDOW]) is not None or _REFUSAL.search(text[-_WINDOW:]) is not None


def is_remark(rest: str) -> bool:
    """Whether the text behind a list on its line adds no sentence: nothing or a mere reason, parentheses aside.

    Examples
    --------
    >>> is_remark(" (2 of 5)."), is_remark(", since both count"), is_remark(", but also 42"), is_remark(" men died")
    (True, True, False, False)
    """
    rest = without_parentheses(rest)
    return not has_digit(rest) and (not has_letter(rest) or _REMARK.match(rest) is not None)


def without_parentheses(text: str) -> str:
    """Return a text without closing tags and without parentheses that hold words."""
    return _ASIDE.sub(lambda found: "" if has_letter(found[0]) else found[0], text)
