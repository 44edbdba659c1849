"""The tasks of `evidencebench agreement`: sentences to mark, or criteria to rate, and tasks to adjudicate."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from evidencebench.construction.people.answers import AnnotationFolder, TaskAnnotation
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.pages.paper import kind_letters
from evidencebench.pages.people.tasks import JournalTasks, TaskApp, TaskKind, TaskRow
from evidencebench.wording import counted

ByAnnotator = Mapping[str, Mapping[str, TaskAnnotation]]
"""Annotator -> task id -> annotation."""


def annotation_tasks(tasks: TasksFile, folder: Path) -> TaskApp:
    """Return the app for a file of tasks; what people say lies in ``folder``, made at the first answer."""
    annotations = AnnotationFolder(folder, tasks)
    annotations.read()  # raises at once where a file there is damaged, or of other tasks
    return TaskApp(
        kinds={"tasks": _own_tasks(annotations), "adjudication": _disputes(annotations)},
        about={
            "sort": tasks.header.sort,
            "n_tasks": len(tasks.records),
            "title": f"Annotate {tasks.path.name}",
            "criteria": tasks.header.criteria,
            "report": shlex.join(["evidencebench", "agreement", "report", str(folder), "--tasks", str(tasks.path)]),
        },
        folder=folder,
    )


def _own_tasks(annotations: AnnotationFolder) -> TaskKind:
    rows = [_row(task) for task in annotations.tasks.records]
    return JournalTasks(
        shape=TaskAnnotation,
        rows=lambda _: rows,
        shown=lambda task_id: _shown(annotations.tasks.by_id[task_id]),
        read=annotations.answers_of,
        append=lambda person, answer: annotations.append(person, _from_page(answer)),
        is_done=_is_done,
    )


def _disputes(annotations: AnnotationFolder) -> TaskKind:
    """Return the tasks on which annotators differ; to an annotator, only those that they have done themselves."""
    tasks = annotations.tasks

    def disputed(person: str) -> Sequence[TaskRow]:
        by_annotator = annotations.read().by_annotator
        own = by_annotator.get(person)
        return [
            _row(tasks.by_id[task])
            for task in _disputed(tasks, by_annotator)
            if own is None or (task in own and own[task].is_done)
        ]

    def shown(task_id: str) -> Mapping[str, object]:
        said = _said_by(annotations.read().by_annotator, task_id)
        return {**_shown(tasks.by_id[task_id]), "said": {name: msgspec.structs.asdict(of) for name, of in said.items()}}

    return JournalTasks(
        shape=TaskAnnotation,
        rows=disputed,
        shown=shown,
        read=lambda _: annotations.decisions(),
        append=lambda person, answer: annotations.decide(person, _from_page(answer)),
        is_done=_is_done,
    )


def _disputed(tasks: TasksFile, by_annotator: ByAnnotator) -> Iterator[str]:
    for task in tasks.records:
        said = [(annotation.sentences, annotation.ratings) for annotation in _said_by(by_annotator, task.id).values()]
        if any(answer != said[0] for answer in said):
            yield task.id


def _said_by(by_annotator: ByAnnotator, task_id: str) -> dict[str, TaskAnnotation]:
    return {name: own[task_id] for name, own in by_annotator.items() if task_id in own and own[task_id].is_done}


def _from_page(answer: TaskAnnotation) -> TaskAnnotation:
    """Return an answer without what the server sets."""
    return msgspec.structs.replace(answer, at="", decided_by="")


def _is_done(answer: TaskAnnotation) -> bool:
    return answer.is_done


def _row(task: AnnotationTask) -> TaskRow:
    facts = counted(len(task.sentences), "sentence") if task.sentences else ""
    return TaskRow(id=task.id, text=task.aspect or task.hypothesis, facts=facts)


def _shown(task: AnnotationTask) -> dict[str, object]:
    return {**msgspec.structs.asdict(task), "kinds": kind_letters(task.kinds)}
