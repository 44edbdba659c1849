"""Checks of texts that a model wrote, without a model: words, language, numbers, and what gives a finding away."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from evidencebench.files.disk import packaged_table
from evidencebench.papers.blocks import sentence_spans

FEWEST_WORDS, MOST_WORDS = 5, 50  # of a hypothesis
NO_WORDS = "no words"  # why a draft is dropped whose summary says nothing: see `has_words`
_LEAST_SHARED = 0.1  # of a text's words stand in the text that it was made from, where no language is clear
_STEM = 6  # the first letters of a longer word that make two words alike: "lowers" and "lowered"
_FEWEST_COPIED, _MOST_COPIED, _ROW = 7, 0.9, 3  # words of a hypothesis, their share, and how many are in a row
_ROUNDED = 0.05  # of a number: how far what it is rounded to may be from it
_AROUND = 80  # characters before and behind a number that say what it is

_TABLE = packaged_table(__file__)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai, Chinese, ...
_LETTER = rf"(?:(?![{_UNSPACED}])[^\W\d_])"


def _any_of(words: str) -> str:
    return rf"(?:{'|'.join(sorted(words.split(), key=len, reverse=True))})".replace("_", " ")


_PARTS = {name.upper(): pattern for name, pattern in _TABLE["parts"].items()} | {"LETTER": _LETTER}
_PARTS |= {name.upper(): _any_of(words) for name, words in _TABLE["lists"].items()}


def _regex(pattern: str) -> re.Pattern[str]:
    while (filled := re.sub("[A-Z]{4,}", lambda name: _PARTS.get(name[0], name[0]), pattern)) != pattern:
        pattern = filled
    return re.compile(pattern, re.IGNORECASE)


_PATTERNS = {name: _regex("|".join(patterns)) for name, patterns in _TABLE["patterns"].items()}
_PART = rf"(?:(?![{_UNSPACED}])[^\W_])+"
_WORD = re.compile(rf"[{_UNSPACED}]|{_PART}(?:['\N{{RIGHT SINGLE QUOTATION MARK}}-]{_PART})*")


def words_of(text: str) -> list[str]:
    """Return the words of a text without accents; a letter is one in scripts that write no space between words."""
    if not text.isascii():
        letters = (letter for letter in unicodedata.normalize("NFD", text) if unicodedata.category(letter)[0] != "M")
        text = unicodedata.normalize("NFKC", "".join(letters))
    return [word.casefold() for word in _WORD.findall(text)]


def has_words(text: str) -> bool:
    """Say whether a text says anything: it has at least three words that are no numbers."""
    words = words_of(text)
    return sum(word.isalpha() and (len(word) > 1 or word >= "\u0e00") for word in words) >= 3  # noqa: PLR2004 - said


def is_foreign(text: str, source: str) -> bool:
    """Say whether a text is in another language or script than its source, or hardly any of its words stands there."""
    words, known = words_of(text), set(words_of(source))
    if not words or not known:
        return False
    languages = {_language(words), _language(known)}
    if _script(text) != _script(source) or "" not in languages:
        return _script(text) != _script(source) or len(languages) > 1
    stems = {word[:_STEM] for word in known}
    shared = sum(word in known or (len(word) > _STEM and word[:_STEM] in stems) for word in words)
    return shared < _LEAST_SHARED * len(words)


def _language(words: Collection[str]) -> str:
    """Return the language of which words have most short ones; empty where it is not clear."""
    hits = sorted((len(set(of.split()).intersection(words)), language) for language, of in _TABLE["languages"].items())
    return hits[-1][1] if hits[-1][0] > max(1, hits[-2][0]) else ""


def _script(text: str) -> str:
    names = [unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()]
    name = max(sorted(set(names)), key=names.count, default="")
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name  # Japanese has both, and more of one or the other


_IN_WORDS = {word: int(n) for n, _, word in (pair.partition(":") for pair in _TABLE["numbers"].split())}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6}
_SMALL = rf"(?:(?:[a-z]+ty[ -])?\b{_any_of(' '.join(_IN_WORDS))}\b)"
_SPELLED = rf"\b{_SMALL}(?:[ -](?:{'|'.join(_SCALES)})\b(?:(?: and)?[ -]{_SMALL})?)*"
_NUMBER = _regex(rf"NUMBER|{_SPELLED}")
# Marks of references; raised digits, which stand for one, or for a power; what patterns have in a number's place.
_NO_NUMBER = re.compile(r"\[\s?\d+(?:\s?[-,;\u2013]\s?\d+)*\s?\]|[\u00b2\u00b3\u00b9\u2070-\u2079#~]")


class _Number(NamedTuple):
    text: str
    values: frozenset[float]  # that it may have: "1,200" is 1200 and, in German, 1.2
    around: str  # the text around it, itself shown as # or ~; see ``patterns`` in checks.toml

    def has_one_of(self, values: Collection[float]) -> bool:
        return any(abs(value - other) <= _ROUNDED * other for value in self.values for other in values)


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", _NO_NUMBER.sub(" ", text))
    return " ".join(re.sub("[\u2010-\u2015\u2212]", "-", text).split())


def _numbers(text: str, *, with_small_words: bool = False) -> Iterator[_Number]:
    text = _plain(text)
    for found in _NUMBER.finditer(text):
        values = _values(found[0])
        if with_small_words or found[0][-1].isdecimal() or min(values) > 10:  # noqa: PLR2004 - see checks.toml
            before, behind = text[max(0, found.start() - _AROUND) : found.start()], text[found.end() :][:_AROUND]
            yield _Number(found[0], values, f"{before}{'~' if min(values) % 1 else '#'}{behind}")


def _values(number: str) -> frozenset[float]:
    if not number[-1].isdecimal():
        value = part = 0
        for word in re.split("[ -]", number.lower()):
            part = max(1, part) * _SCALES[word] if word in _SCALES else part + _IN_WORDS.get(word, 0)
            if _SCALES.get(word, 0) > 100:  # noqa: PLR2004 - "two hundred thousand" is one number
                value, part = value + part, 0
        return frozenset([float(value + part)])
    whole, _, fraction = re.sub(r"[,\u00b7]", ".", number).replace(" ", "").rpartition(".")
    values = {float(f"{whole.replace('.', '')}.{fraction}" if whole or number[0] in ".\u00b7" else fraction)}
    if re.fullmatch(r"[1-9]\d{0,2}(?:[., ]\d{3})+", number):
        values.add(float(re.sub(r"\D", "", number)))
    return frozenset(values)


def _is_about(number: _Number, kind: str) -> bool:
    return _PATTERNS[kind].search(number.around) is not None


def _given_away(hypothesis: str, summary: str) -> str:
    """Return what a hypothesis says of what was found; empty: nothing."""
    if finding := _PATTERNS["finding"].search(_plain(hypothesis)):
        return f"'{finding[0]}' gives away what a study found"
    known = list(_numbers(summary, with_small_words=True))
    values = {value for number in known for value in number.values}
    defining = {value for number in known if _is_defining(number) for value in number.values}
    for number in _numbers(hypothesis):
        is_kept = _is_defining(number) or not (_is_about(number, "found") or number.values.isdisjoint(defining))
        if number.has_one_of(values) and not is_kept and not _is_about(number, "name"):
            return f"it gives away the number {number.text} of the summary"
    return ""


def _is_defining(number: _Number) -> bool:
    """Say whether a number says who or what is studied, how much of it is given or how long; years do."""
    is_year = re.fullmatch(r"(?:19|20)\d\d", number.text) is not None
    return (is_year or _is_about(number, "defining")) and not _is_about(number, "found")


_VERBS = "|".join(_TABLE["verbs"].split())
_PAST = re.compile(rf"(?:{_VERBS})e?d|{_any_of(_TABLE['past'])}")
_PRESENT = re.compile(rf"(?:{_VERBS})(?:e?s|e)?|{_any_of(_TABLE['present'])}")


def _copied(hypothesis: str, summary: str) -> str:
    """Return what of a hypothesis is copied from what the summary says was found; empty: nothing."""
    words, modifiers = words_of(hypothesis), _TABLE["modifiers"].split()
    told = [word for before, word in pairwise(words) if before not in modifiers and _PAST.fullmatch(word)]
    if "did" in told or (told and not any(map(_PRESENT.fullmatch, words))):
        return f"'{told[0]}' tells in the past what a study found"
    for start, stop in sentence_spans(summary):
        matcher = SequenceMatcher(None, words, words_of(_NO_NUMBER.sub(" ", summary[start:stop])), autojunk=False)
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
    known = {value for number in _numbers(summary, with_small_words=True) for value in number.values}
    for number in _numbers(aspect):
        if known.isdisjoint(number.values) and not _is_about(number, "name"):
            return f"the number {number.text} is not in the summary"
    return "it is not in the words and the language of the summary" if is_foreign(aspect, summary) else ""
