"""Checks of texts that a model wrote, without a model: words, language, numbers, and what gives a finding away."""

import re
from difflib import SequenceMatcher
from itertools import pairwise

from evidencebench.files.disk import packaged_table
from evidencebench.papers.blocks import sentence_spans
from evidencebench.papers.language import UNSPACED, is_foreign, words_of
from evidencebench.papers.numbers import DIGITS, Number, numbers_in, plain

FEWEST_WORDS, MOST_WORDS = 5, 50  # of a hypothesis
NO_WORDS = "no words"  # why a draft is dropped whose summary says nothing: see `has_words`
_FEWEST_COPIED, _MOST_COPIED, _ROW = 7, 0.9, 3  # words of a hypothesis, their share, and how many are in a row
_ROUNDED = 0.05  # of a number: how far what it is rounded to may be from it

_TABLE = packaged_table(__file__)
_LETTER = rf"(?:(?![{UNSPACED}])[^\W\d_])"


def _any_of(words: str) -> str:
    return rf"(?:{'|'.join(sorted(words.split(), key=len, reverse=True))})".replace("_", " ")


_PARTS = {name.upper(): pattern for name, pattern in _TABLE["parts"].items()} | {"LETTER": _LETTER, "NUMBER": DIGITS}
_PARTS |= {name.upper(): _any_of(words) for name, words in _TABLE["lists"].items()}


def _regex(pattern: str) -> re.Pattern[str]:
    while (filled := re.sub("[A-Z]{4,}", lambda name: _PARTS.get(name[0], name[0]), pattern)) != pattern:
        pattern = filled
    return re.compile(pattern, re.IGNORECASE)


_PATTERNS = {name: _regex("|".join(patterns)) for name, patterns in _TABLE["patterns"].items()}


def _is_a(kind: str, number: Number) -> bool:
    """Say whether a number is of a kind of ``patterns`` in the table, by the words around it."""
    shown = f"{number.before}{'~' if min(number.values) % 1 else '#'}{number.behind}"
    return _PATTERNS[kind].search(shown) is not None


def _is_defining(number: Number) -> bool:
    is_year = re.fullmatch(r"(?:19|20)\d\d", number.written) is not None
    return (is_year or _is_a("defining", number)) and not _is_a("found", number)


def _is_small(number: Number) -> bool:
    """Say whether a number is a word such as "two", which says little of what was found."""
    return not number.written[-1].isdecimal() and min(number.values) <= 10  # noqa: PLR2004 - as said


def _given_away(hypothesis: str, summary: str) -> str:
    """Return what a hypothesis says of what was found; empty: nothing."""
    if finding := _PATTERNS["finding"].search(plain(hypothesis)):
        return f"'{finding[0]}' gives away what a study found"
    known = list(numbers_in(_shown(summary)))
    defining = {value for number in known if _is_defining(number) for value in number.values}
    for number in numbers_in(_shown(hypothesis)):
        is_kept = _is_defining(number) or not (_is_a("found", number) or number.values.isdisjoint(defining))
        if is_kept or _is_small(number) or _is_a("name", number):
            continue
        if any(abs(own - value) <= _ROUNDED * value for own in number.values for of in known for value in of.values):
            return f"it gives away the number {number.written} of the summary"
    return ""


def _shown(text: str) -> str:
    return re.sub("[#~]", " ", text)  # which patterns have in the place of a number


_VERBS = "|".join(_TABLE["verbs"].split())
_PAST = re.compile(rf"(?:{_VERBS})e?d|{_any_of(_TABLE['past'])}")
_PRESENT = re.compile(rf"(?:{_VERBS})(?:e?s|e)?|{_any_of(_TABLE['present'])}")


def _copied(hypothesis: str, summary: str) -> str:
    """Return what of a hypothesis is copied from what the summary says was found; empty: nothing."""
    words, modifiers = words_of(hypothesis), _TABLE["modifiers"].split()
    told = [word for before, word in pairwise(words) if before not in modifiers and _PAST.fullmatch(word)]
    if "did" in told or (told and not any(map(_PRESENT.fullmatch, words))):
        return f"'{told[0]}' tells in the past what a study found"
    summary = plain(summary)
    for start, stop in sentence_spans(summary):
        matcher = SequenceMatcher(None, words, words_of(summary[start:stop]), autojunk=False)
        n_copied = sum(block.size for block in matcher.get_matching_blocks() if block.size >= _ROW)
        if n_copied >= max(_FEWEST_COPIED, _MOST_COPIED * len(words)):
            return "it copies the summary word by word"
    return ""


# What ends a sentence where no space does, and what ends a part of one: "z.B.", "bzw.", "\u0441\u0442."
_END = re.compile("[\u3002\uff01\uff1f]+(?=\\s*\\w)")
_SHORTENED = re.compile(
    r"\w\.\w\W*$|\b[^\W\d_aeiouyA-Z\u00e4\u00f6\u00fc\u0430\u0435\u0438\u043e\u0443\u044b\u044e\u044f]{1,5}\.$"
)
_QUESTION = re.compile(
    rf"\W*(?:\u00bf|{_any_of(_TABLE['questions'])}\b)|.*[{_TABLE['asking']}][\W_]*$", re.IGNORECASE | re.DOTALL
)


def wrong_with_hypothesis(hypothesis: str, summary: str, context: str) -> str:
    """Return what is wrong with a hypothesis, in words for the model that wrote it; empty where nothing is."""
    words = words_of(hypothesis)
    parts = [part for start, stop in sentence_spans(hypothesis) for part in _END.split(hypothesis[start:stop])]
    n_sentences = len(parts) - sum(_SHORTENED.search(part) is not None for part in parts[:-1])
    n_words = len(words) - sum(word >= "\u0e00" for word in words) // 2  # of letters that are words
    if n_sentences != 1:
        return f"it has {n_sentences} sentences, not one"
    if not FEWEST_WORDS <= n_words <= MOST_WORDS:
        return f"it has {n_words} words, not {FEWEST_WORDS} to {MOST_WORDS}"
    if _QUESTION.match(hypothesis):
        return "it is a question, not a statement"
    if is_foreign(hypothesis, f"{summary} {context}"):
        return "it is not in the language of the summary"
    return _given_away(hypothesis, summary) or _copied(hypothesis, summary)


def wrong_with_aspect(aspect: str, summary: str) -> str:
    """Return what is wrong with an aspect of a summary, as `wrong_with_hypothesis` does."""
    if not words_of(aspect):
        return "it is empty"
    known = {value for number in numbers_in(_shown(summary)) for value in number.values}
    for number in numbers_in(_shown(aspect)):
        if known.isdisjoint(number.values) and not _is_small(number) and not _is_a("name", number):
            return f"the number {number.written} is not in the summary"
    return "it is not in the words and the language of the summary" if is_foreign(aspect, summary) else ""
