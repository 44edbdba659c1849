"""What models say instead of a list: that nothing is to be selected, or that they will not answer."""

import re

_NONE = re.compile(
    r"[\s\"'`*_(\[{<]*(?:none|nil|null|n/?a|nothing|not\s+applicable|empty(?:\s+(?:list|set))?|\\emptyset|\\varnothing"
    r"|(?:there\s+(?:is|are)\s+)?(?:no|zero|0)\s+(?:(?:relevant|such|evidence|suitable|matching|supporting|of\s+the|of"
    r"|these|single|direct|key|specific)\s+){0,4}(?:sentences?|evidence|indices|selection)"
    r"|there\s+(?:is|are)\s+none|i\s+(?:would\s+)?select\s+(?:none|no\s+sentences?|nothing)"
    r"|(?:an?\s+|the\s+)?(?:list\s+is\s+)?empty(?:\s+list)?)(?![^\W_])",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(
    r"[\W_]{0,12}(?:(?:is|was|were|are)\s+)?(?:excluded|omitted|rejected|discarded|dropped|skipped|removed|left\s+out"
    r"|not\s+(?:selected|chosen|included|relevant|needed|used|evidence))(?![^\W_])",
    re.IGNORECASE,
)

_NOT = (
    r"(?:can(?:\s?not|'t)|could\s?n(?:ot|'t)|wo(?:n't)|will\s+not|must\s+not|decline|refuse"
    r"|am\s+(?:unable|not\s+able|not\s+allowed|not\s+comfortable))"
)
_DO = (
    r"(?:to\s+)?(?:help|assist|comply|answer|provide|fulfill?|do\s+(?:this|that|so)|engage|complete|continue"
    r"|process|respond|participate|perform|give|support)"
)
_REFUSAL = re.compile(
    rf"(?<![^\W_])(?:i(?:'m)?\s+(?:(?:am\s+|really\s+|simply\s+|just\s+)?(?:sorry|afraid)[^.\n]{{0,40}}?\bi\s+)?{_NOT}\s+{_DO}"
    rf"|i'm\s+(?:unable|not\s+able|not\s+allowed|not\s+comfortable)\s+(?:to\s+)?{_DO}"
    rf"|as\s+an\s+ai(?:\s+(?:language\s+)?model|\s+assistant)?,?\s+i\s+{_NOT}"
    r"|i\s+(?:must|have\s+to|respectfully)\s+(?:decline|refuse)"
    r"|(?:violates?|against)\s+(?:my|our|the)\s+(?:\w{1,20}\s+)?(?:guidelines|polic(?:y|ies))"
    r"|(?:this|your)\s+request\s+(?:was|has\s+been|is)\s+(?:blocked|flagged|rejected|refused)"
    r")(?![^\W_])",
    re.IGNORECASE,
)
_WINDOW = 400
_DIGIT = re.compile("[0-9]")


def says_none(text: str) -> bool | None:
    """Whether a text begins by saying that no sentence is selected; None: it does not begin so.

    It is False where a number follows in the same paragraph, since that may be a sentence which is named after all.

    Examples
    --------
    >>> says_none("None of them."), says_none("none but [12]"), says_none("Nonetheless [12]")
    (True, False, None)
    """
    text = text[:_WINDOW]
    found = _NONE.match(text)
    return None if found is None else _DIGIT.search(text[found.end() :].split("\n\n", 1)[0]) is None


def is_left_out(remark: str) -> bool:
    """Whether the remark behind a number says that it is not selected.

    Examples
    --------
    >>> is_left_out(" (excluded)"), is_left_out(": the excluded patients")
    (True, False)
    """
    return _LEFT_OUT.match(remark[:_WINDOW]) is not None


def refuses(text: str) -> bool:
    """Whether a reply without a list says, at its beginning or end, that the model will not answer.

    Examples
    --------
    >>> refuses("I'm sorry, but I can't help with that."), refuses("Patients could not answer the questionnaire.")
    (True, False)
    """
    text = text.strip()
    return _REFUSAL.search(text[:_WINDOW]) is not None or _REFUSAL.search(text[-_WINDOW:]) is not None
