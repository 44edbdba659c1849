"""JSON and scores in a reply."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evidencebench.models.llm.grammar_lists import (
    MARKS,
    MAX_LINE,
    ShownSentences,
    Span,
    has_letter,
    line_end_of,
    read_item,
    read_numbers,
    says_none,
    whole_number,
)

# Find the JSON values in a reply, and the sentences that they name by numbers, texts or objects in a list.


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


# Find the scores of sentences in a reply: one on each line, or as JSON.

Pairs = list[tuple[int, float]]
"""Index and score of sentences, in the order of the reply."""

_KEYWORD = re.compile(
    r"^[^\w\n]{0,20}(?:final[ \t])?(?:scores?|ratings?)[ \t*_`]{0,6}(?::|$)[ \t*_]*", re.IGNORECASE | re.MULTILINE
)
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,12})?"
_INDEX = (
    r"[ \t]*+(?:[-+*>|]++[ \t]*+)?(?:[0-9]{1,6}[.)][ \t]++(?=[\[(]|sentence))?[ \t*_`\"']*+"
    r"(?:(?:sentence|index|idx|id|no\.?|s)[ \t]?)?#?(?P<open>[\[(])?"
    r"[ \t]*+(?P<index>[0-9]++)(?(open)[ \t]*[\])])[*_`\"']*+"
)
_SCORE = (
    rf"(?:scores?|rating|relevance)?[ \t:=*_`\"'(\[]*(?P<sign>-)?(?P<score>{_NUMBER}(?:,[0-9](?=[ \t]*(?:$|[/(-])))?)"
    rf"(?:[ \t]*(?:/|out[ \t]of)[ \t]*(?P<of>{_NUMBER})|(?P<percent>[ \t]*%))?(?![\w.]*[\w])[*_`\"')\]]*"
)
_BETWEEN = r"(?:[ \t]*(?:->|=>|[:=|,;\t>-]|[.)](?=[ \t]))[ \t*_`\"']*|[ \t]+|(?<=[\])]))"
_LINE = re.compile(
    rf"{_INDEX}(?P<between>{_BETWEEN}){_SCORE}(?P<rest>[ \t]*(?:$|[.;,|(#]|-+(?=\s)|because|since|as\b).*)",
    re.IGNORECASE,
)
_MORE = re.compile(r"[ \t]*(?:[,;&]|and\b)[ \t]*[0-9]+[ \t]*(?:$|[,;&\]]|and\b)", re.IGNORECASE)
_ANOTHER = re.compile(r"[0-9][\])*\"']*[ \t]*[:=][ \t]*[\[*(]*[0-9]")
_SCORES_INDEX_KEYS = ("sentence", "sentenceindex", "sentenceid", "sentencenumber", "index", "idx", "id", "number")
_SCORE_KEYS = ("score", "rating", "relevance", "relevancescore", "value")
_SCORES_LIST_KEYS = ("scores", "ratings", "sentences", "sentencescores", "results")
_MAX_SCORE = 10


def find_scores(text: str, shown: ShownSentences, *, is_cut: bool) -> Pairs:
    """Return the scores in a reply: from JSON if it holds some, else from the lines below the last keyword.

    Nothing is read where a line gives several sentences to a score, as ``7: 3, 12``. A line ``3, 12: 7`` is left out,
    and so is one with two scores. In a reply that was cut off, the last line or open JSON entry does not count.
    """
    for start in [keyword.end() for keyword in list(_KEYWORD.finditer(text))[-1:]] + [0]:
        below = text[start:]
        whole = below[: below.rfind("}") + 1] + "]}" if is_cut else ""  # closed behind its last whole entry
        for lines in (_json_lines(below), _json_lines(whole), below.split("\n")[: -1 if is_cut else None]):
            found = _read_lines(lines, shown)
            if found is None or found:
                return found or []
    return []


def _read_lines(lines: Iterable[str], shown: ShownSentences) -> Pairs | None:
    """Return the scores on lines; None where lines seem to give a score first, and then its sentences."""
    pairs: Pairs = []
    for line in lines:
        found = _LINE.match(line) if len(line) <= MAX_LINE else None
        if found is None:
            continue
        index = whole_number(found["index"])
        if has_letter(text := shown.texts.get(index, "")) and line.startswith(text.strip(), found.end("between")):
            continue  # the number is the first of the sentence's own text
        if _MORE.match(found["rest"]):
            return None
        if not _ANOTHER.search(found["rest"]):
            pairs.append((index, _scale(found)))
    are_turned_round = len(pairs) > 1 and all(index <= _MAX_SCORE for index, _ in pairs)
    return None if are_turned_round and any(score > _MAX_SCORE for _, score in pairs) else pairs


def _scale(found: re.Match[str]) -> float:
    """Return a score on the scale 0 to 10, such as 6 for ``3/5`` and for ``60%``."""
    score = float(found["score"].replace(",", ".")) * (-1 if found["sign"] else 1)
    if found["percent"]:
        return score / 10
    highest = float(found["of"]) if found["of"] else 10.0
    return score * 10 / highest if highest > 0 else score


def _json_lines(text: str) -> Iterator[str]:
    """Yield the entries of JSON values as lines such as ``12: 7``."""
    for _, _, value in json_values(text):
        by_name = by_comparable_key(value) if isinstance(value, dict) else {}
        inner = next((one for name in _SCORES_LIST_KEYS if isinstance(one := by_name.get(name), (dict, list))), value)
        if isinstance(inner, dict):
            yield from (f"{key}: {one.get('score') if isinstance(one, dict) else one}" for key, one in inner.items())
        else:
            for entry in (by_comparable_key(one) for one in inner if isinstance(one, dict)):
                index, score = (
                    next((entry[name] for name in names if name in entry), "")
                    for names in (_SCORES_INDEX_KEYS, _SCORE_KEYS)
                )
                yield f"{index}: {score}"
