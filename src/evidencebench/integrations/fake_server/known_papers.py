"""The papers that the model knows: which one a prompt is about, and the right answers by its labels."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cache, lru_cache, partial

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import Coverage, coverage_of, greedy_ranking, maximum_coverage, minimum_cover
from evidencebench.integrations.fake_server.prompt_content import PromptContent, normalised
from evidencebench.query import AspectScope

BEST_SCORE = 10
"""The score of a sentence of the minimum cover; the scale begins at 0."""

# Recently used instances that are kept in memory; 4096 papers of 25 kB are 100 MB.
_KEPT_INSTANCES = 4096


class KnownPaper:
    """An instance that prompts are about, with the right answers, computed when they are asked for and kept."""

    def __init__(self, instance: Instance) -> None:
        self._sentences = dict(enumerate(map(normalised, instance.query.sentences)))
        self._coverage = cache(partial(coverage_of, instance.labels))
        self._optimum = cache(self._optimum_of)

    def own_numbers(self, shown: Iterable[tuple[int, str]]) -> tuple[int, ...]:
        """Return the shown numbers under which the paper has the same text, in the order of the prompt."""
        own = self._sentences.get  # most texts are equal as they are, and need not be normalised
        return tuple(number for number, text in shown if own(number) == text or own(number) == normalised(text))

    def selection(self, scope: AspectScope, budget: int | None, shown: Collection[int]) -> tuple[int, ...]:
        """Return the best selection among the shown sentences, in paper order; without a budget every source.

        It is the shown part of the whole paper's optimum, filled up greedily with sentences that cover more.
        """
        coverage = self._coverage(scope)
        if budget is None:
            return tuple(index for index in coverage.masks if index in shown)
        chosen = [index for index in self._optimum(scope, budget) if index in shown]
        return tuple(sorted([*chosen, *_greedy_additions(coverage, chosen, shown)[: budget - len(chosen)]]))

    def scores(self, scope: AspectScope, shown: Iterable[int]) -> dict[int, int]:
        """Return a score for each shown sentence: `BEST_SCORE` in the minimum cover, less for other sources, else 0."""
        best, masks = frozenset(self._optimum(scope, None)), self._coverage(scope).masks
        return {
            index: BEST_SCORE if index in best else min(masks.get(index, 0).bit_count(), BEST_SCORE - 1)
            for index in shown
        }

    def order(self, scope: AspectScope, shown: Iterable[int]) -> tuple[int, ...]:
        """Return the shown sentences: first the minimum cover, in greedy order, then the others by score."""
        scores = self.scores(scope, shown)
        best = [index for index in scores if scores[index] == BEST_SCORE]
        by_score = sorted(scores, key=lambda index: (-scores[index], index))
        return tuple(dict.fromkeys([*_greedy_additions(self._coverage(scope), (), best), *by_score]))

    def _optimum_of(self, scope: AspectScope, budget: int | None) -> tuple[int, ...]:
        coverage = self._coverage(scope)
        cover = minimum_cover(coverage) if budget is None else maximum_coverage(coverage, budget)
        return cover.sentences


class KnownPapers:
    """The papers of a data set, indexed once by numbered sentence; instances are decoded when prompts need them."""

    def __init__(self, dataset: Dataset) -> None:
        self._first_of: list[str] = []  # paper -> id of its first instance
        self._instances_of: dict[str, list[tuple[int, str]]] = {}  # hypothesis -> papers and ids of its instances
        # The hash of (number, text) -> the papers with this text at this number: an index of 64-bit hashes takes
        # a tenth of the memory of one of texts. `KnownPaper.own_numbers` compares the texts.
        self._papers_with: dict[int, tuple[int, ...]] = {}
        self._known = lru_cache(maxsize=_KEPT_INSTANCES)(lambda instance_id: KnownPaper(dataset[instance_id]))
        self._index(dataset)

    def find(self, content: PromptContent) -> KnownPaper | None:
        """Return the paper that has most of the shown sentences under their numbers, or None where none has any.

        Of instances that share a paper, it is the one whose hypothesis is in the prompt, else the first.
        """
        votes = Counter(paper for sentence in content.shown for paper in self._papers_that_have(sentence))
        if not votes:
            return None
        most = max(votes.values())
        papers = {paper for paper, count in votes.items() if count == most}
        asked = (pair for hypothesis in content.hypotheses for pair in self._instances_of.get(hypothesis, ()))
        return self._known(next((name for paper, name in asked if paper in papers), self._first_of[min(papers)]))

    def _papers_that_have(self, sentence: tuple[int, str]) -> tuple[int, ...]:
        """Return the papers that have a text under its number; it is normalised only where it is not found as it is."""
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


def _greedy_additions(coverage: Coverage, chosen: Iterable[int], shown: Iterable[int]) -> tuple[int, ...]:
    """Return shown sentences that cover more than the chosen, in greedy order."""
    left = coverage.coverable & ~coverage.mask_of(chosen)
    gains = {index: coverage.masks.get(index, 0) & left for index in shown}
    return greedy_ranking(replace(coverage, masks={index: mask for index, mask in gains.items() if mask}))
