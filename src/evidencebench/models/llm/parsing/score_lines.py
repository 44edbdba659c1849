"""Scores of sentences, one a line or as JSON."""

import re
from collections.abc import Mapping
from typing import Any

from evidencebench.models.llm.parsing.json_lists import letters
from evidencebench.models.llm.parsing.loose_json import Cut, Number, read_json
from evidencebench.models.llm.parsing.quotes import ShownSentences
from evidencebench.models.llm.parsing.tokens import whole_number

Pairs = list[tuple[int, float]]
"""Index and score, as given."""

_KEYWORD = re.compile(
    r"^[^\w\n]{0,20}(?:final[ \t])?(?:scores?|ratings?)[ \t*_`]{0,6}(?::|$)[ \t*_]*", re.IGNORECASE | re.MULTILINE
)
_JSON_START = re.compile(r"^[ \t]*+(?:```[A-Za-z]{0,12}\s{0,9})?(?=[\[{])", re.MULTILINE)
_MARK = r"[ \t*_`\"']"
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,12})?"
_INDEX = re.compile(
    rf"[ \t]*+(?:[-+*>#|]++[ \t]*+)?(?:[0-9]{{1,6}}[.)][ \t]++(?=[\[(]|sentence))?{_MARK}*+"
    rf"(?:(?:sentence|index|idx|id|no\.?|s)[ \t]?)?#?(?P<open>[\[(])?[ \t]*+(?P<first>[0-9]++)"
    rf"(?:{_MARK}*+(?:-|to|\.\.){_MARK}*+"
    rf"(?P<last>[0-9]++)(?={_MARK}*+[\])]?{_MARK}*+[:=]))?[ \t]*+(?(open)[\])]){_MARK}*+",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?:->|=>|[:=|,;\t>-]|[.)](?=[ \t]))[ \t*_`\"']*|(?<=[ \t\])*_`\"'])")
_SCORE = re.compile(
    rf"(?:scores?|rating|relevance)?[ \t:=*_`\"'(\[]*(?P<sign>-)?(?P<score>{_NUMBER}(?:,[0-9](?=[ \t]*(?:$|[/(-])))?)"
    rf"(?:[ \t]*(?:/|out[ \t]of)[ \t]*(?P<of>{_NUMBER})|(?P<percent>[ \t]*%))?(?![\w.]*[\w])[ \t*_`\"')\]]*",
    re.IGNORECASE,
)
_END = re.compile(r"[ \t]*(?:$|[.;,|(#]|\[[0-9]|-+(?=\s)|:|because|since|as\b)", re.IGNORECASE)
_TAIL = re.compile(
    rf"(?::|->|=>|[|=\t]|-[ \t]|\(|score)[ \t]*(?=(?:scores?[ \t:=]{{0,6}})?[*_`\[(]{{0,6}}{_NUMBER})", re.IGNORECASE
)
_INDEX_KEYS = (
    "sentence",
    "sentenceindex",
    "sentenceid",
    "sentencenumber",
    "index",
    "idx",
    "id",
    "number",
    "i",
    "s",
    "no",
)
_SCORE_KEYS = ("score", "rating", "relevance", "relevancescore", "value", "grade", "points")
_LIST_KEYS = ("scores", "ratings", "sentences", "sentencescores", "results", "relevance", "answer")
_MANY = r"[0-9]++(?:(?:[ \t]*[,;&][ \t]+|[ \t]+and[ \t]+)[0-9]++)+|[0-9]++(?:,[0-9]++){2,}"
_LISTS = re.compile(rf"[ \t]*(?:[-*+][ \t]+)?\[?(?:{_MANY}|[0-9]++,[0-9]++)\]?[ \t*_]*[:=]", re.IGNORECASE)
_IS_LISTED = re.compile(
    rf"[ \t]*(?:[-*+][ \t]+)?[*_]*[0-9]{{1,12}}[ \t*_]*[:=][ \t*_]*\[?[ \t]*(?:{_MANY})[ \t]*\]?[ \t.*_]*$",
    re.IGNORECASE,
)
_MAX_LINE = 4000
_MAX_DEPTH = 4
_MAX_SCORE = 10


def find_scores(text: str, shown: ShownSentences, *, is_cut: bool) -> Pairs:
    """Return the scores in a reply: from JSON if it holds some, else from the lines below the last keyword.

    Parameters
    ----------
    text
        As `visible_text` returns it.
    shown
        The sentences that the prompt showed.
    is_cut
        Whether the reply was cut off: then the end of what is not closed does not count.

    Nothing is read where a line gives sentences to a score, as ``7: 3, 12``. A line ``3, 12: 7`` is left out.
    """
    keywords = list(_KEYWORD.finditer(text))
    for start in [keyword.end() for keyword in keywords[-1:]] + [0] * bool(text):
        found = _in_json(text, start, shown)
        if found:
            return found
        lines = [line[:_MAX_LINE] for line in (text[start:].split("\n")[:-1] if is_cut else text[start:].split("\n"))]
        if any(_IS_LISTED.match(line) for line in lines):
            return []
        found = [pair for line in lines if line and not _LISTS.match(line) for pair in _pairs_on(line, shown)]
        if found:
            return [] if _are_turned_round(found) else found
    return []


def _in_json(text: str, start: int, shown: ShownSentences) -> Pairs:
    for found in list(_JSON_START.finditer(text, start))[:5]:
        value = read_json(text, found.end())
        pairs = [] if value is None else _pairs_in(value[0], shown, 0)
        if pairs:
            return pairs
    return []


def _pairs_in(value: Any, shown: ShownSentences, depth: int) -> Pairs:
    if isinstance(value, Cut):
        inner = value.value[:-1] if isinstance(value.value, list) and value.value[-1:] else value.value
        return _pairs_in(inner, shown, depth)
    if depth > _MAX_DEPTH:
        return []
    if isinstance(value, list):
        return _pairs_in_list(value, shown)
    if not isinstance(value, dict):
        return []
    keys = {letters(key): key for key in value}
    for name in _LIST_KEYS:
        if name in keys and isinstance(value[keys[name]], (dict, list, Cut)):
            return _pairs_in(value[keys[name]], shown, depth + 1)
    pairs = []
    for key, score in value.items():
        index = _INDEX.fullmatch(key[:60].strip())
        number = _score_of(score.get("score") if isinstance(score, dict) else score)
        if index is not None and number is not None:
            pairs.append((whole_number(index["first"]), number))
    return pairs


def _pairs_in_list(values: list[Any], shown: ShownSentences) -> Pairs:
    if len(values) > 1 and all(isinstance(value, Number) for value in values):  # ``[0] text: 7`` is no list of scores
        numbers = [_score_of(value) for value in values]
        scores = [number for number in numbers if number is not None]
        return list(zip(shown.texts, scores, strict=True)) if len(scores) == len(shown.texts) else []
    pairs: Pairs = []
    for value in values:
        if isinstance(value, dict):
            pairs += _pair_of(value)
        elif isinstance(value, list) and len(value) == 2:  # noqa: PLR2004 - a pair
            index, score = _index_of(value[0]), _score_of(value[1])
            pairs += [] if index is None or score is None else [(index, score)]
        elif isinstance(value, str):
            pairs += _pairs_on(value[:_MAX_LINE], shown)
    return pairs


def _pair_of(entry: Mapping[str, Any]) -> Pairs:
    by_name = {letters(key): value for key, value in entry.items()}
    indices = [found for name in _INDEX_KEYS if (found := _index_of(by_name.get(name))) is not None]
    scores = [score for name in _SCORE_KEYS if (score := _score_of(by_name.get(name))) is not None]
    return [(indices[0], scores[0])] if indices and scores else []


def _index_of(value: Any) -> int | None:
    text = value.text if isinstance(value, Number) else value
    found = _INDEX.fullmatch(text[:60].strip()) if isinstance(text, str) else None
    return None if found is None else whole_number(found["first"])


def _score_of(value: Any) -> float | None:
    text = value.text if isinstance(value, Number) else value
    found = _SCORE.fullmatch(text[:60].strip()) if isinstance(text, str) else None
    return None if found is None else _scaled(found)


def _scaled(found: re.Match[str]) -> float:
    """Return a score on the scale 0 to 10, which those before a slash or a percent sign say is another one."""
    score = float(found["score"].replace(",", ".")) * (-1 if found["sign"] else 1)
    if found["percent"]:
        return score / 10
    highest = float(found["of"]) if found["of"] else 10.0
    return score * 10 / highest if highest > 0 else score


def _are_turned_round(pairs: Pairs) -> bool:
    """Whether the scores seem to stand first: all of these are at most 10, and one behind them is more."""
    return len(pairs) > 1 and all(index <= _MAX_SCORE for index, _ in pairs) and any(s > _MAX_SCORE for _, s in pairs)


def _pairs_on(line: str, shown: ShownSentences) -> Pairs:
    """Return the scores on a line: usually one, several where nothing but pairs stands there."""
    pairs: Pairs = []
    position = 0
    while position < len(line):
        index = _INDEX.match(line, position)
        if index is None:
            break
        between = _BETWEEN.match(line, index.end())
        is_echo = between is None or _begins_sentence(
            line, between.end(), shown.texts.get(whole_number(index["first"]))
        )
        score = None if between is None or is_echo else _SCORE.match(line, between.end())
        if between is None or score is None or _END.match(line, score.end()) is None:
            score = None if pairs else _score_behind_text(line, index, shown)
        if score is None:
            break
        first = whole_number(index["first"])
        last = whole_number(index["last"]) if index["last"] else first
        is_range = first <= last < first + max(1, len(shown.texts))  # no other range says anything
        pairs += [(number, _scaled(score)) for number in range(first, last + 1) if is_range]
        following = _NEXT.match(line, score.end())
        if following is None:
            break
        position = following.end()
    return pairs


def _begins_sentence(line: str, position: int, sentence: str | None) -> bool:
    return sentence is not None and any(map(str.isalpha, sentence)) and line.startswith(sentence.strip(), position)


_NEXT = re.compile(
    r"[ \t]*(?:[,;|][ \t]*|(?=\[))(?=[*_`\"']*(?:sentence[ \t]*)?#?[\[(]?[0-9]{1,12}[\])]?[*_`\"']*[ \t]*[:=])",
    re.IGNORECASE,
)


def _score_behind_text(line: str, index: re.Match[str], shown: ShownSentences) -> re.Match[str] | None:
    """Return the score at the end of a line that repeats its sentence; numbers of the sentence itself are none."""
    own = shown.texts.get(whole_number(index["first"]))
    position = index.end()
    if own is not None and (at := line.find(own.strip(), position)) >= 0 and own.strip():
        position = at + len(own.strip())
    for found in list(_TAIL.finditer(line, position))[::-1][:5]:
        score = _SCORE.match(line, found.end())
        if score is not None and not line[score.end() :].strip(" \t.*_`\"')]|;,"):
            return score
    return None
