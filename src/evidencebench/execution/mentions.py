"""Which words of a question a paper mentions at all, in its sentences and in its units."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from evidencebench.papers.paper import Paper, Unit, UnitKind
from evidencebench.systems.relevance import abbreviations, beginning_with, forms_in, root, roots, topic_words

# Beginnings of words that say the same in end matter: who paid, which interests, whose approval, which register.
_ALIKE = (
    ("fund", "financ", "sponso", "grant", "suppor", "paid"),
    ("confli", "compet", "intere", "disclo", "declar"),
    ("ethic", "ethica", "approv", "consen"),
    ("regist", "isrctn", "nct"),
)


class LineIndex:
    """The roots of the words of a paper's lines, units and sentences, and the lines that hold each in any form."""

    def __init__(self, units: tuple[Unit, ...], sentences: tuple[str, ...]) -> None:
        self.n_units: int = len(units)
        self._holding: defaultdict[str, set[int]] = defaultdict(set)
        lines = (*(unit.text for unit in units), *sentences)
        for number, line in enumerate(lines):
            for stem in roots(line):
                self._holding[stem].add(number)
        self._stems = sorted(self._holding)
        self._full_names = [(root(short), tuple(map(root, words))) for short, words in abbreviations(lines).items()]
        kinds = {UnitKind.END_MATTER: True, UnitKind.FOOTNOTE: False}  # whether a note is one with a label
        notes = {number for number, unit in enumerate(units) if kinds.get(unit.kind) == bool(unit.label)}
        alike = (chain(*(beginning_with(self._stems, start) for start in starts)) for starts in _ALIKE)
        self._alike = [(starts, notes & self._with(stems)) for starts, stems in zip(_ALIKE, alike, strict=True)]

    def holding(self, stem: str) -> set[int]:
        """Return the numbers of the lines that hold a word in any form, its abbreviation or its full name."""
        numbers = self._with(forms_in(self._stems, stem))
        for short, full in self._full_names:
            if stem in full:
                numbers |= self._holding.get(short, set())
            elif stem == short:
                numbers |= set.intersection(*(self._with([word]) for word in full))
        return numbers.union(*(alike for starts, alike in self._alike if stem.startswith(starts)))

    def _with(self, stems: Iterable[str]) -> set[int]:
        return set().union(*(self._holding.get(stem, ()) for stem in stems))


_index = lru_cache(maxsize=2)(LineIndex)  # many hypotheses are asked of one paper


def words_nowhere(paper: Paper, words: Iterable[str]) -> tuple[str, ...]:
    """Return the words that no unit holds in any form."""
    index = _index(paper.units, paper.sentences)
    units = set(range(index.n_units))
    return tuple(word for word in words if units.isdisjoint(index.holding(root(word))))


_NEARLY_ALL = 0.8  # of the topic words of a question; of fewer than five words, all


def holds_nearly_all_words(paper: Paper, hypothesis: str) -> bool:
    """Say whether one line holds nearly all topic words of a question, so that the paper may answer it."""
    stems = [root(word) for word in topic_words(hypothesis)]
    index = _index(paper.units, paper.sentences)
    n_held = Counter(number for stem in stems for number in index.holding(stem))
    return bool(stems) and max(n_held.values(), default=0) >= _NEARLY_ALL * len(stems)
