"""What stands at a place of a reply: JSON, words such as *none*, numbers on a line, or items below each other."""

import re
from dataclasses import dataclass
from typing import Literal

from evidencebench.models.llm.parsing.items import ItemList, begins_with_number, read_item, read_items
from evidencebench.models.llm.parsing.json_answers import UnsureListError, json_at, listed_in
from evidencebench.models.llm.parsing.numbers import NumberList, Span, read_numbers
from evidencebench.models.llm.parsing.phrases import MARKS, has_letter, is_remark, says_none
from evidencebench.models.llm.parsing.shown import ShownSentences

Branch = Literal[
    "answer line", "answer items", "tag", "json", "json key", "choice", "list", "quotes", "score lines", "refusal", ""
]
"""What read a reply, as a run records it; empty: nothing did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAnswer:
    """The sentences that a reply names: none where it says so."""

    spans: list[Span]
    read_by: Branch
    end: int
    is_open: bool = False  # whether a bracket is not closed
    may_go_on: bool = False  # whether no bracket ends it and the text ends with it


NOT_CHOSEN = re.compile(
    r"(?<![^\W_])(?:not?|never|none|cannot|un\w+|other|exclu\w+|reject\w+|should|must|form|format|example|if|instead|why|number|count|total|length)(?![^\W_])|n't",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"(?:the\s+)?(?:(?:selected|chosen|best|final)\s+)?(?:sentences|indices|list)\s+(?:are|is)\s*:?", re.IGNORECASE
)
_BEFORE_VALUE = re.compile(r"(?:[\s*_$:]|```[A-Za-z0-9]{0,12}[ \t]*(?=\n))*+")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")


def read_value(text: str, start: int, end: int, shown: ShownSentences, branch: Branch) -> FoundAnswer | None:
    """Return the list that stands at a place: JSON, words such as *none*, numbers on a line, or items below each other.

    None: there is none of which it is sure what it names.
    """
    before = _BEFORE_VALUE.match(text, start, end)
    start = before.end() if before else start
    line_end = line_end_of(text, start, end)
    line = text[start:line_end]
    if text[start : start + 1] in {"{", "["} and (value := json_at(text[:end], start)) and not _is_numbers(value[0]):
        return next(iter(found_in_json(text, start, value[1], value[0], shown)), None)
    if shown.index_of(line) is None:
        if says_none(text[start:end]):
            return FoundAnswer(spans=[], read_by=branch, end=line_end, may_go_on=_is_last(text, line_end))
        lead_in = _LEAD_IN.match(text, start, line_end)
        numbers = read_numbers(text, lead_in.end() if lead_in else start, end)
        if numbers is not None and _is_whole_list(text, numbers, end, shown):
            return found_numbers(text, numbers, branch)
    is_introduced = line.rstrip(" *_").endswith(":") and not NOT_CHOSEN.search(line) and read_item(line, shown) is None
    start = line_end + 1 if is_introduced else start
    starts_line = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    items = read_items(text, text.rfind("\n", 0, start) + 1 if starts_line else start, end, shown)
    is_sure = items is not None and (starts_line or len(items.items) > 1 or items.is_quoted)
    return found_items(text, items, "answer items") if items is not None and is_sure else None


def _is_numbers(value: object) -> bool:
    return not value or (isinstance(value, list) and all(isinstance(one, str) and one.isdecimal() for one in value))


def _is_whole_list(text: str, numbers: NumberList, end: int, shown: ShownSentences) -> bool:
    """Whether numbers on a line are all that is named: nothing follows them but a remark, and no item below them."""
    line_end = line_end_of(text, numbers.end, end)
    rest = text[numbers.end : line_end]
    if numbers.is_open and numbers.end < len(text.rstrip()) and text[numbers.end : end].strip(" \t\n,"):
        return False
    if not is_remark(rest):
        return False
    if len(numbers.spans) == 1 and not numbers.opening and rest[:1] in {".", ")"} and has_letter(rest):
        return False  # which may only number an item
    gap = _BLANK_LINES.match(text, line_end, end)
    below_start = gap.end() if gap else end
    line, is_next = text[below_start : line_end_of(text, below_start, end)], below_start - line_end == 1
    below = read_item(line, shown)
    if below is None or not below.spans:
        return not (is_next and begins_with_number(line))
    if below.kind == "pure":
        return len(numbers.spans) != 1 and not is_next
    return not is_next or (len(numbers.spans) > 1 and not rest.strip(MARKS))


def found_numbers(text: str, numbers: NumberList, branch: Branch) -> FoundAnswer:
    """Return a list of numbers as an answer."""
    return FoundAnswer(
        spans=numbers.spans,
        read_by=branch,
        end=numbers.end,
        is_open=numbers.is_open,
        may_go_on=(not numbers.opening or numbers.wants_more) and not text[numbers.end :].strip(" \t\n,;"),
    )


def found_items(text: str, items: ItemList, branch: Branch) -> FoundAnswer | None:
    """Return a list of items as an answer; None where one of them names nothing that is sure."""
    if items.spans is None:
        return None
    branch = "quotes" if items.is_quoted else branch
    return FoundAnswer(spans=items.spans, read_by=branch, end=items.end, may_go_on=_is_last(text, items.end))


def found_in_json(text: str, start: int, end: int, value: object, shown: ShownSentences) -> list[FoundAnswer | None]:
    """Return what a JSON value names, None where it cannot be told; nothing where it has no list or is the paper's."""
    try:
        spans = None if shown.hold(text[start:end], text[start]) else listed_in(value, shown)
    except UnsureListError:
        return [None]
    return [] if spans is None else [FoundAnswer(spans=spans, read_by="json", end=end)]


def _is_last(text: str, position: int) -> bool:
    """Whether nothing follows, not even a full stop."""
    return not text[position:].strip()


def line_end_of(text: str, position: int, end: int) -> int:
    """Return where the line of a position ends, at the end at the latest."""
    found = text.find("\n", position, end)
    return end if found < 0 else found
