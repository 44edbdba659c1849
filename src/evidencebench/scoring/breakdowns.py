"""Recall by place ("lost in the middle"), by kind and by budget; what each pick adds."""

from array import array
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise, repeat
from math import nan
from operator import or_
from pathlib import Path
from typing import TypeAlias

import numpy as np

from evidencebench.data.branch_and_bound import undominated
from evidencebench.data.cover import Coverage, ceiling, coverage_of, greedy_ranking
from evidencebench.data.dataset import Dataset, reopen_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.sources import DataFile
from evidencebench.data.tasks import Task, task_named
from evidencebench.engine.local import InProcess
from evidencebench.engine.protocol import Engine, map_in_order
from evidencebench.errors import UndefinedScoreError
from evidencebench.execution.answers import answers_from
from evidencebench.execution.compatibility import check_answers
from evidencebench.query import AspectScope, Kind
from evidencebench.runs.formats import open_run
from evidencebench.runs.run import RunFile
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.evaluate import AnswerSource, case_of, distractors_of, grade
from evidencebench.scoring.measures import aspect_recall, holders_of, missed_by_draws
from evidencebench.scoring.resampling import (
    DEFAULT_RESAMPLING,
    Estimate,
    Floats,
    Resampling,
    bootstrap,
    bootstrap_columns,
    by_cluster,
    shared_counts,
)
from evidencebench.scoring.selection import DEFAULT_RULES, CheckedAnswer, Rules, Selection, check_answer
from evidencebench.scoring.task_scores import SCORES, TaskScores
from evidencebench.systems.changed_queries import Distractor
from evidencebench.wording import check_type

N_AT_AN_END = 10  # so many sentences at either end of a paper are its ends
SHARES = ("over 80 %", "60 to 80 %", "40 to 60 %", "20 to 40 %", "under 20 %")  # of the aspects that the ends cover
_LEAST_DETERMINANT = 1e-9  # of the correlations of predictors: 0 where one follows from another


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceGroup:
    share: str  # one of `SHARES`
    recall: Estimate
    n_sentences: float  # mean length of the papers


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthGroup:
    """A third of the instances, by the length of their papers in sentences."""

    shortest: int
    longest: int
    slope: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceBreakdown:
    """A slope is the change of recall from a share of 0 to one of 1; None where the papers do not differ enough."""

    groups: tuple[PlaceGroup, ...]  # from high shares to low ones; those without instances are left out
    slope: Estimate | None  # over all instances, whatever the length
    slope_at_length: Estimate | None  # the length of the paper, on a scale of doublings, held as it is
    per_doubling: Estimate | None  # the change of recall with each doubling of the length, the share held as it is
    lengths: tuple[LengthGroup, ...]  # from short papers to long ones


def place_breakdown(
    scores: TaskScores, dataset: Dataset, resampling: Resampling = DEFAULT_RESAMPLING
) -> PlaceBreakdown:
    """Return a system's recall by where the evidence lies, with intervals that resample papers.

    Parameters
    ----------
    scores
        The scores of a system on a task, as `evaluate` returns them.
    dataset
        The data that was scored. Instances without a coverable aspect are left out.
    resampling
        How the intervals are drawn.

    Examples
    --------
    >>> from evidencebench import BM25, evaluate, load_sample
    >>> scores = evaluate({"bm25": BM25()}, load_sample(), "er_at_10")["bm25"]["er_at_10"]
    >>> [(group.share, group.recall.n) for group in place_breakdown(scores, load_sample()).groups]
    [('over 80 %', 5), ('60 to 80 %', 4), ('40 to 60 %', 1)]
    """
    check_type(scores, TaskScores, SCORES)
    ends = [covered_at_ends(dataset[instance_id], scores.task.scope) for instance_id in scores.ids]
    kept = [place for place, (_, n_coverable, _) in enumerate(ends) if n_coverable]
    clusters = [scores.clusters[place] for place in kept]
    n_at_ends, n_coverable, lengths = np.array([ends[place] for place in kept], dtype=np.int64).reshape(-1, 3).T
    recalls, shares = scores.recalls[kept], n_at_ends / n_coverable
    places = np.array([share_group(*ends[place][:2]) for place in kept], dtype=np.int64)
    groups = []
    for place, share in enumerate(SHARES):
        if inside := np.flatnonzero(places == place).tolist():
            recall = bootstrap(recalls[inside], [clusters[member] for member in inside], resampling)
            groups.append(PlaceGroup(share=share, recall=recall, n_sentences=float(lengths[inside].mean())))

    def slope(inside: list[int]) -> Estimate | None:
        fitted = slopes(shares[inside, None], recalls[inside], [clusters[member] for member in inside], resampling)
        return None if fitted is None else fitted[0]

    # Papers of the same length are in one third.
    ends_of_thirds = np.quantile(lengths, [1 / 3, 2 / 3], method="higher") if kept else np.empty(0)
    thirds = np.searchsorted(ends_of_thirds, lengths)
    at_length = slopes(np.column_stack([shares, np.log2(lengths)]), recalls, clusters, resampling) or (None, None)
    return PlaceBreakdown(
        groups=tuple(groups),
        slope=slope(list(range(len(kept)))),
        slope_at_length=at_length[0],
        per_doubling=at_length[1],
        lengths=tuple(
            LengthGroup(shortest=int(min(lengths[inside])), longest=int(max(lengths[inside])), slope=slope(inside))
            for third in range(3)
            if (inside := np.flatnonzero(thirds == third).tolist())
        ),
    )


def covered_at_ends(instance: Instance, scope: AspectScope) -> tuple[int, int, int]:
    """Return how many aspects the ends of a paper cover, how many any sentence does, and how many sentences it has."""
    coverage, n_sentences = coverage_of(instance.labels, scope), len(instance.query.sentences)
    ends = {*range(min(N_AT_AN_END, n_sentences)), *range(max(0, n_sentences - N_AT_AN_END), n_sentences)}
    return coverage.mask_of(ends).bit_count(), coverage.coverable.bit_count(), n_sentences


def share_group(n_at_ends: int, n_coverable: int) -> int:
    """Return the position in `SHARES`; in whole numbers, since a share such as 4/5 is on an edge."""
    return 0 if 5 * n_at_ends > 4 * n_coverable else 4 - min(3, 5 * n_at_ends // n_coverable)


# Properties of papers, such as their length, in bins.

_ASPECT_BINS = (5, 9, 13)
_LENGTH_BINS = (100, 150, 200, 300)
NOTHING = "no aspect can be covered"


def _names(starts: Sequence[int], unit: str) -> tuple[str, ...]:
    spans = (f"{first}–{after - 1} {unit}" for first, after in pairwise((1, *starts)))
    return (*spans, f"{starts[-1]} {unit} or more")


PROPERTIES: dict[str, tuple[str, ...]] = {
    "the number of aspects that count": _names(_ASPECT_BINS, "aspects"),
    "the length of the paper": _names(_LENGTH_BINS, "sentences"),
    "what the abstract covers": (*(f"{share} in the abstract" for share in ("all", "some", "none")), NOTHING),
    "what the ends of the paper cover": (*(f"{share} of the aspects" for share in SHARES), NOTHING),
}
"""Each property of an instance, with the names of its bins; `places_of` has an instance's bin in each."""


def places_of(instance: Instance, scope: AspectScope) -> tuple[int, int, int, int]:
    """Return the positions of an instance's bins: by aspects, by length, by the abstract, by the ends of the paper."""
    by_aspects = bisect(_ASPECT_BINS, len(instance.labels.that_count(scope)))
    by_length = bisect(_LENGTH_BINS, len(instance.query.sentences))
    coverage = coverage_of(instance.labels, scope)
    if not coverage.coverable:
        return by_aspects, by_length, 3, len(SHARES)  # nothing can be covered
    covered = coverage.mask_of(instance.query.indices_of(Kind.ABSTRACT))
    by_abstract = 0 if covered == coverage.coverable else 1 if covered else 2
    n_at_ends, n_coverable, _ = covered_at_ends(instance, scope)
    return by_aspects, by_length, by_abstract, share_group(n_at_ends, n_coverable)


def slopes(
    predictors: Floats, outcomes: Floats, clusters: Sequence[str], resampling: Resampling
) -> tuple[Estimate, ...] | None:
    """Return each predictor's slope in a fit of all; None where the data, or over half of the draws, have none."""
    n_predictors, spread = predictors.shape[1], predictors.std(axis=0)
    if len(outcomes) <= n_predictors + 1 or not spread.all():
        return None
    scaled = (predictors - predictors.mean(axis=0)) / spread
    design = np.column_stack([np.ones(len(outcomes)), scaled])
    products = design[:, :, None] * np.column_stack([design, outcomes])[:, None, :]
    sums, _ = by_cluster(products.reshape(len(outcomes), -1), clusters)
    observed = _solved(sums.sum(axis=0)[None], n_predictors)[0]
    if np.isnan(observed).any():
        return None
    drawn = np.concatenate([_solved(weights @ sums, n_predictors) for weights in shared_counts(len(sums), resampling)])
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    if 2 * len(drawn) < resampling.n_draws:
        return None
    tail = (1 - resampling.level) / 2
    lows, highs = np.quantile(drawn, [tail, 1 - tail], axis=0) / spread
    return tuple(
        Estimate(mean=float(mean), low=float(low), high=float(high), n=len(outcomes), n_clusters=len(sums))
        for mean, low, high in zip(observed / spread, lows, highs, strict=True)
    )


def _solved(sums: Floats, n_predictors: int) -> Floats:
    """Return the slopes for each row of summed products (design x design, design x outcome); NaN where not defined."""
    size = n_predictors + 1
    systems = sums.reshape(len(sums), size, size + 1)
    matrices, right = systems[:, :, :size], systems[:, :, size]
    scale = np.sqrt(np.einsum("nii->ni", matrices))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = np.nan_to_num(matrices / (scale[:, :, None] * scale[:, None, :]))
    defined = np.abs(np.linalg.det(correlations)) > _LEAST_DETERMINANT
    solutions = np.full((len(sums), n_predictors), np.nan)
    if defined.any():
        solutions[defined] = np.linalg.solve(matrices[defined], right[defined][:, :, None])[:, 1:, 0]
    return solutions


def kind_breakdown(scores: TaskScores, dataset: Dataset) -> dict[str, dict[str, float]]:
    """By kind: its share of the selections, recall of its selected sentences alone, and of all its sentences."""
    table = {kind.name.lower(): {"selected": 0.0, "recall": 0.0, "available": 0.0} for kind in Kind}
    n_selected = 0.0
    for instance_id, selection in zip(scores.ids, scores.selections, strict=True):
        instance = dataset[instance_id]
        coverage = coverage_of(instance.labels, scores.task.scope)
        n_selected += selection.size
        for kind in Kind:
            indices = frozenset(instance.query.indices_of(kind))
            masks = {index: mask for index, mask in coverage.masks.items() if index in indices}
            of_kind = Coverage(n_aspects=coverage.n_aspects, masks=masks)
            row = table[kind.name.lower()]
            row["selected"] += selection.expected_within(indices)
            row["recall"] += aspect_recall(selection, of_kind) / len(scores.ids)
            row["available"] += aspect_recall(Selection(certain=tuple(indices)), of_kind) / len(scores.ids)
    for row in table.values():
        row["selected"] = row["selected"] / n_selected if n_selected else 0.0
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetedAnswers:
    source: AnswerSource
    rules: Rules = DEFAULT_RULES
    separate_tasks: frozenset[str] = frozenset()  # that were asked separately; empty: one answer serves every task
    distractors: Mapping[str, Distractor] = field(default_factory=dict)  # the second papers that it was asked

    @classmethod
    def of_run(
        cls, run: RunFile, rules: Rules, distractors: Mapping[str, Distractor] | None = None
    ) -> "BudgetedAnswers":
        tasks = frozenset(task for _, task in run.done if task is not None)
        return cls(source=answers_from(run), rules=rules, separate_tasks=tasks, distractors=distractors or {})

    def recalls(self, instance: Instance, coverages: Mapping[AspectScope, Coverage], largest: int) -> list[list[float]]:
        """Return recall as [scope][budget]; NaN where the task was not asked. The numbers are those of `evaluate`."""
        distractor = self.distractors.get(instance.id)
        n_sentences = len(instance.query.sentences) + (0 if distractor is None else distractor.n_sentences)
        if not self.separate_tasks:
            checked = check_answer(self.source(instance, budget_task("all", 1)), n_sentences, self.rules)
            return [recalls_by_budget(checked, coverage, largest) for coverage in coverages.values()]

        def recall(task: Task) -> float:
            case = case_of(instance, task) if task.name in self.separate_tasks else None
            if case is None:
                return nan
            return grade(case, check_answer(self.source(instance, task), n_sentences, self.rules)).recall

        return [[recall(budget_task(scope, k)) for k in range(1, largest + 1)] for scope in coverages]


_BLOCK_SIZE = 32


def recalls_of_all(
    dataset: Dataset,
    n_instances: int,
    runs: Collection[RunFile],
    controls: Sequence[str],
    largest: int,
    *,
    rules: Rules,
    engine: Engine,
    on_progress: Callable[[int, int], object],
) -> dict[AspectScope, tuple[Floats, list[str]]]:
    """Return by scope a row for each instance, and the instances' clusters.

    A row has the recalls of each run, of each control, and then the highest ones, at the budgets 1 to ``largest``.
    """
    ids = dataset.ids[:n_instances]
    blocks = [ids[start : start + _BLOCK_SIZE] for start in range(0, len(ids), _BLOCK_SIZE)]
    if not isinstance(engine, InProcess):
        arguments = (dataset.file, [run.path for run in runs], rules, controls, largest)
        parts = map_in_order(engine, _block_recalls, arguments, blocks)
    else:
        answers = _answers(runs, rules, controls)
        parts = (_recalls(map(dataset.__getitem__, block), answers, largest) for block in blocks)
    recalls: _Recalls = {"all": (array("d"), []), "results": (array("d"), [])}
    for n_blocks, part in enumerate(parts, 1):
        for scope, (table, clusters) in part.items():
            recalls[scope][0].extend(table)
            recalls[scope][1].extend(clusters)
        on_progress(min(n_blocks * _BLOCK_SIZE, n_instances), n_instances)
    return {
        scope: (np.frombuffer(table).reshape(len(clusters), -1 if clusters else 0), clusters)
        for scope, (table, clusters) in recalls.items()
    }


_Recalls: TypeAlias = dict[AspectScope, tuple["array[float]", list[str]]]
"""Recalls: instance after instance, of each every system, then the ceiling, of each every budget; and the clusters."""


def _block_recalls(
    data: DataFile, paths: Sequence[Path], rules: Rules, controls: Sequence[str], largest: int
) -> Callable[[Sequence[str]], _Recalls]:
    dataset = reopen_dataset(data)
    answers = _answers([open_run(path) for path in paths], rules, controls)
    return lambda ids: _recalls(map(dataset.__getitem__, ids), answers, largest)


def _recalls(instances: Iterable[Instance], answers: Sequence[BudgetedAnswers], largest: int) -> _Recalls:
    recalls: _Recalls = {"all": (array("d"), []), "results": (array("d"), [])}
    for instance in instances:
        scopes = [scope for scope in recalls if instance.labels.that_count(scope)]
        coverages = {scope: coverage_of(instance.labels, scope) for scope in scopes}
        systems = [answered.recalls(instance, coverages, largest) for answered in answers]
        systems.append([ceilings_by_budget(coverage, largest) for coverage in coverages.values()])
        for scope, *of_systems in zip(scopes, *systems, strict=True):
            for points in of_systems:
                recalls[scope][0].extend(points)
            recalls[scope][1].append(instance.cluster)
    return recalls


def _answers(runs: Iterable[RunFile], rules: Rules, controls: Sequence[str]) -> list[BudgetedAnswers]:
    """Return the answers of runs, then of controls, which are read by the default rules, whatever those for runs."""
    return [
        *(BudgetedAnswers.of_run(run, rules) for run in runs),
        *(BudgetedAnswers(source=answers_from(CONTROLS[name].named)) for name in controls),
    ]


def budget_task(scope: AspectScope, budget: int) -> Task:
    return task_named(f"{'result_' if scope == 'results' else ''}er_at_{budget}")


def recall_curve(
    run: RunFile,
    dataset: Dataset,
    scope: AspectScope,
    largest: int,
    *,
    rules: Rules,
    resampling: Resampling,
    n_instances: int,
    on_progress: Callable[[int, int], None],
) -> list[Estimate]:
    for k in range(1, largest + 1):
        check_answers(run, budget_task(scope, k), dataset)
    answers = BudgetedAnswers.of_run(run, rules, distractors_of(run, dataset))
    recalls: list[list[float]] = []
    clusters: list[str] = []
    for n_done, instance in enumerate(islice(dataset, n_instances), 1):
        if instance.labels.that_count(scope):
            recalls += answers.recalls(instance, {scope: coverage_of(instance.labels, scope)}, largest)
            clusters.append(instance.cluster)
        on_progress(n_done, n_instances)
    return bootstrap_columns(np.array(recalls), clusters, resampling)


def recalls_by_budget(checked: CheckedAnswer, coverage: Coverage, largest: int) -> list[float]:
    """Return `aspect_recall` of an answer's selection at the budgets 1 to ``largest``, in less time."""
    ranking, rules = checked.ranking, checked.rules
    if ranking.ordered and rules.ties == "expected" and ranking.scores is not None:
        return [aspect_recall(checked.selection(k), coverage) for k in range(1, largest + 1)]
    n_covered: list[float]
    if ranking.ordered or rules.over_length == "first":
        n_covered = _covered_by_first(ranking.sentences[:largest], coverage)
    else:
        n_sentences, n_coverable = len(ranking.sentences), coverage.coverable.bit_count()
        holders = holders_of(coverage.coverable, ranking.sentences, coverage)
        drawn = range(1, min(largest, n_sentences - 1) + 1)
        n_covered = [n_coverable - missed_by_draws(holders, n_sentences, k) for k in drawn]
        if n_sentences <= largest:
            n_covered.append(coverage.mask_of(ranking.sentences).bit_count())
    n_covered += [n_covered[-1] if n_covered else 0] * (largest - len(n_covered))
    return [n / coverage.n_aspects for n in n_covered]


def _covered_by_first(sentences: Iterable[int], coverage: Coverage) -> list[float]:
    """Return how many aspects the first k sentences cover, for k from 1."""
    return [mask.bit_count() for mask in accumulate(map(coverage.masks.get, sentences, repeat(0)), or_)]


def ceilings_by_budget(coverage: Coverage, largest: int) -> list[float]:
    """Return the highest aspect recall at the budgets 1 to ``largest``; NaN where it could not be proven.

    Bounds can prove a greedy choice without a search: the largest sentences cover no more, and of the best k sentences
    the k - 1 that cover most cover at least (k - 1) / k of it.
    """
    masks = undominated(coverage.coverable, coverage.masks.values())  # largest first
    reduced = Coverage(n_aspects=coverage.n_aspects, masks=dict(enumerate(masks)))  # has the same optima
    n_coverable, by_greed = coverage.coverable.bit_count(), _covered_by_first(greedy_ranking(reduced), reduced)
    most: int | None = 0
    ceilings: list[float] = []
    for k in range(1, largest + 1):
        if most != n_coverable:
            bound = min(n_coverable, sum(mask.bit_count() for mask in masks[:k]))
            if most:
                bound = min(bound, most * k // (k - 1))
            try:
                most = bound if by_greed[k - 1] == bound else ceiling(reduced, k)
            except UndefinedScoreError:
                most = None
        ceilings.append(nan if most is None else most / coverage.n_aspects)
    return ceilings


@dataclass(frozen=True, slots=True, kw_only=True)
class PickCounts:
    """How many selected sentences are of each sort, in expectation where chance draws among sentences."""

    new: float = 0.0  # state an aspect that counts and that no earlier one states
    redundant: float = 0.0  # state aspects that count, all of which earlier ones state: they add nothing
    heading: float = 0.0  # state no aspect that counts, and are headings
    no_evidence: float = 0.0  # state no aspect that counts, and are no headings

    @property
    def total(self) -> float:
        return self.new + self.redundant + self.heading + self.no_evidence


def pick_letters(certain: Sequence[int], tied: Sequence[int], coverage: Coverage, headings: frozenset[int]) -> str:
    """Return the sort of each sentence of an answer: n(ew), r(edundant), h(eading) or o(ther, without evidence).

    A sentence that chance draws, one of ``tied``, is compared with the certain ones only.
    """
    masks, covered, letters = coverage.masks, 0, []
    n_certain = len(certain)
    for place, index in enumerate((*certain, *tied)):  # without calls, since a report has millions of picks
        mask = masks.get(index, 0)
        if mask & ~covered:
            letters.append("n")
            if place < n_certain:
                covered |= mask
        elif mask:
            letters.append("r")
        else:
            letters.append("h" if index in headings else "o")
    return "".join(letters)


def picks_of(cases: Iterable[tuple[Selection, Coverage, frozenset[int]]]) -> PickCounts:
    """Return the picks of answers, each with what sentences cover and the headings of its paper.

    A sentence that chance draws counts as often as it is drawn.
    """
    counts = dict.fromkeys("nrho", 0.0)
    for selection, coverage, headings in cases:
        n_certain, tied = len(selection.certain), selection.tied if selection.n_drawn else ()
        letters, share = pick_letters(selection.certain, tied, coverage, headings), selection.n_drawn / (len(tied) or 1)
        for letter in counts:
            counts[letter] += letters.count(letter, 0, n_certain) + share * letters.count(letter, n_certain)
    return PickCounts(new=counts["n"], redundant=counts["r"], heading=counts["h"], no_evidence=counts["o"])


def coverages_of(
    instances: Iterable[Instance], scopes: Sequence[AspectScope]
) -> dict[AspectScope, dict[str, tuple[Coverage, frozenset[int]]]]:
    """Return by scope and instance id what the sentences cover, and which are headings, where any aspect counts."""
    coverages: dict[AspectScope, dict[str, tuple[Coverage, frozenset[int]]]] = {scope: {} for scope in scopes}
    for instance in instances:
        headings = frozenset(instance.query.indices_of(Kind.HEADING))
        for scope in scopes:
            if instance.labels.that_count(scope):
                coverages[scope][instance.id] = coverage_of(instance.labels, scope), headings
    return coverages
