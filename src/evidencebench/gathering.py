"""Ask a system instances of a data set, and gather what comes."""

from collections.abc import Callable, Mapping, Sequence

from evidencebench.answering import answer_instance, with_hypothesis
from evidencebench.dataset import Dataset
from evidencebench.errors import PendingError, StopError
from evidencebench.instance import Instance
from evidencebench.recording import Todo, Worked
from evidencebench.runs import Answer
from evidencebench.system import NamedSystem
from evidencebench.tasks import Task, task_named


def answerer(system: NamedSystem, dataset: Dataset, hypotheses: Mapping[str, str] | None) -> Callable[[Todo], Worked]:
    """Return what asks a system one instance of a data set.

    Parameters
    ----------
    system
        What answers.
    dataset
        Where the instances are.
    hypotheses
        Instance id -> the hypothesis to ask instead of its own; None: its own.
    """

    def answer(todo: Todo) -> Worked:
        instance_id, task_names = todo
        instance = dataset[instance_id]
        if hypotheses is not None:
            instance = with_hypothesis(instance, hypotheses[instance_id])
        asked: Sequence[Task | None] = (None,)
        if task_names is not None:
            asked = [task for task in map(task_named, task_names) if task.applies_to(instance.labels)]
        return _worked(system, instance, asked)

    return answer


def _worked(system: NamedSystem, instance: Instance, tasks: Sequence[Task | None]) -> Worked:
    answers: list[tuple[str, str | None, Answer]] = []
    pending: list[str | None] = []
    stop: StopError | None = None
    for task in tasks:
        name = None if task is None else task.name
        try:
            answers.append((instance.id, name, answer_instance(system, instance, task)))
        except PendingError:
            pending.append(name)
        except StopError as error:
            stop = error
            pending.append(name)
            break
    names = tuple(name for name in pending if name is not None)
    unanswered: Todo | None = (instance.id, names or None) if pending else None
    return Worked(answers=tuple(answers), unanswered=unanswered, stop=stop)
