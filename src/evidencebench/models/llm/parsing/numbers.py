"""Lists of sentence numbers as models write them: bracketed, bare, with ranges, labels and remarks between."""

import re
from dataclasses import dataclass, field

from evidencebench.models.llm.parsing.tokens import UNITS, At, Element, Span, Token, token_at, tokens_of

_MAX_DEPTH = 20
_MAX_BEFORE = 400  # characters of decoration before a list

_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,60}>")
_DECORATION = " \t.!?,;:*`_\"'$\\&+/|)]}<>#~-"
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_REASON_WORDS = (
    "because since as for which that this these it is describes describe reports report shows show states state"
)
_BEFORE_REASON = frozenset(_REASON_WORDS.split())
# In small letters, since a sentence that is repeated begins with a capital one.
_REASON = re.compile(r"[ \t*_`]{0,9}(?:because|since|as|for|which|that|is|describes|reports|shows|states|gives)\s")
NEXT_GROUP = re.compile(r"[,;]\s{0,9}(?:and\s{1,9})?(?P<group>[\[(]\s{0,9}[0-9]{1,12}\s{0,9}[\])])")


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
    start
        Position of the first bracket or digit.
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
    start: int
    end: int
    n_elements: int
    is_bracketed: bool
    is_labelled: bool = False
    is_cut: bool = False
    is_pure: bool = True
    wants_more: bool = False


@dataclass(slots=True)
class _GroupReader:
    """Brackets that are open, and the element in them."""

    closers: list[str]
    element: Element = field(default_factory=Element)
    remark_depth: int = 0  # from which depth on everything is a remark; 0: nothing is
    has_words: bool = False
    is_empty: bool = True

    def open(self, closer: str) -> None:
        self.closers.append(closer)
        if not self.remark_depth and self.element.at is not At.START:
            self.element.remark()
            self.remark_depth = len(self.closers)

    def close(self, closer: str) -> None:
        """Close the bracket that this one closes, and those inside it; of another kind: the innermost."""
        while len(self.closers) > 1 and self.closers[-1] != closer and closer in self.closers:
            self.closers.pop()
        if self.remark_depth and len(self.closers) <= self.remark_depth:
            self.remark_depth = 0
        elif not self.remark_depth:
            self.element.finish()
            self.element.at = At.DONE if len(self.closers) > 1 else At.START
        self.closers.pop()

    def take(self, token: Token, text: str) -> None:
        self.is_empty = self.is_empty and token.kind == "newline"
        if not self.remark_depth:
            self.has_words = self.has_words or token.kind in {"word", "other"}
            self.element.take(token, text)

    def group(self, end: int, *, is_closed: bool) -> Group:
        self.element.finish()
        return Group(
            spans=self.element.spans, end=end, is_closed=is_closed, has_words=self.has_words, is_empty=self.is_empty
        )


def read_group(text: str, start: int, end: int) -> Group:
    """Return the bracketed list that opens at a position, its brackets nested or not.

    An element is a number or a range, perhaps behind a label, in quotes or with a remark behind a mark; one that is a
    number with a word right behind it is none, nor is one that begins with a word. Nothing is read of a list that is
    nested deeper than 20 brackets.
    """
    reader = _GroupReader([_CLOSING[text[start]]])
    for token in tokens_of(text, start + 1, end):
        if token.kind == "close":
            reader.close(token.value)
            if not reader.closers:
                return reader.group(token.end, is_closed=True)
        elif token.kind == "open":
            if len(reader.closers) >= _MAX_DEPTH:
                return Group(spans=[], end=token.end, is_closed=True, has_words=True, is_empty=False)
            reader.open(_CLOSING[token.value])
        elif token.kind != "skip":
            reader.take(token, text)
    return reader.group(end, is_closed=False)


def read_run(text: str, start: int, end: int) -> Run | None:
    """Return the numbers or groups that stand at a position, up to the end of their line; None where none do.

    A line break belongs to the list inside brackets and behind a separator. A single bare number with a word behind it
    is none, but for words such as *because*; of several the last one may have a word behind it.
    """
    is_labelled = False
    for token in tokens_of(text, start, min(end, start + _MAX_BEFORE)):
        kind, position = token.kind, token.start
        if kind == "open":
            return _read_groups(text, position, end, is_labelled=is_labelled)
        if kind == "number" or (kind == "range" and token.value == "-" and text[token.end : token.end + 1].isdecimal()):
            return _read_bare(text, position, end, is_labelled=is_labelled)
        is_labelled = is_labelled or kind == "label"
        if kind not in {"skip", "label"}:
            return None
    return None


@dataclass(slots=True)
class _Groups:
    """Bracketed lists one behind the other, as far as they were read."""

    opening: str
    groups: list[Group] = field(default_factory=list)
    wants_more: bool = False
    is_range: bool = False

    def take(self, token: Token, text: str, end: int) -> int | None:
        """Go on by one token and return the position behind it; None where it is no part of the list."""
        if token.kind == "open":
            return self._open(token, text, end)
        if token.kind == "range" and self.groups and not self.is_range:
            self.is_range = text[token.end : token.end + 2].strip()[:1] == self.opening
            return token.end if self.is_range else None
        continues = token.kind == "newline" and self.wants_more and _opens(text, token.end, self.opening)
        if token.kind == "separator" or continues:
            self.wants_more = True
            return token.end
        return token.end if token.kind in {"skip", "label"} else None

    def _open(self, token: Token, text: str, end: int) -> int | None:
        group = read_group(text, token.start, end)
        if token.value != self.opening:
            is_remark = not self.wants_more and group.is_closed and "\n" not in text[token.start : group.end]
            return group.end if is_remark else None
        if not group.spans or (group.has_words and self.groups):
            return None
        if self.is_range:
            first = self.groups.pop()
            if not len(first.spans) == 1 == len(group.spans):
                self.groups.append(first)
                return None
            group = _joined(first, group)
        self.groups.append(group)
        self.wants_more = self.is_range = False
        return group.end


def _read_groups(text: str, start: int, end: int, *, is_labelled: bool) -> Run | None:
    """Return bracketed lists one behind the other, with separators and remarks in other brackets between."""
    reader = _Groups(text[start])
    position: int | None = start
    while position is not None and position < end:
        position = reader.take(token_at(text, position, end), text, end)
    groups = reader.groups
    if not groups:
        return None
    spans = [span for group in groups for span in group.spans]
    last = groups[-1].end
    line_end = line_end_of(text, last, end)
    if all(len(group.spans) == 1 for group in groups) and _REASON.match(text, last, line_end):
        for found in NEXT_GROUP.finditer(text, last, line_end):
            spans += read_group(text, found.start("group"), end).spans
    return Run(
        spans=spans,
        start=start,
        end=last,
        n_elements=len(groups),
        is_bracketed=True,
        is_labelled=is_labelled,
        is_cut=not groups[-1].is_closed,
        is_pure=_is_blank(text, last, line_end),
        wants_more=reader.wants_more,
    )


def _joined(first: Group, last: Group) -> Group:
    """Return the range from one number to another, as in ``[3]-[5]``."""
    span = (first.spans[0][0], last.spans[0][1])
    return Group(spans=[span], end=last.end, is_closed=last.is_closed, has_words=False, is_empty=False)


def _opens(text: str, position: int, opening: str) -> bool:
    """Whether the next line goes on with a bracket."""
    return text[position : position + 40].lstrip(" \t-*`\"'").startswith(opening)


def line_end_of(text: str, position: int, end: int) -> int:
    """Return where the line of a position ends, at the end at the latest."""
    found = text.find("\n", position, end)
    return end if found < 0 else found


def _is_blank(text: str, start: int, end: int) -> bool:
    """Whether only punctuation and marks of emphasis stand here."""
    return not _TAG.sub("", text[start:end]).strip(_DECORATION)


def _read_bare(text: str, start: int, end: int, *, is_labelled: bool) -> Run | None:
    """Return numbers without brackets, up to the end of the line or what is no list."""
    element = Element()
    wants_more, position, last = False, start, start
    while position < end:
        token = token_at(text, position, end)
        position = token.end
        if token.kind == "newline":
            if not (wants_more and text[position : position + 40].lstrip(" \t\"'`*_#")[:1].isdecimal()):
                break
        elif token.kind == "open":
            remark = read_group(text, token.start, end)
            if not element.is_pending or not remark.is_closed or "\n" in text[token.start : remark.end]:
                break
            element.remark()
            position = last = remark.end
        elif token.kind in {"word", "close", "other"}:
            _end_bare(element, token, is_labelled=is_labelled)
            break
        elif token.kind != "skip":
            wants_more = token.kind == "separator"
            last = token.end if token.kind == "number" else last
            element.take(token, text)
    element.finish()
    if not element.spans:
        return None
    return Run(
        spans=element.spans,
        start=start,
        end=last,
        n_elements=len(element.spans),
        is_bracketed=False,
        is_labelled=is_labelled,
        is_pure=_is_blank(text, last, line_end_of(text, last, end)),
        wants_more=wants_more,
    )


def _end_bare(element: Element, token: Token, *, is_labelled: bool) -> None:
    """Decide whether the last number of a bare list, with something behind it, belongs to the list."""
    is_spoiled = token.value in UNITS
    if token.kind == "word":
        is_reason = token.value.lower() in _BEFORE_REASON or (element.at is At.RANGE and element.is_spaced)
        is_spoiled = not is_reason and (element.at is At.RANGE or not (element.spans or is_labelled))
    if is_spoiled:
        element.spoil()
    else:
        element.remark()
