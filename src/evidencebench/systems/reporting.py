"""Reporting items: which of them, such as blinding or funding, a sentence reports, and which a question asks for.

What sentences of an item are like was learned from those that stand under its titles, as "Randomisation and masking".
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from evidencebench.decoding import prepared
from evidencebench.files.disk import packaged_table
from evidencebench.systems.relevance import root
from evidencebench.systems.words import Flags, Floats, tokens

_TABLE = packaged_table(__file__)
ITEMS = tuple(_TABLE["items"])
SHIPPED = Path(__file__).with_name("shipped_reporting.json")
_CITED = re.compile(r"\[[\d,;\s\u2013-]+\]")


def _any_of(expressions: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in expressions), re.IGNORECASE)


_TITLES = {item: _any_of(told["titles"]) for item, told in _TABLE["items"].items()}
_ASKED = {item: _any_of(told["asked"]) for item, told in _TABLE["items"].items()}
_NUMBER_ASKED, _NUMBER = _any_of(_TABLE["numbers"]["asked"]), _any_of(_TABLE["numbers"]["held"])


class ReportingWeights(msgspec.Struct, frozen=True, kw_only=True):
    """A logistic regression for each item on a sentence's words and pairs of neighbours."""

    format: Literal["evidencebench-reporting/1"] = "evidencebench-reporting/1"
    data: dict[str, Any]
    starts: dict[str, float]  # item -> what is added for every sentence
    weights: dict[str, dict[str, float]]  # item -> word, or two words -> weight


def items_of_title(title: str) -> frozenset[str]:
    """Return the items that a section's sentences report, by its title.

    >>> sorted(items_of_title("2.3 Randomisation and masking"))
    ['blinding', 'randomisation']
    """
    words = title.lower().strip(" \t.:0123456789")
    return frozenset(item for item, titles in _TITLES.items() if titles.search(words))


@lru_cache(maxsize=512)
def items_asked(question: str) -> tuple[str, ...]:
    """Return the items that a question asks for.

    >>> items_asked("Who paid for the study?")
    ('funding',)
    """
    return tuple(item for item, asked in _ASKED.items() if asked.search(question))


def asks_number(question: str) -> bool:
    return _NUMBER_ASKED.search(question) is not None


def holds_number(sentence: str) -> bool:
    """Say whether a sentence has a number, in digits or words, that is no citation."""
    return _NUMBER.search(_CITED.sub("", sentence)) is not None


def reporting_words(sentence: str) -> set[str]:
    """Return a sentence's words and pairs of neighbours, by which it is known what it reports."""
    words = ["0" if word[0].isdigit() else root(word) for word in tokens(sentence, stopwords=False)]
    return {*words, *map(" ".join, pairwise(words))}


def reporting_scores(sentences: Sequence[str]) -> Floats:
    """Return how likely each sentence reports each item of `ITEMS`, as log odds: a row a sentence."""
    starts, weights_of = _weights()
    scores = np.tile(starts, (len(sentences), 1))
    for row, sentence in enumerate(sentences):
        for word in reporting_words(sentence):
            if word in weights_of:
                scores[row] += weights_of[word]
    return scores


@cache
def _weights() -> tuple[Floats, dict[str, Floats]]:
    """Return, for the items of `ITEMS`, the starts, and the weights of each word."""
    model = msgspec.json.decode(SHIPPED.read_bytes(), type=prepared(ReportingWeights))
    weights_of: dict[str, Floats] = {}
    for column, item in enumerate(ITEMS):
        for word, weight in model.weights[item].items():
            weights_of.setdefault(word, np.zeros(len(ITEMS)))[column] = weight
    return np.array([model.starts[item] for item in ITEMS]), weights_of


def flags_of(items: Iterable[str]) -> Flags:
    """Return which of `ITEMS` are among some."""
    asked = set(items)
    flags: Flags = np.array([item in asked for item in ITEMS])
    return flags
