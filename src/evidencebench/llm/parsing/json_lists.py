"""Lists of sentences in JSON values, whatever their keys."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evidencebench.llm.parsing.items import read_item, spans_of_items
from evidencebench.llm.parsing.loose_json import Cut, Number
from evidencebench.llm.parsing.numbers import read_run
from evidencebench.llm.parsing.phrases import says_none
from evidencebench.llm.parsing.quotes import ShownSentences
from evidencebench.llm.parsing.tokens import Span, span_of

# Keys of a list, letters alone, the surest first.
_LIST_KEY_WORDS = (
    "sentences sentenceindices sentenceindexes sentenceids sentencenumbers selectedsentences "
    "selectedsentenceindices selectedsentenceids selectedindices selectedids selected selection indices indexes "
    "ids answer answers finalanswer finalselection finallist final evidencesentences evidenceindices "
    "evidencesentenceindices evidenceids evidence relevantsentences relevantindices supportingsentences "
    "keysentences chosensentences chosen order ranking ranked rankedsentences list picks sentence index output "
    "result results response data"
)
LIST_KEYS = tuple(_LIST_KEY_WORDS.split())
_INDEX_KEYS = (
    "sentenceindex",
    "sentenceid",
    "sentencenumber",
    "index",
    "idx",
    "id",
    "number",
    "no",
    "num",
    "sentence",
    "s",
    "i",
)
_TEXT_KEYS = ("sentence", "text", "sentencetext", "quote", "content")
_MAX_DEPTH = 6
_NOT_LETTERS = re.compile(r"[^a-z]+")


@dataclass(slots=True)
class Listed:
    """What a JSON value names."""

    spans: list[Span] = field(default_factory=list)
    is_cut: bool = False
    is_quoted: bool = False
    n_unread: int = 0


def letters(key: str) -> str:
    """Return a key as keys are compared."""
    return _NOT_LETTERS.sub("", key[:80].lower())


def listed_in(value: Any, shown: ShownSentences, *, depth: int = 0) -> Listed | None:
    """Return what a JSON value names: its own items, or those below the surest key; None where it names nothing.

    Below a key that no one would call so, a list counts if it is the only one of whole numbers.
    """
    if isinstance(value, Cut):
        inner = value.value
        if isinstance(inner, dict):
            return listed_in(inner, shown, depth=depth)
        found = listed_in(inner, shown, depth=depth)
        return Listed(spans=[] if found is None else found.spans, is_cut=True)
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return _listed_in_list(value, shown)
    if isinstance(value, dict):
        return _listed_in_object(value, shown, depth)
    return None


def _listed_in_object(value: Mapping[str, Any], shown: ShownSentences, depth: int) -> Listed | None:
    keys = {letters(key): key for key in value}
    for name in LIST_KEYS:
        if name in keys:
            found = _listed_below(value[keys[name]], shown, depth)
            if found is not None:
                return found
    if value and all(key.strip().isascii() and key.strip().isdecimal() for key in value):
        return _listed_by_keys(value, shown)
    if len(value) == 1 and isinstance(next(iter(value.values())), (dict, list, Cut)):
        return listed_in(next(iter(value.values())), shown, depth=depth + 1)
    lists = [one for one in value.values() if isinstance(one, list) and one and all(isinstance(n, Number) for n in one)]
    return _listed_in_list(lists[0], shown) if len(lists) == 1 else None


def _listed_below(value: Any, shown: ShownSentences, depth: int) -> Listed | None:
    """Return what stands below a key that tells it is a list."""
    if value is None:
        return Listed()
    if isinstance(value, (Number, str)):
        if isinstance(value, str) and says_none(value):
            return Listed()
        listed = Listed()
        _take(value, shown, listed, depth)
        return listed if listed.spans else None
    if isinstance(value, Cut) and isinstance(value.value, (Number, str)):
        return Listed(is_cut=True)
    return listed_in(value, shown, depth=depth + 1)


def _listed_by_keys(value: Mapping[str, Any], shown: ShownSentences) -> Listed | None:
    """Return what an object names whose keys are numbers: those of texts, or of what is true."""
    values = list(value.values())
    keys = [key.strip() for key in value]
    if all(isinstance(one, bool) for one in values):
        keys = [key for key, one in zip(keys, values, strict=True) if one]
        return Listed(spans=[span_of(key) for key in keys])
    if not all(isinstance(one, str) for one in values):
        return None
    items = [read_item(f"{key}. {text}", shown) for key, text in zip(keys, values, strict=True)]
    spans, is_quoted = spans_of_items([item for item in items if item is not None], shown)
    return Listed(spans=spans, is_quoted=is_quoted) if spans else None


def _listed_in_list(values: list[Any], shown: ShownSentences) -> Listed | None:
    listed = Listed()
    for value in values:
        _take(value, shown, listed, 0)
    if values and not listed.spans and not listed.is_cut:
        are_none = all(value is None or (isinstance(value, str) and says_none(value)) for value in values)
        return Listed() if are_none else None
    return listed


def _take(value: Any, shown: ShownSentences, listed: Listed, depth: int) -> None:
    """Add what one element of a list names."""
    if isinstance(value, Cut):
        listed.is_cut = True
        if depth < _MAX_DEPTH:
            _take(value.value, shown, listed, depth + 1)
    elif isinstance(value, Number):
        digits = value.text.lstrip("+-")
        spans = [(0, None)] if "e" in digits.lower() else [span_of(digits, is_negative=value.text.startswith("-"))]
        listed.spans += spans
    elif isinstance(value, str):
        _take_text(value, shown, listed)
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        for one in value:
            _take(one, shown, listed, depth + 1)
    elif isinstance(value, dict):
        _take_object(value, shown, listed, depth)
    else:
        listed.n_unread += 1


def _take_object(value: Mapping[str, Any], shown: ShownSentences, listed: Listed, depth: int) -> None:
    by_name = {letters(key): one for key, one in value.items()}
    for name in _INDEX_KEYS:
        one = by_name.get(name)
        is_number = isinstance(one, str) and one.strip("[]#sS ").isdecimal()
        if isinstance(one, Number) or is_number or (name.startswith("sentence") and isinstance(one, list)):
            _take(one, shown, listed, depth + 1)
            return
    for name in _TEXT_KEYS:
        if isinstance(by_name.get(name), str):
            _take_text(by_name[name], shown, listed)
            return
    listed.n_unread += 1


def _take_text(text: str, shown: ShownSentences, listed: Listed) -> None:
    run = read_run(text, 0, len(text))
    if run is not None and run.is_pure:
        listed.spans += run.spans
        return
    item = read_item(text, shown)
    if item is not None and item.spans:
        listed.spans += item.spans
        return
    if item is not None and item.ordinal is not None and shown.begins(item.ordinal, item.text):
        listed.spans.append((item.ordinal, item.ordinal))
        return
    index_of_text = shown.index_of_part(text)
    if index_of_text is None:
        listed.n_unread += 1
    else:
        listed.is_quoted = True
        listed.spans.append((index_of_text, index_of_text))
