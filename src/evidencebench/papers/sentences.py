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
_LOOK_BACK = 40  # characters before a stop, in which the words before it are looked for

_CLOSING = "\"'\u2019\u201d\u00bb)\\]}"
_OPENING = "\"'\u2018\u201c\u00ab(\\[{"
_BRACKETS_AND_QUOTES = _OPENING.replace("\\", "")
_NUMBERS = r"\d{1,3}(?:[,\u2013-]\d{1,3}){0,9}"
# Sources cited behind the stop: "drug.[3,4] The" and, where they were raised, "drug.3 The".
_CITED = (
    rf"(?:\[{_NUMBERS}\]|(?:(?<=[^\W\d_][.!?])|(?<=[)\]%][.!?])|(?<=[.!?][{_CLOSING}])){_NUMBERS}"
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
# What is not the end of a sentence, but its first word or that of an item in it: "1. Wash", "were: 1. Wash".
_ITEM = re.compile(r"(?:^(?:\d\d?|[A-Za-z]|[IVX]{1,4})|: [1aAiI]|; (?:\d\d?|[A-Za-z]|[ivx]{1,4}))$")
_INITIALS = re.compile(r"(?:[A-Z]\.-?){0,9}[A-Z]$")
# A capital that is a label or a unit, as in "vitamin C", "X and Y" and "5 M", no initial.
_LABEL = re.compile(rf"(?:\b[A-Z] (?:and|or|vs|to)|\d|\b(?i:{'|'.join(sorted(_WORDS['labels']))})) [A-Z]$")
_CODE = re.compile(r"[#(]?[A-Z]{0,10}[\s:/#-]{0,2}\d|[IVX]+\b")
_PART = re.compile(r"[-\u2013/)\].]")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return start and stop of each sentence of a paragraph, in order, without the white space around it.

    Between two sentences there is nothing but white space, so that every other character is in exactly one of them.
    The time is linear in the length of the text; a text without any end is one sentence.

    >>> text = "Pressure fell by 3.2 mmHg (Fig. 2). It rose again."
    >>> [text[start:stop] for start, stop in sentence_spans(text)]
    ['Pressure fell by 3.2 mmHg (Fig. 2).', 'It rose again.']
    """
    spans: list[tuple[int, int]] = []
    start = len(text) - len(text.lstrip())
    for found in _STOP.finditer(text):
        if _is_end(text, start, found):
            spans.append((start, found.start("gap")))
            start = found.end()
    stop = len(text.rstrip())
    if start < stop:
        spans.append((start, stop))
    return spans


def _is_end(text: str, start: int, found: re.Match[str]) -> bool:
    """Say whether the stop that was found ends the sentence that begins at ``start``."""
    word = found["word"]
    is_starter = word in _WORDS["starters"] and not (word == "A" and found["behind"] == ".")
    if not (is_starter or (found["gap"] and _may_begin(text, found.end(), word))):
        return False
    if found["mark"] != ".":
        return True
    window = text[max(start, found.start() - _LOOK_BACK) : found.start()]
    before = " ".join(part.lstrip(_BRACKETS_AND_QUOTES) for part in window.split())
    is_code = text[found.end("mark")].isdigit() or _CODE.match(text, found.end()) is not None
    return _ITEM.search(before) is None and _may_be_last(before, found, is_code=is_code, is_starter=is_starter)


def _may_begin(text: str, position: int, word: str) -> bool:
    """Say whether a sentence may begin here; one in small letters only does so with a sign or a digit, as in p53."""
    if text[position] in _GOES_ON:
        return False
    is_plain = word.islower() and word[0].isalpha() and word[0] < "\u0370" and not any(map(str.isdigit, word))
    return not is_plain or _SMALL_BEGINNING.match(text, position) is not None


def _may_be_last(before: str, found: re.Match[str], *, is_code: bool, is_starter: bool) -> bool:
    """Say whether a sentence may end in the last word of this text, given what comes next: a number or code, a word."""
    last = before.rpartition(" ")[2]
    if _INITIALS.match(last):
        return is_starter or (len(found["word"]) > 1 and _LABEL.search(before) is not None)
    if is_code and not is_starter and _is_listed("before_number", last):
        return False
    if _is_listed("never_last", last):
        return is_starter and bool(found["closing"])
    return is_starter or not _is_listed("seldom_last", last)


def _is_listed(name: str, word: str) -> bool:
    """Say whether a list of abbreviations has a word, or its part behind a hyphen, slash, bracket or stop."""
    parts = {word, _PART.split(word)[-1]}
    return any(part in _WORDS[name] or part[:1].lower() + part[1:] in _WORDS[name] for part in parts)
