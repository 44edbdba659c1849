"""A JSON value, and what it names, whatever its keys."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from evidencebench.models.llm.parsing.items import read_item
from evidencebench.models.llm.parsing.numbers import Span, read_numbers, span_of
from evidencebench.models.llm.parsing.phrases import says_none
from evidencebench.models.llm.parsing.shown import ShownSentences

# Keys as they are compared: in small letters, without anything else. The surest come first.
_LIST_WORDS = (
    "sentences sentenceindices sentenceids sentencenumbers selectedsentences selectedsentenceindices selectedids "
    "selectedindices selected selection indices indexes ids answer answers finalanswer evidencesentences "
    "evidenceindices evidence order ranking"
)
_LISTS = tuple(_LIST_WORDS.split())
_AROUND = ("result", "results", "output", "response", "data")  # of an object with such a list
_INDICES = ("sentenceindex", "sentenceid", "sentencenumber", "sentence", "index", "idx")
_TEXTS = ("sentence", "text", "quote", "content")
_NUMBERINGS = ("id", "number", "no")  # of an index that may also number the entries
_NO_LETTERS = re.compile(r"[^a-z]+")
_TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")
_NEXT_OBJECT = re.compile(r"[\s,]*\n[\s,]*(?=\{)")
_KEY = r"(?:(?:selected|final)[_ ]?)?(?:sentences|indices|answer)"
LOOSE_KEY = re.compile(
    rf"(?:(?P<mark>[\"']){_KEY}(?P=mark)\s*[:=]|(?<=\{{){_KEY}:|^{_KEY}\s*=)\s*(?=\[)", re.IGNORECASE | re.MULTILINE
)
"""The key of a list in what is nearly JSON, such as Python, or is cut off."""

_MAX_DEPTH = 5
_MAX_VALUES = 500


class JsonNumber(str):
    """A number as written; its digits may be more than Python likes to convert."""

    __slots__ = ()


_DECODER = json.JSONDecoder(strict=False, parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=JsonNumber)


class UnsureListError(ValueError):
    """What a list holds is not sure to name a sentence."""


def json_at(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON value at a position, trailing commas forgiven, and the position behind it; None: there is none.

    Of objects one behind the other, as in lines of JSON, the value is a list.

    Examples
    --------
    >>> json_at('{"sentences": [3, 17,]}.', 0)
    ({'sentences': ['3', '17']}, 23)
    """
    first = _value_at(text, start)
    if first is None or not isinstance(first[0], dict):
        return first
    values: list[Any] = [first[0]]
    end = first[1]
    while len(values) < _MAX_VALUES and (found := _NEXT_OBJECT.match(text, end)):
        later = _value_at(text, found.end())
        if later is None:
            return [*values, None], len(text)
        values.append(later[0])
        end = later[1]
    has_lists = any(
        comparable_key(key) in _LISTS and isinstance(one, list) for value in values for key, one in value.items()
    )
    if len(values) > 1 and has_lists:
        values.append(None)  # several answers rather than one in parts
    return first if len(values) == 1 else (values, end)


def _value_at(text: str, start: int) -> tuple[Any, int] | None:
    for one in (text, None):
        try:
            whole = _TRAILING_COMMA.sub(" ", text) if one is None else one
            value, end = _DECODER.raw_decode(whole, start)
        except (ValueError, RecursionError):
            continue
        return (value, end) if isinstance(value, (dict, list)) else None
    return None


def comparable_key(key: str) -> str:
    """Return a key as keys are compared."""
    return _NO_LETTERS.sub("", key[:80].lower())


def listed_in(value: Any, shown: ShownSentences, depth: int = 0) -> list[Span] | None:
    """Return what a JSON value names: its own items, or those below the surest key; None where it has no such key.

    Raises `UnsureListError` if there is a list, and one of its items is not sure to name a sentence.
    """
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [span for one in _by_rank(value) for span in _named_by(one, shown, depth)]
    if not isinstance(value, dict):
        return None
    by_name = {comparable_key(key): one for key, one in value.items()}
    for name in _LISTS:
        if name in by_name and (found := _listed_below(by_name[name], shown, depth)) is not None:
            return found
    inner = [name for name, one in by_name.items() if isinstance(one, (dict, list))]
    if len(inner) == 1 and inner[0] in _AROUND:
        return listed_in(by_name[inner[0]], shown, depth + 1)
    return _named_by(value, shown, depth) if by_name.keys() & set(_INDICES) else None


def _listed_below(value: Any, shown: ShownSentences, depth: int) -> list[Span] | None:
    """Return what stands below the key of a list, which may also be the key of its explanation."""
    if isinstance(value, (dict, list)):
        found = listed_in(value, shown, depth + 1)
        if found is None:
            raise UnsureListError
        return found
    if value is None or (isinstance(value, str) and says_none(value)):
        return []
    if isinstance(value, JsonNumber):
        return _named_by(value, shown, depth)
    numbers = read_numbers(value, 0, len(value)) if isinstance(value, str) else None
    is_whole = numbers is not None and numbers.end == len(value.rstrip(" .")) and not numbers.is_open
    return numbers.spans if numbers is not None and is_whole else None


def _by_rank(values: list[Any]) -> list[Any]:
    """Return elements by their rank, where each is an object that has one."""
    ranks = [value.get("rank") if isinstance(value, dict) else None for value in values]
    if not values or not all(isinstance(rank, JsonNumber) and len(rank) < _MAX_DEPTH for rank in ranks):
        return values
    return [values[n] for n in sorted(range(len(values)), key=lambda n: float(str(ranks[n])))]


def _named_by(value: Any, shown: ShownSentences, depth: int) -> list[Span]:
    """Return what one element of a list names."""
    if isinstance(value, JsonNumber):
        digits = value.lstrip("-")
        return [span_of(digits, is_negative=value != digits)] if digits.replace(".", "").isdecimal() else [(0, None)]
    if isinstance(value, str):
        return _named_by_text(value, shown)
    if isinstance(value, list) and depth <= _MAX_DEPTH:
        return [span for one in value for span in _named_by(one, shown, depth + 1)]
    if isinstance(value, dict) and depth <= _MAX_DEPTH and not any(one is False for one in value.values()):
        for one in _naming_members({comparable_key(key): one for key, one in value.items()}):
            return _named_by(one, shown, depth + 1)
    raise UnsureListError


def _naming_members(by_name: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the members of an entry that may say its sentence, the surest first."""
    yield from (by_name[name] for name in _LISTS if isinstance(by_name.get(name), list))
    yield from (by_name[name] for name in (*_INDICES, *_TEXTS, *_NUMBERINGS) if by_name.get(name) is not None)


def _named_by_text(text: str, shown: ShownSentences) -> list[Span]:
    if says_none(text):
        return []
    found = read_numbers(text, 0, len(text))
    if found is not None and not found.is_open and found.end == len(text.rstrip()):
        return found.spans
    item = read_item(text, shown)
    if item is None or not item.spans:
        raise UnsureListError
    return list(item.spans)
