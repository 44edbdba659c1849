"""The tasks on which annotators differ, and who said what of them."""

from collections.abc import Iterator, Mapping

from evidencebench.construction.people.annotations import TaskAnnotation
from evidencebench.construction.people.tasks import TasksFile

ByAnnotator = Mapping[str, Mapping[str, TaskAnnotation]]
"""Annotator -> task id -> annotation."""


def disputed_tasks(tasks: TasksFile, found: ByAnnotator) -> Iterator[str]:
    """Yield the ids of the tasks that several annotators have done and do not agree on, in the order of the file."""
    for task in tasks.records:
        said = [(one.sentences, one.ratings) for one in said_by(found, task.id).values()]
        if any(one != said[0] for one in said):
            yield task.id


def said_by(found: ByAnnotator, task_id: str) -> dict[str, TaskAnnotation]:
    """Return annotator -> annotation, of those who are done with a task."""
    return {name: of_one[task_id] for name, of_one in found.items() if task_id in of_one and of_one[task_id].is_done}
