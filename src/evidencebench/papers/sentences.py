"""Split a paragraph into sentences, with offsets.

A stop, question mark or exclamation mark ends a sentence where white space and what may begin another sentence follow
it, unless the word before it is an abbreviation, an initial or the number of an item. The words that decide are in
`abbreviations.toml`.
"""

import re
import tomllib
from importlib.resources import files

_WORDS = {
    name: frozenset(words.split())
    for name, words in tomllib.loads((files(__package__) / "abbreviations.toml").read_text(encoding="utf-8")).items()
}
_ABBREVIATIONS = ("never_last", "before_number", "seldom_last")
# Each abbreviation, as it stands and with a capital -> the lists that have it.
_LISTS = {
    form: {name for name in _ABBREVIATIONS if {form, form[0].lower() + form[1:]} & _WORDS[name]}
    for word in frozenset.union(*(_WORDS[name] for name in _ABBREVIATIONS))
    for form in (word, word[0].upper() + word[1:])
}
_LOOK_BACK = 40  # characters before a stop, in which the words before it are looked for

_CLOSING = "\"'\u2019\u201d\u00bb)\\]}"
_OPENING = "\"'\u2018\u201c\u00ab(\\[{"
_BRACKETS_AND_QUOTES = _OPENING.replace("\\", "")
_NUMBERS = r"\d{1,3}(?:[,\u2013-]\s?\d{1,3}){0,19}"
# Sources cited behind the stop: "drug. [3,4] The" and, where they were raised, "drug.3, 4 The".
_CITED = (
    rf"(?:\s?\[{_NUMBERS}\]|(?:(?<=[^\W\d_][.!?])|(?<=[)\]%][.!?])|(?<=[.!?][{_CLOSING}])){_NUMBERS}"
    r"|[\u00b9\u00b2\u00b3\u2070-\u2079]{1,9})"
)
# The gap is empty where white space is missing: "end.The". Every repeat is possessive or bounded, and the first begins
# at the first of several stops, so that the time is linear.
_STOP = re.compile(
    rf"(?P<mark>[.!?\u2026](?<![.!?\u2026]{{2}})[.!?\u2026]*+)(?P<closing>[{_CLOSING}]{{0,8}}+){_CITED}?+"
    r"(?P<gap>\s++(?=\S)|(?<=[a-z][a-z)\]][.!?])(?=[A-Z][a-z]))"
    rf"(?=[{_OPENING}]{{0,4}}+(?P<word>[^\s,;:.!?\u2026()\[\]{{}}\"\u201d]{{0,40}}+)(?P<behind>.?))"
)
_GOES_ON = frozenset("=\u00b1<>\u2264\u2265+%/&.,;:!?)]}\u2026")
# What may begin a sentence in a small letter: an item, "(ii) The", a footnote, "a Adjusted", and "n = 5".
_SMALL_BEGINNING = re.compile(r"\(?(?:[ivx]{1,4}|[a-z])\)\s|[a-z]\s[A-Z=<>\u2264\u2265]")
# What stands before a stop and is hardly an abbreviation: a long word, a bracket or a percentage.
_NO_ABBREVIATION = re.compile(r"(?<=[a-z]{5})|(?<=[)\]%])")
# What is not the end of a sentence, but its first word or that of an item in it: "1. Wash", "were: 1. Wash".
_ITEM = re.compile(r"(?:^(?:\d\d?|[A-Za-z]|[IVX]{1,4})|: [1aAiI]|; (?:\d\d?|[A-Za-z]|[ivx]{1,4}))$")
_INITIALS = re.compile(r"(?:[A-Z]\.-?){0,9}[A-Z]$")
# A capital that is a label or a unit, as in "vitamin C", "X and Y" and "5 M", no initial.
_LABEL = re.compile(rf"(?:\b[A-Z] (?:and|or|vs|to)|\d|\b(?i:{'|'.join(sorted(_WORDS['labels']))})) [A-Z]$")
_CODE = re.compile(r"[#(]?[A-Z]{0,10}[\s:/#-]{0,2}\d|[IVX]+\b")
_PART = re.compile(r"[-\u2013/)\].]")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return start and stop of each sentence of a paragraph, without the white space around it, in linear time."""
    spans: list[tuple[int, int]] = []
    start = len(text) - len(text.lstrip())
    for stop in _STOP.finditer(text):
        if _is_end(text, start, stop):
            spans.append((start, stop.start("gap")))
            start = stop.end()
    if start < (end := len(text.rstrip())):
        spans.append((start, end))
    return spans


def _is_end(text: str, start: int, stop: re.Match[str]) -> bool:
    word = stop["word"]
    is_starter = word in _WORDS["starters"] and not (word == "A" and stop["behind"] == ".")
    if not (is_starter or (stop["gap"] and _may_begin(text, stop))):
        return False
    if stop["mark"] != ".":
        return True
    window = text[max(start, stop.start() - _LOOK_BACK) : stop.start()]
    before = " ".join(part.lstrip(_BRACKETS_AND_QUOTES) for part in window.rsplit(maxsplit=3)[-3:])
    is_code = text[stop.end("mark")].isdigit() or (not is_starter and _CODE.match(text, stop.end()) is not None)
    return _ITEM.search(before) is None and _may_be_last(before, stop, is_code=is_code, is_starter=is_starter)


def _may_begin(text: str, stop: re.Match[str]) -> bool:
    # In small letters only with a sign or a digit, as in p53, or where no abbreviation can stand before.
    word = stop["word"]
    if text[stop.end()] in _GOES_ON:
        return False
    is_plain = word.islower() and word[0].isalpha() and word[0] < "\u0370" and not any(map(str.isdigit, word))
    if not is_plain or _SMALL_BEGINNING.match(text, stop.end()):
        return True
    return stop["mark"] == "." and not stop["closing"] and _NO_ABBREVIATION.match(text, stop.start()) is not None


def _may_be_last(before: str, stop: re.Match[str], *, is_code: bool, is_starter: bool) -> bool:
    last = before.rpartition(" ")[2]
    if _INITIALS.match(last):
        return is_starter or (len(stop["word"]) > 1 and _LABEL.search(before) is not None)
    lists = _LISTS.get(last) or _LISTS.get(_PART.split(last)[-1]) or ()
    if "before_number" in lists and is_code:
        return False
    if "never_last" in lists:
        return is_starter and bool(stop["closing"])
    return is_starter or "seldom_last" not in lists
