"""Label Studio: tasks as it imports them, the labelling interface, and its export of the sort "JSON".

The paper is a `Paragraphs` tag, a paragraph a sentence. Any words that are marked in a sentence mark the sentence.
Source: https://labelstud.io/tags/paragraphs and https://labelstud.io/guide/task_format
"""

from collections.abc import Mapping
from typing import Annotated, Any
from xml.sax.saxutils import quoteattr

import msgspec

from evidencebench.construction.people.annotations import TaskAnnotation
from evidencebench.construction.people.exchange.foreign import (
    NO,
    SOURCE,
    YES,
    ForeignAnnotations,
    shown_texts,
    tasks_mark,
)
from evidencebench.construction.people.tasks import TasksFile
from evidencebench.errors import RunFormatError
from evidencebench.storage.reading import BROKEN_JSON

_MARKS = "marks"
_Index = Annotated[int, msgspec.Meta(ge=0)]


class _Span(msgspec.Struct):
    """The value of a region of a `Paragraphs` tag: numbers of paragraphs, as text or not, and the label."""

    start: _Index
    end: _Index
    endOffset: int = 1  # noqa: N815 - the tool's own name
    paragraphlabels: tuple[str, ...] = ()


class _Region(msgspec.Struct):
    from_name: str = ""
    value: Mapping[str, Any] = {}


class _Submitted(msgspec.Struct):
    result: tuple[_Region, ...] = ()
    completed_by: Any = None
    was_cancelled: bool = False
    updated_at: str = ""


class _ExportedData(msgspec.Struct):
    evidencebench_task: str
    evidencebench_tasks: str


class _Item(msgspec.Struct):
    data: _ExportedData
    annotations: tuple[_Submitted, ...] = ()


def label_studio_tasks(tasks: TasksFile) -> bytes:
    """Return the JSON list that Label Studio imports."""
    items = [
        {
            "data": {
                "evidencebench_task": task.id,
                "evidencebench_tasks": tasks_mark(tasks),
                **dict(shown_texts(task)),
                **(
                    {"paper": [{"number": str(n), "text": text} for n, text in enumerate(task.sentences)]}
                    if task.sentences
                    else {}
                ),
            }
        }
        for task in tasks.records
    ]
    return msgspec.json.format(msgspec.json.encode(items), indent=1)


def label_studio_interface(tasks: TasksFile) -> str:
    """Return the labelling configuration, to be pasted into the project's settings."""
    names = dict.fromkeys(name for task in tasks.records for name, _ in shown_texts(task))
    lines = ["<View>"]
    for name in names:
        lines += [f'  <Header value="{name.capitalize()}"/>', f'  <Text name="{name}" value="${name}"/>']
    is_marking = tasks.header.sort == "sentences"
    if is_marking:
        lines += [
            '  <Header value="Mark words of every sentence that holds the aspect. Submit, also if none does."/>',
            f'  <ParagraphLabels name="{_MARKS}" toName="paper">',
            f'    <Label value="{SOURCE}" hotkey="1"/>',
            "  </ParagraphLabels>",
        ]
    for criterion in tasks.header.criteria:
        lines += [
            f"  <Header value={quoteattr(criterion.question)}/>",
            f'  <Choices name={quoteattr(criterion.name)} toName="{next(iter(names))}" required="true">',
            f'    <Choice value="{YES}"/>',
            f'    <Choice value="{NO}"/>',
            "  </Choices>",
        ]
    if any(task.sentences for task in tasks.records):
        lines.append(
            '  <Paragraphs name="paper" value="$paper" valueType="json" layout="dialogue" nameKey="number" '
            'textKey="text"/>'
        )
    return "\n".join([*lines, "</View>", ""])


def read_label_studio(content: bytes, into: ForeignAnnotations) -> None:
    """Add what an export holds; raises `RunFormatError` for another file, and as `require_same_tasks`."""
    try:
        items = msgspec.json.decode(content, type=tuple[_Item, ...])
    except BROKEN_JSON as error:
        raise RunFormatError(
            f"{into.path}: expected the export of Label Studio of the sort 'JSON': {error}; export the project so"
        ) from error
    for item in items:
        where = f"task '{item.data.evidencebench_task}'"
        into.require_same_tasks(item.data.evidencebench_tasks, where)
        if not item.annotations:
            into.count("tasks that nobody has submitted")
        for submitted in sorted(item.annotations, key=lambda one: one.updated_at):
            if submitted.was_cancelled:
                into.count("tasks that an annotator has skipped")
                continue
            try:
                annotation = _annotation(item.data.evidencebench_task, submitted, into)
            except msgspec.ValidationError as error:
                raise RunFormatError(f"{into.path}: {where}: {error}") from error
            into.add(_name_of(submitted.completed_by), annotation, where)


def _annotation(task: str, submitted: _Submitted, into: ForeignAnnotations) -> TaskAnnotation:
    if into.tasks.header.sort != "sentences":
        given = {
            region.from_name: choices == [YES]
            for region in submitted.result
            if (choices := region.value.get("choices")) in ([YES], [NO])
        }
        return into.rated(task, given)
    marked: set[int] = set()
    for region in submitted.result:
        if region.from_name != _MARKS:
            continue
        span = msgspec.convert(region.value, _Span, strict=False)
        if SOURCE not in span.paragraphlabels:
            into.count("regions with another label")
            continue
        # A mark that was dragged to the first character of the next paragraph marks nothing of it.
        last = span.end - 1 if span.endOffset == 0 and span.end > span.start else span.end
        n_sentences = len(into.tasks.by_id[task].sentences) if task in into.tasks.by_id else 0
        if last >= n_sentences:
            raise RunFormatError(f"{into.path}: task '{task}': sentence {last}: the paper has 0..{n_sentences - 1}")
        marked.update(range(span.start, last + 1))
    return TaskAnnotation(task=task, sentences=tuple(sorted(marked)), is_done=True, at=submitted.updated_at)


def _name_of(completed_by: object) -> str:
    """Return an annotator's name: their address where the export has it, else their number."""
    match completed_by:
        case {"email": str(email)} if email:
            return email
        case {"id": int(number)}:
            return f"user {number}"
        case None:
            return "unknown"
        case _:
            return f"user {completed_by}"
