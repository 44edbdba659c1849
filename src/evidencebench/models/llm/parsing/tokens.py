"""Lists of numbers, one token and one element at a time.

The tokens are found by a regular expression without nested repeats, so that time grows as the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

Span = tuple[int, int | None]
"""First and last number of a range, the same twice for a single number; None as the last: no whole number."""

MAX_DIGITS = 12
"""Longer numbers are all read as 10 to the power of this: they name no sentence."""

UNITS = frozenset("%°‰$€£²³±=")
"""What makes a number before it a quantity."""

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t"'`*_$]+|\\(?:[A-Za-z]+|[^\n])?|</?[A-Za-z][^<>\n]{0,60}>)
    |(?P<newline>\n)
    |(?P<number>[0-9]+(?:\.[0-9]+)?)
    |(?P<label>\#+|s(?=[-_]?[0-9])|(?:sentences?|sent|index|indices|idx|lines?|numbers?|nos?|nr|ids?)(?=[-_][0-9])
        |(?:sentences?|sent|indices|index|idx|lines?|numbers?|nos?|nr|items?|ids?)(?![^\W_])[.:]?)
    |(?P<range>\.\.+|[-~]+(?!>)|(?:to|through|thru)(?![^\W_]))
    |(?P<separator>->|=>|[,;&+|/>]|(?:and|or|then|plus|as\s+well\s+as)(?![^\W_]))
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<word>[^\W\d_]\w*)
    |(?P<other>.)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


class Token(NamedTuple):
    """A piece of a text: its kind, itself, and where it starts and ends."""

    kind: str
    value: str
    start: int
    end: int


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


def tokens_of(text: str, position: int, end: int) -> Iterator[Token]:
    """Yield the tokens from a position on."""
    while position < end:
        token = token_at(text, position, end)
        yield token
        position = token.end


def token_at(text: str, position: int, end: int) -> Token:
    """Return the token at a position. A number that is part of a word, such as ``12th``, is a word."""
    found = _TOKEN.match(text, position, end)
    if found is None:  # which the last alternative makes impossible
        return Token("other", text[position], position, position + 1)
    kind, after = found.lastgroup or "other", found.end()
    if kind == "number" and after < end and (text[after].isalnum() or _is_compound(text, after)):
        kind = "word"
    return Token(kind, found[0], position, after)


def _is_compound(text: str, position: int) -> bool:
    """Whether a hyphen with a letter behind it stands here, as in ``12-month``."""
    return text[position] == "-" and text[position + 1 : position + 2].isalpha()


class At(Enum):
    """Where an element of a list is being read."""

    START = "nothing of it was seen"
    NUMBER = "a number or range was seen, which a word may still spoil"
    RANGE = "a number and a range mark were seen"
    DONE = "it was read; what follows up to the separator is a remark"
    SPOILED = "it is no number"


@dataclass(slots=True)
class Element:
    """The element of a list that is being read, and the spans of those before it."""

    spans: list[Span] = field(default_factory=list)
    at: At = At.START
    _pending: Span = (0, 0)
    _is_negative: bool = False
    is_spaced: bool = False
    """Whether a blank stands before the range mark, so that what follows may be a remark behind a dash."""

    @property
    def is_pending(self) -> bool:
        """Whether a number waits for what stands behind it."""
        return self.at in {At.NUMBER, At.RANGE}

    def take(self, token: Token, text: str) -> None:
        """Go on by one token, brackets and decoration aside."""
        kind, value = token.kind, token.value
        if kind == "number":
            self._number(value)
        elif kind in {"separator", "newline"}:
            self.finish()
        elif kind == "range":
            self._range(token, text)
        elif kind == "word":
            self.remark() if self.at is At.RANGE and self.is_spaced else self.spoil()
        elif kind == "label":
            self._label(value)
        elif value in UNITS:
            self.spoil()
        elif self.at is not At.START or value not in "?!<:.@":
            self.remark()

    def _number(self, digits: str) -> None:
        if self.at is At.NUMBER:
            self.finish()
        if self.at is At.START:
            self._pending, self.at = span_of(digits, is_negative=self._is_negative), At.NUMBER
        elif self.at is At.RANGE:
            last = span_of(digits)
            is_whole = last[1] is not None and self._pending[1] is not None
            self._pending, self.at = (self._pending[0], last[0] if is_whole else None), At.NUMBER

    def _range(self, token: Token, text: str) -> None:
        if self.at is At.NUMBER and self._pending[0] == self._pending[1]:
            self.at, self.is_spaced = At.RANGE, text[token.start - 1 : token.start].isspace()
        elif self.at is At.START:
            self._is_negative = token.value == "-" and text[token.end : token.end + 1].isdecimal()
        else:
            self.remark()

    def _label(self, value: str) -> None:
        if self.at is not At.START:
            self.remark() if value.startswith("#") else self.spoil()  # a comment

    def remark(self) -> None:
        """Take the number that is pending; what follows up to the separator is a remark."""
        if self.is_pending:
            self.spans.append(self._pending)
            self.at = At.DONE
        elif self.at is At.START:
            self.at = At.SPOILED

    def finish(self) -> None:
        """Take the number that is pending and start the next element."""
        if self.is_pending:
            self.spans.append(self._pending)
        self.at, self._is_negative = At.START, False

    def spoil(self) -> None:
        """Drop the number that is pending."""
        if self.at is not At.DONE:
            self.at = At.SPOILED
