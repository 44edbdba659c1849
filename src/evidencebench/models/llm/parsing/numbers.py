"""A list of sentence numbers: ``[3, 17]``, ``[3]; [17]``, ``3, 5-7 and 9``, ``Sentences 3 (pressure) and #17``."""

import re
from dataclasses import dataclass, field

Span = tuple[int, int | None]
"""First and last number of a range, the same twice for a single number; None as the last: no whole number."""

MAX_DIGITS = 12
"""Longer numbers are all read as 10 to the power of this: they name no sentence."""

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t"'`*_$]+|\\(?:[A-Za-z]+)?|</?[A-Za-z][^<>\n]{0,60}>|//[^\n]*|/\*[^*]{0,200}\*/|\#(?![ ]?[0-9])[^\n]*)
    |(?P<newline>\n)
    |(?P<number>[0-9]++(?:\.[0-9]++)?+(?![\w%°‰€£²³±=]|-[^\W\d_]))
    |(?P<label>\#|s(?=[0-9])|(?:sentences?|sent|indices|index|idx|lines?|numbers?|nos?|ids?)(?![^\W_])[-_.:]?)
    |(?P<range>\.\.+|[-~]+(?!>)|(?:to|through)(?![^\W_]))
    |(?P<separator>->|=>|[,;&+|/>]|(?:and|or|then)(?![^\W_]))
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<other>.)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PARENTHESIS = re.compile(r"\([^()\n]{0,200}\)")


class _NoListError(ValueError):
    """A bracket holds what is no list of numbers."""


@dataclass(slots=True)
class NumberList:
    """Numbers one behind the other, as far as they are a list."""

    spans: list[Span] = field(default_factory=list)
    end: int = 0  # behind the last number or bracket
    opening: str = ""  # the first bracket
    depth: int = 0  # of brackets that are open
    is_labelled: bool = False
    before: str = ""  # kind of the last token
    is_range: bool = False  # whether the next number ends a range
    is_negative: bool = False  # whether the next number has a minus

    @property
    def is_open(self) -> bool:
        """Whether a bracket is not closed."""
        return self.depth > 0

    @property
    def wants_more(self) -> bool:
        """Whether a separator was the last."""
        return self.before == "separator"

    def take(self, kind: str, text: str, start: int, end: int) -> int | None:
        """Go on by the token between two positions; return where the next one begins, None where the list has ended.

        Raises `_NoListError` if a bracket holds something else than numbers.
        """
        if kind == "skip" or (kind == "newline" and (self.depth or self.wants_more)):
            return end
        if kind == "open" and self.before in {"number", "close"}:
            remark = _PARENTHESIS.match(text, start)
            if remark and any(map(str.isalpha, remark[0])):
                return remark.end()
        if not self._fits(kind, text[start:end], text[end : end + 1]):
            if self.depth:
                raise _NoListError
            if kind == "close" and self.spans:  # of a bracket that was never opened
                self.end = end
            return None
        if kind in {"number", "close"}:
            self.end = end
        self.before = self.before if self.is_negative and kind == "range" else kind
        return end

    def _fits(self, kind: str, mark: str, following: str) -> bool:
        """Take a token if it may stand here."""
        before = self.before
        if kind == "number" and (self.depth or not self.opening):
            self._add(mark)
        elif kind == "label" and before not in {"number", "close", "label"}:
            self.is_labelled = True
        elif (
            kind == "range" and before in {"number", "close"} and self.spans and self.spans[-1][0] == self.spans[-1][1]
        ):
            self.is_range = True
        elif kind == "range" and mark == "-" and before in {"", "separator", "open"} and following.isdecimal():
            self.is_negative = True
        elif kind == "open" and before != "number" and (self.depth or self.opening == mark or not self.spans):
            self.opening = self.opening or mark
            self.depth += 1
        elif kind == "close" and self.depth and before != "label" and not self.is_range:
            self.depth -= 1
        else:
            return kind == "separator" and before in {"number", "close", "separator"}
        return True

    def _add(self, digits: str) -> None:
        """Add a number, or the end of a range."""
        span = span_of(digits, is_negative=self.is_negative)
        if self.is_range:
            first = self.spans.pop()
            span = (first[0], None if None in {first[1], span[1]} else span[1])
        self.spans.append(span)
        self.is_negative = self.is_range = False


def whole_number(digits: str) -> int:
    """Return the number that ASCII digits spell; `MAX_DIGITS` says what becomes of a long one."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= MAX_DIGITS else 10**MAX_DIGITS


def span_of(number: str, *, is_negative: bool = False) -> Span:
    """Return the span of one number as written, such as ``12``, ``12.0`` or ``12.5``."""
    whole, _, fraction = number.partition(".")
    value = whole_number(whole)
    if is_negative or fraction.strip("0"):
        return (-value if is_negative else value, None)
    return (value, value)


def read_numbers(text: str, start: int, end: int) -> NumberList | None:
    """Return the list of numbers that stands at a position; None where none does, or a bracket holds what is no number.

    A list without brackets ends with its line, or with what is no number, unless a separator stands last. What stands
    in parentheses right behind a number is a remark. An empty bracket is a list without spans.
    """
    found = NumberList(end=start)
    position: int | None = start
    try:
        while position is not None and position < end:
            token = _TOKEN.match(text, position, end)
            kind, behind = ("other", position + 1) if token is None else (token.lastgroup or "other", token.end())
            position = found.take(kind, text, position, behind)
    except _NoListError:
        return None
    return found if found.spans or found.opening else None
