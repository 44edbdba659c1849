"""Doccano: JSON Lines for its projects, the labels, and its export as JSONL, one file an annotator.

Where sentences are marked, an item is a whole paper (project "sequence labelling"), and any words that are marked in a
sentence mark the sentence. Where criteria are rated, it is a "text classification".
Source: https://doccano.github.io/doccano/tutorial/
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from evidencebench.construction.people.annotations import TaskAnnotation
from evidencebench.construction.people.exchange.foreign import (
    NO,
    NONE,
    SOURCE,
    YES,
    ForeignAnnotations,
    json_lines,
    shown_texts,
    tasks_mark,
)
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.errors import RunFormatError
from evidencebench.storage.json_lines import lines_of
from evidencebench.storage.reading import BROKEN_JSON

_TASK, _TASKS = "evidencebench_task", "evidencebench_tasks"
_COLOURS = ("#1b6e53", "#8a4b08", "#4a3b8f", "#7a1f3d")
_SHORTEST_ASTRAL = 0x10000


def doccano_items(tasks: TasksFile) -> bytes:
    """Return the items that doccano imports as "JSONL"."""
    return json_lines(
        {"text": _text(task)[0], "label": [], _TASK: task.id, _TASKS: tasks_mark(tasks)} for task in tasks.records
    )


def doccano_labels(tasks: TasksFile) -> bytes:
    """Return the labels, to be imported on the project's page of labels."""
    labels = [
        {
            "text": text,
            "suffix_key": str(number),
            "background_color": _COLOURS[(number - 1) % len(_COLOURS)],
            "text_color": "#ffffff",
        }
        for number, text in enumerate(_labels(tasks), 1)
    ]
    return msgspec.json.format(msgspec.json.encode(labels), indent=1)


def read_doccano(content: bytes, into: ForeignAnnotations) -> None:
    """Add what an export holds; the file's name is the annotator's, as doccano writes it.

    Raises `RunFormatError` for another file, and as `require_same_tasks`.
    """
    for number, _, line, _ in lines_of(content):
        where = f"line {number}"
        try:
            item = msgspec.json.decode(line, type=dict[str, Any])
        except BROKEN_JSON as error:
            raise RunFormatError(f"{into.path}: {where}: expected an item of doccano's JSONL: {error}") from error
        fields = {**item, **_inner(item, "meta"), **_inner(item, "metadata")}
        task = into.tasks.by_id.get(fields.get(_TASK))  # type: ignore[arg-type]
        into.require_same_tasks(fields.get(_TASKS), where)
        labels = item.get("label", item.get("labels"))
        if task is None or not isinstance(labels, list):
            raise RunFormatError(f"{into.path}: {where}: expected a key '{_TASK}' with a task's id, and a list 'label'")
        if not labels:
            into.count("tasks without any label: not done")
            continue
        reading = _marked if into.tasks.header.sort == "sentences" else _rated
        into.add(into.path.stem, reading(task, item, labels, into), where)


def _inner(item: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = item.get(key)
    return found if isinstance(found, dict) else {}


def _labels(tasks: TasksFile) -> Iterator[str]:
    if tasks.header.sort == "sentences":
        yield from (SOURCE, NONE)
    for criterion in tasks.header.criteria:
        yield from (f"{criterion.name}: {YES}", f"{criterion.name}: {NO}")


def _rated(task: AnnotationTask, _item: object, labels: Iterable[Any], into: ForeignAnnotations) -> TaskAnnotation:
    known = set(_labels(into.tasks))
    given: dict[str, bool] = {}
    for label in labels:
        if label not in known:
            into.count("labels of another name")
            continue
        name, _, answer = label.rpartition(": ")
        if given.setdefault(name, answer == YES) != (answer == YES):
            raise RunFormatError(f"{into.path}: task '{task.id}': '{name}' is labelled {YES} and {NO}")
    return into.rated(task.id, given)


def _marked(
    task: AnnotationTask, item: Mapping[str, Any], labels: Iterable[Any], into: ForeignAnnotations
) -> TaskAnnotation:
    text, places = _text(task)
    if item.get("text") != text:
        raise RunFormatError(
            f"{into.path}: task '{task.id}': its text was changed in doccano, so that marks have lost their places"
        )
    marked: set[int] = set()
    for label in labels:
        match label:
            case [int(start), int(stop), str(name)] if name in {SOURCE, NONE}:
                if name == SOURCE:
                    found = {n for n, (first, end) in enumerate(places) if start < end and stop > first}
                    marked |= found
                    into.problems |= {} if found else {"marks outside of the paper": 1}
            case [int(), int(), str()]:
                into.count("labels of another name")
            case _:
                raise RunFormatError(
                    f"{into.path}: task '{task.id}': expected labels as [start, end, name], got {label!r}; the project "
                    "must be of the sort 'sequence labelling'"
                )
    return TaskAnnotation(task=task.id, sentences=tuple(sorted(marked)), is_done=True)


def _text(task: AnnotationTask) -> tuple[str, list[tuple[int, int]]]:
    """Return what people read, and the first character and the end of each sentence in it."""
    text = "".join(f"{name.upper()}: {_plain(shown)}\n" for name, shown in shown_texts(task)) + "\n"
    places = []
    for number, sentence in enumerate(task.sentences):
        line = f"[{number}] {_plain(sentence)}"
        places.append((len(text), len(text) + len(line)))
        text += f"{line}\n"
    return text.rstrip("\n"), places


def _plain(text: str) -> str:
    """Return text on one line in which every character is one unit of UTF-16, so that a browser counts as we do."""
    folded = (unicodedata.normalize("NFKC", c) if ord(c) >= _SHORTEST_ASTRAL else c for c in " ".join(text.split()))
    return "".join(c if len(c) == 1 and ord(c) < _SHORTEST_ASTRAL else "□" for c in folded)
