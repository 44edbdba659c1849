"""The lexicon of cues, and the rhetorical roles of sentences."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evidencebench.files.disk import packaged_table
from evidencebench.query import Kind, Query, sections_of
from evidencebench.systems.words import words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    name: str
    meaning: str
    words: str = ""  # one that ends in * is a prefix
    phrases: Sequence[str] = ()
    pattern: str = ""  # searched only where a digit stands
    holds: Sequence[str] = ()  # every match of the pattern has one of these texts, if there are any


_LEXICON = packaged_table(__file__)
_SENTENCES, _TITLES = _LEXICON.pop("sentences"), _LEXICON.pop("titles")
CUES = tuple(Cue(name=name, **fields) for name, fields in _LEXICON.items())
_WORDS = [frozenset(cue.words.split()) for cue in CUES]
_PREFIXES = [tuple(word[:-1] for word in words if word.endswith("*")) for words in _WORDS]
_PHRASES = [(phrase, number) for number, cue in enumerate(CUES) for phrase in cue.phrases]
_PATTERNS = [(re.compile(cue.pattern), cue.holds, number) for number, cue in enumerate(CUES) if cue.pattern]
_DIGIT = re.compile(r"\d")


def _any_of(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


_ASKING, _OTHERS, _OWN = (_any_of(_SENTENCES[name]) for name in ("asks", "others", "own"))
_BASELINE, _LATER, _COMPARES = (_any_of(_SENTENCES[name]) for name in ("baseline", "later", "compares"))
_CITED = re.compile(r"\[\d{1,3}(?:\s?[,;\u2013-]\s?\d{1,3})*\]|\bet al\b|\([A-Z][^()]{1,60}\b(?:19|20)\d\d[a-z]?\)")
_AIMING = re.compile(rf"(?:[a-z]{{1,20}}\W{{1,3}})?to (?:{'|'.join(_SENTENCES['aims'])})\b")
_AFTER_QUESTION = " .\"')]\u2019\u201d"


@lru_cache(maxsize=1 << 16)
def _cues_of(word: str) -> tuple[int, ...]:
    """Return the numbers, in `CUES`, of the cues that list a word or a prefix of it."""
    both = zip(_WORDS, _PREFIXES, strict=True)
    return tuple(number for number, (words, prefixes) in enumerate(both) if word in words or word.startswith(prefixes))


def count_cues(sentences: Sequence[str]) -> NDArray[np.float64]:
    """Return how often each cue stands in each sentence: one row a sentence, one column a cue of `CUES`."""
    paper = words_of(tuple(sentences))
    cues = [_cues_of(word) for word in paper.words]
    n_cues = np.array([len(of_word) for of_word in cues], np.intp)
    listed = n_cues[paper.numbers] > 0
    numbers = paper.numbers[listed]
    rows = np.repeat(paper.sentences[listed], n_cues[numbers])
    columns = np.array([number for word in numbers.tolist() for number in cues[word]], np.intp)
    cells = np.bincount(rows * len(CUES) + columns, minlength=paper.n * len(CUES))
    counts = cells.reshape(paper.n, len(CUES)).astype(np.float64)
    lower = [sentence.lower() for sentence in sentences]
    everything = "\n".join(lower)
    for phrase, number in _PHRASES:
        if phrase in everything:
            for row, text in enumerate(lower):
                if phrase in text:
                    counts[row, number] += text.count(phrase)
    for row, sentence in enumerate(sentences):
        if _DIGIT.search(sentence):
            for pattern, holds, number in _PATTERNS:
                if not holds or any(map(sentence.__contains__, holds)):
                    counts[row, number] += len(pattern.findall(sentence))
    return counts


def asks(sentence: str) -> bool:
    """Say whether a sentence asks, names an aim, or says that something is not known: it reports no finding."""
    lower = sentence.lower()
    ends_as_question = lower.rstrip(_AFTER_QUESTION).endswith("?")
    return ends_as_question or bool(_AIMING.match(lower) or _ASKING.search(lower))


def tells_of_others(sentence: str) -> bool:
    """Say whether a sentence tells of other studies: it cites, or names them, and does not speak of its own."""
    lower = sentence.lower()
    return bool(_CITED.search(sentence) or _OTHERS.search(lower)) and not _OWN.search(lower)


def tells_of_baseline(sentence: str) -> bool:
    """Say whether a sentence tells how groups were before anything was done, and of no later time."""
    lower = sentence.lower()
    return bool(_BASELINE.search(lower)) and not _LATER.search(lower)


def compares(sentence: str) -> bool:
    """Say whether a sentence has a word that sets groups against each other."""
    return bool(_COMPARES.search(sentence.lower()))


class Role(IntEnum):
    UNKNOWN = 0
    BACKGROUND = 1
    OBJECTIVE = 2
    METHODS = 3
    RESULTS = 4
    DISCUSSION = 5
    CONCLUSION = 6
    BACK_MATTER = 7


_TITLE = [(Role[name.upper()], _any_of(words)) for name, words in _TITLES.items()]
_NUMBERING = re.compile(r"^[\W\d_ivx]*[.):\s]\s*|^\W+")
_LONGEST_TITLE_WORDS = 8

# A label at the beginning of a sentence of the abstract: "Results:", "Methods and results.", or "Results" before a
# capital. The label's last word decides the role.
_BEFORE_LABEL = re.compile(r"\W*")
_LABEL_WORD = re.compile(r"[A-Za-z]+")
_BETWEEN_LABEL_WORDS = re.compile(r"[ /&,-]{1,3}(?=[A-Za-z])")
_LABEL_END = re.compile(r"[\])]?(?:\.?[:\u2014]|\s{0,3}[:.\u2013\u2014-]+(?=\s|$)|\s{1,3}[A-Z0-9]|\s*$)")
_LONGEST_LABEL_WORDS = 4


def title_role(title: str) -> Role:
    """Return the role that a heading names, such as results for "3. Findings"; `Role.UNKNOWN` if it names none."""
    words = _NUMBERING.sub("", title.lower().strip())
    if len(words.split()) > _LONGEST_TITLE_WORDS:
        return Role.UNKNOWN
    matches = [section for section, pattern in _TITLE if pattern.match(words)]
    return next(iter(matches or [section for section, pattern in _TITLE if pattern.search(words)]), Role.UNKNOWN)


def label_role(sentence: str) -> Role:
    """Return the role that the label of an abstract's sentence names, such as "RESULTS:"; else `Role.UNKNOWN`."""
    place = _BEFORE_LABEL.match(sentence)
    for _ in range(_LONGEST_LABEL_WORDS):
        word = _LABEL_WORD.match(sentence, place.end()) if place else None
        if word is None:
            break
        section = next((section for section, pattern in _TITLE if pattern.fullmatch(word[0].lower())), None)
        if section is not None and _LABEL_END.match(sentence, word.end()):
            return section
        place = _BETWEEN_LABEL_WORDS.match(sentence, word.end())
    return Role.UNKNOWN


def roles_of(query: Query) -> list[Role]:
    """Return the role of each sentence: what the last heading that has one names, in the abstract the last label."""
    roles = []
    in_body = in_abstract = Role.UNKNOWN
    for sentence, kind in zip(query.sentences, query.kinds, strict=True):
        if kind is Kind.ABSTRACT:
            in_abstract = label_role(sentence) or in_abstract
        elif kind is Kind.HEADING:
            in_body = title_role(sentence) or in_body
        roles.append(in_abstract if kind is Kind.ABSTRACT else in_body)
    return roles


def runs_of(kinds: Sequence[Kind]) -> list[tuple[int, int]]:
    """Return, for each sentence, its place in its run and the run's length; a run is a heading and what follows it."""
    starts = [section.start for section in sections_of(kinds) if section.has_heading or section.start == 0]
    runs = pairwise([*starts, len(kinds)])
    return [(index - start, end - start) for start, end in runs for index in range(start, end)]
