"""Count cues: words, phrases and numbers that are typical of sentences that report evidence.

The lists in `lexicon.toml` were written by hand, from how biomedical papers report studies. None was made from the
labels.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from evidencebench.systems.retrievers.sentence_words import SentenceWords, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """One kind of wording."""

    name: str
    meaning: str
    words: str = ""  # one that ends in * is a prefix
    phrases: Sequence[str] = ()
    pattern: str = ""  # searched only where a digit stands
    holds: Sequence[str] = ()  # every match of the pattern has one of these texts, if there are any


CUES = tuple(
    Cue(name=name, **fields)
    for name, fields in tomllib.loads((files(__package__) / "lexicon.toml").read_text(encoding="utf-8")).items()
)
_EXACT: dict[str, tuple[int, ...]] = {}
_PREFIXES: dict[str, tuple[int, ...]] = {}
for _number, _cue in enumerate(CUES):
    for _entry in _cue.words.split():
        _table = _PREFIXES if _entry.endswith("*") else _EXACT
        _table[_entry.rstrip("*")] = (*_table.get(_entry.rstrip("*"), ()), _number)
_SHORTEST_PREFIX = min(map(len, _PREFIXES))
_LONGEST_ENTRY = max(map(len, (*_EXACT, *_PREFIXES)))
_PHRASES = [(phrase, number) for number, cue in enumerate(CUES) for phrase in cue.phrases]
_PATTERNS = [(re.compile(cue.pattern), cue.holds, number) for number, cue in enumerate(CUES) if cue.pattern]
_DIGIT = re.compile(r"\d")

# Questions, aims, and what nobody knows yet; searched in lower case.
_ASKING = re.compile(
    r"\b(?:whether|unknown|unclear|uncertain|controversial|future|hypothesi[sz]ed?"
    r"|(?:not|little|less|poorly) (?:is |been |yet |well |fully )?(?:known|clear|understood|established|certain)"
    r"|(?:aim|objective|purpose|goal)s? (?:of|was|is|were|are)|aim(?:s|ed)? to|we (?:sought|wished|wanted|set out))\b"
)
_AFTER_QUESTION = " .\"')]\u2019\u201d"
_AIMING = re.compile(  # at the beginning, such as "Objective: to compare"
    r"(?:[a-z]{1,20}\W{1,3})?to (?:analy[sz]e|assess|compare|describe|determine|establish|estimate|evaluate|examine"
    r"|explore|find|identify|investigate|measure|quantify|study|test|understand|verify)\b"
)


@lru_cache(maxsize=1 << 16)
def _cues_of(word: str) -> tuple[int, ...]:
    """Return the numbers, in `CUES`, of the cues that list a word or a prefix of it."""
    numbers = set(_EXACT.get(word, ()))
    for length in range(_SHORTEST_PREFIX, len(word) + 1):
        numbers.update(_PREFIXES.get(word[:length], ()))
    return tuple(sorted(numbers))


def count_cues(sentences: Sequence[str]) -> NDArray[np.float64]:
    """Return how often each cue stands in each sentence: one row a sentence, one column a cue of `CUES`."""
    counts = _count_words(words_of(tuple(sentences)))
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


def _count_words(paper: SentenceWords) -> NDArray[np.float64]:
    """Return how often the words of each cue stand in each sentence."""
    # No entry is longer, so the rest of a long word matches nothing.
    cues = [_cues_of(word[: _LONGEST_ENTRY + 1]) for word in paper.words]
    n_cues = np.array([len(of_word) for of_word in cues], np.intp)
    listed = n_cues[paper.numbers] > 0
    numbers = paper.numbers[listed]
    rows = np.repeat(paper.sentences[listed], n_cues[numbers])
    columns = np.array([number for word in numbers.tolist() for number in cues[word]], np.intp)
    counts = np.bincount(rows * len(CUES) + columns, minlength=paper.n * len(CUES))
    return counts.reshape(paper.n, len(CUES)).astype(np.float64)


def asks(sentence: str) -> bool:
    """Say whether a sentence asks, names an aim, or says that something is not known: it reports no finding."""
    lower = sentence.lower()
    return (
        lower.rstrip(_AFTER_QUESTION).endswith("?")
        or _AIMING.match(lower) is not None
        or _ASKING.search(lower) is not None
    )
