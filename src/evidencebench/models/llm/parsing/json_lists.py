"""Lists of sentences in JSON values, whatever their keys."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evidencebench.models.llm.parsing.items import read_item, spans_of_items
from evidencebench.models.llm.parsing.loose_json import Cut, Number
from evidencebench.models.llm.parsing.numbers import read_run
from evidencebench.models.llm.parsing.phrases import says_none
from evidencebench.models.llm.parsing.quotes import ShownSentences
from evidencebench.models.llm.parsing.tokens import MAX_DIGITS, Span, span_of, whole_number

# Keys of a list, letters alone, the surest first.
_LIST_KEY_WORDS = (
    "sentences sentenceindices sentenceindexes sentenceids sentencenumbers selectedsentences "
    "selectedsentenceindices selectedsentenceids selectedindices selectedids selected selection indices indexes "
    "ids answer answers finalanswer finalselection finallist final evidencesentences evidenceindices "
    "evidencesentenceindices evidenceids evidence relevantsentences relevantindices supportingsentences "
    "keysentences chosensentences chosen"
)
_LIST_KEYS = tuple(_LIST_KEY_WORDS.split())
_ONLY_LIST_WORDS = "order ranking ranked rankedsentences list picks output result results response data"
_ONLY_LIST_KEYS = tuple(_ONLY_LIST_WORDS.split())
"""Keys that only count if no other one holds a list."""
_REFUSED_KEY = re.compile(
    "not|reject|exclud|irrelevant|candidate|consider|omit|discard|dropped|ignored|remov", re.IGNORECASE
)
_INDEX_KEYS = ("sentenceindex", "sentenceid", "sentencenumber", "sentenceno", "sentence", "index", "idx")
_NUMBERING_KEYS = ("id", "number", "no", "num", "s", "i")
"""Keys of an index that may also number the entries."""
_TEXT_KEYS = ("sentence", "text", "sentencetext", "quote", "content")
_MAX_DEPTH = 6
_BRACKETED = re.compile(r"[\s\"'*_]{0,9}\[\s?([0-9]{1,12})\s?\]")
_NOT_LETTERS = re.compile(r"[^a-z]+")


@dataclass(slots=True)
class Listed:
    """What a JSON value names."""

    spans: list[Span] = field(default_factory=list)
    is_cut: bool = False
    is_quoted: bool = False
    n_objects_unread: int = 0
    numbering: list[int] = field(default_factory=list)
    """Indices that may only number the entries, since no text bears them out."""


def letters(key: str) -> str:
    """Return a key as keys are compared."""
    return _NOT_LETTERS.sub("", key[:80].lower())


def listed_in(value: Any, shown: ShownSentences, *, depth: int = 0) -> Listed | None:
    """Return what a JSON value names: its own items, or those below the surest key; None where it names nothing.

    A list below a key that no one would call so is none.
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
    found = _listed_by_names(value, keys, _LIST_KEYS, shown, depth)
    if found is not None:
        return found
    if value and all(key.strip().isascii() and key.strip().isdecimal() for key in value):
        return _listed_by_keys(value, shown)
    inner = [one for key, one in value.items() if isinstance(one, (dict, list, Cut)) and not _REFUSED_KEY.search(key)]
    if len(inner) <= 1:
        found = _listed_by_names(value, keys, _ONLY_LIST_KEYS, shown, depth)
        if found is not None:
            return found
    lists = [one for one in inner if isinstance(one, list)]
    if depth and lists and len(lists) == len(inner):
        return _union([_listed_in_list(one, shown) for one in lists])
    if len(value) == len(inner) == 1 and not isinstance(inner[0], list):
        return listed_in(inner[0], shown, depth=depth + 1)
    return None if inner else _entry(value, shown)


def _entry(value: Mapping[str, Any], shown: ShownSentences) -> Listed | None:
    """Return what an object that stands alone names, as an element of a list would be read."""
    listed = Listed()
    if any(letters(key) in _INDEX_KEYS for key in value):
        _take_object(value, shown, listed, 0)
    return listed if listed.spans else None


def _listed_by_names(
    value: Mapping[str, Any], keys: Mapping[str, str], names: Sequence[str], shown: ShownSentences, depth: int
) -> Listed | None:
    for name in names:
        found = _listed_below(value[keys[name]], shown, depth) if name in keys else None
        if found is not None:
            return found
    return None


def _union(parts: Sequence[Listed | None]) -> Listed | None:
    """Return what all parts name; None where one names nothing that can be read."""
    whole = Listed()
    for part in parts:
        if part is None:
            return None
        whole.spans += part.spans
        whole.is_cut = whole.is_cut or part.is_cut
        whole.is_quoted = whole.is_quoted or part.is_quoted
    return whole


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
    for value in _by_rank(values):
        _take(value, shown, listed, 0)
    first = min(listed.numbering, default=2)
    if listed.n_objects_unread or (first <= 1 and listed.numbering == [*range(first, first + len(listed.numbering))]):
        return None
    if values and not listed.spans and not listed.is_cut:
        are_none = all(value is None or (isinstance(value, str) and says_none(value)) for value in values)
        return Listed() if are_none else None
    return listed


def _by_rank(values: list[Any]) -> list[Any]:
    """Return elements by their rank, where each is an object that has one."""
    ranked: list[tuple[float, Any]] = []
    for value in values:
        ranks = [one for key, one in value.items() if letters(key) == "rank"] if isinstance(value, dict) else []
        if len(ranks) != 1 or not isinstance(ranks[0], Number) or len(ranks[0].text) > MAX_DIGITS:
            return values
        ranked.append((float(ranks[0].text), value))
    return [value for _, value in sorted(ranked, key=lambda pair: pair[0])]


def _take(value: Any, shown: ShownSentences, listed: Listed, depth: int) -> None:
    """Add what one element of a list names."""
    if isinstance(value, Cut):
        listed.is_cut = True
        if depth < _MAX_DEPTH:
            _take(value.value, shown, listed, depth + 1)
            listed.n_objects_unread = 0
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


def _take_object(value: Mapping[str, Any], shown: ShownSentences, listed: Listed, depth: int) -> None:
    """Add what an entry names: its list, else its index, which a number in its text or its very text overrules.

    One with a false in it is said not to count.
    """
    if any(one is False for one in value.values()):
        return
    by_name = {letters(key): one for key, one in value.items()}
    lists = [by_name[name] for name in _LIST_KEYS if isinstance(by_name.get(name), list)]
    lists = lists or [by_name[name] for name in _INDEX_KEYS if isinstance(by_name.get(name), list)]
    if lists:
        _take(lists[0], shown, listed, depth + 1)
        return
    name = next((name for name in (*_INDEX_KEYS, *_NUMBERING_KEYS) if _is_index(by_name.get(name))), None)
    texts = [by_name[key] for key in _TEXT_KEYS if isinstance(by_name.get(key), str) and key != name]
    if name is None and texts:
        _take_text(texts[0], shown, listed)
    elif name is None:
        listed.n_objects_unread += 1
    else:
        told = _index_in(texts[0], by_name[name], shown) if texts else None
        if told is not None:
            listed.spans.append((told, told))
            return
        _take(by_name[name], shown, listed, depth + 1)
        if texts and name in _NUMBERING_KEYS and listed.spans:
            listed.numbering.append(listed.spans[-1][0])


def _is_index(value: Any) -> bool:
    return isinstance(value, Number) or (isinstance(value, str) and value.strip("[]#sS ").isdecimal())


def _index_in(text: str, index: Any, shown: ShownSentences) -> int | None:
    """Return the sentence that a text names by a number in brackets or by its words, its own index first."""
    bracketed = _BRACKETED.match(text)
    if bracketed is not None:
        return whole_number(bracketed[1])
    digits = (index.text if isinstance(index, Number) else index).strip("[]#sS ")
    if digits.isascii() and digits.isdecimal() and shown.begins(whole_number(digits), text):
        return whole_number(digits)
    return shown.index_of_part(text)


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
    if index_of_text is not None:
        listed.is_quoted = True
        listed.spans.append((index_of_text, index_of_text))
