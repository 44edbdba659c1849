"""Score answers: one pass over the data for any number of tasks, systems, runs and dicts of answers."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import nan
from typing import NamedTuple, TypeAlias

import numpy as np

from evidencebench.data.cover import Coverage, ceiling, coverage_of
from evidencebench.data.dataset import Dataset, instances_from, require_limit
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import AnswerError, OutOfRangeError, RunMismatchError, UndefinedScoreError
from evidencebench.execution.answers import AnswersByInstance, AnySystem, answers_from
from evidencebench.execution.changes import changes_of, unchanged_control
from evidencebench.execution.compatibility import check_belongs, require_known
from evidencebench.execution.own_code import place_in
from evidencebench.files.disk import PathText
from evidencebench.runs.formats import GivenAnswer
from evidencebench.runs.oddities import warn
from evidencebench.runs.run import Answer, Failure, RunFile
from evidencebench.scoring.measures import (
    ASPECT_RECALL,
    MEASURES,
    Measure,
    MeasureInput,
    measure_input,
    with_own,
)
from evidencebench.scoring.oddities import oddities, rules_for
from evidencebench.scoring.resampling import Floats
from evidencebench.scoring.selection import DEFAULT_RULES, CheckedAnswer, Rules, Selection, check_answer
from evidencebench.scoring.task_scores import Counts, TaskScores
from evidencebench.systems.changed_queries import Distractor

AnswerSource: TypeAlias = Callable[[Instance, Task], Answer | None]
Epochs: TypeAlias = tuple[AnswerSource, ...]
_Checked: TypeAlias = tuple[Answer | None, CheckedAnswer]
Answering: TypeAlias = AnySystem | RunFile | Mapping[str, GivenAnswer] | AnswersByInstance


def evaluate(
    sources: Mapping[str, Answering],
    dataset: Dataset | PathText | Iterable[Instance],
    tasks: TaskOrName | Iterable[TaskOrName],
    *,
    measures: Iterable[Measure] = (),
    rules: Rules | Mapping[str, Rules] | None = None,
    limit: int | None = None,
    with_selections: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
    raise_errors: bool = False,
) -> dict[str, dict[str, TaskScores]]:
    """Return the scores of each source of answers on each task: source name -> task name -> scores.

    An answer of a system that raises an error has failed: it scores 0, and `TaskScores.errors` has the error. What is
    odd is an `EvidenceWarning` each: failed, empty, missing and short answers, repeats, ties, labels read and so on.

    Parameters
    ----------
    sources
        Name -> a system, also as a function of ``(query, task)``, a run, or answers in a dict. No system sees labels;
        one that is to has ``rank_knowing(labels, task)`` and says so in its `Traits`.
    dataset
        The data that the answers are for: a data set, its path or catalogue name, or instances.
    tasks
        The tasks to score on: tasks or their names, or a single one.
    measures
        Measures of your own (see `Measure`), computed beside those of docs/tasks-and-measures.md.
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
    answers, distractors = answer_functions(sources, data)
    scores = evaluate_sources(
        answers,
        data,
        tasks,
        distractors,
        measures=measures,
        rules=rules,
        limit=limit,
        with_selections=with_selections,
        on_progress=on_progress,
        raise_errors=raise_errors,
    )
    warn(oddities(sources, scores, data, rules))
    return scores


def evaluate_sources(
    answers: Mapping[str, AnswerSource | Epochs],
    data: Dataset | list[Instance],
    tasks: Sequence[Task],
    distractors: Mapping[str, Mapping[str, Distractor]],
    *,
    measures: Iterable[Measure] = (),
    rules: Rules | Mapping[str, Rules] | None = None,
    limit: int | None = None,
    with_selections: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
    raise_errors: bool = False,
) -> dict[str, dict[str, TaskScores]]:
    """Return what `evaluate` returns; ``distractors`` has the second papers of sources that were asked two."""
    if not tasks:
        raise UndefinedScoreError("the scores on no task are undefined: give at least one, such as 'er_at_10'")
    computed = with_own(measures)
    columns = {
        name: [_Column(epochs, task, computed, rules_for(name, rules), with_selections, raise_errors) for task in tasks]
        for name, source in answers.items()
        for epochs in [source if isinstance(source, tuple) else (source,)]
    }
    require_limit(limit)
    n_instances = min(len(data), len(data) if limit is None else limit)
    for n_done, instance in enumerate(islice(data, n_instances), 1):
        cases = [case_of(instance, task) for task in tasks]
        for name in answers:
            distractor = distractors.get(name, {}).get(instance.id)
            n_sentences = len(instance.query.sentences) + (0 if distractor is None else distractor.n_sentences)
            last: tuple[_Checked, ...] = ()
            try:
                for case, column in zip(cases, columns[name], strict=True):
                    last = column.add(instance, case, n_sentences, last)
            except OutOfRangeError as error:
                what_to_do = "--set out-of-range=drop (in Python out_of_range='drop') removes it"
                raise OutOfRangeError(f"{name}: {instance.id}: {error}; {what_to_do}") from error
            except AnswerError as error:
                raise AnswerError(f"{name}: {instance.id}: {error}; correct the answer") from error
        if on_progress is not None:
            on_progress(n_done, n_instances)
    return {name: {column.task.name: column.scores() for column in by_task} for name, by_task in columns.items()}


def answer_functions(
    sources: Mapping[str, Answering], data: Dataset | list[Instance]
) -> tuple[dict[str, AnswerSource | Epochs], dict[str, Mapping[str, Distractor]]]:
    if not isinstance(sources, Mapping):
        raise TypeError(
            "sources: expected a dict of name -> system, run, answers or function, such as {'bm25': BM25()}, got "
            f"{type(sources).__name__}"
        )
    if not sources:
        raise UndefinedScoreError("the scores of no source are undefined: give at least one, such as {'bm25': BM25()}")
    answers: dict[str, AnswerSource | Epochs] = {}
    for name, source in sources.items():
        try:
            answers[name] = (
                tuple(map(answers_from, source.epochs)) if isinstance(source, RunFile) else answers_from(source)
            )
        except TypeError as error:
            raise TypeError(f"source '{name}': {error}; a run or a dict {{id: [indices]}} does too") from error
        if isinstance(source, RunFile) and isinstance(data, Dataset):
            check_belongs(source, data)
        elif isinstance(source, RunFile | Mapping):
            require_known(name, source.ids if isinstance(source, RunFile) else source, data)
    runs = {name: source for name, source in sources.items() if isinstance(source, RunFile)}
    return answers, {name: distractors_of(run, data) for name, run in runs.items()}


def distractors_of(run: RunFile, data: Dataset | list[Instance]) -> Mapping[str, Distractor]:
    """Return instance id -> the second paper that a run was asked beside the own; empty for runs without any."""
    if run.header is None or not run.header.answers_two_papers:
        return {}
    if not isinstance(data, Dataset):
        raise RunMismatchError(
            f"{run.path}: answers queries of two papers of {run.header.data.name}; expected that data set, got a list "
            "of instances, which does not say which papers"
        )
    changes = changes_of(unchanged_control(run.header.control), data, run.header.seed)
    return changes.distractors or {} if changes is not None else {}


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
    epochs: Epochs
    task: Task
    measures: Mapping[str, Measure]
    rules: Rules
    with_selections: bool
    raise_errors: bool
    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    rows: list[tuple[str, str, int, int]] = field(default_factory=list)  # id, cluster, number of sentences, answer key
    outcomes: "array[float]" = field(default_factory=lambda: array("d"))  # of each instance in each epoch
    selections: list[Selection] = field(default_factory=list)
    over_length: list[tuple[int, int]] = field(default_factory=list)
    cut_short: list[tuple[int, int]] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)

    def add(
        self, instance: Instance, case: Case | None, n_sentences: int, last: tuple[_Checked, ...]
    ) -> tuple[_Checked, ...]:
        """Grade the answers to an instance; an answer that serves several tasks is checked once, on the first."""
        if case is None:
            self.counts["not_applicable"] += 1
            return last
        checked, answer_keys = list[_Checked](), list[int]()
        for n, source in enumerate(self.epochs):
            answer = source(instance, self.task)
            if last and answer is last[n][0]:
                checked.append(last[n])
            elif self.raise_errors and isinstance(answer, Failure) and answer.cause is not None:
                raise answer.cause
            else:
                checked.append((answer, check_answer(answer, n_sentences, self.rules)))
            _, selection, outcome = grade(case, checked[n][1])
            # A hash of numbers only, so that it is the same in every process.
            answer_keys.append(hash((frozenset(selection.certain), frozenset(selection.tied), selection.n_drawn)))
            self.outcomes.extend(outcome)
            if self.with_selections and n == 0:
                self.selections.append(selection)
            self._count(case, f" in epoch {n + 1}" if n else "", *checked[n], n_sentences)
        self.rows.append((instance.id, instance.cluster, n_sentences, hash(tuple(answer_keys))))
        return tuple(checked)

    def _count(self, case: Case, where: str, answer: Answer | None, checked: CheckedAnswer, n_sentences: int) -> None:
        counts, ranking, budget = self.counts, checked.ranking, case.budget
        if answer is not None and answer.notes:
            self.notes.update(answer.notes)
        if isinstance(answer, Failure):
            self.errors[f"{case.instance.id}{where}"] = f"{answer.error}{place_in(answer.trace)}"
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
            return
        scores = ranking.scores
        counts["ties"] += scores is not None and 0 < budget < n_named and scores[budget - 1] == scores[budget]
        if n_named < n_sentences and (n_named < budget or max(ranking.sentences) < n_named):
            self.cut_short.append((n_named, n_sentences))

    def scores(self) -> TaskScores:
        outcomes = MeasureInput(*np.array(self.outcomes).reshape(-1, len(MeasureInput._fields)).T)
        each = {key: measure.values(outcomes).reshape(-1, len(self.epochs)) for key, measure in self.measures.items()}
        recalls = each[ASPECT_RECALL.key].T
        ids, clusters, n_sentences, answer_keys = zip(*self.rows, strict=True) if self.rows else ((), (), (), ())
        return TaskScores(
            task=self.task,
            ids=ids,
            clusters=clusters,
            scores={key: _means_of_defined(values) for key, values in each.items()},
            epoch_recalls=tuple(recalls) if len(recalls) > 1 else (),
            selections=tuple(self.selections),
            counts=Counts(**self.counts),
            notes=dict(sorted(self.notes.items())),
            over_length=tuple(self.over_length),
            n_sentences=n_sentences,
            answer_keys=answer_keys,
            errors=self.errors,
            cut_short=tuple(self.cut_short),
        )


def _means_of_defined(values: Floats) -> Floats:
    """Return the mean of each row over what is defined in it; nan where nothing is."""
    is_defined = np.isfinite(values)
    n_defined = is_defined.sum(axis=1)
    sums = np.where(is_defined, values, 0.0).sum(axis=1)
    means: Floats = np.divide(sums, n_defined, out=np.full(len(values), nan), where=n_defined > 0)
    return means


def answers_of(run: RunFile | Mapping[str, GivenAnswer]) -> AnswersByInstance:
    """Return the answers of a run or a dict as a function of the instance and the task."""
    return answers_from(run)
