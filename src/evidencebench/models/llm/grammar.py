"""Find the answer in a reply's text: after words, in items, in JSON; and the scores of sentences."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from evidencebench.models.llm.grammar_lists import (
    MARKS,
    MAX_LINE,
    ItemList,
    NumberList,
    ShownSentences,
    Span,
    begins_with_number,
    has_letter,
    is_remark,
    line_around,
    line_end_of,
    plain_text,
    read_item,
    read_items,
    read_numbers,
    says_none,
    whole_number,
    without_turn_marks,
)


class Branch(StrEnum):
    """The branch of the grammar that read a reply. Runs count it under this name (``read_by ...``)."""

    ANSWER_LINE = "answer line"  # numbers, or *none*, behind ``ANSWER:``
    ITEMS = "answer items"  # a list with one item a line
    QUOTES = "quotes"  # the texts of sentences, one a line
    TAG = "tag"  # ``<answer>`` or a LaTeX box
    JSON = "json"
    JSON_KEY = "json key"  # a list behind a key in text that is nearly JSON, such as Python, or is cut off
    CHOICE = "choice"  # a list behind words of choosing, such as *I select*
    LIST = "list"  # a reply that is a list and nothing else, or that ends with one in brackets
    SCORE_LINES = "score lines"
    REFUSAL = "refusal"


class DoubtError(ValueError):
    """It is not sure which sentences the answer names. No earlier list counts in its place."""


class FoundAnswer(NamedTuple):
    """The sentences that a reply names; `spans` is empty where the reply says that none is selected."""

    spans: list[Span]
    read_by: Branch
    end: int  # position behind it
    is_open: bool = False  # whether a bracket is not closed
    may_go_on: bool = False  # whether it ends the text without a closing bracket


_MARKER = re.compile(
    r"""
    <(?:(?:final|selected)[_-]?)?(?P<tag>answers?|sentences|indices|selection)>
    |\\(?:boxed|fbox)\s{0,3}(?=\{)
    |^(?P<lead>[^\w\n/]{0,20}
        (?:(?:so|thus|therefore|hence|finally|here|is|my|the|final|draft|step|[0-9]{1,2})[\s,.:]+){0,5})
    [*_]{0,3}(?<!<)(?P<answer>answers?)(?![^\W_])
    (?:[ \t]+(?:indices|sentences|list)(?![^\W_]))?(?:[ \t]*\([^()\n]{0,60}\))?
    [ \t*_`"'\])>~$}]*(?:(?::|->|=>|=|-+(?=\s)|is(?![^\W_]):?|are(?![^\W_]):?)|(?=\[|\n|\Z))
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_KEY = r"(?:(?:selected|final)[_ ]?)?(?:sentences|indices|answer)"
_JSON_KEY = re.compile(
    rf"(?:(?P<mark>[\"']){_KEY}(?P=mark)\s*[:=]|(?<=\{{){_KEY}:|^{_KEY}\s*=)\s*(?=\[)", re.IGNORECASE | re.MULTILINE
)
_CHOICE = re.compile(
    r"(?<![^\W_])(?:(?:select|choose|pick|go\s+with|selected|chosen|picked)(?![^\W_])"
    r"[^\n0-9\[(:]{0,60}(?::|(?=[ \t*_`][\[0-9]))"
    r"|(?:answer|selection|choices?|picks|best|final|revised|sentences|indices|set|list|thus|therefore)(?![^\W_])"
    r"[^\n0-9\[(:]{0,60}(?::|(?:is|are)(?=[ \t*_`]+[\[0-9])))",
    re.IGNORECASE,
)
_NOT_CHOSEN = re.compile(
    r"(?<![^\W_])(?:not?|never|none|cannot|un\w+|other|exclu\w+|reject\w+|should|must|form|format|example|if|instead"
    r"|why|number|count|total|length)(?![^\W_])|n't",
    re.IGNORECASE,
)
_BEFORE_VALUE = re.compile(r"(?:[\s*_$:]|```[A-Za-z0-9]{0,12}[ \t]*(?=\n))*+")
_MAX_PLACES = 40  # of each kind, only the last so many are looked at
_MAX_SHORT = 300  # characters; a longer reply cannot say in words alone that nothing is selected


def find_answer(text: str, shown: ShownSentences, *, is_cut: bool) -> FoundAnswer | None:
    """Return the last answer that does not repeat the paper; raise `DoubtError` where it is not sure what it names."""
    values = list(json_values(text))
    inside = {position for start, end, _ in values for position in range(start, end)}
    markers = [(marker, end) for marker, end in _markers(text, shown) if marker.start() not in inside]
    answers = [
        *((True, start, own) for start, end, value in values for own in _json_answers(text, start, end, value, shown)),
        *(answer for marker, end in markers for answer in _answers_at(text, marker, end, shown)),
    ]
    keys = [
        key
        for key in _JSON_KEY.finditer(text)
        if key.start() not in inside and not shown.hold(line_around(text, key.start()), key[0].strip("\"' :=[\n"))
    ]
    if answers:
        # The last one, unless that is not sure; words must take back one before it that names others.
        answers.sort(key=lambda answer: answer[:2])
        _, start, last = answers[-1]
        if last is None or (keys and keys[-1].start() > last.end) or _is_revised(text, last, shown):
            raise DoubtError
        before = answers[-2][2] if len(answers) > 1 and answers[-2][0] else None
        if before and before.spans != last.spans and not text[before.end : start].strip(MARKS + "\n"):
            raise DoubtError
        return last
    if len(keys) > 1:
        raise DoubtError
    if keys:
        numbers = read_numbers(text, keys[0].end(), len(text))
        is_inner = text[: keys[0].start()].rstrip(" \t\n{").endswith(":")
        return None if numbers is None or is_inner else _answer_from_numbers(text, numbers, Branch.JSON_KEY)
    return None if is_cut or values else _find_alone(text.strip(), shown)


def _json_answers(text: str, start: int, end: int, value: object, shown: ShownSentences) -> list[FoundAnswer | None]:
    """Return the answer in a JSON value: [None] where it is not sure, [] without one or in a repeated sentence."""
    try:
        spans = None if shown.hold(text[start:end], text[start]) else listed_in(value, shown)
    except (DoubtError, RecursionError):
        return [None]
    return [] if spans is None else [FoundAnswer(spans=spans, read_by=Branch.JSON, end=end)]


def _markers(text: str, shown: ShownSentences) -> Iterator[tuple[re.Match[str], int]]:
    """Yield the tags and keywords, the last first, each with its end: where the next one begins, or its closing tag."""
    end = next_start = len(text)
    for marker in reversed(list(_MARKER.finditer(text))[-_MAX_PLACES:]):
        if marker["answer"] is None and shown.hold(line_around(text, marker.start()), marker[0]):
            continue
        line_start = text.rfind("\n", 0, next_start) + 1
        end = line_start if next_start < len(text) and line_start > marker.end() else next_start
        closing = text.find(f"</{marker[0][1:]}", marker.end(), end) if marker["tag"] else -1
        yield marker, end if closing < 0 else closing
        next_start = marker.start("answer") if marker["answer"] else marker.start()


def _answers_at(
    text: str, marker: re.Match[str], end: int, shown: ShownSentences
) -> Iterator[tuple[bool, int, FoundAnswer | None]]:
    """Yield whether it is the reply's own (else it may quote), its position, and the answer (None: not readable)."""
    is_line = marker["answer"] is not None
    start, words = (marker.start("answer"), marker["answer"]) if is_line else (marker.start(), marker[0])
    is_quoted = is_line and not {'"', "'", "`", ">"}.isdisjoint(marker["lead"])
    answer = read_value(text, marker.end(), end, shown, Branch.ANSWER_LINE if is_line else Branch.TAG)
    answered = "" if answer is None else text[start : answer.end][:MAX_LINE]
    is_own = not shown.hold(line_around(text, start), words, answered)
    if answer is not None and (is_own or (is_line and not is_quoted)):
        yield is_own, start, answer
    # Words that cannot be read are an answer too, but not behind *is* or *are*: *The answer is* begins other sentences.
    if (
        answer is None
        and is_own
        and text[marker.end() : end].strip(MARKS + "\n")
        and text[marker.end() - 1] not in "eEsS"
    ):
        yield True, start, None


def _is_revised(text: str, answer: FoundAnswer, shown: ShownSentences) -> bool:
    """Whether a later line is a list of sentences too, such as ``Revised list: [3, 17]``."""
    for line in text[answer.end :].split("\n")[1:]:
        start = line.find(":") + 1
        numbers = read_numbers(line, start, len(line)) if len(line) <= MAX_LINE else None
        if (
            numbers is not None
            and numbers.spans
            and (numbers.is_bracketed or len(numbers.spans) > 1)
            and not line[numbers.end :].strip(MARKS)
            and not shown.hold(line, line[start : numbers.end].strip(MARKS))
        ):
            return True
    return False


def _find_alone(text: str, shown: ShownSentences) -> FoundAnswer | None:
    """Return the list of a reply without tag, keyword and JSON, where it is clearly no citation."""
    if len(text) <= _MAX_SHORT and "\n\n" not in text and says_none(text):
        return FoundAnswer(spans=[], read_by=Branch.LIST, end=len(text))
    above, _, last = text.rpartition("\n")
    is_first = not begins_with_number(above.rstrip().rpartition("\n")[2])
    for start in (0, len(text) - len(last)):
        numbers = read_numbers(text, start, len(text)) if is_first or start == 0 else None
        if numbers is None or numbers.is_open or text[numbers.end :].strip(MARKS):
            continue
        if start == 0 or (numbers.is_bracketed and numbers.spans):
            return FoundAnswer(spans=numbers.spans, read_by=Branch.LIST, end=len(text))
    items = read_items(text, 0, len(text), shown)
    if items and not text[items.end :].strip(MARKS) and (items.is_quoted or items.kinds == {"number"}):
        return _answer_from_items(text, items)._replace(read_by=Branch.QUOTES if items.is_quoted else Branch.LIST)
    return _find_chosen(text, shown)


def _find_chosen(text: str, shown: ShownSentences) -> FoundAnswer | None:
    for choice in reversed(list(_CHOICE.finditer(text))[-_MAX_PLACES:]):
        line = line_around(text, choice.start())
        before = text[max(text.rfind("\n", 0, choice.start()) + 1, choice.start() - MAX_LINE) : choice.end()]
        if _NOT_CHOSEN.search(before) or shown.hold(line, choice[0].strip(), line):
            continue
        answer = read_value(text, choice.end(), len(text), shown, Branch.CHOICE)
        if answer is None or not answer.spans or (answer.read_by != Branch.CHOICE and ":" not in choice[0]):
            continue
        rest = text[answer.end :]
        is_end = not rest.strip(MARKS + "\n") or (answer.read_by == Branch.ITEMS and "[" not in rest)
        return answer._replace(read_by=Branch.CHOICE) if is_end and not _NOT_CHOSEN.search(rest) else None
    return None


def read_value(text: str, start: int, end: int, shown: ShownSentences, branch: Branch) -> FoundAnswer | None:
    """Return the list at a place: JSON, *none*, numbers on a line, or items; None where there is no sure one."""
    before = _BEFORE_VALUE.match(text, start, end)
    start = before.end() if before else start
    line_end = line_end_of(text, start, end)
    line = text[start:line_end]
    if line[:1] in {"{", "["} and (parsed := json_at(text[:end], start)):
        value, value_end = parsed
        # A list of numbers alone may be the first part of one, as in ``[3], [17]``.
        if value and not (isinstance(value, list) and all(isinstance(n, str) and n.isdecimal() for n in value)):
            return next(iter(_json_answers(text, start, value_end, value, shown)), None)
    if shown.index_of(line) is None:
        if says_none(text[start:end]):
            return FoundAnswer(spans=[], read_by=branch, end=line_end, may_go_on=not text[line_end:].strip())
        numbers = read_numbers(text, start, end)
        if numbers is not None and _is_whole_list(text, numbers, end, shown):
            return _answer_from_numbers(text, numbers, branch)
    is_introduced = line.rstrip(" *_").endswith(":") and not _NOT_CHOSEN.search(line) and read_item(line, shown) is None
    start = line_end + 1 if is_introduced else start
    line_start = text.rfind("\n", 0, start) + 1
    starts_line = not text[line_start:start].strip()
    items = read_items(text, line_start if starts_line else start, end, shown)
    is_sure = items is not None and (starts_line or items.n_items > 1 or items.is_quoted)
    return _answer_from_items(text, items) if items is not None and is_sure else None


def _answer_from_numbers(text: str, numbers: NumberList, branch: Branch) -> FoundAnswer:
    may_go_on = (not numbers.is_bracketed or numbers.wants_more) and not text[numbers.end :].strip(" \t\n,;")
    return FoundAnswer(
        spans=numbers.spans, read_by=branch, end=numbers.end, is_open=numbers.is_open, may_go_on=may_go_on
    )


def _answer_from_items(text: str, items: ItemList) -> FoundAnswer:
    branch = Branch.QUOTES if items.is_quoted else Branch.ITEMS
    return FoundAnswer(spans=items.spans, read_by=branch, end=items.end, may_go_on=not text[items.end :].strip())


def _is_whole_list(text: str, numbers: NumberList, end: int, shown: ShownSentences) -> bool:
    line_end = line_end_of(text, numbers.end, end)
    rest = text[numbers.end : line_end]
    if not is_remark(rest) or (numbers.is_open and text[numbers.end : end].strip(" \t\n,")):
        return False
    if len(numbers.spans) == 1 and not numbers.is_bracketed and rest[:1] in {".", ")"} and has_letter(rest):
        return False  # it may only number an item
    below_text = text[line_end:end].lstrip()
    line, is_next = below_text.split("\n", 1)[0], text.count("\n", line_end, end - len(below_text)) == 1
    below = read_item(line, shown)
    if below is None or not below.spans:
        return not (is_next and begins_with_number(line))
    return not is_next and (below.kind != "number" or len(numbers.spans) > 1)


# Models mark what they think in many ways: <think>, [THINK], <|START_THINKING|>, or by a word behind a mark of any
# name, as in <|channel|>analysis and <unused94>thought, which the next such mark ends.
_TAG = re.compile(
    r"""
    (?P<start>^[ \t]{0,20})?
    (?P<opening>[<\[\u25c1][|\uff5c]?)(?P<slash>/|end[ _]?)?(?P<name>[a-z][\w:.-]{0,39})(?:[ \t][^<>\n]{0,80})?
    (?P<closing>[|\uff5c]?[>\]\u25b7])
    (?:\s{0,3}(?P<word>[a-z]{1,20})[ \t]{0,3}(?:<\|message\|>|(?=\n|<\|)))?
    (?P<end>[ \t]{0,20}$)?
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_THINKS = re.compile("think|thought|reason|reflect|scratch|analys|rationale", re.IGNORECASE)
_ANSWERS = re.compile(
    "answer|final|respon|result|output|sentence|ind(?:ex|ic)|select|evidence|list|rank|score|json|hypothes|tool|call"
    "|function",
    re.IGNORECASE,
)
_LEAST_NAMED = 4  # letters of a name that is no mark of HTML, such as <p> and <br>


def visible_text(text: str, shown: ShownSentences) -> str:
    """Return the reply in plain marks, without reasoning; its opening tag may stand in the prompt.

    What is opened and never closed is reasoning to its end. So is what begins a reply within a tag of any other name,
    where something follows it; but for tags that answers stand in.
    """
    text = plain_text(text)
    start, opened = _behind_first_tag(text)
    visible, is_by_word = "", False
    for tag in list(_TAG.finditer(text, start))[-1000:] if opened < 0 else ():
        words, line = tag[0].strip(), line_around(text, tag.start())
        if line.strip() != words and shown.hold(line, words, line):  # it repeats the paper
            continue
        said, stands_alone = _said_by(tag), tag["start"] is not None or tag["end"] is not None
        if said == "thinks" and opened < 0:
            opened, is_by_word = tag.start(), _THINKS.search(tag["name"]) is None
        elif opened >= 0 and (said == "ends" or (said == "goes on" and is_by_word)):
            visible += text[start:opened]
            start, opened = tag.end(), -1
        elif said == "answers" or (said == "ends" and stands_alone):  # what came before was thought
            visible, start, opened = "", tag.end(), -1
    return without_turn_marks(visible + text[start : len(text) if opened < 0 else opened])


def _said_by(tag: re.Match[str]) -> Literal["thinks", "ends", "answers", "goes on", ""]:
    """Return what a tag says of the text behind it."""
    name, word = tag["name"], tag["word"] or ""
    is_special = not {"|", "\uff5c", "\u25c1"}.isdisjoint(tag["opening"] + tag["closing"]) or name[-1].isdigit()
    if _THINKS.search(name) or (is_special and _THINKS.match(word)):
        begins = is_special or tag["start"] is not None
        return "ends" if tag["slash"] else "thinks" if begins else ""
    if not is_special or tag["slash"]:
        return ""
    return "answers" if _ANSWERS.search(word or name) else "goes on"


def _behind_first_tag(text: str) -> tuple[int, int]:
    """Return where a reply goes on behind a tag of unknown name that begins it, and where that is opened for good."""
    tag = _TAG.match(text, len(text) - len(text.lstrip()))
    name = tag["name"] if tag and tag["opening"] == "<" and not tag["slash"] else ""
    if tag is None or len(name) < _LEAST_NAMED or _said_by(tag) or _ANSWERS.search(name):
        return 0, -1
    closing = text.lower().find(f"</{name.lower()}>", tag.end())
    if closing < 0:
        return 0, tag.start()
    end = closing + len(name) + len("</>")
    return (end, -1) if text[end:].strip() else (0, -1)


# Keys in the form in which they are compared: lower-case letters alone. The surest come first.
_LIST_KEYS = (
    *("sentences", "sentenceindices", "sentenceids", "sentencenumbers", "selectedsentences", "selectedsentenceindices"),
    *("selectedids", "selectedindices", "selected", "selection", "indices", "indexes", "ids", "answer", "answers"),
    *("finalanswer", "evidencesentences", "evidenceindices", "evidence", "order", "ranking"),
)
_INDEX_KEYS = ("sentenceindex", "sentenceid", "sentencenumber", "sentence", "index", "idx")
_ENTRY_KEYS = (*_INDEX_KEYS, "text", "quote", "content", "id", "number", "no")  # keys of an entry for its sentence
_START = re.compile(r"^(?:[ \t]{0,8}```[^\n`]{0,20}\n\s*(?=[\[{])|[ \t]*(?=\{\s*\"|\[\s*[\"{]))", re.MULTILINE)
# Numbers stay text, since Python refuses to convert thousands of digits.
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str)


def json_at(text: str, start: int, decoder: json.JSONDecoder = _DECODER) -> tuple[Any, int] | None:
    """Return the JSON object or list at a position, and where it ends; None without one. Commas may stand last."""
    for is_forgiving in (False, True):
        try:
            value, end = decoder.raw_decode(re.sub(r",(?=\s*[\]}])", " ", text) if is_forgiving else text, start)
        except (ValueError, RecursionError):
            continue
        return (value, end) if isinstance(value, (dict, list)) else None
    return None


def json_values(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the start, the end and the value of each JSON object or list that opens a line or a code fence."""
    end = 0
    for opening in list(_START.finditer(text))[-_MAX_PLACES:]:
        start = opening.end()
        if start >= end and (parsed := json_at(text, start)) is not None:
            value, value_end = parsed
            # A list with text behind it, as in ``[41] text``, is a sentence with its number.
            if isinstance(value, dict) or not text[value_end : line_end_of(text, value_end, len(text))].strip(MARKS):
                end = value_end
                yield start, end, value


def by_comparable_key(value: Mapping[str, Any]) -> dict[str, Any]:
    return {re.sub("[^a-z]+", "", key[:80].lower()): member for key, member in value.items()}


def listed_in(value: Any, shown: ShownSentences) -> list[Span] | None:
    """Return the sentences that a JSON value names, as a list or below its surest key; None where it is neither."""
    if isinstance(value, list):
        if all(isinstance(entry, dict) and str(entry.get("rank")).isdecimal() for entry in value):
            value = sorted(value, key=lambda entry: whole_number(entry["rank"]))
        return [span for entry in value for span in _read_entry(entry, shown)]
    if isinstance(value, dict):
        by_name = by_comparable_key(value)
        for member in (by_name[name] for name in _LIST_KEYS if name in by_name):
            if member is None:
                return []
            spans = _read_numbers_alone(member) if isinstance(member, str) else listed_in(member, shown)
            if spans is not None:
                return spans
            if not isinstance(member, str):
                raise DoubtError
        if not by_name.keys().isdisjoint(_INDEX_KEYS):
            raise DoubtError  # an entry without its list, such as a line of JSON
    return None


def _read_numbers_alone(text: str) -> list[Span] | None:
    if says_none(text):
        return []
    numbers = read_numbers(text, 0, len(text))
    return numbers.spans if numbers and not numbers.is_open and numbers.end == len(text.rstrip(" .")) else None


def _read_entry(value: Any, shown: ShownSentences) -> list[Span]:
    if isinstance(value, str):
        spans = _read_numbers_alone(value)
        if spans is None and (item := read_item(value, shown)) is not None:
            spans = list(item.spans) or None
        if spans is not None:
            return spans
    if isinstance(value, list):
        return [span for entry in value for span in _read_entry(entry, shown)]
    if isinstance(value, dict) and not any(member is False for member in value.values()):
        by_name = by_comparable_key(value)
        for name in (*_LIST_KEYS, *_ENTRY_KEYS):
            member = by_name.get(name)
            if isinstance(member, list) or (member is not None and name in _ENTRY_KEYS):
                return _read_entry(member, shown)
    raise DoubtError


Pairs = list[tuple[int, float]]  # index and score of sentences, in the order of the reply
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
    """Return scores from JSON, else from the lines below the last keyword; none where a line gives a score first."""
    for start in [keyword.end() for keyword in list(_KEYWORD.finditer(text))[-1:]] + [0]:
        below = text[start:]
        whole = below[: below.rfind("}") + 1] + "]}" if is_cut else ""  # closed behind its last whole entry
        for lines in (_json_lines(below), _json_lines(whole), below.split("\n")[: -1 if is_cut else None]):
            pairs = _read_lines(lines, shown)
            if pairs is None or pairs:
                return pairs or []
    return []


def _read_lines(lines: Iterable[str], shown: ShownSentences) -> Pairs | None:
    """Return the scores on lines; None where lines seem to give a score first, and then its sentences."""
    pairs: Pairs = []
    for line in lines:
        fields = _LINE.match(line) if len(line) <= MAX_LINE else None
        if fields is None:
            continue
        index = whole_number(fields["index"])
        if has_letter(text := shown.texts.get(index, "")) and line.startswith(text.strip(), fields.end("between")):
            continue  # the number is the first of the sentence's own text
        if _MORE.match(fields["rest"]):
            return None
        if not _ANOTHER.search(fields["rest"]):
            # On the scale 0 to 10: 6 for ``3/5`` and for ``60%``.
            score = float(fields["score"].replace(",", ".")) * (-1 if fields["sign"] else 1)
            highest = 100.0 if fields["percent"] else float(fields["of"] or 10)
            pairs.append((index, score * 10 / highest if highest > 0 else score))
    are_turned_round = len(pairs) > 1 and all(index <= _MAX_SCORE for index, _ in pairs)
    return None if are_turned_round and any(score > _MAX_SCORE for _, score in pairs) else pairs


def _json_lines(text: str) -> Iterator[str]:
    for _, _, value in json_values(text):
        by_name = by_comparable_key(value) if isinstance(value, dict) else {}
        inner = next((by_name[name] for name in _SCORES_LIST_KEYS if isinstance(by_name.get(name), dict | list)), value)
        if isinstance(inner, dict):
            yield from (
                f"{key}: {score.get('score') if isinstance(score, dict) else score}" for key, score in inner.items()
            )
        else:
            for entry in (by_comparable_key(entry) for entry in inner if isinstance(entry, dict)):
                index, score = (
                    next((entry[name] for name in names if name in entry), "")
                    for names in (_SCORES_INDEX_KEYS, _SCORE_KEYS)
                )
                yield f"{index}: {score}"
