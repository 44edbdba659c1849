"""Score answers: one pass over the data for any number of tasks, systems, runs and dicts of answers.

A failed, an empty and a missing answer all score 0 and are counted apart. An instance that a task does not apply to is
left out of the scores and counted.
"""

import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np

from evidencebench.data.dataset import Dataset, instances_from, require_limit
from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import Coverage, ceiling, coverage_of
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import AnswerError, OutOfRangeError, RunMismatchError, UndefinedScoreError
from evidencebench.execution.answering import answers_from, named_system
from evidencebench.execution.fitting import check_belongs, require_known
from evidencebench.execution.own_code import place_in
from evidencebench.execution.query_controls import changes_of, control_of
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.runs.given_answers import GivenAnswer
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.measures import MEASURES, measure_input, scores_of
from evidencebench.scoring.selection import DEFAULT_RULES, CheckedAnswer, Rules, Selection, check_answer
from evidencebench.scoring.task_scores import Counts, TaskScores
from evidencebench.storage.reading import PathText
from evidencebench.system import NamedSystem, Ranking, System
from evidencebench.systems.changed_queries import Stranger
from evidencebench.wording import counted

AnswerSource: TypeAlias = Callable[[Instance, Task], Answer | None]
Answering: TypeAlias = NamedSystem | System | RunFile | Mapping[str, GivenAnswer] | AnswerSource
"""A source of answers, as `answers_from` takes it."""


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
    asked, data = tasks_from(tasks), instances_from(dataset)
    answers, strangers = answer_functions(sources, data)
    found = evaluate_sources(
        answers,
        data,
        asked,
        strangers,
        rules=rules,
        limit=limit,
        with_selections=with_selections,
        on_progress=on_progress,
        raise_errors=raise_errors,
    )
    for name, source in sources.items():
        if hasattr(source, "rank"):
            warn_of(name, found[name], ranks_all=not named_system(source).selects)
    return found


def evaluate_sources(
    answers: Mapping[str, AnswerSource],
    data: Dataset | list[Instance],
    asked: Sequence[Task],
    strangers: Mapping[str, Mapping[str, Stranger]],
    *,
    rules: Rules | Mapping[str, Rules] | None = None,
    limit: int | None = None,
    with_selections: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
    raise_errors: bool = False,
) -> dict[str, dict[str, TaskScores]]:
    """Return what `evaluate` returns; ``strangers`` has the second papers of sources that were asked two."""
    if not asked:
        raise UndefinedScoreError("the scores on no task are undefined: give at least one, such as 'er_at_10'")
    if isinstance(rules, Rules | None):
        rules = dict.fromkeys(answers, rules or DEFAULT_RULES)
    collected = {
        (name, task.name): _Collected(task, with_selections=with_selections) for name in answers for task in asked
    }
    checks = {name: _Check(rules.get(name, DEFAULT_RULES)) for name in answers}
    require_limit(limit)
    n_instances = min(len(data), len(data) if limit is None else limit)
    for n_done, instance in enumerate(islice(data, n_instances), 1):
        for task in asked:
            case = case_of(instance, task)
            for name, source in answers.items():
                if case is None:
                    collected[name, task.name].counts["not_applicable"] += 1
                    continue
                stranger, answer = strangers.get(name, {}).get(instance.id), source(instance, task)
                _raise_cause(answer, is_wanted=raise_errors)
                try:
                    checked = checks[name].check(case, answer, stranger)
                    collected[name, task.name].add(case, answer, checked, stranger)
                except OutOfRangeError as error:
                    what_to_do = "out_of_range='drop' (--out-of-range drop) removes and counts such sentences"
                    raise OutOfRangeError(f"{name}: {instance.id}: {error}; {what_to_do}") from error
                except AnswerError as error:
                    raise AnswerError(f"{name}: {instance.id}: {error}; correct the answer") from error
        if on_progress is not None:
            on_progress(n_done, n_instances)
    return {name: {task.name: collected[name, task.name].scores() for task in asked} for name in answers}


def _raise_cause(answer: Answer | None, *, is_wanted: bool) -> None:
    if is_wanted and isinstance(answer, Failure) and answer.cause is not None:
        raise answer.cause


def answer_functions(
    sources: Mapping[str, Answering], data: Dataset | list[Instance]
) -> tuple[dict[str, AnswerSource], dict[str, Mapping[str, Stranger]]]:
    """Return, by source name, its answers as a function, and the second papers it was asked; raise as `evaluate`."""
    answers = _answers_by_name(sources, data)
    return answers, {name: _strangers_of(one, data) for name, one in sources.items() if isinstance(one, RunFile)}


def _answers_by_name(sources: object, data: Dataset | list[Instance]) -> dict[str, AnswerSource]:
    """Return name -> source as a function; raise where one has a wrong type, or its answers are for other data."""
    if not isinstance(sources, Mapping):
        raise TypeError(
            "sources: expected a dict of name -> system, run, answers or function, such as {'bm25': BM25()}, got "
            f"{type(sources).__name__}"
        )
    if not sources:
        raise UndefinedScoreError("the scores of no source are undefined: give at least one, such as {'bm25': BM25()}")
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


def _strangers_of(run: RunFile, data: Dataset | list[Instance]) -> Mapping[str, Stranger]:
    """Return instance id -> the second paper that a run was asked beside the own; empty for runs without any."""
    if run.header is None or run.header.control is None or run.header.control.name != "two_papers":
        return {}
    if not isinstance(data, Dataset):
        raise RunMismatchError(
            f"{run.path}: was asked two papers of {run.header.data.name}; expected that data set, got a list of "
            "instances, which does not say which papers"
        )
    changes = changes_of(control_of(run.header.control), data, run.header.seed)
    return changes.strangers or {} if changes is not None else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One instance on one task: what an answer is measured against."""

    instance: Instance
    coverage: Coverage  # of the aspects that count
    budget: int | None  # how many sentences count; None: any number
    ceiling: float  # the highest aspect recall that the budget allows; NaN where it could not be proven

    def check(self, answer: Answer | None, rules: Rules = DEFAULT_RULES, n_added: int = 0) -> CheckedAnswer:
        """Return a checked answer to the instance, which can be cut to a budget; see `check_answer`.

        ``n_added`` is how many sentences of a second paper it may name, behind the own ones; they cover nothing.
        """
        return check_answer(answer, len(self.instance.query.sentences) + n_added, rules)


def case_of(instance: Instance, task: Task) -> Case | None:
    """Return the case of an instance on a task, or None where the task does not apply."""
    if not task.applies_to(instance.labels):
        return None
    coverage, budget = coverage_of(instance.labels, task.scope), task.budget_for(instance)
    try:
        highest = ceiling(coverage, budget) / coverage.n_aspects
    except UndefinedScoreError:  # not proven, so measures that need it are undefined
        highest = float("nan")
    return Case(instance=instance, coverage=coverage, budget=budget, ceiling=highest)


class _Check:
    """Checks the answers of one source; one that serves several tasks of an instance is checked once."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._last: tuple[Instance, Answer | None, CheckedAnswer] | None = None

    def check(self, case: Case, answer: Answer | None, stranger: Stranger | None) -> CheckedAnswer:
        last = self._last
        if last is None or last[0] is not case.instance or last[1] is not answer:
            checked = case.check(answer, self._rules, 0 if stranger is None else stranger.n_sentences)
            self._last = last = (case.instance, answer, checked)
        return last[2]


class _Collected:
    """The scores of one source on one task, while they are collected."""

    def __init__(self, task: Task, *, with_selections: bool) -> None:
        self.counts: Counter[str] = Counter()
        self._task, self._with_selections = task, with_selections
        self._ids: list[str] = []
        self._clusters: list[str] = []
        self._selections: list[Selection] = []
        self._columns = {key: array("d") for key in MEASURES}
        self._notes: Counter[str] = Counter()
        self._over_length: list[tuple[int, int]] = []
        self._pool_sizes: list[int] = []
        self._answer_keys: list[int] = []
        self._errors: dict[str, str] = {}
        self._cut_short: list[tuple[int, int]] = []

    def add(self, case: Case, answer: Answer | None, checked: CheckedAnswer, stranger: Stranger | None) -> None:
        pool_size = len(case.instance.query.sentences) + (0 if stranger is None else stranger.n_sentences)
        if answer is not None and answer.notes:
            self._notes.update(answer.notes)
        n_sentences = len(checked.ranking.sentences)
        is_answered = not checked.is_missing and checked.error is None
        self.counts["missing"] += checked.is_missing
        self.counts["failed"] += checked.error is not None
        self.counts["empty"] += is_answered and not n_sentences
        self.counts["duplicates"] += checked.n_duplicates
        self.counts["out_of_range"] += checked.n_out_of_range
        if isinstance(answer, Failure):
            self._errors[case.instance.id] = f"{answer.error}{place_in(answer.trace)}"
        if _is_cut_short(checked.ranking, pool_size, case.budget):
            self._cut_short.append((n_sentences, pool_size))
        if checked.is_over(case.budget):
            self.counts["over_length"] += 1
            self._over_length.append((n_sentences, pool_size))
        selection = checked.selection(case.budget)
        outcome = measure_input(selection, case.coverage, case.ceiling)
        for key, score in scores_of(outcome, is_empty=not n_sentences and case.budget != 0).items():
            self._columns[key].append(score)
        self._ids.append(case.instance.id)
        self._clusters.append(case.instance.cluster)
        self._pool_sizes.append(pool_size)
        parts = (frozenset(selection.certain), frozenset(selection.tied), selection.n_drawn)
        self._answer_keys.append(hash(parts))  # of numbers only, so that it is the same in every process
        if self._with_selections:
            self._selections.append(selection)

    def scores(self) -> TaskScores:
        return TaskScores(
            task=self._task,
            ids=tuple(self._ids),
            clusters=tuple(self._clusters),
            scores={key: np.array(column) for key, column in self._columns.items()},
            selections=tuple(self._selections),
            counts=Counts(**self.counts),
            notes=dict(sorted(self._notes.items())),
            over_length=tuple(self._over_length),
            n_sentences=tuple(self._pool_sizes),
            answer_keys=tuple(self._answer_keys),
            errors=self._errors,
            cut_short=tuple(self._cut_short),
        )


def _is_cut_short(ranking: Ranking, n_sentences: int, budget: int | None) -> bool:
    """Say whether a ranking cannot be of the whole paper, see `TaskScores.cut_short`; one cut at the budget may be."""
    n = len(ranking.sentences)
    if not ranking.ordered or budget is None or n in {0, budget} or n >= n_sentences:
        return False
    return n < budget or max(ranking.sentences) < n


def warn_of(name: str, by_task: Mapping[str, TaskScores], *, ranks_all: bool) -> None:
    """Warn of a system's failed answers, and, if it should rank all sentences, of rankings that are too short."""
    one = max(by_task.values(), key=lambda one: len(one.errors))
    for where, error in islice(one.errors.items(), 1):
        told = f"{len(one.errors):,} of {counted(len(one.ids), 'answer')} to {one.task.name} failed, and each scores 0"
        warnings.warn(
            f"{name}: {told}; the first, {where}: {error}; evaluate(..., raise_errors=True) raises it", stacklevel=3
        )
    one = max(by_task.values(), key=lambda one: len(one.cut_short))
    for n, n_all in one.cut_short[:ranks_all]:
        told = f"{len(one.cut_short):,} of {counted(len(one.ids), 'paper')} on {one.task.name}"
        how = "give every sentence a score (rank_by_score(scores, query) checks it), or say Traits(selects=True)"
        warnings.warn(f"{name}: ranks too few sentences in {told}, first {n} of {n_all}; {how}", stacklevel=3)


def answers_of(run: RunFile | Mapping[str, GivenAnswer]) -> AnswerSource:
    """Return the answers of a run or a dict as a function of the instance and the task."""
    return answers_from(run)
