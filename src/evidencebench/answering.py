"""Ask a system: hand it the query and the brief, and nothing else, and take its answer or its failure."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from evidencebench.errors import EvidenceBenchError, PendingError, ReplyError, StopError, TaskError
from evidencebench.instance import Instance
from evidencebench.runs import Answer, Failure
from evidencebench.system import Brief, NamedSystem, plain_ranking
from evidencebench.tasks import TASKS, Task

_MAX_ERROR_CHARACTERS = 500
_MAX_TRACE_CHARACTERS, _MAX_TRACE_FRAMES = 10_000, 20


def default_tasks(system: NamedSystem) -> tuple[Task, ...]:
    """Return the tasks that a system can answer: all six, or those with a budget for systems that only rank."""
    return tuple(task for task in TASKS.values() if system.selects or task.budget is not None)


def require_answerable(system: NamedSystem, tasks: Sequence[Task]) -> None:
    """Raise unless a system can answer every task.

    Raises
    ------
    TaskError
        If a system that only ranks is asked a task without a budget, or stored answers are not for a task.
    """
    system.check_tasks([task.name for task in tasks])
    for task in tasks:
        if task.budget is None and not system.selects:
            raise TaskError(
                f"system '{system.name}' ranks all sentences, and task '{task.name}' has no budget to end it"
            )


def answer_instance(system: NamedSystem, instance: Instance, task: Task | None) -> Answer:
    """Return a system's answer to an instance, or the failure in its place.

    Parameters
    ----------
    system
        What answers. Unless it knows the labels by declaration, only the query is handed to it.
    instance
        What to answer.
    task
        What the brief is made for; None for a system that does not read it.

    Raises
    ------
    StopError
        If no more requests may be sent, so that the instance stays unanswered.
    PendingError
        If the answer waits for a batch.
    """
    try:
        brief = Brief(budget=None) if task is None else task.brief(instance)
        if system.knows_labels:
            answer = system.system.rank_knowing(instance.labels, brief)  # type: ignore[union-attr]
        else:
            answer = system.system.rank(instance.query, brief)  # type: ignore[union-attr]
        return plain_ranking(answer, len(instance.query.sentences), system.name)
    except (StopError, PendingError):
        raise
    except ReplyError as error:
        return Failure(error=_message(error), notes=error.notes)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever one item does wrong, the others are answered
        return Failure(error=_message(error), trace=_trace(error))


def _message(error: BaseException) -> str:
    message = f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARACTERS]
    return _writable(message)


def _trace(error: BaseException) -> str | None:
    """Return where in the system's code it failed, as Python shows it; None where the message says all there is."""
    if isinstance(error, EvidenceBenchError):
        return None
    asking = {_trace.__code__.co_filename, plain_ranking.__code__.co_filename}
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code.co_filename in asking:
        step = step.tb_next
    if step is None:
        return None
    lines = traceback.format_exception(type(error), error, step, limit=-_MAX_TRACE_FRAMES)
    return _writable("".join(lines)[:_MAX_TRACE_CHARACTERS])


def _writable(text: str) -> str:
    """Return text that UTF-8 can write."""
    return text.encode(errors="backslashreplace").decode()


def answers_from(
    system: NamedSystem, hypotheses: Mapping[str, str] | None = None
) -> Callable[[Instance, Task], Answer]:
    """Return a function that answers any instance under any task, asking once where one answer serves every task.

    Parameters
    ----------
    system
        What answers.
    hypotheses
        Instance id -> the hypothesis to ask instead of its own; None: its own.
    """
    last: tuple[str, Answer] | None = None

    def answer(instance: Instance, task: Task) -> Answer:
        nonlocal last
        known = last  # looked up once, since another thread may ask too
        if known is not None and known[0] == instance.id:
            return known[1]
        asked = instance if hypotheses is None else with_hypothesis(instance, hypotheses[instance.id])
        found = answer_instance(system, asked, task if system.reads_brief else None)
        last = None if system.reads_brief else (instance.id, found)
        return found

    return answer


def with_hypothesis(instance: Instance, hypothesis: str) -> Instance:
    """Return the instance with another hypothesis in its query."""
    return replace(instance, query=replace(instance.query, hypothesis=hypothesis))
