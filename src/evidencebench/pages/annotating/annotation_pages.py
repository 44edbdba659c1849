"""The tasks of `evidencebench agreement`: sentences to mark, or criteria to rate, and tasks to adjudicate."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from evidencebench.construction.people.annotations import AnnotationFolder, TaskAnnotation
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.pages.annotating.adjudication import disputed_tasks, said_by
from evidencebench.pages.annotating.task_pages import TaskList, TaskPages, TaskRow, fields_of
from evidencebench.pages.paper import kind_letters
from evidencebench.wording import counted


def annotation_pages(tasks: TasksFile, folder: Path) -> TaskPages:
    """Return the pages for a file of tasks; what people say lies in ``folder``, made at the first answer."""
    kept = AnnotationFolder(folder, tasks)
    kept.read()  # raises at once where a file there is damaged, or of other tasks
    return TaskPages(
        lists={"tasks": _own_tasks(kept), "adjudication": _disputes(kept)},
        about={
            "sort": tasks.header.sort,
            "n_tasks": len(tasks.records),
            "title": f"Annotate {tasks.path.name}",
            "criteria": tasks.header.criteria,
            "report": shlex.join(["evidencebench", "agreement", "report", str(folder), "--tasks", str(tasks.path)]),
        },
        folder=folder,
    )


def _own_tasks(kept: AnnotationFolder) -> TaskList:
    rows = [_row(task) for task in kept.tasks.records]
    return TaskList(
        rows=lambda _: rows,
        task=lambda task_id: _shown(kept.tasks.by_id[task_id]),
        shape=TaskAnnotation,
        read=kept.answers_of,
        append=lambda person, answer: kept.append(person, _from_page(answer)),
        is_done=_is_done,
    )


def _disputes(kept: AnnotationFolder) -> TaskList:
    """Return the tasks on which annotators differ; to an annotator, only those that they have done themselves."""

    def rows(person: str) -> Sequence[TaskRow]:
        found = kept.read().by_annotator
        own = found.get(person)
        return [
            _row(kept.tasks.by_id[task])
            for task in disputed_tasks(kept.tasks, found)
            if own is None or (task in own and own[task].is_done)
        ]

    def task(task_id: str) -> Mapping[str, object]:
        said = said_by(kept.read().by_annotator, task_id)
        return {**_shown(kept.tasks.by_id[task_id]), "said": {name: fields_of(one) for name, one in said.items()}}

    return TaskList(
        rows=rows,
        task=task,
        shape=TaskAnnotation,
        read=lambda _: kept.decisions(),
        append=lambda person, answer: kept.decide(person, _from_page(answer)),
        is_done=_is_done,
    )


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
