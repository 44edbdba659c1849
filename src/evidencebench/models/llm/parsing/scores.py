"""Scores of sentences, one a line or as JSON."""

import re
from collections.abc import Mapping
from typing import Any

from evidencebench.models.llm.parsing.json_answers import comparable_key, json_at
from evidencebench.models.llm.parsing.numbers import whole_number
from evidencebench.models.llm.parsing.shown import ShownSentences

Pairs = list[tuple[int, float]]
"""Index and score, as given."""

_KEYWORD = re.compile(
    r"^[^\w\n]{0,20}(?:final[ \t])?(?:scores?|ratings?)[ \t*_`]{0,6}(?::|$)[ \t*_]*", re.IGNORECASE | re.MULTILINE
)
_JSON_START = re.compile(r"^[ \t]*+(?:```[A-Za-z]{0,12}\s{0,9})?(?=[\[{])", re.MULTILINE)
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
_INDEX_ALONE, _SCORE_ALONE = re.compile(_INDEX, re.IGNORECASE), re.compile(_SCORE, re.IGNORECASE)
_MORE = re.compile(r"[ \t]*(?:[,;&]|and\b)[ \t]*[0-9]+[ \t]*(?:$|[,;&\]]|and\b)", re.IGNORECASE)
_ANOTHER = re.compile(r"[0-9][\])*\"']*[ \t]*[:=][ \t]*[\[*(]*[0-9]")
_INDEX_KEYS = ["sentence", "sentenceindex", "sentenceid", "sentencenumber", "index", "idx", "id", "number"]
_SCORE_KEYS = ["score", "rating", "relevance", "relevancescore", "value"]
_LIST_KEYS = ["scores", "ratings", "sentences", "sentencescores", "results"]
_MAX_LINE = 4000
_MAX_DEPTH = 4
_MAX_SCORE = 10


def find_scores(text: str, shown: ShownSentences, *, is_cut: bool) -> Pairs:
    """Return the scores in a reply: from JSON if it holds some, else from the lines below the last keyword.

    Nothing is read where a line gives sentences to a score, as ``7: 3, 12``. A line ``3, 12: 7`` is left out, and so is
    one with two scores. Of a reply that was cut off, the end of what is not closed does not count.
    """
    for start in [keyword.end() for keyword in list(_KEYWORD.finditer(text))[-1:]] + [0] * bool(text):
        found = _in_json(text, start, is_cut=is_cut) or _on_lines(text[start:], shown, is_cut=is_cut)
        if found is None or found:
            return found or []
    return []


def _on_lines(text: str, shown: ShownSentences, *, is_cut: bool) -> Pairs | None:
    """Return the scores on lines; None where they seem to be scores with their sentences."""
    pairs: Pairs = []
    for line in text.split("\n")[: -1 if is_cut else None]:
        found = _LINE.match(line) if len(line) <= _MAX_LINE else None
        if found is None or _begins_sentence(line, found.end("between"), shown.texts.get(whole_number(found["index"]))):
            continue
        if _MORE.match(found["rest"]):
            return None
        if not _ANOTHER.search(found["rest"]):
            pairs.append((whole_number(found["index"]), _scaled(found)))
    are_turned_round = len(pairs) > 1 and all(index <= _MAX_SCORE for index, _ in pairs)
    return None if are_turned_round and any(score > _MAX_SCORE for _, score in pairs) else pairs


def _begins_sentence(line: str, position: int, sentence: str | None) -> bool:
    return sentence is not None and any(map(str.isalpha, sentence)) and line.startswith(sentence.strip(), position)


def _scaled(found: re.Match[str]) -> float:
    """Return a score on the scale 0 to 10, which those before a slash or a percent sign say is another one."""
    score = float(found["score"].replace(",", ".")) * (-1 if found["sign"] else 1)
    if found["percent"]:
        return score / 10
    highest = float(found["of"]) if found["of"] else 10.0
    return score * 10 / highest if highest > 0 else score


def _in_json(text: str, start: int, *, is_cut: bool) -> Pairs:
    for found in list(_JSON_START.finditer(text, start))[:5]:
        value = json_at(text, found.end())
        if value is None and is_cut:  # closed behind its last whole entry
            value = json_at(text[: text.rfind("}") + 1] + "]}", found.end())
        pairs = [] if value is None else _pairs_in(value[0], 0)
        if pairs:
            return pairs
    return []


def _pairs_in(value: Any, depth: int) -> Pairs:
    if isinstance(value, list):
        found = [_pair_of(one) for one in value if isinstance(one, dict)]
        return [(index, score) for index, score in found if index is not None and score is not None]
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return []
    by_name = {comparable_key(key): one for key, one in value.items()}
    for name in _LIST_KEYS:
        if isinstance(by_name.get(name), (dict, list)):
            return _pairs_in(by_name[name], depth + 1)
    found = [
        (_index_of(key), _score_of(one.get("score") if isinstance(one, dict) else one)) for key, one in value.items()
    ]
    return [(index, score) for index, score in found if index is not None and score is not None]


def _pair_of(entry: Mapping[str, Any]) -> tuple[int | None, float | None]:
    by_name = {comparable_key(key): value for key, value in entry.items()}
    index = next((found for name in _INDEX_KEYS if (found := _index_of(by_name.get(name))) is not None), None)
    return index, next((score for name in _SCORE_KEYS if (score := _score_of(by_name.get(name))) is not None), None)


def _index_of(value: Any) -> int | None:
    found = _INDEX_ALONE.fullmatch(value[:60].strip()) if isinstance(value, str) else None
    return None if found is None else whole_number(found["index"])


def _score_of(value: Any) -> float | None:
    found = _SCORE_ALONE.fullmatch(value[:60].strip()) if isinstance(value, str) else None
    return None if found is None else _scaled(found)
