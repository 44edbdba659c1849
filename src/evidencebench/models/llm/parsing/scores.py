"""Find the scores of sentences in a reply: one on each line, or as JSON."""

import re
from collections.abc import Iterable, Iterator

from evidencebench.models.llm.parsing.json_answers import by_comparable_key, json_values
from evidencebench.models.llm.parsing.numbers import whole_number
from evidencebench.models.llm.parsing.text import MAX_LINE, ShownSentences, has_letter

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
_INDEX_KEYS = ("sentence", "sentenceindex", "sentenceid", "sentencenumber", "index", "idx", "id", "number")
_SCORE_KEYS = ("score", "rating", "relevance", "relevancescore", "value")
_LIST_KEYS = ("scores", "ratings", "sentences", "sentencescores", "results")
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
        inner = next((one for name in _LIST_KEYS if isinstance(one := by_name.get(name), (dict, list))), value)
        if isinstance(inner, dict):
            yield from (f"{key}: {one.get('score') if isinstance(one, dict) else one}" for key, one in inner.items())
        else:
            for entry in (by_comparable_key(one) for one in inner if isinstance(one, dict)):
                index, score = (
                    next((entry[name] for name in names if name in entry), "") for names in (_INDEX_KEYS, _SCORE_KEYS)
                )
                yield f"{index}: {score}"
