"""What the labels say about a paper or a part of it: the best selection, scores and order."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import Coverage, coverage_of, greedy_ranking, maximum_coverage, minimum_cover
from evidencebench.errors import MissingExtraError
from evidencebench.integrations.fake_server.asked import normalised
from evidencebench.query import AspectScope

BEST_SCORE = 10
"""The score of a sentence of the minimum cover; the scale begins at 0."""


class Gold:
    """The right answers of one instance, worked out when they are asked for and kept.

    Attributes
    ----------
    instance_id
        Its name.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance_id = instance.id
        self._sentences = tuple(map(normalised, instance.query.sentences))
        self._labels = instance.labels
        self._coverage = cache(self._coverage_of)
        self._optimum = cache(self._optimum_of)

    def own_numbers(self, shown: Iterable[tuple[int, str]]) -> Iterator[int]:
        """Yield the numbers under which the paper has just the text that is shown."""
        own = self._sentences
        return (number for number, text in shown if number < len(own) and _is_same(own[number], text))

    def selection(self, scope: AspectScope, budget: int | None, shown: Collection[int]) -> tuple[int, ...]:
        """Return the best selection among the shown sentences, in paper order.

        The optimum of the whole paper as far as it is shown, then greedily what covers more, never more than the
        budget. Without a budget: every shown source of an aspect.
        """
        coverage = self._coverage(scope)
        if budget is None:
            return tuple(index for index in coverage.masks if index in shown)
        chosen = [index for index in self._optimum(scope, budget) if index in shown]
        chosen += _filling(coverage, chosen, shown, budget - len(chosen))
        return tuple(sorted(chosen))

    def scores(self, scope: AspectScope, shown: Iterable[int]) -> dict[int, int]:
        """Return a score for each shown sentence: the minimum cover's, lower ones of other sources, 0."""
        best, masks = frozenset(self._optimum(scope, None)), self._coverage(scope).masks
        return {
            index: BEST_SCORE if index in best else min(masks.get(index, 0).bit_count(), BEST_SCORE - 1)
            for index in shown
        }

    def order(self, scope: AspectScope, shown: Iterable[int]) -> tuple[int, ...]:
        """Return the shown sentences: the minimum cover first, what covers most of it first, then by score."""
        scores = self.scores(scope, shown)
        best = [index for index in scores if scores[index] == BEST_SCORE]
        first = _filling(self._coverage(scope), (), best, len(best))
        rest = [index for index in sorted(scores, key=lambda index: (-scores[index], index)) if index not in first]
        return (*first, *rest)

    def _coverage_of(self, scope: AspectScope) -> Coverage:
        return coverage_of(self._labels, scope)

    def _optimum_of(self, scope: AspectScope, budget: int | None) -> tuple[int, ...]:
        coverage = self._coverage(scope)
        try:
            cover = minimum_cover(coverage) if budget is None else maximum_coverage(coverage, budget)
        except MissingExtraError:  # no solver here: a trial goes on with what is almost as good
            return greedy_ranking(coverage)[:budget]
        return cover.sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The instance that a prompt is about, and which of the displayed numbers are its own."""

    gold: Gold
    numbers: frozenset[int]


def _is_same(own: str, shown: str) -> bool:
    return own == shown or own == normalised(shown)


def _filling(coverage: Coverage, chosen: Iterable[int], shown: Iterable[int], room: int) -> list[int]:
    """Return shown sentences that cover more than the chosen, the largest gain first, ties to the lowest index."""
    left = coverage.coverable & ~coverage.mask_of(chosen)
    masks = {index: coverage.masks[index] for index in sorted(shown) if index in coverage.masks}
    filling: list[int] = []
    while len(filling) < room:
        gains = {index: (mask & left).bit_count() for index, mask in masks.items()}
        index = max(gains, key=gains.__getitem__, default=-1)
        if not gains.get(index):
            break
        filling.append(index)
        left &= ~masks[index]
    return filling
