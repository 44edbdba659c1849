"""Score answers: one pass over the data for any number of tasks, systems, runs and dicts of answers."""

import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from math import nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from evidencebench.data.cover import Coverage, ceiling, coverage_of
from evidencebench.data.dataset import Dataset, instances_from, require_limit
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import AnswerError, OutOfRangeError, RunMismatchError, UndefinedScoreError
from evidencebench.execution.answers import answers_from, named_system
from evidencebench.execution.changes import changes_of, unchanged_control
from evidencebench.execution.compatibility import check_belongs, require_known
from evidencebench.execution.own_code import place_in
from evidencebench.files.disk import PathText
from evidencebench.runs.formats import GivenAnswer
from evidencebench.runs.run import Answer, Failure, RunFile
from evidencebench.scoring.measures import (
    ASPECT_RECALL,
    MEASURES,
    MeasureInput,
    MeasureOrName,
    measure_input,
    measure_named,
)
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Estimate, Floats, Resampling, bootstrap_defined
from evidencebench.scoring.selection import DEFAULT_RULES, CheckedAnswer, Rules, Selection, check_answer
from evidencebench.system import NamedSystem, System
from evidencebench.systems.changed_queries import Stranger
from evidencebench.tables import Cell, excerpt_html
from evidencebench.wording import counted, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    failed: int = 0
    empty: int = 0
    missing: int = 0
    duplicates: int = 0  # repeated sentences, removed
    out_of_range: int = 0  # sentences that do not exist, dropped on request
    over_length: int = 0  # unordered answers with more sentences than the budget
    not_applicable: int = 0  # instances left out because none of their aspects counts

    @property
    def unanswered(self) -> int:
        """How many answers score 0 because they failed, are empty or are missing."""
        return self.failed + self.empty + self.missing


class EpochSpread(NamedTuple):
    """The mean aspect recall of each epoch; its standard deviation; and that of one instance's score, on average."""

    means: tuple[float, ...]
    deviation: float
    instance_deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScores:
    """The scores of one system on one task, one an instance.

    Attributes
    ----------
    task
        The task.
    ids, clusters
        The id and the cluster of each instance that counts; the cluster is its review, or else its paper.
    scores
        Measure key -> one score an instance; NaN where the measure is undefined, which leaves the instance out.
    selections
        The selection of each answer; empty after ``evaluate(..., with_selections=False)``.
    counts
        How many answers failed, are empty, missing, and so on.
    notes
        The notes of the answers, summed over instances, such as how many replies of a language model were refusals.
    over_length
        For each unordered answer over the budget: how many sentences it names, and how many its paper has.
    n_sentences
        How many sentences could be selected from on each instance: those of its paper, and of a second one if asked.
    answer_keys
        A number for each answer; two systems have the same one where the same sentences count.
    errors
        Instance id -> why its answer failed, with the place in your own code if it was asked here.
    cut_short
        For each ranking that cannot be whole: how many sentences it ranks, and how many its paper has. It ranks fewer
        than count, or the first n of a longer paper and no other, as where scores are of a shorter list.
    epoch_recalls
        Of a run of several epochs: the aspect recall of each instance in each epoch, of which ``scores`` has the mean.
        Counts and notes are of all epochs; what is of single answers, such as ``selections``, is of the first.
    """

    task: Task
    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    scores: Mapping[str, Floats]
    selections: tuple[Selection, ...]
    counts: Counts
    notes: Mapping[str, int] = field(default_factory=dict)
    over_length: tuple[tuple[int, int], ...] = ()
    n_sentences: tuple[int, ...] = ()
    answer_keys: tuple[int, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    cut_short: tuple[tuple[int, int], ...] = ()
    epoch_recalls: tuple[Floats, ...] = ()

    def __repr__(self) -> str:
        mean = f"aspect recall {self.mean_recall:.3f}" if self.ids else "no instance"
        counted = {"failed": self.counts.failed, "missing": self.counts.missing}
        lacking = (f"{n} {name}" for name, n in counted.items() if n)
        return one_line(self, f"{self.task.name}: {mean}", f"n={len(self.ids)}", *lacking)

    def _repr_html_(self) -> str:
        rows: list[list[Cell]] = []
        for key, scores in self.scores.items():
            defined = scores[~np.isnan(scores)]
            rows.append([key, 100 * float(defined.mean()) if len(defined) else None, len(defined)])
        return excerpt_html(repr(self), ["measure", "mean, %", "instances"], rows, len(rows))

    @property
    def recalls(self) -> Floats:
        """The aspect recall of each instance, by which systems are ranked, compared and charted."""
        return self.scores[ASPECT_RECALL.key]

    @property
    def mean_recall(self) -> float:
        """Mean aspect recall."""
        return float(self.recalls.mean())

    @property
    def n_answers(self) -> int:
        """How many answers are scored: one an instance and epoch."""
        return len(self.ids) * max(1, len(self.epoch_recalls))

    @property
    def epochs(self) -> "EpochSpread | None":
        """How aspect recall differs between epochs; None for a run of one."""
        if not self.epoch_recalls or not self.ids:
            return None
        recalls = np.array(self.epoch_recalls)
        means = recalls.mean(axis=1)
        return EpochSpread(tuple(means.tolist()), float(means.std(ddof=1)), float(recalls.std(axis=0, ddof=1).mean()))

    def estimate(self, measure: MeasureOrName = ASPECT_RECALL, resampling: Resampling = DEFAULT_RESAMPLING) -> Estimate:
        """Return the mean of a measure with its interval, over the instances where it is defined.

        Raises
        ------
        UndefinedScoreError
            If it is defined nowhere.
        """
        key = measure_named(measure).key
        estimates = self.estimates((measure,), resampling)
        if not estimates:
            raise UndefinedScoreError(f"task '{self.task.name}': {key} is undefined: no instance counts")
        return estimates[key]

    def estimates(
        self, measures: Iterable[MeasureOrName] = tuple(MEASURES), resampling: Resampling = DEFAULT_RESAMPLING
    ) -> dict[str, Estimate]:
        """Return the mean of each measure with its interval, by key; a measure that is defined nowhere has no entry."""
        return estimates_by_task([self], measures, resampling)[0]


def estimates_by_task(
    scores: Sequence[TaskScores],
    measures: Iterable[MeasureOrName] = tuple(MEASURES),
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> list[dict[str, Estimate]]:
    """Return `TaskScores.estimates` of each; tasks over the same instances share the draws, which takes less time."""
    keys = [measure_named(measure).key for measure in measures]
    estimates: list[dict[str, Estimate]] = [{} for _ in scores]
    places: dict[tuple[str, ...], list[int]] = {}
    for place, task_scores in enumerate(scores):
        places.setdefault(task_scores.clusters, []).append(place)
    for clusters, members in places.items():
        columns = [(place, key) for place in members for key in keys]
        values = np.column_stack([scores[place].scores[key] for place, key in columns])
        for (place, key), estimate in zip(columns, bootstrap_defined(values, clusters, resampling), strict=True):
            if estimate is not None:
                estimates[place][key] = estimate
    return estimates


AnswerSource: TypeAlias = Callable[[Instance, Task], Answer | None]
Answering: TypeAlias = NamedSystem | System | RunFile | Mapping[str, GivenAnswer] | AnswerSource


def evaluate(
    sources: Mapping[str, Answering],
    dataset: Dataset | PathText | Iterable[Instance],
    tasks: TaskOrName | Iterable[TaskOrName],
    *,
    rules: Rules | Mapping[str, Rules] | None = None,
    limit: int | None = None,
    with_selections: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
    raise_errors: bool = False,
) -> dict[str, dict[str, TaskScores]]:
    """Return the scores of each source of answers on each task: source name -> task name -> scores.

    An answer of a system that raises an error has failed: it scores 0, `TaskScores.errors` has the error, and a
    `UserWarning` tells the first one. Another warns of rankings that are too short, unless the system selects.

    Parameters
    ----------
    sources
        Name -> a system, a run, answers in a dict, or a function that returns the answer for an instance and a task.
    dataset
        The data that the answers are for: a data set, its path or catalogue name, or instances.
    tasks
        The tasks to score on: tasks or their names, or a single one.
    rules
        How answers that do not fit the budget are read: rules for all sources, or source name -> rules.
    limit
        Only the first so many instances; None: all.
    with_selections
        Whether to keep the selection of each answer: comparisons need them, and they take memory.
    on_progress
        Called with (instances done, instances in all).
    raise_errors
        Whether to raise the first error that a system raises, as it is.

    Raises
    ------
    AnswerError
        If an answer selects a sentence that does not exist, unless the rules drop those.
    RunMismatchError
        If a run or a dict is not for this data.
    TypeError
        If a source, the data or a task is of another type.
    UndefinedScoreError
        If there is no source, or no task.

    Examples
    --------
    >>> from evidencebench import BM25, load_sample
    >>> sources = {"bm25": BM25(), "mine": {"evidencebench_sample_id_1": [2, 4, 5]}}
    >>> scores = evaluate(sources, load_sample()[:2], "er_at_10")
    >>> scores["mine"]["er_at_10"].counts.missing
    1
    """
    tasks, data = tasks_from(tasks), instances_from(dataset)
    answers, strangers = answer_functions(sources, data)
    scores = evaluate_sources(
        answers,
        data,
        tasks,
        strangers,
        rules=rules,
        limit=limit,
        with_selections=with_selections,
        on_progress=on_progress,
        raise_errors=raise_errors,
    )
    for name, source in sources.items():
        if hasattr(source, "rank"):
            warn_of(name, scores[name], ranks_all=not named_system(source).selects)
    return scores


def evaluate_sources(
    answers: Mapping[str, AnswerSource | tuple[AnswerSource, ...]],
    data: Dataset | list[Instance],
    tasks: Sequence[Task],
    strangers: Mapping[str, Mapping[str, Stranger]],
    *,
    rules: Rules | Mapping[str, Rules] | None = None,
    limit: int | None = None,
    with_selections: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
    raise_errors: bool = False,
) -> dict[str, dict[str, TaskScores]]:
    """Return what `evaluate` returns.

    A source in several epochs is a tuple; ``strangers`` has the second papers of sources that were asked two.
    """
    if not tasks:
        raise UndefinedScoreError("the scores on no task are undefined: give at least one, such as 'er_at_10'")
    if isinstance(rules, Rules | None):
        rules = dict.fromkeys(answers, rules or DEFAULT_RULES)
    columns = {
        name: [
            [_Column(epoch, task, rules.get(name, DEFAULT_RULES), with_selections, raise_errors) for task in tasks]
            for epoch in (source if isinstance(source, tuple) else (source,))
        ]
        for name, source in answers.items()
    }
    require_limit(limit)
    n_instances = min(len(data), len(data) if limit is None else limit)
    for n_done, instance in enumerate(islice(data, n_instances), 1):
        cases = [case_of(instance, task) for task in tasks]
        for name in answers:
            stranger = strangers.get(name, {}).get(instance.id)
            n_sentences = len(instance.query.sentences) + (0 if stranger is None else stranger.n_sentences)
            try:
                for of_epoch in columns[name]:
                    last = None
                    for case, column in zip(cases, of_epoch, strict=True):
                        last = column.add(instance, case, n_sentences, last)
            except OutOfRangeError as error:
                what_to_do = "out_of_range='drop' (--out-of-range drop) removes and counts such sentences"
                raise OutOfRangeError(f"{name}: {instance.id}: {error}; {what_to_do}") from error
            except AnswerError as error:
                raise AnswerError(f"{name}: {instance.id}: {error}; correct the answer") from error
        if on_progress is not None:
            on_progress(n_done, n_instances)
    return {
        name: {
            of_task[0].task.name: _mean_of([column.scores() for column in of_task])
            for of_task in zip(*by_epoch, strict=True)
        }
        for name, by_epoch in columns.items()
    }


def _mean_of(epochs: Sequence[TaskScores]) -> TaskScores:
    """Return the scores of epochs as one: of each instance, the mean over the epochs in which a measure is defined."""
    first = epochs[0]
    if len(epochs) == 1:
        return first
    values = {key: np.array([scores.scores[key] for scores in epochs]) for key in first.scores}
    with np.errstate(invalid="ignore"):
        means = {key: np.nansum(each, axis=0) / (~np.isnan(each)).sum(axis=0) for key, each in values.items()}
    summed = summed_of(epochs)
    summed["counts"] = replace(summed["counts"], not_applicable=first.counts.not_applicable)
    answer_keys = tuple(map(hash, zip(*(scores.answer_keys for scores in epochs), strict=True)))
    recalls = tuple(scores.recalls for scores in epochs)
    return replace(first, scores=means, answer_keys=answer_keys, epoch_recalls=recalls, **summed)


def summed_of(parts: Sequence[TaskScores]) -> dict[str, Any]:
    """Return the counts, notes and errors of several scores together."""
    notes, counts = Counter[str](), Counter[str]()
    for part in parts:
        notes.update(part.notes)
        counts.update(asdict(part.counts))
    errors = {name: error for part in parts for name, error in part.errors.items()}
    return {"counts": Counts(**counts), "notes": dict(sorted(notes.items())), "errors": errors}


def answer_functions(
    sources: Mapping[str, Answering], data: Dataset | list[Instance]
) -> tuple[dict[str, AnswerSource | tuple[AnswerSource, ...]], dict[str, Mapping[str, Stranger]]]:
    if not isinstance(sources, Mapping):
        raise TypeError(
            "sources: expected a dict of name -> system, run, answers or function, such as {'bm25': BM25()}, got "
            f"{type(sources).__name__}"
        )
    if not sources:
        raise UndefinedScoreError("the scores of no source are undefined: give at least one, such as {'bm25': BM25()}")
    answers: dict[str, AnswerSource | tuple[AnswerSource, ...]] = {}
    for name, source in sources.items():
        try:
            answers[name] = (
                tuple(map(answers_from, source.epochs)) if isinstance(source, RunFile) else answers_from(source)
            )
        except TypeError as error:
            raise TypeError(
                f"source '{name}': {error}; a source may also be a run, or a dict of answers {{instance id: [indices]}}"
            ) from error
        if isinstance(source, RunFile) and isinstance(data, Dataset):
            check_belongs(source, data)
        elif isinstance(source, RunFile | Mapping):
            require_known(name, source.ids if isinstance(source, RunFile) else source, data)
    runs = {name: source for name, source in sources.items() if isinstance(source, RunFile)}
    return answers, {name: strangers_of(run, data) for name, run in runs.items()}


def strangers_of(run: RunFile, data: Dataset | list[Instance]) -> Mapping[str, Stranger]:
    """Return instance id -> the second paper that a run was asked beside the own; empty for runs without any."""
    if run.header is None or not run.header.answers_two_papers:
        return {}
    if not isinstance(data, Dataset):
        raise RunMismatchError(
            f"{run.path}: answers queries of two papers of {run.header.data.name}; expected that data set, got a list "
            "of instances, which does not say which papers"
        )
    changes = changes_of(unchanged_control(run.header.control), data, run.header.seed)
    return changes.strangers or {} if changes is not None else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    instance: Instance
    coverage: Coverage  # of the aspects that count
    budget: int | None  # how many sentences count; None: any number
    ceiling: float  # the highest aspect recall that the budget allows; NaN where it could not be proven


def case_of(instance: Instance, task: Task) -> Case | None:
    if not task.applies_to(instance.labels):
        return None
    coverage, budget = coverage_of(instance.labels, task.scope), task.budget_for(instance)
    try:
        highest = ceiling(coverage, budget) / coverage.n_aspects
    except UndefinedScoreError:  # not proven, so measures that need it are undefined
        highest = nan
    return Case(instance=instance, coverage=coverage, budget=budget, ceiling=highest)


class Graded(NamedTuple):
    checked: CheckedAnswer
    selection: Selection
    outcome: MeasureInput

    @property
    def recall(self) -> float:
        return float(self.outcome.n_covered / self.outcome.n_aspects)

    def scores(self) -> dict[str, float]:
        return {key: float(measure.values(self.outcome)) for key, measure in MEASURES.items()}


def grade(case: Case, answer: Answer | CheckedAnswer | None, rules: Rules = DEFAULT_RULES) -> Graded:
    """Measure an answer, which ``rules`` read unless it is checked already; raises as `check_answer`."""
    if not isinstance(answer, CheckedAnswer):
        answer = check_answer(answer, len(case.instance.query.sentences), rules)
    selection = answer.selection(case.budget)
    is_empty = not answer.ranking.sentences and case.budget != 0
    outcome = measure_input(selection, case.coverage, case.ceiling, is_empty=is_empty)
    return Graded(answer, selection, outcome)


@dataclass(slots=True)
class _Column:
    source: AnswerSource
    task: Task
    rules: Rules
    with_selections: bool
    raise_errors: bool
    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    rows: list[tuple[str, str, int, int]] = field(default_factory=list)  # id, cluster, number of sentences, answer key
    outcomes: "array[float]" = field(default_factory=lambda: array("d"))
    selections: list[Selection] = field(default_factory=list)
    over_length: list[tuple[int, int]] = field(default_factory=list)
    cut_short: list[tuple[int, int]] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)

    def add(
        self, instance: Instance, case: Case | None, n_sentences: int, last: tuple[Answer | None, CheckedAnswer] | None
    ) -> tuple[Answer | None, CheckedAnswer] | None:
        """Grade the answer to an instance; an answer that serves several tasks is checked once, on the first."""
        if case is None:
            self.counts["not_applicable"] += 1
            return last
        answer = self.source(instance, self.task)
        if last is None or answer is not last[0]:
            if self.raise_errors and isinstance(answer, Failure) and answer.cause is not None:
                raise answer.cause
            last = answer, check_answer(answer, n_sentences, self.rules)
        _, selection, outcome = grade(case, last[1])
        # A hash of numbers only, so that it is the same in every process.
        answer_key = hash((frozenset(selection.certain), frozenset(selection.tied), selection.n_drawn))
        self.rows.append((instance.id, instance.cluster, n_sentences, answer_key))
        self.outcomes.extend(outcome)
        if self.with_selections:
            self.selections.append(selection)
        self._count(case, answer, last[1], n_sentences)
        return last

    def _count(self, case: Case, answer: Answer | None, checked: CheckedAnswer, n_sentences: int) -> None:
        counts, ranking, budget = self.counts, checked.ranking, case.budget
        if answer is not None and answer.notes:
            self.notes.update(answer.notes)
        if isinstance(answer, Failure):
            self.errors[case.instance.id] = f"{answer.error}{place_in(answer.trace)}"
        n_named = len(ranking.sentences)
        if not n_named:
            counts["missing" if checked.is_missing else "empty" if checked.error is None else "failed"] += 1
        counts["duplicates"] += checked.n_duplicates
        counts["out_of_range"] += checked.n_out_of_range
        if budget is None or n_named in {0, budget}:
            return
        if not ranking.ordered:
            if n_named > budget:
                counts["over_length"] += 1
                self.over_length.append((n_named, n_sentences))
        elif n_named < n_sentences and (n_named < budget or max(ranking.sentences) < n_named):
            self.cut_short.append((n_named, n_sentences))

    def scores(self) -> TaskScores:
        outcomes = MeasureInput(*np.array(self.outcomes).reshape(-1, len(MeasureInput._fields)).T)
        ids, clusters, n_sentences, answer_keys = zip(*self.rows, strict=True) if self.rows else ((), (), (), ())
        return TaskScores(
            task=self.task,
            ids=ids,
            clusters=clusters,
            scores={key: measure.values(outcomes) for key, measure in MEASURES.items()},
            selections=tuple(self.selections),
            counts=Counts(**self.counts),
            notes=dict(sorted(self.notes.items())),
            over_length=tuple(self.over_length),
            n_sentences=n_sentences,
            answer_keys=answer_keys,
            errors=self.errors,
            cut_short=tuple(self.cut_short),
        )


def warn_of(name: str, by_task: Mapping[str, TaskScores], *, ranks_all: bool) -> None:
    worst = max(by_task.values(), key=lambda scores: len(scores.errors))
    for instance_id, error in islice(worst.errors.items(), 1):
        answers = f"{len(worst.errors):,} of {counted(len(worst.ids), 'answer')} to {worst.task.name}"
        warnings.warn(
            f"{name}: {answers} failed, and each scores 0; the first, {instance_id}: {error}; "
            "evaluate(..., raise_errors=True) raises it",
            stacklevel=3,
        )
    worst = max(by_task.values(), key=lambda scores: len(scores.cut_short))
    for n, n_all in worst.cut_short[:ranks_all]:
        papers = f"{len(worst.cut_short):,} of {counted(len(worst.ids), 'paper')} on {worst.task.name}"
        how = "give every sentence a score (rank_by_score(scores, query) checks it), or say Traits(selects=True)"
        warnings.warn(f"{name}: ranks too few sentences in {papers}, first {n} of {n_all}; {how}", stacklevel=3)


def answers_of(run: RunFile | Mapping[str, GivenAnswer]) -> AnswerSource:
    """Return the answers of a run or a dict as a function of the instance and the task."""
    return answers_from(run)
