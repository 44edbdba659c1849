"""A list of sentence numbers: ``[3, 17]``, ``[3]; [17]``, ``3, 5-7 and 9``, ``Sentences 3 (pressure) and #17``."""

import re
from dataclasses import dataclass

from evidencebench.models.llm.parsing.text import has_letter

Span = tuple[int, int | None]
"""First and last number of a range; a single number stands twice. The last is None for a number that is not whole."""

MAX_DIGITS = 12
"""A number with more digits is read as 10 to the power of this: it names no sentence."""

# A text is first turned into letters, one for each token. The grammar of lists is an expression over these letters:
# n number, l label, m minus or range, r range, s separator, b line break, [ ( { themselves, c closing, x all else.
_TOKEN = re.compile(
    r"""
    (?:[ \t"'`*_$]+|\\(?:[A-Za-z]+)?|</?[A-Za-z][^<>\n]{0,60}>|//[^\n]*|/\*[^*]{0,200}\*/|\#(?![ ]?[0-9])[^\n]*)
    |(?P<n>[0-9]++(?:\.[0-9]++)?+(?![\w%°‰€£²³±=]|-[^\W\d_]))
    |(?P<l>\#|s(?=[0-9])|(?:sentences?|sent|indices|index|idx|lines?|numbers?|nos?|ids?)(?![^\W_])[-_.:]?)
    |(?P<m>-(?=[0-9]))
    |(?P<r>\.\.+|[-~]+(?!>)|(?:to|through)(?![^\W_]))
    |(?P<s>->|=>|[,;&+|/>]|(?:and|or|then)(?![^\W_]))
    |(?P<b>\n)
    |(?P<open>[\[({])
    |(?P<c>[\])}])
    |(?P<x>.)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REMARK = re.compile(r"\([^()\n]{0,200}\)")
_RANGE = "n(?:[mr]l?n)?+"  # 3 | 3-5 | 3 to sentence 5
_FIRST = f"(?:mn(?![mr])|l?{_RANGE})"  # -3 | sentence 3-5
_NEXT = "(?:sb*+)"
_FLAT = f"b*+(?:{_FIRST}(?:[sb]++{_FIRST}|{_RANGE})*+[sb]*+)?+(?:c|[mrl]*$)"  # 3, 17] | 3 17 up to the text's end
_WITHIN = rf"(?:{_FLAT}|b*+(?:l?[\[({{]{_FLAT}[sb]*+)++(?:c|[mrl]*$))"  # the same, or [3], [17]]
_LIST = re.compile(
    rf"l?(?P<open>[\[({{]){_WITHIN}(?:(?:(?:[mr]|{_NEXT}++)l?)?(?P=open){_WITHIN})*+{_NEXT}*+(?![mr]?l?(?P=open))"
    rf"|{_FIRST}(?:{_NEXT}++{_FIRST}|{_RANGE})*+{_NEXT}*+c?"
)
_SPAN = re.compile(r"m?n(?:c?[mr]l?[\[({]?l?(?P<last>n))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberList:
    """A list of numbers, and how it is written."""

    spans: list[Span]
    end: int  # behind the last number or bracket
    is_bracketed: bool
    is_labelled: bool
    is_open: bool  # whether a bracket is not closed
    wants_more: bool  # whether it ends with a separator


def read_numbers(text: str, start: int, end: int) -> NumberList | None:
    """Return the list of numbers at a position; None where there is none, or where a bracket holds anything else.

    A list without brackets ends before text that is no number, and with its line unless a separator stands last. Words
    in parentheses right behind a number are a remark. An empty bracket is a list without spans.
    """
    letters, tokens = _tokens(text, start, end)
    found = _LIST.match(letters)
    if found is None:
        return None
    used = found[0].rstrip("sbmrl[({")
    n_open = sum(letter in "[({" for letter in found[0])
    return NumberList(
        spans=[_span_of(one, tokens) for one in _SPAN.finditer(used)],
        end=tokens[len(used) - 1].end() if used else start,
        is_bracketed=n_open > 0,
        is_labelled="l" in used,
        is_open=n_open > used.count("c"),
        wants_more=found[0].endswith(("s", "b")),
    )


def _tokens(text: str, start: int, end: int) -> tuple[str, list[re.Match[str]]]:
    """Return the tokens up to the first that can be in no list, as one letter each and as matches."""
    letters: list[str] = []
    tokens: list[re.Match[str]] = []
    while letters[-1:] != ["x"] and (token := _TOKEN.match(text, start, end)):
        start = token.end()
        if token["open"] and letters and letters[-1] in "nc":
            remark = _REMARK.match(text, token.start(), end)
            if remark and has_letter(remark[0]):
                start = remark.end()
                continue
        if token.lastgroup is not None:
            letters.append(token["open"] or token.lastgroup)
            tokens.append(token)
    return "".join(letters), tokens


def _span_of(found: re.Match[str], tokens: list[re.Match[str]]) -> Span:
    """Return the span of a number, or of a range."""
    is_negative = found[0].startswith("m")
    first = _single_span(tokens[found.start() + is_negative][0], is_negative=is_negative)
    if found["last"] is None:
        return first
    last = _single_span(tokens[found.start("last")][0])
    return (first[0], None if None in {first[1], last[1]} else last[1])


def _single_span(number: str, *, is_negative: bool = False) -> Span:
    """Return the span of one number as written, such as ``12``, ``12.0`` or ``12.5``."""
    whole, _, fraction = number.partition(".")
    value = whole_number(whole)
    return (-value, None) if is_negative else (value, None if fraction.strip("0") else value)


def whole_number(digits: str) -> int:
    """Return the number that ASCII digits spell; `MAX_DIGITS` says what becomes of a long one."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= MAX_DIGITS else 10**MAX_DIGITS
