"""The two systems that read the labels: ceilings, not competitors. No other system may import the labels."""

from dataclasses import dataclass
from typing import ClassVar

from evidencebench.data.cover import coverage_of, greedy_ranking, maximum_coverage, minimum_cover
from evidencebench.data.instance import Labels
from evidencebench.errors import UndefinedScoreError
from evidencebench.system import Ranking, RankingTask, Traits


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """The exact optimum: the most aspects that the budget's sentences can cover."""

    traits: ClassVar[Traits] = Traits(reads_task=True, reads_hypothesis=False, selects=True, knows_labels=True)

    def rank_knowing(self, labels: Labels, task: RankingTask) -> Ranking:
        coverage = coverage_of(labels, task.scope)
        cover = minimum_cover(coverage) if task.budget is None else maximum_coverage(coverage, task.budget)
        if not cover.proven:
            raise UndefinedScoreError("the optimum could not be proven")
        return Ranking(sentences=cover.sentences, ordered=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyOracle:
    """Greedy set cover: next the sentence that adds most aspects. On real papers almost as good as the optimum."""

    traits: ClassVar[Traits] = Traits(reads_task=True, reads_hypothesis=False, selects=True, knows_labels=True)

    def rank_knowing(self, labels: Labels, task: RankingTask) -> Ranking:
        return Ranking(sentences=greedy_ranking(coverage_of(labels, task.scope))[: task.budget])
