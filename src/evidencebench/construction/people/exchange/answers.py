"""The files for other tools, and annotations from anywhere: our own folders, and exports, told by their content."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from evidencebench.construction.people.annotations import Annotations, TaskAnnotation, read_annotations
from evidencebench.construction.people.exchange.foreign import ForeignAnnotations
from evidencebench.construction.people.exchange.label_studio import (
    label_studio_interface,
    label_studio_tasks,
    read_label_studio,
)
from evidencebench.construction.people.exchange.sheet import read_sheet, sheet_text
from evidencebench.construction.people.tasks import TasksFile
from evidencebench.errors import RunFormatError
from evidencebench.storage.text_file import read_bytes

_MOST_BYTES = 1 << 30

TOOLS: Mapping[str, Mapping[str, Callable[[TasksFile], str | bytes]]] = MappingProxyType(
    {
        "label-studio": {"label-studio.json": label_studio_tasks, "label-studio.xml": label_studio_interface},
        "csv": {"csv": sheet_text},
    }
)
"""Tool -> the ends of the names of its files -> what makes them."""


@dataclass(frozen=True, kw_only=True)
class CollectedAnnotations:
    """Everything that was read, drafts included, and what a reader must know of it, a line each."""

    annotations: Annotations
    problems: tuple[str, ...]


def collect_annotations(sources: Iterable[Path], tasks: TasksFile) -> CollectedAnnotations:
    """Return what folders and exports hold together; an annotator answers a task in one of them only."""
    merged: dict[str, dict[str, TaskAnnotation]] = {}
    adjudicated: dict[str, TaskAnnotation] = {}
    problems = []
    for path in sources:
        if path.is_dir():
            ours = read_annotations(path, tasks)
            by_annotator: Mapping[str, Mapping[str, TaskAnnotation]] = ours.by_annotator
            _merge(adjudicated, ours.adjudicated, f"{path}: a second decision")
        else:
            foreign = _read_foreign(path, tasks)
            by_annotator = foreign.by_annotator
            problems += [f"{path}: {problem}: {n:,}" for problem, n in foreign.problems.items()]
        for name, answers in by_annotator.items():
            _merge(merged.setdefault(name, {}), answers, f"{path}: a second answer of '{name}'")
    return CollectedAnnotations(
        annotations=Annotations(by_annotator=merged, adjudicated=adjudicated), problems=tuple(problems)
    )


def _merge(into: dict[str, TaskAnnotation], answers: Mapping[str, TaskAnnotation], what: str) -> None:
    for task, annotation in answers.items():
        if task in into:
            raise RunFormatError(f"{what} to task '{task}'; give each once")
        into[task] = annotation


def _read_foreign(path: Path, tasks: TasksFile) -> ForeignAnnotations:
    content = read_bytes(path, at_most=_MOST_BYTES)
    foreign = ForeignAnnotations(path=path, tasks=tasks)
    head = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b'{"format":"evidencebench annotations"'):
        raise RunFormatError(f"{path}: is one annotator's file; give its folder, '{path.parent}'")
    if head.startswith(b"["):
        read_label_studio(content, foreign)
    else:
        read_sheet(content, foreign)
    return foreign
