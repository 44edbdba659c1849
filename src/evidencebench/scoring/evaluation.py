"""Grade answers: one pass over the data, any number of runs, tasks and controls.

This is where answers from systems and labels meet. A failed, an empty and a missing answer all score 0 and are
counted apart; an instance that a task does not apply to is left out, and n says so.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

import numpy as np

from evidencebench.data.dataset import Dataset, instances_from, require_limit
from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import Coverage, ceiling, coverage_of
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import (
    AnswerError,
    MissingExtraError,
    OutOfRangeError,
    UndefinedScoreError,
)
from evidencebench.execution.ask import answers_from
from evidencebench.execution.belonging import check_belongs, require_known
from evidencebench.runs.answer_dicts import GivenAnswer
from evidencebench.runs.run_file import Answer, Failure, RunFile
from evidencebench.scoring.measures import MEASURES
from evidencebench.scoring.selection import OutOfRange, OverLength, Selection, Ties, check_answer, select
from evidencebench.scoring.significance import DEFAULT_RESAMPLING, Estimate, Floats, Resampling, bootstrap_defined
from evidencebench.storage.reading import PathText
from evidencebench.system import NamedSystem, Ranking, System
from evidencebench.wording import did_you_mean, one_line

AnswerSource: TypeAlias = Callable[[Instance, Task], Answer | None]
Answering: TypeAlias = NamedSystem | System | RunFile | Mapping[str, GivenAnswer] | AnswerSource
"""What can answer: see `answers_from`."""


MEASURE_NAMES = (*MEASURES, "relative_recall", "regret", "ceiling")
"""Every measure of `TaskScores.scores`. The last three compare with the most that the budget can cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How answers that do not fit the budget are read; the fields are those of `select` and `check_answer`."""

    over_length: OverLength = "expected"
    ties: Ties = "index"
    out_of_range: OutOfRange = "error"


DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What happened to the answers of one task.

    Attributes
    ----------
    failed, empty, missing
        Answers that failed, that select nothing, and that are not there; each scores 0.
    duplicates
        Repeated sentences, removed.
    out_of_range
        Sentences that do not exist, dropped on request.
    over_length
        Unordered answers with more sentences than the budget.
    not_applicable
        Instances left out because none of their aspects counts.
    """

    failed: int = 0
    empty: int = 0
    missing: int = 0
    duplicates: int = 0
    out_of_range: int = 0
    over_length: int = 0
    not_applicable: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScores:
    """The scores of one system on one task, an instance at a time.

    Attributes
    ----------
    task
        What was asked.
    ids, clusters
        Id of each instance that counts, and what it is resampled by (its review, or else its paper).
    scores
        Measure -> one score an instance; NaN where the measure is undefined for it, which leaves it out.
    selections
        What counted of each answer; empty where `evaluate` was told to keep none.
    counts
        What happened to the answers.
    notes
        What the answers note, such as how many replies of a language model were refusals, summed over instances.
    over_length
        Of each unordered answer over the budget, how many sentences it names and how many the paper has.
    """

    task: Task
    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    scores: Mapping[str, Floats]
    selections: tuple[Selection, ...]
    counts: Counts
    notes: Mapping[str, int] = field(default_factory=dict)
    over_length: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        recalls = self.scores["aspect_recall"]
        mean = f"{self.task.name}: aspect recall {recalls.mean():.3f}" if self.ids else f"{self.task.name}: no instance"
        lacking = {name: n for name in ("failed", "missing") if (n := getattr(self.counts, name))}
        return one_line(self, mean, f"n={len(self.ids)}", *(f"{n} {name}" for name, n in lacking.items()))

    def estimate(self, measure: str, resampling: Resampling = DEFAULT_RESAMPLING) -> Estimate:
        """Return the mean of a measure with its interval, over the instances where it is defined.

        Raises
        ------
        UndefinedScoreError
            If it is defined nowhere.
        """
        estimates = self.estimates((measure,), resampling)
        if measure not in estimates:
            raise UndefinedScoreError(f"task '{self.task.name}': {measure} is undefined: no instance counts")
        return estimates[measure]

    def estimates(
        self, measures: Sequence[str] = MEASURE_NAMES, resampling: Resampling = DEFAULT_RESAMPLING
    ) -> dict[str, Estimate]:
        """Return the mean of each measure with its interval; a measure that is defined nowhere has no entry."""
        if not measures:
            return {}
        for measure in measures:
            if measure not in self.scores:
                meant = did_you_mean(measure, self.scores)
                raise ValueError(f"no measure '{measure}'{meant}; expected one of {', '.join(self.scores)}")
        columns = np.column_stack([self.scores[measure] for measure in measures])
        found = bootstrap_defined(columns, self.clusters, resampling)
        return {measure: one for measure, one in zip(measures, found, strict=True) if one is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One instance under one task: what its answers are measured against.

    Attributes
    ----------
    coverage
        Of the aspects that count.
    budget
        How many sentences count; None: any number.
    ceiling
        The highest aspect recall that the budget allows; NaN where it could not be proven.
    """

    instance: Instance
    coverage: Coverage
    budget: int | None
    ceiling: float

    def score(self, selection: Selection) -> dict[str, float]:
        """Return every measure that is defined, by name."""
        scores = {}
        for name, measure in MEASURES.items():
            try:
                scores[name] = measure(selection, self.coverage)
            except UndefinedScoreError:
                continue
        scores |= {"ceiling": self.ceiling, "regret": self.ceiling - scores["aspect_recall"]}
        if self.ceiling:
            scores["relative_recall"] = scores["aspect_recall"] / self.ceiling
        return scores


def evaluate(
    sources: Mapping[str, Answering],
    dataset: Dataset | PathText | Iterable[Instance],
    tasks: TaskOrName | Iterable[TaskOrName],
    *,
    rules: Rules | Mapping[str, Rules] | None = None,
    limit: int | None = None,
    with_selections: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
) -> dict[str, dict[str, TaskScores]]:
    """Return the scores of each source of answers on each task: source name -> task name -> scores.

    Parameters
    ----------
    sources
        Name -> what `answers_from` takes: a system, a run, answers in a dict, or a function that gives the answer for
        an instance and a task.
    dataset
        What the answers are for: a data set, its path or catalogue name, or instances.
    tasks
        What they are measured on: tasks or their names, or one alone.
    rules
        How answers that do not fit are read, for all sources or by source; the defaults for those not named.
    limit
        Only the first so many instances; None: all.
    with_selections
        Whether to keep what counted of each answer, which comparisons need and which takes memory.
    on_progress
        Called with (instances done, instances in all).

    Raises
    ------
    AnswerError
        If an answer selects a sentence that does not exist, unless the rules drop those.
    RunMismatchError
        If a run or a dict is not for this data.
    TypeError
        If a source, the data or a task is none.

    Examples
    --------
    >>> from evidencebench import BM25, load_sample
    >>> sources = {"bm25": BM25(), "mine": {"evidencebench_sample_id_1": [2, 4, 5]}}
    >>> scores = evaluate(sources, load_sample()[:2], "er_at_10")
    >>> scores["mine"]["er_at_10"].counts.missing
    1
    """
    asked, data = tasks_from(tasks), instances_from(dataset)
    answers = _answers_by_name(sources, data)
    default = rules if isinstance(rules, Rules) else Rules()
    rules_of = rules if isinstance(rules, Mapping) else {}
    ledgers = {
        name: {task.name: _Ledger(task, rules_of.get(name, default), with_selections=with_selections) for task in asked}
        for name in answers
    }
    require_limit(limit)
    n_instances = min(len(data), len(data) if limit is None else limit)
    for n_done, instance in enumerate(islice(data, n_instances), 1):
        for task in asked:
            case = case_of(instance, task)
            for name, source in answers.items():
                ledger = ledgers[name][task.name]
                if case is None:
                    ledger.leave_out()
                    continue
                try:
                    ledger.enter(case, source(instance, task))
                except OutOfRangeError as error:
                    what_to_do = "out_of_range='drop' (--out-of-range drop) removes and counts such sentences"
                    raise OutOfRangeError(f"{name}: {instance.id}: {error}; {what_to_do}") from error
                except AnswerError as error:
                    raise AnswerError(f"{name}: {instance.id}: {error}; correct the answer") from error
        if on_progress is not None:
            on_progress(n_done, n_instances)
    return {name: {task: ledger.close() for task, ledger in by_task.items()} for name, by_task in ledgers.items()}


def _answers_by_name(sources: object, data: Dataset | list[Instance]) -> dict[str, AnswerSource]:
    """Return each source as a function; raise where one is none, or what it holds is for other data."""
    if not isinstance(sources, Mapping):
        raise TypeError(
            "sources: expected a dict of name -> system, run, answers or function, such as {'bm25': BM25()}, got "
            f"{type(sources).__name__}"
        )
    answers: dict[str, AnswerSource] = {}
    for name, source in sources.items():
        try:
            answers[name] = answers_from(source)
        except TypeError as error:
            raise TypeError(
                f"source '{name}': {error}; a source may also be a run, or a dict of answers {{instance id: [indices]}}"
            ) from error
        if isinstance(source, RunFile) and isinstance(data, Dataset):
            check_belongs(source, data)
        elif isinstance(source, RunFile | Mapping):
            require_known(name, source.ids if isinstance(source, RunFile) else source, data)
    return answers


def case_of(instance: Instance, task: Task) -> Case | None:
    """Return what answers to an instance are measured against, or None where the task does not apply."""
    if not task.applies_to(instance.labels):
        return None
    coverage, budget = coverage_of(instance.labels, task.scope), task.budget_for(instance)
    try:
        highest = ceiling(coverage, budget) / coverage.n_aspects
    except UndefinedScoreError:  # not proven, so what compares with it is left out
        highest = float("nan")
    except MissingExtraError as error:
        raise MissingExtraError(f"{instance.id}: {error}") from error
    return Case(instance=instance, coverage=coverage, budget=budget, ceiling=highest)


class _Ledger:
    """Collects one source's scores on one task."""

    def __init__(self, task: Task, rules: Rules, *, with_selections: bool) -> None:
        self._task = task
        self._rules = rules
        self._with_selections = with_selections
        self._ids: list[str] = []
        self._clusters: list[str] = []
        self._selections: list[Selection] = []
        self._columns: dict[str, list[float]] = {name: [] for name in MEASURE_NAMES}
        self._counts: dict[str, int] = dict.fromkeys(Counts.__dataclass_fields__, 0)
        self._notes: dict[str, int] = {}
        self._over_length: list[tuple[int, int]] = []

    def leave_out(self) -> None:
        self._counts["not_applicable"] += 1

    def enter(self, case: Case, answer: Answer | None) -> None:
        ranking = self._ranking(case, answer)
        selection = select(ranking, case.budget, over_length=self._rules.over_length, ties=self._rules.ties)
        scores = case.score(selection)
        if not ranking.sentences and case.budget != 0:
            scores["precision"] = 0.0  # undefined of nothing, but giving no answer must never pay
        self._ids.append(case.instance.id)
        self._clusters.append(case.instance.cluster)
        if self._with_selections:
            self._selections.append(selection)
        for name, column in self._columns.items():
            column.append(scores.get(name, float("nan")))

    def _ranking(self, case: Case, answer: Answer | None) -> Ranking:
        """Return the answer as it can be cut, nothing where there is none, and count what was wrong with it."""
        if not isinstance(answer, Ranking | Failure | None):
            raise AnswerError(
                f"expected a Ranking, a Failure, or None where there is none, got {type(answer).__name__}"
            )
        counts = self._counts
        for name, count in (answer.notes if answer is not None else {}).items():
            self._notes[name] = self._notes.get(name, 0) + count
        if answer is None or isinstance(answer, Failure):
            counts["missing" if answer is None else "failed"] += 1
            return Ranking(sentences=())
        n_in_paper = len(case.instance.query.sentences)
        checked = check_answer(answer, n_in_paper, self._rules.out_of_range)
        n_sentences = len(checked.ranking.sentences)
        counts["duplicates"] += checked.n_duplicates
        counts["out_of_range"] += checked.n_out_of_range
        counts["empty"] += not n_sentences
        if not checked.ranking.ordered and case.budget is not None and n_sentences > case.budget:
            counts["over_length"] += 1
            self._over_length.append((n_sentences, n_in_paper))
        return checked.ranking

    def close(self) -> TaskScores:
        return TaskScores(
            task=self._task,
            ids=tuple(self._ids),
            clusters=tuple(self._clusters),
            scores={name: np.array(column) for name, column in self._columns.items()},
            selections=tuple(self._selections),
            counts=Counts(**self._counts),
            notes=dict(sorted(self._notes.items())),
            over_length=tuple(self._over_length),
        )


def answers_of(run: RunFile | Mapping[str, GivenAnswer]) -> AnswerSource:
    """Return answers that are there as a function, as `answers_from` does."""
    return answers_from(run)
