"""Lists of sentence numbers as models write them: bracketed, bare, with ranges, labels and remarks between.

One pass over tokens, each of which a regular expression without nested repeats finds, so that time grows as the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

Span = tuple[int, int | None]
"""First and last number of a range, the same twice for a single number; None as the last: no whole number."""

MAX_DIGITS = 12
"""Longer numbers are all read as 10 to the power of this: they name no sentence."""

_MAX_DEPTH = 20

_Token = tuple[str, str, int, int]  # kind, text, start, end

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t"'`*_$]+|\\(?:[A-Za-z]+|[^\n])?|</?[A-Za-z][^<>\n]{0,60}>)
    |(?P<newline>\n)
    |(?P<number>[0-9]+(?:\.[0-9]+)?)
    |(?P<label>\#+|(?:sentences?|sent|index|indices|idx|lines?|numbers?|nos?|nr|ids?|s)(?=[-_]?[0-9])
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
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,60}>")
_DECORATION = " \t.!?,;:*`_\"'$\\&+/|)]}<>#~-"
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_UNITS = "%°‰$€£²³±="
_BEFORE_REASON = frozenset(
    "because since as for which that this these it is describes describe reports report shows show states state".split()
)
_NEXT_AFTER_REASON = re.compile(r"[,;.]\s{0,9}(?:and\s{1,9})?(?P<group>[\[(]\s{0,9}[0-9]{1,12}\s{0,9}[\])])")


def whole_number(digits: str) -> int:
    """Return the number that ASCII digits spell; `MAX_DIGITS` says what becomes of a long one."""
    digits = digits[:400].lstrip("0") if len(digits) <= 400 else digits.lstrip("0")  # noqa: PLR2004 - a fast path
    return int(digits or "0") if len(digits) <= MAX_DIGITS else 10**MAX_DIGITS


def span_of(number: str, *, is_negative: bool = False) -> Span:
    """Return the span of one number as written, such as ``12``, ``12.0`` or ``12.5``."""
    whole, _, fraction = number.partition(".")
    value = whole_number(whole)
    if is_negative or fraction.strip("0"):
        return (-value if is_negative else value, None)
    return (value, value)


class _At(Enum):
    """Where an element of a list is being read."""

    START = "nothing of it was seen"
    NUMBER = "a number or range was seen, which a word may still spoil"
    RANGE = "a number and a range mark were seen"
    DONE = "it was read; what follows up to the separator is a remark"
    SPOILED = "it is no number"


@dataclass(slots=True)
class _Element:
    """The element of a list that is being read, and the spans of those before it."""

    spans: list[Span] = field(default_factory=list)
    at: _At = _At.START
    pending: Span = (0, 0)
    is_negative: bool = False
    is_spaced: bool = False  # whether a blank stands before the range mark

    def number(self, text: str) -> None:
        if self.at is _At.NUMBER:
            self.end()
        if self.at is _At.START:
            self.pending, self.at = span_of(text, is_negative=self.is_negative), _At.NUMBER
        elif self.at is _At.RANGE:
            last = span_of(text)
            whole = last[1] is not None and self.pending[1] is not None
            self.pending, self.at = (self.pending[0], last[0] if whole else None), _At.NUMBER

    def done(self) -> None:
        """Take what is pending; what follows is a remark."""
        if self.at in {_At.NUMBER, _At.RANGE}:
            self.spans.append(self.pending)
            self.at = _At.DONE
        elif self.at is _At.START:
            self.at = _At.SPOILED

    def end(self) -> None:
        """Take what is pending and start the next element."""
        if self.at in {_At.NUMBER, _At.RANGE}:
            self.spans.append(self.pending)
        self.at, self.is_negative = _At.START, False

    def spoil(self) -> None:
        if self.at is not _At.DONE:
            self.at = _At.SPOILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A bracketed list.

    Attributes
    ----------
    spans
        What it names, as given; none where it is no list of numbers.
    end
        Position behind it.
    is_closed
        Whether its bracket is closed.
    has_words
        Whether it holds words besides labels.
    is_empty
        Whether nothing stands in it.
    """

    spans: list[Span]
    end: int
    is_closed: bool
    has_words: bool
    is_empty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Numbers and groups one behind the other.

    Attributes
    ----------
    spans
        What they name, as given.
    end
        Position behind the last of them and its punctuation.
    n_elements
        How many single numbers, ranges and groups they are.
    is_bracketed
        Whether they stand in brackets.
    is_labelled
        Whether a label such as ``sentence`` or ``#`` stands before them.
    is_cut
        Whether a bracket was not closed.
    is_pure
        Whether nothing else stands before the end of the line.
    wants_more
        Whether it ends with a separator.
    """

    spans: list[Span]
    end: int
    n_elements: int
    is_bracketed: bool
    is_labelled: bool = False
    is_cut: bool = False
    is_pure: bool = True
    wants_more: bool = False


def read_group(text: str, start: int, end: int) -> Group:
    """Return the bracketed list that opens at a position, its brackets nested or not.

    An element is a number or a range, perhaps behind a label, in quotes or with a remark behind a mark; one that is a
    number with a word right behind it is none, nor is one that begins with a word.
    """
    element = _Element()
    closers = [_CLOSING[text[start]]]
    remark_depth = 0  # from which depth on everything is a remark; 0: nothing is
    has_words, is_empty = False, True
    for kind, value, at, position in _tokens(text, start + 1, end):
        if kind == "skip":
            continue
        if kind == "close":
            while len(closers) > 1 and closers[-1] != value and value in closers:
                closers.pop()
            if remark_depth and len(closers) <= remark_depth:
                remark_depth = 0
            elif not remark_depth:
                element.end()
                element.at = _At.DONE if len(closers) > 1 else _At.START
            closers.pop()
            if not closers:
                return Group(
                    spans=element.spans, end=position, is_closed=True, has_words=has_words, is_empty=is_empty
                )
            continue
        is_empty = is_empty and kind in {"newline", "open"}
        if kind == "open":
            if len(closers) >= _MAX_DEPTH:
                return Group(spans=[], end=position, is_closed=True, has_words=True, is_empty=False)
            closers.append(_CLOSING[value])
            if not remark_depth and element.at is not _At.START:
                element.done()
                remark_depth = len(closers)
        elif not remark_depth:
            has_words = has_words or kind in {"word", "other"}
            _step(element, kind, value, text, at, position)
    element.end()
    return Group(spans=element.spans, end=end, is_closed=False, has_words=has_words, is_empty=is_empty)


def _tokens(text: str, position: int, end: int) -> Iterator[_Token]:
    """Yield the tokens from a position on."""
    while position < end:
        token = _token(text, position, end)
        yield token
        position = token[3]


def _token(text: str, position: int, end: int) -> _Token:
    """Return kind, text, start and end of the token at a position."""
    found = _TOKEN.match(text, position, end)
    if found is None:  # which the last alternative makes impossible
        return "other", text[position], position, position + 1
    kind, after = found.lastgroup or "other", found.end()
    if kind == "number" and after < end and (text[after].isalnum() or _is_compound(text, after)):
        kind = "word"
    return kind, found[0], position, after


def _is_compound(text: str, position: int) -> bool:
    """Whether a hyphen with a letter behind it stands here, as in ``12-month``."""
    return text[position] == "-" and text[position + 1 : position + 2].isalpha()


def _step(element: _Element, kind: str, value: str, text: str, at: int, after: int) -> None:
    """Take one token inside brackets or in a bare list."""
    if kind == "number":
        element.number(value)
    elif kind in {"separator", "newline"}:
        element.end()
    elif kind == "range":
        if element.at is _At.NUMBER and element.pending[0] == element.pending[1]:
            element.at, element.is_spaced = _At.RANGE, text[at - 1 : at].isspace()
        elif element.at is _At.START:
            element.is_negative = value == "-" and text[after : after + 1].isdecimal()
        else:
            element.done()
    elif kind == "word":
        if element.at is _At.RANGE and element.is_spaced:
            element.done()
        else:
            element.spoil()
    elif kind == "label":
        if element.at is not _At.START and value.startswith("#"):
            element.done()  # a comment
        elif element.at is not _At.START:
            element.spoil()
    elif value in _UNITS:
        element.spoil()
    elif element.at is not _At.START or value not in "?!<:.@":
        element.done()


def read_run(text: str, start: int, end: int) -> Run | None:
    """Return the numbers or groups that stand at a position, up to the end of their line; None where none do.

    A line break belongs to the list inside brackets and behind a separator. A single bare number with a word behind it
    is none, but for words such as *because*; of several the last one may have a word behind it.
    """
    position, is_labelled = start, False
    for kind, _, at, after in _tokens(text, start, end):
        if kind == "open":
            return _read_groups(text, at, end, is_labelled=is_labelled)
        if kind == "number" or (kind == "range" and text[after : after + 1].isdecimal() and text[at] == "-"):
            return _read_bare(text, at, end, is_labelled=is_labelled)
        is_labelled = is_labelled or kind == "label"
        if kind not in {"skip", "label"}:
            return None
        position = after
        if position - start > 400:  # noqa: PLR2004 - a list stands near
            return None
    return None


def _read_groups(text: str, start: int, end: int, *, is_labelled: bool) -> Run | None:
    """Return bracketed lists one behind the other, with separators and remarks in other brackets between."""
    groups: list[Group] = []
    wants_more, is_range, position = False, False, start
    while position < end:
        kind, value, at, after = _token(text, position, end)
        if kind == "open":
            group = read_group(text, at, end)
            is_remark = value != text[start] and not wants_more
            if is_remark and (not group.is_closed or "\n" in text[at : group.end]):
                break
            if not is_remark:
                if value != text[start] or not group.spans or (group.has_words and groups):
                    break
                if is_range and not (len(group.spans) == 1 == len(groups[-1].spans)):
                    break
                groups.append(_joined(groups.pop(), group) if is_range else group)
                wants_more = is_range = False
            position = group.end
        elif kind == "range" and groups and not is_range and text[after : after + 2].strip()[:1] == text[start]:
            is_range, position = True, after
        elif kind == "separator" or (kind == "newline" and wants_more and _opens(text, after, text[start])):
            wants_more, position = True, after
        elif kind in {"skip", "label"}:
            position = after
        else:
            break
    if not groups:
        return None
    spans = [span for group in groups for span in group.spans]
    last, is_cut = groups[-1].end, not groups[-1].is_closed
    line_end = _line_end(text, last, end)
    is_pure = _is_blank(text, last, line_end)
    if not is_pure and all(len(group.spans) == 1 for group in groups):
        for found in _NEXT_AFTER_REASON.finditer(text, last, line_end):
            spans += read_group(text, found.start("group"), end).spans
    return Run(
        spans=spans,
        end=last,
        n_elements=len(groups),
        is_bracketed=True,
        is_labelled=is_labelled,
        is_cut=is_cut,
        is_pure=is_pure,
        wants_more=wants_more,
    )


def _joined(first: Group, last: Group) -> Group:
    """Return the range from one number to another, as in ``[3]-[5]``."""
    span = (first.spans[0][0], last.spans[0][1])
    return Group(spans=[span], end=last.end, is_closed=last.is_closed, has_words=False, is_empty=False)


def _opens(text: str, position: int, opening: str) -> bool:
    """Whether the next line goes on with a bracket."""
    return text[position : position + 40].lstrip(" \t-*`\"'").startswith(opening)


def _line_end(text: str, position: int, end: int) -> int:
    found = text.find("\n", position, end)
    return end if found < 0 else found


def _is_blank(text: str, start: int, end: int) -> bool:
    """Whether only punctuation and marks of emphasis stand here."""
    return not _TAG.sub("", text[start:end]).strip(_DECORATION)


def _read_bare(text: str, start: int, end: int, *, is_labelled: bool) -> Run | None:
    """Return numbers without brackets, up to the end of the line or what is no list."""
    element = _Element()
    wants_more, position, last = False, start, start
    while position < end:
        kind, value, at, after = _token(text, position, end)
        if kind == "newline":
            if not (wants_more and text[after : after + 40].lstrip(" \t\"'`*_#")[:1].isdecimal()):
                break
        elif kind == "open":
            remark = read_group(text, at, end)
            if element.at not in {_At.NUMBER, _At.RANGE} or not remark.is_closed or "\n" in text[at : remark.end]:
                break
            element.done()
            after = last = remark.end
        elif kind in {"word", "close", "other"}:
            _finish_bare(element, kind, value, is_labelled=is_labelled)
            break
        elif kind == "number":
            wants_more, last = False, after
            element.number(value)
        elif kind != "skip":
            wants_more = kind == "separator"
            _step(element, kind, value, text, at, after)
        position = after
    element.end()
    if not element.spans:
        return None
    return Run(
        spans=element.spans,
        end=last,
        n_elements=len(element.spans),
        is_bracketed=False,
        is_labelled=is_labelled,
        is_pure=_is_blank(text, last, _line_end(text, last, end)),
        wants_more=wants_more,
    )


def _finish_bare(element: _Element, kind: str, value: str, *, is_labelled: bool) -> None:
    """Decide whether the last number of a bare list, with something behind it, belongs to the list."""
    is_spoiled = value in _UNITS
    if kind == "word":
        is_reason = value.lower() in _BEFORE_REASON or (element.at is _At.RANGE and element.is_spaced)
        is_spoiled = not is_reason and (element.at is _At.RANGE or not (element.spans or is_labelled))
    if is_spoiled:
        element.spoil()
    else:
        element.done()
