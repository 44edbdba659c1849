"""A JSON value, and what it names: a list, below one of many keys, of numbers, texts, or objects that hold one."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from evidencebench.models.llm.parsing.items import read_item
from evidencebench.models.llm.parsing.numbers import Span, read_numbers, whole_number
from evidencebench.models.llm.parsing.phrases import MARKS, says_none
from evidencebench.models.llm.parsing.text import ShownSentences, line_end_of

# Keys as they are compared: in small letters, without anything else. The surest come first.
_LISTS = (
    *("sentences", "sentenceindices", "sentenceids", "sentencenumbers", "selectedsentences", "selectedsentenceindices"),
    *("selectedids", "selectedindices", "selected", "selection", "indices", "indexes", "ids", "answer", "answers"),
    *("finalanswer", "evidencesentences", "evidenceindices", "evidence", "order", "ranking"),
)
_INDICES = ("sentenceindex", "sentenceid", "sentencenumber", "sentence", "index", "idx")
_OF_ENTRIES = (*_INDICES, "text", "quote", "content", "id", "number", "no")  # what may say the sentence of an entry
_MAX_PLACES = 40
_START = re.compile(r"^(?:[ \t]{0,8}```[^\n`]{0,20}\n\s*(?=[\[{])|[ \t]*(?=\{\s*\"|\[\s*[\"{]))", re.MULTILINE)
_TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")
# Numbers as written: their digits may be more than Python likes to convert.
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str)


class UnsureListError(ValueError):
    """What a list holds is not sure to name a sentence."""


def json_at(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON object or list at a position, trailing commas forgiven, and the position behind it.

    Examples
    --------
    >>> json_at('{"sentences": [3, 17,]}.', 0)
    ({'sentences': ['3', '17']}, 23)
    """
    for is_forgiving in (False, True):
        try:
            value, end = _DECODER.raw_decode(_TRAILING_COMMA.sub(" ", text) if is_forgiving else text, start)
        except (ValueError, RecursionError):
            continue
        return (value, end) if isinstance(value, (dict, list)) else None
    return None


def json_values(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield where the JSON values that open a line or a fence start and end, and the values."""
    end = 0
    for place in list(_START.finditer(text))[-_MAX_PLACES:]:
        start = place.end()
        if start >= end and (found := json_at(text, start)) is not None:
            value, value_end = found
            # ``[41] text`` is a sentence with its number.
            if isinstance(value, dict) or not text[value_end : line_end_of(text, value_end, len(text))].strip(MARKS):
                end = value_end
                yield start, end, value


def by_comparable_key(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with its keys as they are compared."""
    return {re.sub("[^a-z]+", "", key[:80].lower()): one for key, one in value.items()}


def listed_in(value: Any, shown: ShownSentences) -> list[Span] | None:
    """Return what a JSON value names: its own items, or those below the surest key; None where it has no such key.

    Raises `UnsureListError` if there is a list, and one of its items is not sure to name a sentence.
    """
    if isinstance(value, list):
        if all(isinstance(one, dict) and str(one.get("rank")).isdecimal() for one in value):
            value = sorted(value, key=lambda one: whole_number(one["rank"]))
        return [span for one in value for span in _named_by(one, shown)]
    if isinstance(value, dict):
        by_name = by_comparable_key(value)
        for name in _LISTS:
            if name in by_name and (found := _listed_below(by_name[name], shown)) is not None:
                return found
        if not by_name.keys().isdisjoint(_INDICES):
            raise UnsureListError  # an entry without its list, such as a line of JSON
    return None


def _listed_below(value: Any, shown: ShownSentences) -> list[Span] | None:
    """Return what stands below the key of a list; None where it is a text, which may explain the list."""
    if value is None:
        return []
    if isinstance(value, str):
        return [] if says_none(value) else _whole_list(value)
    found = listed_in(value, shown)
    if found is None:
        raise UnsureListError
    return found


def _whole_list(text: str) -> list[Span] | None:
    """Return the numbers that a text is a list of, and nothing else."""
    numbers = read_numbers(text, 0, len(text))
    if numbers is None or numbers.is_open or numbers.end != len(text.rstrip(" .")):
        return None
    return numbers.spans


def _named_by(value: Any, shown: ShownSentences) -> list[Span]:
    """Return what one element of a list names."""
    if isinstance(value, str):
        return _named_by_text(value, shown)
    if isinstance(value, list):
        return [span for one in value for span in _named_by(one, shown)]
    if isinstance(value, dict) and not any(one is False for one in value.values()):
        by_name = by_comparable_key(value)
        for name in (*_LISTS, *_OF_ENTRIES):
            one = by_name.get(name)
            if isinstance(one, list) or (one is not None and name in _OF_ENTRIES):
                return _named_by(one, shown)
    raise UnsureListError


def _named_by_text(text: str, shown: ShownSentences) -> list[Span]:
    if says_none(text):
        return []
    if (found := _whole_list(text)) is not None:
        return found
    item = read_item(text, shown)
    if item is None or not item.spans:
        raise UnsureListError
    return list(item.spans)
