"""What annotators and auditors may answer, and the folders that hold it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self, TypeAlias

import msgspec

from evidencebench.construction.people.tasks import QUESTIONS, MissesFile, TasksFile
from evidencebench.errors import PeopleError
from evidencebench.runs.answers import DecisionAnswer, MarksAnswer, RatingsAnswer, header_of_people
from evidencebench.runs.people import AnswerFolder, Clock, check_note, utc_now
from evidencebench.wording import did_you_mean

Annotation: TypeAlias = MarksAnswer | RatingsAnswer
"""The marked sentences of a task, or its ratings."""


class Cause(msgspec.Struct, frozen=True):
    """Why a miss counts as one."""

    name: str  # in files
    words: str  # for people
    is_fault: bool = False  # of the system
    needs_note: bool = False


CAUSES: Mapping[str, Cause] = {name: Cause(name, **cause) for name, cause in QUESTIONS["causes"].items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    by_annotator: Mapping[str, Mapping[str, Annotation]]  # annotator -> task id -> the annotation that counts
    adjudicated: Mapping[str, Annotation] = field(default_factory=dict)  # task id -> the decision

    @classmethod
    def read(cls, folder: AnswerFolder[Annotation]) -> Self:
        return cls(by_annotator=folder.read_all(), adjudicated=folder.agreed())


def annotation_folder(folder: Path, tasks: TasksFile, *, clock: Clock = utc_now) -> AnswerFolder[Annotation]:
    check, header = partial(check_annotation, tasks), header_of_people(tasks.sha256)
    return AnswerFolder(folder, header, check, kind=annotation_kind(tasks), clock=clock)


def annotation_kind(tasks: TasksFile) -> type[Annotation]:
    return MarksAnswer if tasks.header.sort == "sentences" else RatingsAnswer


def check_annotation(tasks: TasksFile, annotation: Annotation) -> None:
    task = tasks.by_id.get(annotation.id)
    if task is None:
        raise PeopleError(f"no task '{annotation.id}'; the ids look like '{tasks.records[0].id}'")
    check_note(annotation.note)
    where = f"task '{task.id}'"
    if isinstance(annotation, MarksAnswer):
        sentences = annotation.sentences
        if outside := [index for index in sentences if not 0 <= index < len(task.sentences)]:
            raise PeopleError(f"{where}: sentence {outside[0]}: the paper has 0..{len(task.sentences) - 1}")
        if list(sentences) != sorted(set(sentences)):
            raise PeopleError(f"{where}: expected the sentences ascending, each once, got {sentences}")
        return
    names = {criterion.name for criterion in tasks.header.criteria}
    if unknown := annotation.ratings.keys() - names:
        raise PeopleError(f"{where}: no criterion '{min(unknown)}'; expected one of {', '.join(sorted(names))}")
    if annotation.is_done and (missing := names - annotation.ratings.keys()):
        raise PeopleError(f"{where}: is done, but not rated: {', '.join(sorted(missing))}")


def verdict_folder(folder: Path, misses: MissesFile, *, clock: Clock = utc_now) -> AnswerFolder[DecisionAnswer]:
    """Return the folder of what auditors decide: the cause of each miss."""
    check, header = partial(_check_verdict, misses), header_of_people(misses.sha256)
    return AnswerFolder(folder, header, check, kind=DecisionAnswer, clock=clock)


def _check_verdict(misses: MissesFile, verdict: DecisionAnswer) -> None:
    if verdict.id not in misses.by_id:
        raise PeopleError(f"no miss '{verdict.id}'; the ids look like '{misses.records[0].id}'")
    check_note(verdict.note)
    if not verdict.choice:
        return
    cause = CAUSES.get(verdict.choice)
    if cause is None:
        hint = did_you_mean(verdict.choice, CAUSES)
        raise PeopleError(f"miss '{verdict.id}': no cause '{verdict.choice}'{hint}; one of {', '.join(CAUSES)}")
    if cause.needs_note and not verdict.note.strip():
        raise PeopleError(f"miss '{verdict.id}': cause '{cause.name}' needs a note that says which")
