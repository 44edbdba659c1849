"""Ask a system about one instance: it is given the query and the task only, and it answers or fails."""

import inspect
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import TASKS, Task, TaskOrName, task_from
from evidencebench.errors import AnswerError, EvidenceBenchError, PendingError, ReplyError, StopError, TaskError
from evidencebench.execution.changes import ChangedInstance, with_hypothesis
from evidencebench.execution.own_code import beginning_of, trace_of
from evidencebench.query import Query
from evidencebench.runs.formats import GivenAnswer, answers_in
from evidencebench.runs.run import Answer, Failure, RunFile
from evidencebench.system import Asked, NamedSystem, Ranking, RankingTask, System, Traits, plain_ranking, traits_of

_MAX_ERROR_CHARACTERS = 500
_SEEDS_OF_AN_EPOCH = 1_000_000  # more than the samples of a vote, so that no two epochs send the same request
_N_ASKED = 2  # query and task
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ASKING = frozenset({__file__, plain_ranking.__code__.co_filename})

SystemFunction: TypeAlias = Callable[[Query, RankingTask], GivenAnswer]
"""A system as a function: it returns a `Ranking`, indices of sentences, or sentence -> score."""
AnySystem: TypeAlias = NamedSystem | System | SystemFunction
AskedT = TypeVar("AskedT")


@dataclass(frozen=True, slots=True)
class _Function:
    """A function as a system: it may read the task, unless its attribute ``traits`` says otherwise."""

    function: SystemFunction

    @property
    def traits(self) -> Traits:
        given: Traits = getattr(self.function, "traits", Traits(reads_task=True))
        return given

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        return cast("Ranking", self.function(query, task))  # which whoever asks reads, as of any system


def is_function(given: object) -> bool:
    return callable(given) and not (isinstance(given, type) or hasattr(given, "rank") or hasattr(given, "rank_knowing"))


def takes_query_and_task(given: object) -> bool:
    """Whether a function has exactly two parameters without a default: it ranks, and makes no system."""
    if not inspect.isfunction(given):
        return False
    parameters = inspect.signature(given).parameters.values()
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    return len(required) == _N_ASKED and all(parameter.kind in _BY_POSITION for parameter in required)


def check_parameters(answering: Callable[..., object]) -> None:
    """Raise `TypeError` for a function or method that cannot be called with a query and a task, as all are."""
    try:
        parameters = inspect.signature(answering)
    except (ValueError, TypeError):  # of a built-in
        return
    try:
        parameters.bind(None, None)
    except TypeError:
        name = getattr(answering, "__qualname__", type(answering).__name__)
        raise TypeError(f"expected two parameters, query and task, got {name}{parameters}") from None


def named_system(system: object) -> NamedSystem:
    """Return a system with a name: an object gets that of its class, a function that by which it is imported."""
    if isinstance(system, NamedSystem):
        return system
    if is_function(system):
        check_parameters(cast("SystemFunction", system))
        place = system if hasattr(system, "__qualname__") else type(system)
        name = f"{place.__module__}:{place.__qualname__}"
        function, module = _Function(cast("SystemFunction", system)), sys.modules.get(place.__module__)
        return NamedSystem(name=name, options={}, system=function, module=module)
    kind = type(system).__name__
    if isinstance(system, type):
        raise TypeError(f"expected a system, got the class {system.__name__}; make one of it: {system.__name__}()")
    if isinstance(system, str):
        raise TypeError(
            f"expected a system, got the text {system!r}; make a system of it with make_system, or open the run that "
            "it names with open_run"
        )
    if hasattr(system, "__array__") or hasattr(system, "__dataframe__"):  # which may have a method `rank` of its own
        raise TypeError(
            f"expected a system or answers, got a {kind}, which is data; give a dict {{instance id: [indices]}}, or "
            "what answers_of_frame makes of a frame of qid, docno and score"
        )
    method = "rank_knowing" if traits_of(system).knows_labels else "rank"
    if not callable(getattr(system, method, None)):
        raise TypeError(
            f"expected a system, which is an object with a method rank(query, task) or a function of both, got {kind}"
        )
    check_parameters(getattr(system, method))
    return NamedSystem(name=kind, options={}, system=with_named_parts(cast("System", system), named_system))


def with_named_parts(system: System, name: Callable[[System], NamedSystem]) -> System:
    """Return a dataclass system in which ``name`` has named the systems among its fields."""

    def named(_: str, value: Any) -> Any:
        return name(value) if callable(getattr(value, "rank", None)) else value

    return cast("System", _with_fields(system, named))


def in_epoch(system: AskedT, epoch: int) -> AskedT:
    """Return a system as it is asked in an epoch: from the second on, each seed in it and in its parts is another."""

    def asked(name: str, value: Any) -> Any:
        is_seed = name == "seed" and type(value) is int
        return value + (epoch - 1) * _SEEDS_OF_AN_EPOCH if is_seed else _with_fields(value, asked)

    return system if epoch == 1 else _with_fields(system, asked)


def _with_fields(owner: Any, change: Callable[[str, Any], Any]) -> Any:
    """Return a dataclass whose fields, and the parts of tuples, are changed; itself if it is none or none changes."""

    def changed(name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            parts = tuple(changed(name, part) for part in value)
            return value if all(map(operator.is_, parts, value)) else parts
        return change(name, value)

    if not is_dataclass(owner) or isinstance(owner, type):
        return owner
    values = {field.name: getattr(owner, field.name) for field in fields(owner) if field.init}
    new = {name: part for name, value in values.items() if (part := changed(name, value)) is not value}
    return replace(owner, **new) if new else owner


def default_tasks(system: NamedSystem) -> tuple[Task, ...]:
    """Return the official tasks that a system can answer: all six, or only those with a budget if it only ranks."""
    return tuple(task for task in TASKS.values() if system.selects or task.budget is not None)


def require_answerable(
    system: NamedSystem,
    dataset: Dataset,
    tasks: Sequence[Task],
    *,
    limit: int | None = None,
    own_queries: bool = True,
) -> None:
    names = tuple(task.name for task in tasks)
    queries = partial(dataset.queries, limit)
    system.check(Asked(data_sha256=dataset.sha256, own_queries=own_queries, tasks=names, queries=queries))
    for task in tasks:
        if task.budget is None and not system.selects:
            raise TaskError(
                f"system '{system.name}' ranks all sentences, and task '{task.name}' has no budget to end it"
            )


def answer_instance(system: AnySystem, instance: Instance, task: TaskOrName | None) -> Answer:
    """Return a system's answer to an instance; if the system raises an error, return a `Failure`.

    The system is given the query; only one whose traits say that it knows the labels is given the labels. The task
    may be None if the system does not read it.

    Raises
    ------
    StopError
        If no more requests may be sent: the instance is not answered.
    PendingError
        If the answer waits for a batch.
    """
    system = named_system(system)
    asked = None if task is None else task_from(task)
    try:
        wanted = RankingTask(budget=None) if asked is None else asked.ranking_task(instance)
        if system.knows_labels:
            answer = system.system.rank_knowing(instance.labels, wanted)  # type: ignore[union-attr]
        else:
            answer = system.system.rank(instance.query, wanted)  # type: ignore[union-attr]
        return plain_ranking(answer, len(instance.query.sentences), system.name, instance.id)
    except (StopError, PendingError, KeyboardInterrupt, GeneratorExit):
        raise
    except ReplyError as error:
        return Failure(error=_message(error), notes=error.notes, cause=error)
    except BaseException as error:  # noqa: BLE001 - one failing instance does not end the run, whatever its class
        is_ours = isinstance(error, EvidenceBenchError) and type(error) is not AnswerError
        code = getattr(system.system, "function", getattr(system.system, "rank", None))
        trace = None if is_ours else trace_of(error, _ASKING) or beginning_of(code)
        return Failure(error=_message(error), trace=trace, cause=error)


def _message(error: BaseException) -> str:
    message = f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARACTERS]
    return message.encode(errors="backslashreplace").decode()


class AnswersByInstance(partial[Answer | None]):
    """Answers to an instance and a task, as `answers_from` returns them; a user's function would see labels in it."""


def answers_from(
    answering: AnySystem | RunFile | Mapping[str, GivenAnswer] | AnswersByInstance,
    hypotheses: Mapping[str, str] | None = None,
) -> AnswersByInstance:
    """Return a function: instance, task -> answer.

    Parameters
    ----------
    answering
        A system, as `make_system` returns it, any object with ``rank(query, task)`` or a function of both; a run, as
        `open_run` returns it; or a dict of answers, as `answers_in` reads it. If one answer serves every task, a system
        is asked once an instance. What this function returned is returned as it is.
    hypotheses
        Instance id -> the hypothesis to ask a system instead of the instance's own; None: its own.

    Raises
    ------
    TypeError
        If ``answering`` is none of these.
    AnswerError
        If a value of the dict is no answer.

    Examples
    --------
    >>> from evidencebench import BM25, load_sample, task_named
    >>> answers_from(BM25())(load_sample()[0], task_named("er_at_5")).ordered
    True
    """
    match answering:
        case RunFile():
            return AnswersByInstance(lambda instance, task: answering.answer(instance.id, task.name))
        case Mapping():
            answers = answers_in(answering)
            return AnswersByInstance(lambda instance, _: answers.get(instance.id))
        case AnswersByInstance():
            return answering
    asked = ask_once_an_instance(
        named_system(answering), lambda instance: ChangedInstance(instance=with_hypothesis(instance, hypotheses))
    )
    return AnswersByInstance(asked)


def ask_once_an_instance(
    system: NamedSystem, change: Callable[[Instance], ChangedInstance]
) -> Callable[[Instance, Task], Answer]:
    """Return a function that asks a system about changed instances, and keeps an answer that serves all tasks."""
    last: tuple[str, Answer] | None = None
    reads_task = system.reads_task

    def answer(instance: Instance, task: Task) -> Answer:
        nonlocal last
        known = last  # read once, since another thread may change it
        if known is not None and known[0] == instance.id:
            return known[1]
        changed = change(instance)
        given = answer_instance(system, changed.instance, task if reads_task else None)
        given = changed.own_answer(given)
        last = None if reads_task else (instance.id, given)
        return given

    return answer
