"""The answer of a reply: where it may stand, the last such place first, and what stands there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from evidencebench.models.llm.parsing.items import begins_with_number, read_items
from evidencebench.models.llm.parsing.json_answers import LOOSE_KEY, json_at
from evidencebench.models.llm.parsing.numbers import read_numbers
from evidencebench.models.llm.parsing.phrases import MARKS, has_letter, says_none
from evidencebench.models.llm.parsing.shown import ShownSentences
from evidencebench.models.llm.parsing.values import (
    NOT_CHOSEN,
    Branch,
    FoundAnswer,
    found_in_json,
    found_items,
    found_numbers,
    line_end_of,
    read_value,
)


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
_MAX_PLACES = 40  # of one kind, the last ones
_MAX_LINE = 4000
_MAX_SHORT = 300  # characters of a reply that says in words that nothing is selected


def find_answer(text: str, shown: ShownSentences, *, is_cut: bool) -> FoundAnswer | None:
    """Return the reply's answer, which may be an explicitly empty one; None where it has none.

    The last place that is not the paper's own line is the answer; one that cannot be read is an answer all the same.
    Two without a word between contradict each other, unless they name the same. Of a reply that was cut off, only the
    surest places are looked at. Raises `DoubtError` if its answer cannot be read for sure.
    """
    values = list(_json_values(text))
    outside = [True] * (len(text) + 1)
    for start, end, _ in values:
        outside[start:end] = [False] * (end - start)
    found = [
        (True, start, one) for start, end, value in values for one in found_in_json(text, start, end, value, shown)
    ]
    found += [
        (is_own, place.start, one)
        for place in _places(text, shown)
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
        start = place.end()
        value = json_at(text, start) if start >= end else None
        if value is None or (
            text[start] == "[" and text[value[1] : line_end_of(text, value[1], len(text))].strip(MARKS)
        ):
            continue  # ``[41] text`` is a sentence with its number
        end = value[1]
        yield start, end, value[0]


def _places(text: str, shown: ShownSentences) -> list[AnswerPlace]:
    """Return the places of the keyword and of tags, each ending where the line of the next one begins."""
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
        if shown.hold(_line_around(text, one.start()), one[0]):
            continue
        closing = text.find("</", one.end())
        while closing >= 0 and one["words"] and not text.startswith(one[0][1:], closing + 2):
            closing = text.find("</", closing + 2)
        end = len(text) if closing < 0 or not one["words"] else closing
        places.append(AnswerPlace(start=one.start(), value=one.end(), end=end, words=one[0], branch="tag"))
    places.sort(key=lambda place: place.start)
    for n, (place, later) in enumerate(pairwise(places)):
        line_start = text.rfind("\n", 0, later.start) + 1
        places[n] = replace(place, end=min(place.end, line_start if line_start > place.value else later.start))
    return places


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
        rest = "" if found is None else text[found.end : line_end_of(text, found.end, len(text))]
        yield is_own, None if place.is_quoted and has_letter(rest) else found


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
            return replace(found_numbers(text, numbers, "list"), end=len(text))
    items = read_items(text, 0, len(text), shown)
    if items is not None and not text[items.end :].strip(MARKS) and (items.is_quoted or items.items[0].kind == "pure"):
        return found_items(text, items, "list")
    return _chosen(text, shown)


def _chosen(text: str, shown: ShownSentences) -> FoundAnswer | None:
    """Return the list behind the last words of choosing."""
    for choice in reversed(list(_CHOICE.finditer(text))[-_MAX_PLACES:]):
        line = _line_around(text, choice.start())
        before = text[max(text.rfind("\n", 0, choice.start()) + 1, choice.start() - _MAX_LINE) : choice.end()]
        if NOT_CHOSEN.search(before) or shown.hold(line, choice[0].strip(), line):
            continue
        found = read_value(text, choice.end(), len(text), shown, "choice")
        if found is None or not found.spans or (found.read_by != "choice" and ":" not in choice[0]):
            continue
        rest = text[found.end :]
        is_end = not rest.strip(MARKS + "\n") or (found.read_by == "answer items" and "[" not in rest)
        return replace(found, read_by="choice") if is_end and not NOT_CHOSEN.search(rest) else None
    return None


def _line_around(text: str, position: int) -> str:
    """Return the line of a position, as far as is reasonable."""
    start = max(text.rfind("\n", 0, position) + 1, position - _MAX_LINE)
    return text[start : line_end_of(text, position, min(len(text), position + _MAX_LINE))]
