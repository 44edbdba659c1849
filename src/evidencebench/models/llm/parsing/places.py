"""The answer of a reply: where it may stand, the last such place first, and what stands there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from evidencebench.models.llm.parsing.items import ItemList, begins_with_number, read_item, read_items
from evidencebench.models.llm.parsing.json_answers import LOOSE_KEY, UnsureListError, json_at, listed_in
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


class DoubtError(ValueError):
    """What the answer names is not sure, and no earlier list counts in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlace:
    """Where an answer may stand: its keyword's position and words, and where its value may begin and must end."""

    start: int
    value: int
    end: int
    words: str
    branch: Branch
    is_quoted: bool = False  # whether a quotation mark stands before the keyword


_ANSWER = re.compile(
    r"^(?P<lead>[^\w\n/]{0,20}(?:(?:so|thus|therefore|hence|finally|here|is|my|the|final|draft|step|[0-9]{1,2})[\s,.:]+){0,5})"
    r"[*_]{0,3}(?P<words>answers?)(?![^\W_])(?:[ \t]+(?:indices|sentences|list)(?![^\W_]))?(?:[ \t]*\([^()\n]{0,60}\))?"
    r"[ \t*_`\"'\])>~$}]*(?:(?::|->|=>|=|-+(?=\s)|is(?![^\W_]):?|are(?![^\W_]):?)|(?=\[|\n|\Z))",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(
    r"<(?:(?:final|selected)[_-]?)?(?P<words>answers?|sentences|indices|selection)>|\\(?:boxed|fbox)\s{0,3}(?=\{)",
    re.IGNORECASE,
)
_BARE = re.compile(r"^(?:[ \t]{0,8}```[^\n`]{0,20}\n\s*(?=[\[{])|[ \t]*(?=\{\s*\"|\[\s*[\"{]))", re.MULTILINE)
_CHOICE = re.compile(
    r"(?<![^\W_])(?:(?:select|choose|pick|go\s+with|selected|chosen|picked)(?![^\W_])"
    r"[^\n0-9\[(:]{0,60}(?::|(?=[ \t*_`][\[0-9]))"
    r"|(?:answer|selection|choices?|picks|best|final|revised|sentences|indices|set|list|thus|therefore)(?![^\W_])"
    r"[^\n0-9\[(:]{0,60}(?::|(?:is|are)(?=[ \t*_`]+[\[0-9])))",
    re.IGNORECASE,
)
_NOT_CHOSEN = re.compile(
    r"(?<![^\W_])(?:not?|never|none|cannot|un\w+|other|exclu\w+|reject\w+|should|must|form|format|example|if|instead|why|number|count|total|length)(?![^\W_])|n't",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"(?:the\s+)?(?:(?:selected|chosen|best|final)\s+)?(?:sentences|indices|list)\s+(?:are|is)\s*:?", re.IGNORECASE
)
_BEFORE_VALUE = re.compile(r"(?:[\s*_$:]|```[A-Za-z0-9]{0,12}[ \t]*(?=\n))*+")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")
_MAX_PLACES = 40  # of one kind, the last ones
_MAX_LINE = 4000
_MAX_SHORT = 300  # characters of a reply that says in words that nothing is selected


def find_answer(text: str, shown: ShownSentences, *, is_cut: bool) -> FoundAnswer | None:
    """Return the reply's answer, which may be an explicitly empty one; None where it has none.

    The last place that is not the paper's own line is the answer; one that cannot be read is an answer all the same.
    Two without a word between contradict each other, unless they name the same. Of a reply that was cut off, only the
    surest places are looked at.

    Raises
    ------
    DoubtError
        If its answer cannot be read for sure.
    """
    values = list(_json_values(text))
    outside = [True] * (len(text) + 1)
    for start, end, _ in values:
        outside[start:end] = [False] * (end - start)
    found = [
        (True, start, one) for start, end, value in values for one in _found_in_json(text, start, end, value, shown)
    ]
    found += [
        (is_own, place.start, one)
        for place in _places(text)
        if outside[place.start]
        for is_own, one in _found_at(text, place, shown)
    ]
    keys = [
        key
        for key in LOOSE_KEY.finditer(text)
        if outside[key.start()] and not shown.hold(_line_around(text, key.start()), key[0].strip("\"' :=[\n"))
    ]
    if found:
        found.sort(key=lambda one: one[:2])
        _, start, last = found[-1]
        before = found[-2][2] if len(found) > 1 and found[-2][0] else None
        is_next = before is not None and not text[before.end : start].strip(MARKS + "\n")  # nothing revokes the first
        is_other = is_next and last is not None and before is not None and before.spans != last.spans
        if last is None or is_other or _is_revised(text, last, shown) or (keys and keys[-1].start() > last.end):
            raise DoubtError
        return last
    if len(keys) > 1:
        raise DoubtError
    for key in keys:
        numbers = read_numbers(text, key.end(), len(text))
        if numbers is not None and text[: key.start()].rstrip(" \t\n{")[-1:] != ":":
            return FoundAnswer(spans=numbers.spans, read_by="json key", end=numbers.end, is_open=numbers.is_open)
    return None if is_cut or values else _find_alone(text.strip(), shown)


def _json_values(text: str) -> Iterator[tuple[int, int, object]]:
    """Yield where the JSON values that open a line or a fence start and end, and the values."""
    end = 0
    for place in list(_BARE.finditer(text))[-_MAX_PLACES:]:
        value = json_at(text, place.end()) if place.end() >= end else None
        if value is not None:
            end = value[1]
            yield place.end(), end, value[0]


def _found_in_json(text: str, start: int, end: int, value: object, shown: ShownSentences) -> list[FoundAnswer | None]:
    """Return what a JSON value names, None where it cannot be told; nothing where it has no list or is the paper's."""
    try:
        spans = None if shown.hold(text[start:end], text[start]) else listed_in(value, shown)
    except UnsureListError:
        return [None]
    return [] if spans is None else [FoundAnswer(spans=spans, read_by="json", end=end)]


def _places(text: str) -> list[AnswerPlace]:
    """Return the places of the keyword and of tags, each ending where the next one begins."""
    places = [
        AnswerPlace(
            start=one.start("words"),
            value=one.end(),
            end=len(text),
            words=one["words"],
            branch="answer line",
            is_quoted=not {'"', "'", "`", ">"}.isdisjoint(one["lead"]),
        )
        for one in list(_ANSWER.finditer(text))[-_MAX_PLACES:]
        if _TAG.match(text, one.start("words") - 1) is None
    ]
    for one in list(_TAG.finditer(text))[-_MAX_PLACES:]:
        closing = text.find("</", one.end())
        while closing >= 0 and one["words"] and not text.startswith(one[0][1:], closing + 2):
            closing = text.find("</", closing + 2)
        end = len(text) if closing < 0 or not one["words"] else closing
        places.append(AnswerPlace(start=one.start(), value=one.end(), end=end, words=one[0], branch="tag"))
    places.sort(key=lambda place: place.start)
    starts = [*(place.start for place in places[1:]), len(text)] if places else []
    return [replace(place, end=min(place.end, start)) for place, start in zip(places, starts, strict=True)]


def _found_at(text: str, place: AnswerPlace, shown: ShownSentences) -> Iterator[tuple[bool, FoundAnswer | None]]:
    """Yield what stands at a place, None where it cannot be read, and whether the reply says it, not the paper.

    A place that quotes the paper holds nothing, nor does one with nothing behind it.
    """
    line = _line_around(text, place.start)
    found = read_value(text, place.value, place.end, shown, place.branch)
    said = text[place.start : place.value if found is None else found.end][:_MAX_LINE]
    is_own = not shown.hold(line, place.words, said if found else "")
    if found is None and (not is_own or not text[place.value : place.end].strip(MARKS + "\n")):
        return
    if found is None and text[place.value - 1] in "eEsS":  # *the answer is* begins other sentences too
        return
    if is_own or not (place.is_quoted or place.branch == "tag"):
        rest = "" if found is None else text[found.end : _line_end(text, found.end, len(text))]
        yield is_own, None if place.is_quoted and has_letter(rest) else found


def read_value(text: str, start: int, end: int, shown: ShownSentences, branch: Branch) -> FoundAnswer | None:
    """Return the list that stands at a place: JSON, words such as *none*, numbers on a line, or items below each other.

    None: there is none of which it is sure what it names.
    """
    before = _BEFORE_VALUE.match(text, start, end)
    start = before.end() if before else start
    line_end = _line_end(text, start, end)
    line = text[start:line_end]
    if text[start : start + 1] in {"{", "["} and (value := json_at(text[:end], start)) and not _is_numbers(value[0]):
        return next(iter(_found_in_json(text, start, value[1], value[0], shown)), None)
    if shown.index_of(line) is None:
        if says_none(text[start:end]):
            return FoundAnswer(spans=[], read_by=branch, end=line_end, may_go_on=_is_last(text, line_end))
        lead_in = _LEAD_IN.match(text, start, line_end)
        numbers = read_numbers(text, lead_in.end() if lead_in else start, end)
        if numbers is not None and _is_whole_list(text, numbers, end, shown):
            return _as_found(text, numbers, branch)
    is_introduced = line.rstrip(" *_").endswith(":") and not _NOT_CHOSEN.search(line) and read_item(line, shown) is None
    start = line_end + 1 if is_introduced else start
    starts_line = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    items = read_items(text, text.rfind("\n", 0, start) + 1 if starts_line else start, end, shown)
    is_sure = items is not None and (starts_line or len(items.items) > 1 or items.is_quoted)
    return _items_found(text, items, "answer items") if items is not None and is_sure else None


def _is_numbers(value: object) -> bool:
    return not value or (isinstance(value, list) and all(isinstance(one, str) and one.isdecimal() for one in value))


def _is_whole_list(text: str, numbers: NumberList, end: int, shown: ShownSentences) -> bool:
    """Whether numbers on a line are all that is named: nothing follows them but a remark, and no item below them."""
    line_end = _line_end(text, numbers.end, end)
    rest = text[numbers.end : line_end]
    if numbers.is_open and numbers.end < len(text.rstrip()) and text[numbers.end : end].strip(" \t\n,"):
        return False
    if not is_remark(rest):
        return False
    if len(numbers.spans) == 1 and not numbers.opening and rest[:1] in {".", ")"} and has_letter(rest):
        return False  # which may only number an item
    gap = _BLANK_LINES.match(text, line_end, end)
    below_start = gap.end() if gap else end
    line, is_next = text[below_start : _line_end(text, below_start, end)], below_start - line_end == 1
    below = read_item(line, shown)
    if below is None or not below.spans:
        return not (is_next and begins_with_number(line))
    if below.kind == "pure":
        return len(numbers.spans) != 1 and not is_next
    return not is_next or (len(numbers.spans) > 1 and not rest.strip(MARKS))


def _as_found(text: str, numbers: NumberList, branch: Branch) -> FoundAnswer:
    return FoundAnswer(
        spans=numbers.spans,
        read_by=branch,
        end=numbers.end,
        is_open=numbers.is_open,
        may_go_on=(not numbers.opening or numbers.wants_more) and not text[numbers.end :].strip(" \t\n,;"),
    )


def _items_found(text: str, items: ItemList, branch: Branch) -> FoundAnswer | None:
    if items.spans is None:
        return None
    branch = "quotes" if items.is_quoted else branch
    return FoundAnswer(spans=items.spans, read_by=branch, end=items.end, may_go_on=_is_last(text, items.end))


def _is_revised(text: str, found: FoundAnswer, shown: ShownSentences) -> bool:
    """Whether a later line is a list of sentences too, such as ``Revised list: [3, 17]``."""
    for line in text[found.end :].split("\n")[1:]:
        start = line.find(":") + 1
        numbers = read_numbers(line, start, len(line)) if len(line) <= _MAX_LINE else None
        if numbers is None or line[numbers.end :].strip(MARKS) or not (numbers.opening or len(numbers.spans) > 1):
            continue
        if numbers.spans and not shown.hold(line, line[start : numbers.end].strip(MARKS)):
            return True
    return False


def _find_alone(text: str, shown: ShownSentences) -> FoundAnswer | None:
    """Return the list of a reply without a keyword, where it is clearly no citation; None where there is none.

    It is the whole reply, its last line in brackets, or what the last words of choosing (*I select*, *Selected
    sentences:*) introduce, if nothing but a remark stands behind it.
    """
    if len(text) <= _MAX_SHORT and "\n\n" not in text and says_none(text):
        return FoundAnswer(spans=[], read_by="list", end=len(text))
    above, _, last = text.rpartition("\n")
    is_first = not begins_with_number(above.rstrip().rpartition("\n")[2])
    for start in (0, len(text) - len(last)):
        numbers = read_numbers(text, start, len(text)) if is_first or start == 0 else None
        if numbers is None or numbers.is_open or text[numbers.end :].strip(MARKS):
            continue
        if start == 0 or (numbers.opening and numbers.spans):
            return replace(_as_found(text, numbers, "list"), end=len(text))
    items = read_items(text, 0, len(text), shown)
    if items is not None and not text[items.end :].strip(MARKS) and (items.is_quoted or items.items[0].kind == "pure"):
        return _items_found(text, items, "list")
    return _chosen(text, shown)


def _chosen(text: str, shown: ShownSentences) -> FoundAnswer | None:
    """Return the list behind the last words of choosing."""
    for choice in reversed(list(_CHOICE.finditer(text))[-_MAX_PLACES:]):
        line = _line_around(text, choice.start())
        before = text[max(text.rfind("\n", 0, choice.start()) + 1, choice.start() - _MAX_LINE) : choice.end()]
        if _NOT_CHOSEN.search(before) or shown.hold(line, choice[0].strip(), line):
            continue
        found = read_value(text, choice.end(), len(text), shown, "choice")
        if found is None or not found.spans or (found.read_by != "choice" and ":" not in choice[0]):
            continue
        rest = text[found.end :]
        is_end = not rest.strip(MARKS + "\n") or (found.read_by == "answer items" and "[" not in rest)
        return replace(found, read_by="choice") if is_end and not _NOT_CHOSEN.search(rest) else None
    return None


def _is_last(text: str, position: int) -> bool:
    """Whether nothing follows, not even a full stop."""
    return not text[position:].strip()


def _line_end(text: str, position: int, end: int) -> int:
    found = text.find("\n", position, end)
    return end if found < 0 else found


def _line_around(text: str, position: int) -> str:
    """Return the line of a position, as far as is reasonable."""
    start = max(text.rfind("\n", 0, position) + 1, position - _MAX_LINE)
    return text[start : _line_end(text, position, min(len(text), position + _MAX_LINE))]
