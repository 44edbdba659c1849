"""The tasks of `evidencebench construct validate`: sentences to mark, criteria to rate, and tasks to adjudicate."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import asdict, replace

from evidencebench.construction.people.answers import AnnotationFolder, TaskAnnotation
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.pages.people.tasks import TaskApp, TaskKind, TaskRow, answered_tasks, done_or_begun, task_record
from evidencebench.wording import counted


def annotation_tasks(tasks: TasksFile, folder: Path, *, source: str) -> TaskApp:
    """Return the app for a file of tasks; what people say lies in ``folder``, made at the first answer.

    ``source`` is the work folder or data set that the tasks were drawn from: its name stands in the call for a report.
    """
    annotations = AnnotationFolder(folder, tasks)
    annotations.read()  # raises at once where a file there is damaged, or of other tasks
    rows = {task.id: _row(task) for task in tasks.records}
    report = ["evidencebench", "construct", "validate", source]
    own_tasks = answered_tasks(
        shape=TaskAnnotation,
        rows=lambda _: rows,
        shown=lambda task_id: task_record(tasks.by_id[task_id]),
        read=annotations.answers_of,
        keep=lambda person, answer: annotations.append(person, _from_page(answer)),
        how_far=lambda answer: done_or_begun(answer.is_done),
    )
    return TaskApp(
        kinds={"tasks": own_tasks, "adjudication": _disputes(annotations)},
        about={
            "sort": tasks.header.sort,
            "n_tasks": len(tasks.records),
            "title": f"Validate {tasks.header.data.name}: {tasks.header.sort}",
            "criteria": tasks.header.criteria,
            "report": shlex.join([*report, "--folder", str(folder.parent), "--report"]),
        },
        folder=folder,
    )


def _disputes(annotations: AnnotationFolder) -> TaskKind:
    """Return the tasks on which annotators differ; to an annotator, only those that they have done themselves."""
    tasks = annotations.tasks

    def disputed(person: str) -> Mapping[str, TaskRow]:
        by_annotator = annotations.read().by_annotator
        rows = {}
        for task in tasks.records:
            done = _done_by(by_annotator, task.id)
            answers = [(annotation.sentences, annotation.ratings) for annotation in done.values()]
            differ = any(answer != answers[0] for answer in answers)
            if differ and (person in done or person not in by_annotator):
                rows[task.id] = _row(task)
        return rows

    def shown(task_id: str) -> Mapping[str, object]:
        said = {name: asdict(of) for name, of in _done_by(annotations.read().by_annotator, task_id).items()}
        return {**task_record(tasks.by_id[task_id]), "said": said}

    return answered_tasks(
        shape=TaskAnnotation,
        rows=disputed,
        shown=shown,
        read=lambda _: annotations.decisions(),
        keep=lambda person, answer: annotations.decide(person, _from_page(answer)),
        how_far=lambda answer: done_or_begun(answer.is_done),
    )


def _done_by(by_annotator: Mapping[str, Mapping[str, TaskAnnotation]], task_id: str) -> dict[str, TaskAnnotation]:
    return {name: own[task_id] for name, own in by_annotator.items() if task_id in own and own[task_id].is_done}


def _from_page(answer: TaskAnnotation) -> TaskAnnotation:
    """Return an answer without what the server sets."""
    return replace(answer, at="", decided_by="", is_imported=False)


def _row(task: AnnotationTask) -> TaskRow:
    facts = counted(len(task.sentences), "sentence") if task.sentences else ""
    return TaskRow(id=task.id, text=task.aspect or task.hypothesis or task.text, facts=facts)
