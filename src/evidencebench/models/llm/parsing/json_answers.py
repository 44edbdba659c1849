"""Find the JSON values in a reply, and the sentences that they name by numbers, texts or objects in a list."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from evidencebench.models.llm.parsing.items import read_item
from evidencebench.models.llm.parsing.numbers import Span, read_numbers, whole_number
from evidencebench.models.llm.parsing.phrases import MARKS, says_none
from evidencebench.models.llm.parsing.text import ShownSentences, line_end_of

# Keys in the form in which they are compared: lower-case letters alone. The surest come first.
_LIST_KEYS = (
    *("sentences", "sentenceindices", "sentenceids", "sentencenumbers", "selectedsentences", "selectedsentenceindices"),
    *("selectedids", "selectedindices", "selected", "selection", "indices", "indexes", "ids", "answer", "answers"),
    *("finalanswer", "evidencesentences", "evidenceindices", "evidence", "order", "ranking"),
)
_INDEX_KEYS = ("sentenceindex", "sentenceid", "sentencenumber", "sentence", "index", "idx")
_ENTRY_KEYS = (*_INDEX_KEYS, "text", "quote", "content", "id", "number", "no")  # keys of an entry for its sentence
_MAX_PLACES = 40
_START = re.compile(r"^(?:[ \t]{0,8}```[^\n`]{0,20}\n\s*(?=[\[{])|[ \t]*(?=\{\s*\"|\[\s*[\"{]))", re.MULTILINE)
_TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")
# Numbers stay text, since Python refuses to convert thousands of digits.
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str)


class UnsureListError(ValueError):
    """It is not sure which sentence an entry of a list names."""


def json_at(text: str, start: int, decoder: json.JSONDecoder = _DECODER) -> tuple[Any, int] | None:
    """Return the JSON object or list at a position, and the position behind it; None without one. Forgive last commas.

    Numbers stay text, unless a decoder that reads them is given.

    Examples
    --------
    >>> json_at('{"sentences": [3, 17,]}.', 0)
    ({'sentences': ['3', '17']}, 23)
    """
    for is_forgiving in (False, True):
        try:
            value, end = decoder.raw_decode(_TRAILING_COMMA.sub(" ", text) if is_forgiving else text, start)
        except (ValueError, RecursionError):
            continue
        return (value, end) if isinstance(value, (dict, list)) else None
    return None


def json_values(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the start, the end and the value of each JSON object or list that opens a line or a code fence."""
    end = 0
    for place in list(_START.finditer(text))[-_MAX_PLACES:]:
        start = place.end()
        if start >= end and (found := json_at(text, start)) is not None:
            value, value_end = found
            # A list with text behind it, as in ``[41] text``, is a sentence with its number.
            if isinstance(value, dict) or not text[value_end : line_end_of(text, value_end, len(text))].strip(MARKS):
                end = value_end
                yield start, end, value


def by_comparable_key(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with its keys in the form in which they are compared: ``Sentence IDs`` is ``sentenceids``."""
    return {re.sub("[^a-z]+", "", key[:80].lower()): one for key, one in value.items()}


def listed_in(value: Any, shown: ShownSentences) -> list[Span] | None:
    """Return the sentences that a JSON value names, as a list or below its surest key; None where it is neither."""
    if isinstance(value, list):
        if all(isinstance(one, dict) and str(one.get("rank")).isdecimal() for one in value):
            value = sorted(value, key=lambda one: whole_number(one["rank"]))
        return [span for one in value for span in _read_entry(one, shown)]
    if isinstance(value, dict):
        by_name = by_comparable_key(value)
        for name in _LIST_KEYS:
            if name in by_name and (found := _read_below(by_name[name], shown)) is not None:
                return found
        if not by_name.keys().isdisjoint(_INDEX_KEYS):
            raise UnsureListError  # an entry without its list, such as a line of JSON
    return None


def _read_below(value: Any, shown: ShownSentences) -> list[Span] | None:
    """Return the sentences below the key of a list; None where a text stands there that is no list."""
    if value is None:
        return []
    if isinstance(value, str):
        return [] if says_none(value) else _read_numbers_alone(value)
    found = listed_in(value, shown)
    if found is None:
        raise UnsureListError
    return found


def _read_numbers_alone(text: str) -> list[Span] | None:
    """Return the numbers of a text that is a list of numbers and nothing else; else None."""
    numbers = read_numbers(text, 0, len(text))
    if numbers is None or numbers.is_open or numbers.end != len(text.rstrip(" .")):
        return None
    return numbers.spans


def _read_entry(value: Any, shown: ShownSentences) -> list[Span]:
    """Return the sentences that one entry of a list names."""
    if isinstance(value, str):
        return _read_text_entry(value, shown)
    if isinstance(value, list):
        return [span for one in value for span in _read_entry(one, shown)]
    if isinstance(value, dict) and not any(one is False for one in value.values()):
        by_name = by_comparable_key(value)
        for name in (*_LIST_KEYS, *_ENTRY_KEYS):
            one = by_name.get(name)
            if isinstance(one, list) or (one is not None and name in _ENTRY_KEYS):
                return _read_entry(one, shown)
    raise UnsureListError


def _read_text_entry(text: str, shown: ShownSentences) -> list[Span]:
    if says_none(text):
        return []
    if (found := _read_numbers_alone(text)) is not None:
        return found
    item = read_item(text, shown)
    if item is None or not item.spans:
        raise UnsureListError
    return list(item.spans)
