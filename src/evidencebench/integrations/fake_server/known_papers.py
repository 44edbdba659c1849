"""The papers that the model knows: which one a prompt is about, and what its labels say is right."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache, partial

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import Coverage, coverage_of, greedy_ranking, maximum_coverage, minimum_cover
from evidencebench.errors import MissingExtraError
from evidencebench.integrations.fake_server.prompt_content import PromptContent, normalised
from evidencebench.query import AspectScope

BEST_SCORE = 10
"""The score of a sentence of the minimum cover; the scale begins at 0."""

# Labels and sentences of instances that were asked about lately; 4096 papers of 25 kB are 100 MB.
_KEPT_INSTANCES = 4096


class RightAnswers:
    """The right answers to one instance, worked out when they are asked for and kept."""

    def __init__(self, instance: Instance) -> None:
        self._sentences = tuple(map(normalised, instance.query.sentences))
        self._coverage = cache(partial(coverage_of, instance.labels))
        self._optimum = cache(self._optimum_of)

    def own_numbers(self, shown: Iterable[tuple[int, str]]) -> frozenset[int]:
        """Return the numbers under which the paper has just the text that is shown."""
        own = self._sentences
        return frozenset(
            number
            for number, text in shown
            if number < len(own) and (own[number] == text or own[number] == normalised(text))
        )

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

    def _optimum_of(self, scope: AspectScope, budget: int | None) -> tuple[int, ...]:
        coverage = self._coverage(scope)
        try:
            cover = minimum_cover(coverage) if budget is None else maximum_coverage(coverage, budget)
        except MissingExtraError:  # no solver here: a trial goes on with what is almost as good
            return greedy_ranking(coverage)[:budget]
        return cover.sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPaper:
    """The instance that a prompt is about, and which of the displayed numbers are its own."""

    right: RightAnswers
    numbers: frozenset[int]


class KnownPapers:
    """The data, indexed once by numbered sentence; an instance is decoded again when a prompt asks about it."""

    def __init__(self, dataset: Dataset) -> None:
        self._first_of: list[str] = []  # paper -> id of its first instance
        self._instances_of: dict[str, list[tuple[int, str]]] = {}  # hypothesis -> papers and ids of its instances
        # The hash of (number, text) -> the papers that have that sentence there: an index of 64-bit hashes is a tenth
        # of one of texts. What is found by it is compared with the texts before it counts.
        self._papers_with: dict[int, tuple[int, ...]] = {}
        self._right = lru_cache(maxsize=_KEPT_INSTANCES)(lambda instance_id: RightAnswers(dataset[instance_id]))
        self._index(dataset)

    def find(self, content: PromptContent) -> KnownPaper | None:
        """Return the paper that has most of the shown sentences under their numbers, or None where none has any.

        Of instances that share a paper, the one whose hypothesis is in the prompt counts, else the first.
        """
        votes: dict[int, int] = {}
        for sentence in content.shown:
            for paper in self._papers_that_have(sentence):
                votes[paper] = votes.get(paper, 0) + 1
        if not votes:
            return None
        most = max(votes.values())
        papers = {paper for paper, count in votes.items() if count == most}
        asked = (pair for hypothesis in content.hypotheses for pair in self._instances_of.get(hypothesis, ()))
        instance_id = next((name for paper, name in asked if paper in papers), self._first_of[min(papers)])
        right = self._right(instance_id)
        return KnownPaper(right=right, numbers=right.own_numbers(content.shown))

    def _papers_that_have(self, sentence: tuple[int, str]) -> tuple[int, ...]:
        """Return the papers that have a text under its number; as it stands first, since most prompts are tidy."""
        number, text = sentence
        found = self._papers_with.get(hash(sentence))
        return self._papers_with.get(hash((number, normalised(text))), ()) if found is None else found

    def _index(self, dataset: Dataset) -> None:
        paper_of: dict[int, int] = {}
        for query in dataset.queries():
            sentences = tuple(enumerate(map(normalised, query.sentences)))
            paper = paper_of.setdefault(hash(sentences), len(self._first_of))
            self._instances_of.setdefault(normalised(query.hypothesis), []).append((paper, query.instance_id))
            if paper < len(self._first_of):
                continue
            self._first_of.append(query.instance_id)
            for sentence in sentences:
                held = self._papers_with.get(hash(sentence), ())
                self._papers_with[hash(sentence)] = (*held, paper)


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
