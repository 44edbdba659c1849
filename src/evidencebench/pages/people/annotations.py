"""The tasks of `evidencebench construct validate`: sentences to mark, criteria to rate, and tasks to adjudicate."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import asdict

from evidencebench.construction.people.answers import (
    Annotation,
    Annotations,
    annotation_folder,
    annotation_kind,
)
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.pages.people.tasks import (
    TaskApp,
    TaskKind,
    TaskRow,
    answered_tasks,
    done_or_begun,
    from_page,
    task_record,
)
from evidencebench.runs.answers import MarksAnswer
from evidencebench.runs.people import AnswerFolder
from evidencebench.wording import counted


def annotation_tasks(tasks: TasksFile, folder: Path, *, source: str) -> TaskApp:
    """Return the app for a file of tasks; what people say lies in ``folder``, made at the first answer.

    ``source`` is the work folder or data set that the tasks were drawn from: its name stands in the call for a report.
    """
    annotations = annotation_folder(folder, tasks)
    Annotations.read(annotations)  # raises at once where a file there is damaged, or of other tasks
    rows = {task.id: _row(task) for task in tasks.records}
    report = ["evidencebench", "construct", "validate", source]
    own_tasks = answered_tasks(
        shape=annotation_kind(tasks),
        rows=lambda _: rows,
        shown=lambda task_id: task_record(tasks.by_id[task_id]),
        read=annotations.answers_of,
        keep=lambda person, answer: annotations.save(person, from_page(answer)),
        how_far=lambda answer: done_or_begun(answer.is_done),
    )
    return TaskApp(
        kinds={"tasks": own_tasks, "adjudication": _disputes(tasks, annotations)},
        about={
            "sort": tasks.header.sort,
            "n_tasks": len(tasks.records),
            "title": f"Validate {tasks.header.data.name}: {tasks.header.sort}",
            "criteria": tasks.header.criteria,
            "report": shlex.join([*report, "--folder", str(folder.parent), "--report"]),
        },
        folder=folder,
    )


def _disputes(tasks: TasksFile, annotations: AnswerFolder[Annotation]) -> TaskKind:
    """Return the tasks on which annotators differ; to an annotator, only those that they have done themselves."""

    def disputed(person: str) -> Mapping[str, TaskRow]:
        by_annotator = annotations.read_all()
        rows = {}
        for task in tasks.records:
            done = _done_by(by_annotator, task.id)
            answers = [_said(annotation) for annotation in done.values()]
            differ = any(answer != answers[0] for answer in answers)
            if differ and (person in done or person not in by_annotator):
                rows[task.id] = _row(task)
        return rows

    def shown(task_id: str) -> Mapping[str, object]:
        said = {name: asdict(of) for name, of in annotations.answers_to(task_id).items() if of.is_done}
        return {**task_record(tasks.by_id[task_id]), "said": said}

    return answered_tasks(
        shape=annotation_kind(tasks),
        rows=disputed,
        shown=shown,
        read=lambda _: annotations.agreed(),
        keep=lambda person, answer: annotations.agree(person, from_page(answer)),
        how_far=lambda answer: done_or_begun(answer.is_done),
    )


def _done_by(by_annotator: Mapping[str, Mapping[str, Annotation]], task_id: str) -> dict[str, Annotation]:
    return {name: own[task_id] for name, own in by_annotator.items() if task_id in own and own[task_id].is_done}


def _row(task: AnnotationTask) -> TaskRow:
    facts = counted(len(task.sentences), "sentence") if task.sentences else ""
    return TaskRow(id=task.id, text=task.aspect or task.hypothesis or task.text, facts=facts)


def _said(annotation: Annotation) -> object:
    return annotation.sentences if isinstance(annotation, MarksAnswer) else annotation.ratings
