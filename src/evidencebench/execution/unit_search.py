"""Search of what a paper says beside its running text: the units that share most with a question."""

import math
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from evidencebench.papers.paper import Paper, Unit, UnitKind
from evidencebench.systems.question import question_of
from evidencebench.systems.relevance import (
    LEAST_BEGINNING,
    abbreviations,
    beginning_with,
    forms_in,
    has_form,
    root,
    roots,
    topic_roots,
    topic_words,
)

MOST_UNITS = 5
# The least share of a question's words, by rarity: of questions put to another paper, 15 in 100 find such a unit.
_LEAST_SHARE = 0.15
# A row is about an outcome, whichever the arms are: its words count most.
_WEIGHTS = {"comparator": 0.125, "intervention": 0.25, "outcome": 1.0}

# Beginnings of words that say the same in end matter: who paid, which interests, whose approval, which register.
_ALIKE = (
    ("fund", "financ", "sponso", "grant", "suppor"),
    ("confli", "compet", "intere", "disclo", "declar"),
    ("ethic", "ethica", "approv", "consen"),
    ("regist", "isrctn", "nct"),
)


class UnitIndex:
    """The roots of the words of a paper's units, and the units that hold each in any form."""

    def __init__(self, units: tuple[Unit, ...], sentences: tuple[str, ...]) -> None:
        self._units = units
        self._holding: defaultdict[str, set[int]] = defaultdict(set)
        for number, unit in enumerate(units):
            for stem in roots(unit.text):
                self._holding[stem].add(number)
        self._stems = sorted(self._holding)
        names = abbreviations((*sentences, *(unit.text for unit in units))).items()
        self._full_names = [(root(short), tuple(map(root, words))) for short, words in names]
        kinds = {UnitKind.END_MATTER: True, UnitKind.FOOTNOTE: False}  # whether a note is one with a label
        notes = {number for number, unit in enumerate(units) if kinds.get(unit.kind) == bool(unit.label)}
        alike = (chain(*(beginning_with(self._stems, start) for start in starts)) for starts in _ALIKE)
        self._alike = [(starts, notes & self._with(stems)) for starts, stems in zip(_ALIKE, alike, strict=True)]

    def search(self, hypothesis: str) -> tuple[Unit, ...]:
        """Return the units that hold most of a question's words, weighed by rarity and part, best first."""
        question = question_of(hypothesis)
        texts = {part: getattr(question, part) for part in _WEIGHTS if question.outcome} or {"outcome": hypothesis}
        held: dict[str, tuple[float, set[int]]] = {}  # stem -> its weight, the units that hold it
        for part, text in texts.items():
            for stem in [root(word) for word in topic_words(text)] or topic_roots(text):
                numbers = self.holding(stem)
                rarity = math.log(1 + (len(self._units) - len(numbers) + 0.5) / (len(numbers) + 0.5))
                held[stem] = _WEIGHTS[part] * rarity, numbers
        shares = defaultdict[int, float](float)
        total = sum(weight for weight, _ in held.values()) or 1.0
        for weight, numbers in held.values():
            for number in numbers:
                shares[number] += weight / total
        best = sorted((-share, number) for number, share in shares.items() if share >= _LEAST_SHARE)
        return tuple(self._units[number] for _, number in best[:MOST_UNITS])

    def holding(self, stem: str) -> set[int]:
        """Return the numbers of the units that hold a word in any form, its abbreviation or its full name."""
        numbers = self._with(forms_in(self._stems, stem))
        for short, full in self._full_names:
            if stem in full:
                numbers |= self._holding.get(short, set())
            elif stem == short:
                numbers |= set.intersection(*(self._with([word]) for word in full))
        return numbers.union(*(alike for starts, alike in self._alike if stem.startswith(starts)))

    def _with(self, stems: Iterable[str]) -> set[int]:
        return set().union(*(self._holding.get(stem, ()) for stem in stems))


_index = lru_cache(maxsize=2)(UnitIndex)  # many hypotheses are asked of one paper


def found_units(paper: Paper, hypothesis: str) -> tuple[Unit, ...]:
    return _index(paper.units, paper.sentences).search(hypothesis) if paper.units else ()


def words_nowhere(paper: Paper, words: Iterable[str]) -> tuple[str, ...]:
    """Return the words that no unit holds in any form."""
    index = _index(paper.units, paper.sentences)
    return tuple(word for word in words if not index.holding(root(word)))


def holds_all_words(paper: Paper, hypothesis: str) -> bool:
    """Say whether one sentence or unit holds all topic words of a question, so that the paper may answer it."""
    stems = [root(word) for word in topic_words(hypothesis)]
    if not stems or set.intersection(*map(_index(paper.units, paper.sentences).holding, stems)):
        return bool(stems)
    # All forms of a word begin alike, so that few sentences have to be cut into words.
    near = (text for text in paper.sentences if all(stem[:LEAST_BEGINNING] in text.lower() for stem in stems))
    return any(all(has_form(sorted(roots(text)), stem) for stem in stems) for text in near)
