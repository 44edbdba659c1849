"""The query controls: ask systems the data's own queries and changed ones, and score the answers to both."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from evidencebench.data.dataset import Dataset, dataset_from, require_limit
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import TaskError
from evidencebench.execution.answers import (
    AnySystem,
    ask_once_an_instance,
    default_tasks,
    named_system,
    require_answerable,
)
from evidencebench.execution.asking import Inquiry, Waiting, gather
from evidencebench.execution.changes import (
    Changes,
    HypothesisFunction,
    changed_instance,
    changes_of,
    own_hypotheses,
    query_control,
)
from evidencebench.files.disk import PathText
from evidencebench.runs.header import QueryControl
from evidencebench.runs.oddities import warn
from evidencebench.scoring.compare import OWN, ControlResult, control_results
from evidencebench.scoring.evaluate import AnswerSource, evaluate_sources
from evidencebench.scoring.measures import ASPECT_RECALL, Measure, MeasureOrName
from evidencebench.scoring.oddities import oddities
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.system import NamedSystem
from evidencebench.wording import name_of

AnyControl: TypeAlias = str | QueryControl | HypothesisFunction


def measure_query_controls(
    systems: AnySystem | Mapping[str, AnySystem],
    dataset: Dataset | PathText,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    controls: AnyControl | Iterable[AnyControl] | Mapping[str, AnyControl] = "wrong_hypothesis",
    *,
    measure: MeasureOrName = ASPECT_RECALL,
    limit: int | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[ControlResult, ...]:
    """Return how recall and selections of systems change when their queries are changed on purpose.

    A system whose recall and selections stay the same when it is asked another paper's hypothesis did not use the
    hypothesis, however high it scores.

    Parameters
    ----------
    systems
        A system of `make_system`, any object with ``rank(query, brief)``, or a function of both; or several, by name.
    dataset
        The data; what is drawn is drawn over all of it, whatever the limit.
    tasks
        The tasks to score on: tasks or their names, or a single one; empty: all that every system can answer.
    controls
        The changes, one or several: ``"wrong_hypothesis"`` (another paper's), ``"two_papers"`` (another paper's
        sentences before or behind the own ones), ``"shuffled_words"`` (of the hypothesis), and with a file of
        hypotheses ``"negated=FILE"``, ``"paraphrased=FILE"`` and ``"changed=FILE"``. One of your own is a function of
        a query that returns the hypothesis to ask; a dict names controls.
    measure
        What is compared: a measure, also your own, or its key.
    limit
        Only the first so many instances; None: all.
    resampling
        How intervals and tests are drawn; its seed also decides what is drawn of the queries.
    waiting
        How systems that wait for a server are asked.
    on_progress
        Called with (instances done, instances in all).

    Returns
    -------
    tuple of ControlResult
        One for each system, control and task, in this order. Tasks that apply to no instance are left out.

    Raises
    ------
    UndefinedScoreError
        If hypotheses or papers cannot be swapped.
    RunMismatchError
        If a system builds on stored answers, which are for the data's own queries, or it may not be asked one of the
        instances.
    StopError
        If no more requests may be sent; the replies so far are in the cache.
    TaskError
        If a system cannot answer a task, or no task is common to all.
    DataError
        If a file of hypotheses is wrong, or has none for an instance.
    ValueError
        If there is no such control, it lacks its file, or two have one name.
    TypeError
        If your own control returns no text.

    Examples
    --------
    >>> from evidencebench import BM25, load_sample
    >>> shuffled, mixed = measure_query_controls(
    ...     BM25(), load_sample(), "er_at_10", ["shuffled_words", "two_papers"]
    ... )
    >>> shuffled.comparison.test.difference.mean, shuffled.p_value
    (0.0, None)
    >>> 0 < mixed.stranger.selection.mean < mixed.stranger.sentences.mean
    True
    """
    dataset = dataset_from(dataset)
    require_limit(limit)
    if not isinstance(systems, Mapping):
        systems = {(named_one := named_system(systems)).name: named_one}
    named = {name: named_system(system) for name, system in systems.items()}
    asked = tasks_from(tasks) or common_tasks_of(named)
    inquiries = inquiries_of(named, dataset, asked, controls, limit=limit, seed=resampling.seed)
    waits = {key: inquiry for key, inquiry in inquiries.items() if inquiry.system.waits}
    sources: dict[tuple[str, str], AnswerSource] = {
        key: ask_once_an_instance(inquiry.system, partial(changed_instance, changes=inquiry.changes, dataset=dataset))
        for key, inquiry in inquiries.items()
        if key not in waits
    }
    if waits:
        gathered = gather(list(waits.values()), dataset, asked, limit=limit, waiting=waiting, on_progress=on_progress)
        sources |= {key: inquiry.answer for key, inquiry in zip(waits, gathered, strict=True)}
    by_name = evaluate_sources(
        {", ".join(key): sources[key] for key in inquiries},
        dataset,
        asked,
        {", ".join(key): (inquiry.changes and inquiry.changes.strangers) or {} for key, inquiry in inquiries.items()},
        measures=[measure] if isinstance(measure, Measure) else (),
        limit=limit,
        on_progress=None if waits else on_progress,
    )
    scores = dict(zip(inquiries, by_name.values(), strict=True))
    warn(oddities(named, {name: scores[name, OWN] for name in named}, dataset))
    compared = [
        (name, control, scores[name, OWN][task.name], scores[name, control][task.name])
        for name, control in inquiries
        if control != OWN
        for task in asked
        if scores[name, control][task.name].ids
    ]
    reads = {name: system.traits.reads_hypothesis for name, system in named.items()}
    return control_results(compared, reads, resampling, measure)


def inquiries_of(
    systems: Mapping[str, NamedSystem],
    dataset: Dataset,
    tasks: Sequence[Task],
    controls: AnyControl | Iterable[AnyControl] | Mapping[str, AnyControl],
    *,
    limit: int | None = None,
    seed: int = 0,
) -> dict[tuple[str, str], Inquiry]:
    """Return (system, control; `OWN` first) -> what is asked; raise as `measure_query_controls`."""
    named = _controls_by_name(controls)
    changes = {
        name: Changes(hypotheses=own_hypotheses(control, dataset, limit))
        if callable(control)
        else changes_of(query_control(control), dataset, seed, limit)
        for name, control in named.items()
    }
    for system in systems.values():
        require_answerable(system, dataset, tasks, limit=limit, own_queries=False)
    return {
        (name, control): Inquiry(system=system, changes=change)
        for name, system in systems.items()
        for control, change in {OWN: None, **changes}.items()
    }


def _controls_by_name(
    controls: AnyControl | Iterable[AnyControl] | Mapping[str, AnyControl],
) -> dict[str, AnyControl]:
    if isinstance(controls, Mapping):
        pairs = list(controls.items())
    else:
        listed = (controls,) if callable(controls) or isinstance(controls, str | QueryControl) else controls
        pairs = [
            (f"changed: {name_of(control)}" if callable(control) else str(query_control(control)), control)
            for control in dict.fromkeys(listed)
        ]
    by_name = dict(pairs)
    if not by_name:
        raise ValueError("controls: expected at least one, such as 'wrong_hypothesis', got none")
    if len(by_name) < len(pairs) or OWN in by_name:
        raise ValueError(f"controls: expected names that differ, and none '{OWN}'; give a dict, {{name: control}}")
    return by_name


def common_tasks_of(systems: Mapping[str, NamedSystem]) -> tuple[Task, ...]:
    by_system = [default_tasks(system) for system in systems.values()]
    if not by_system:
        raise TaskError("expected at least one system, got none")
    return tuple(task for task in by_system[0] if all(task in tasks for tasks in by_system))
