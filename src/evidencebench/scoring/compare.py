"""Compare systems on the same instances: differences, tests, overlaps; the use of the hypothesis."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, get_args

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.errors import RunMismatchError, UndefinedScoreError
from evidencebench.scoring.measures import ASPECT_RECALL, MeasureOrName, measure_key
from evidencebench.scoring.oddities import first_alike
from evidencebench.scoring.resampling import (
    DEFAULT_RESAMPLING,
    Estimate,
    Floats,
    Resampling,
    bootstrap,
    bootstrap_columns,
    bootstrap_defined,
)
from evidencebench.scoring.selection import Selection
from evidencebench.scoring.significance import (
    ALPHA,
    AdjustedP,
    Name,
    PairedTest,
    adjust,
    enough_draws,
    p_text,
    paired_tests,
    percent,
)
from evidencebench.scoring.task_scores import SCORES, Counts, TaskScores
from evidencebench.tables import Cell, excerpt_html
from evidencebench.wording import check_type, one_line

OWN = "own"  # the data's own queries, among controls


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two systems on one task: means and the test of first - second, over the instances where both have a score."""

    task: Task
    first: Estimate
    second: Estimate
    test: PairedTest
    overlap: Estimate | None  # of their selections, in 0..1 (see `overlap_of`); None if both select nothing
    first_counts: Counts
    second_counts: Counts

    @property
    def can_differ(self) -> bool:
        return self.test.n_better + self.test.n_worse > 0

    def __repr__(self) -> str:
        difference = self.test.difference
        means = f"{self.task.name}: {self.first.mean:.3f} - {self.second.mean:.3f} = {difference.mean:+.3f}"
        interval = "" if difference.interval is None else "[{:+.3f}, {:+.3f}]".format(*difference.interval)
        return one_line(self, means, interval, f"p={self.test.p_value:.2g}", f"n={difference.n}")

    def _repr_html_(self) -> str:
        test = self.test
        percents = [percent(estimate) for estimate in (self.first, self.second, test.difference)]
        p_value = p_text(AdjustedP(value=test.p_value, is_bound=test.is_bound))
        columns = ["task", "first, %", "second, %", "difference", "p", "better", "equal", "worse"]
        rows: list[list[Cell]] = [[self.task.name, *percents, p_value, test.n_better, test.n_equal, test.n_worse]]
        return excerpt_html(repr(self), columns, rows, len(rows))


def compare(
    first: TaskScores,
    second: TaskScores,
    *,
    measure: MeasureOrName = ASPECT_RECALL,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> Comparison:
    """Compare two systems' scores on the same task and instances.

    Parameters
    ----------
    first, second
        The scores of each system on the task, as `evaluate` returns them; the difference is first - second.
    measure
        The measure that is compared, or its key.
    resampling
        How the intervals and the test are drawn.

    Raises
    ------
    RunMismatchError
        If the instances differ.
    UndefinedScoreError
        If there is no instance where the measure is defined for both.

    Examples
    --------
    >>> from evidencebench import BM25, evaluate, load_sample
    >>> scores = evaluate({"mine": {}, "bm25": BM25()}, load_sample()[:1], "er_at_10")
    >>> found = compare(scores["bm25"]["er_at_10"], scores["mine"]["er_at_10"])
    >>> found.test.difference.mean == scores["bm25"]["er_at_10"].estimate().mean
    True
    """
    return compare_all({0: first, 1: second}, [(0, 1)], measure=measure, resampling=resampling)[0]


def compare_all(
    scores: Mapping[Name, TaskScores],
    pairs: Sequence[tuple[Name, Name]],
    *,
    measure: MeasureOrName = ASPECT_RECALL,
    resampling: Resampling = DEFAULT_RESAMPLING,
    with_overlaps: bool = True,
    n_flips: int | None = None,
) -> list[Comparison]:
    """Compare over the instances where the measure is defined for all.

    Where that is everywhere, as of aspect recall, each pair has the digits of `compare`.
    """
    if not pairs:
        return []
    values, clusters = common_values(list(scores.values()), measure)
    column_of = {name: column for column, name in enumerate(scores)}
    place_of = {name: place for place, name in enumerate(dict.fromkeys(name for pair in pairs for name in pair))}
    places = [(place_of[first], place_of[second]) for first, second in pairs]
    compared = values[:, [column_of[name] for name in place_of]]
    means, tests = paired_tests(compared, places, clusters, resampling, n_flips)
    shared: list[Estimate | None] = [None] * len(pairs)
    if with_overlaps:
        each = np.column_stack([overlaps(scores[first], scores[second]) for first, second in pairs])
        shared = bootstrap_defined(each, scores[pairs[0][0]].clusters, resampling)
    return [
        Comparison(
            task=scores[first].task,
            first=means[place_of[first]],
            second=means[place_of[second]],
            test=test,
            overlap=overlap,
            first_counts=scores[first].counts,
            second_counts=scores[second].counts,
        )
        for (first, second), test, overlap in zip(pairs, tests, shared, strict=True)
    ]


def common_values(
    columns: Sequence[TaskScores], measure: MeasureOrName = ASPECT_RECALL
) -> tuple[Floats, tuple[str, ...]]:
    """Return a measure (instances x systems) and the clusters, of the instances where it is defined for all systems."""
    require_same_instances(columns)
    first = columns[0]
    key = measure_key(measure, first.scores)
    values = np.column_stack([column.scores[measure_key(key, column.scores)] for column in columns])
    defined = np.flatnonzero(~np.isnan(values).any(axis=1)).tolist()
    if not defined:
        raise UndefinedScoreError(f"task '{first.task.name}': {key} is undefined: no instance counts for all")
    return values[defined], tuple(first.clusters[place] for place in defined)


def mean_recalls(
    columns: Sequence[TaskScores],
    resampling: Resampling = DEFAULT_RESAMPLING,
    measure: MeasureOrName = ASPECT_RECALL,
) -> list[Estimate]:
    """Return each system's mean, of aspect recall with the digits of `TaskScores.estimate`, in less time."""
    return bootstrap_columns(*common_values(columns, measure), resampling)


def require_same_instances(columns: Sequence[TaskScores]) -> None:
    if not columns:
        raise RunMismatchError("expected the scores of at least one system, got none")
    for other in columns:
        check_type(other, TaskScores, SCORES)
        if other.ids != columns[0].ids:
            raise RunMismatchError(
                f"task '{other.task.name}': the runs cover different instances ({len(columns[0].ids)} and "
                f"{len(other.ids)}); run them on the same data with the same --limit and --ids"
            )


def overlap_of(first: Selection, second: Selection) -> float:
    """Return the Jaccard overlap; of drawn sentences, the sum of the smaller probabilities by that of the larger."""
    if not (first.n_drawn or second.n_drawn) and first.size + second.size:
        a, b = frozenset(first.certain), frozenset(second.certain)
        return len(a & b) / len(a | b)
    p, q = (
        dict.fromkeys(selection.certain, 1.0)
        | (dict.fromkeys(selection.tied, selection.n_drawn / len(selection.tied)) if selection.n_drawn else {})
        for selection in (first, second)
    )
    union = p.keys() | q.keys()
    if not union:
        raise UndefinedScoreError("the overlap of two empty selections is undefined")
    shared = sum(min(p.get(index, 0.0), q.get(index, 0.0)) for index in union)
    return shared / sum(max(p.get(index, 0.0), q.get(index, 0.0)) for index in union)


def overlaps(first: TaskScores, second: TaskScores) -> Floats:
    if not (first.selections and second.selections):
        raise ValueError("expected scores from evaluate(..., with_selections=True)")
    pairs = zip(first.selections, second.selections, strict=True)
    return np.array([overlap_of(a, b) if a.size or b.size else np.nan for a, b in pairs])


def mean_overlaps(columns: Sequence[TaskScores]) -> Floats:
    """Return the mean of `overlaps` for every two of the systems, systems x systems, in less time; NaN as there."""
    require_same_instances(columns)
    totals, defined = np.zeros((2, len(columns), len(columns)))
    selections_by_instance = zip(*(column.selections for column in columns), strict=True)
    for n_sentences, selections in zip(columns[0].n_sentences, selections_by_instance, strict=True):
        chosen = np.zeros((len(columns), n_sentences))  # the probability with which each selects each sentence
        for row, selection in zip(chosen, selections, strict=True):
            row[[*selection.certain]] = 1.0
            row[[*selection.tied]] = selection.n_drawn / max(1, len(selection.tied))
        shared, sizes = np.minimum(chosen[:, None], chosen).sum(axis=2), chosen.sum(axis=1)
        union = sizes[:, None] + sizes - shared  # the larger of two probabilities is their sum less the smaller
        totals += np.divide(shared, union, out=np.zeros_like(union), where=union > 0)
        defined += union > 0
    return np.divide(totals, defined, out=np.full_like(totals, np.nan), where=defined > 0)


@dataclass(frozen=True, slots=True)
class Pair(Generic[Name]):
    first: Name
    second: Name
    comparison: Comparison
    adjusted: AdjustedP | None  # of `adjust`; None where they cannot differ significantly
    is_apart: bool  # one is a control or knows the labels, so that the pair is not in the family of the runs

    @property
    def p_value(self) -> float:
        return 1.0 if self.adjusted is None else self.adjusted.value

    @property
    def test(self) -> PairedTest:
        return self.comparison.test

    @property
    def is_significant(self) -> bool:
        return self.p_value < ALPHA

    @property
    def p_text(self) -> str:
        return p_text(self.adjusted)


def compare_pairs(
    scores: Mapping[Name, TaskScores],
    pairs: Sequence[tuple[Name, Name]],
    apart: Collection[Name] = (),
    *,
    measure: MeasureOrName = ASPECT_RECALL,
    resampling: Resampling,
    with_overlaps: bool = True,
) -> list[Pair[Name]]:
    """Compare pairs of systems, with the p-values that every command, page and data frame shows.

    Holm counts the pairs that differ in an answer. Pairs with a system of ``apart``, a control or one that knows the
    labels, are a second family, so that no control changes what is said of runs.
    """
    same = first_alike({name: system.answer_keys for name, system in scores.items()})
    compared: dict[tuple[Name, Name], Pair[Name]] = {}
    for is_apart in (False, True):
        family = [pair for pair in pairs if is_apart != set(apart).isdisjoint(pair)]
        alike = [frozenset(same[name] for name in pair) for pair in family]
        n_flips = max(resampling.n_draws, enough_draws(sum(len(pair) > 1 for pair in set(alike))))
        comparisons = compare_all(
            scores, family, measure=measure, resampling=resampling, with_overlaps=with_overlaps, n_flips=n_flips
        )
        adjusted = adjust([comparison.test for comparison in comparisons], alike)
        for pair, comparison, p_value in zip(family, comparisons, adjusted, strict=True):
            compared[pair] = Pair(*pair, comparison, p_value, is_apart=is_apart)
    return [compared[pair] for pair in pairs]


def holm_text(pairs: Iterable[Pair[Name]]) -> str:
    """Return over what the p-values of pairs are adjusted, such as ``Holm over 3 pairs of runs per task``."""
    sizes: dict[bool, set[int]] = {False: set(), True: set()}
    for pair in pairs:
        sizes[pair.is_apart] |= set() if pair.adjusted is None else {pair.adjusted.n_tests}
    runs, apart = (" to ".join(map(str, sorted({min(n), max(n)}))) if n else "" for n in sizes.values())
    text = f"Holm over {runs or 'no'} {'pair' if runs == '1' else 'pairs'} of runs per task"
    return f"{text}; over {apart} with a baseline" if apart else text


@dataclass(frozen=True, slots=True, kw_only=True)
class DistractorShare:
    """What a second paper's sentences, which cover nothing, take: shares in 0..1."""

    sentences: Estimate  # of the sentences of both papers: what choosing blindly would select of the distractor
    selection: Estimate | None  # of the selected sentences; None where nothing is selected
    recall: Estimate | None  # of the recall that the budget allows, what is lost; None where nothing can be covered


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlResult:
    """A system on one task, asked each paper's own query and a changed one."""

    system: str
    control: str  # such as ``"two_papers"``, with the file where there is one
    comparison: Comparison  # of the answers to the own queries, ``first``, and to the changed ones, ``second``
    adjusted: AdjustedP | None  # over the systems of one control and task; None where nothing can be tested
    reads_hypothesis: bool  # as the system declares
    distractor: DistractorShare | None = None  # None but for two papers

    @property
    def p_value(self) -> float | None:
        return None if self.adjusted is None else self.adjusted.value

    def __repr__(self) -> str:
        return one_line(self, f"{self.system}, {self.control}, {self.comparison!r}")


Use = Literal[
    "uses it",
    "does worse with it",
    "selection changes, no gain shown",
    "selection changes little",
    "does not use it",
    "too few papers",
]

USES: tuple[Use, ...] = get_args(Use)

MOST_CHANGED = 0.5  # where the overlap of the selections is surely above it, a system changes little


def use_of_hypothesis(result: ControlResult) -> Use:
    """Return what a wrong hypothesis shows of a system.

    ``uses it`` is about recall: a changed selection is evidence only where the same question always gets the same
    answer. ``selection changes, no gain shown`` is no proof of no gain: its interval says how large that may be.
    """
    overlap, difference = result.comparison.overlap, result.comparison.test.difference
    if result.adjusted is not None and result.adjusted.is_significant:
        return "uses it" if difference.mean > 0 else "does worse with it"
    if overlap is None or overlap.mean >= 1:
        return "does not use it"
    if overlap.low is None:
        return "too few papers"
    return "selection changes little" if overlap.low > MOST_CHANGED else "selection changes, no gain shown"


def control_results(
    compared: Iterable[tuple[str, str, TaskScores, TaskScores]],
    reads_hypothesis: Mapping[str, bool],
    resampling: Resampling,
    measure: MeasureOrName = ASPECT_RECALL,
) -> tuple[ControlResult, ...]:
    """Return the result of each (system, control, its scores when asked own queries, and when asked changed ones)."""
    compared = list(compared)
    families: dict[tuple[str, str], list[int]] = {}  # the systems of one control and task are one family of tests
    for place, (_, control, own, _) in enumerate(compared):
        families.setdefault((control, own.task.name), []).append(place)
    alike = [(own.answer_keys, changed.answer_keys) for _, _, own, changed in compared]
    n_alike = max((len({alike[place] for place in places}) for places in families.values()), default=0)
    n_flips = max(resampling.n_draws, enough_draws(n_alike))
    comparisons = [
        compare_all(
            {0: own, 1: changed},
            [(0, 1)],
            measure=measure,
            resampling=resampling,
            n_flips=n_flips,
            with_overlaps=bool(own.selections and changed.selections),
        )[0]
        for _, _, own, changed in compared
    ]
    adjusted: dict[int, AdjustedP | None] = {}
    for places in families.values():
        tests = [comparisons[place].test for place in places]
        adjusted |= zip(places, adjust(tests, [alike[place] for place in places]), strict=True)
    return tuple(
        ControlResult(
            system=system,
            control=control,
            comparison=comparisons[place],
            adjusted=adjusted[place],
            reads_hypothesis=reads_hypothesis[system],
            distractor=_distractor_share(own, changed, resampling),
        )
        for place, (system, control, own, changed) in enumerate(compared)
    )


def _distractor_share(own: TaskScores, changed: TaskScores, resampling: Resampling) -> DistractorShare | None:
    if own.n_sentences == changed.n_sentences:
        return None
    added = 1 - np.array(own.n_sentences) / np.array(changed.n_sentences)
    lost = own.scores["relative_recall"] - changed.scores["relative_recall"]
    shares = np.column_stack([distractor_shares(own, changed), lost])
    selection, recall = bootstrap_defined(shares, own.clusters, resampling)
    return DistractorShare(sentences=bootstrap(added, own.clusters, resampling), selection=selection, recall=recall)


def distractor_shares(own: TaskScores, changed: TaskScores) -> Floats:
    """Return for each instance the share of selected sentences that are the distractor's; NaN without any."""
    pools = zip(changed.selections, own.n_sentences, changed.n_sentences, strict=True)
    return np.array(
        [chosen.expected_within(range(n_own, n)) / chosen.size if chosen.size else np.nan for chosen, n_own, n in pools]
    )
