"""Tasks for other tools and what people did there: Label Studio, and CSV for a spreadsheet."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from xml.sax.saxutils import quoteattr

import msgspec
from msgspec.structs import replace

from evidencebench.construction.people.answers import Annotation, annotation_kind, check_annotation
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.decoding import prepared
from evidencebench.errors import PeopleError, RunFormatError, RunMismatchError
from evidencebench.files.disk import BROKEN_JSON, decoded, packaged_table, read_bytes
from evidencebench.runs.answers import MarksAnswer, RatingsAnswer
from evidencebench.runs.people import AnswerFolder, checked_name
from evidencebench.tables import safe_cell

SOURCE = "source"  # the label of a sentence that holds the aspect
YES, NO = "yes", "no"
IMPORTED = "another tool"  # who an answer comes by that was not given in the app


@dataclass(kw_only=True)
class ForeignAnnotations:
    """What a file holds: annotator, task id -> annotation; ``problems`` are what a reader must know, counted."""

    path: Path
    tasks: TasksFile
    answers: dict[tuple[str, str], Annotation] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)

    def add(self, annotator: str, annotation: Annotation, where: str) -> None:
        """Keep an annotation; a later one of the same annotator and task replaces it. ``where`` is for messages."""
        try:
            check_annotation(self.tasks, annotation)
            name = checked_name(annotator)
        except PeopleError as error:
            raise RunFormatError(f"{self.path}: {where}: {error}") from error
        self.answers[name, annotation.id] = annotation

    def require_same_tasks(self, sha256: object, where: str) -> None:
        if sha256 != tasks_mark(self.tasks):
            raise RunMismatchError(
                f"{self.path}: {where}: is of other tasks than {self.tasks.path}: expected the mark "
                f"'{tasks_mark(self.tasks)}', got {sha256!r}; --sort and --folder say which tasks this tool was given"
            )

    def rated(self, task: str, given: Mapping[str, bool]) -> Annotation:
        is_done = {criterion.name for criterion in self.tasks.header.criteria} <= given.keys()
        return RatingsAnswer(id=task, ratings=dict(given), is_done=is_done)


def tasks_mark(tasks: TasksFile) -> str:
    """Return the beginning of the checksum of a file of tasks, which every exported item holds, as no number."""
    return f"sha256:{tasks.sha256[:16]}"


def shown_names(tasks: TasksFile) -> list[str]:
    """Return the fields that people read above a paper, in order, without those that no task has."""
    names = ("hypothesis", "aspect", "summary", "cited", "before", "text", "after")
    more = ("paper_id",) if tasks.header.sort == "hypotheses" else ()  # a sheet has no room for the paper itself
    return [name for name in (*names, *more) if any(getattr(task, name) for task in tasks.records)]


# Label Studio.

_MARKS = "marks"
_INTERFACE = packaged_table(__file__, "label_studio.toml")
_Index = Annotated[int, msgspec.Meta(ge=0)]


class _Span(msgspec.Struct, rename="camel"):
    """The value of a region of a `Paragraphs` tag: numbers of paragraphs, as text or not, and the label."""

    start: _Index
    end: _Index
    end_offset: int = 1
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
    items, names = [], shown_names(tasks)
    for task in tasks.records:
        data: dict[str, object] = {"evidencebench_task": task.id, "evidencebench_tasks": tasks_mark(tasks)}
        data |= {name: getattr(task, name) for name in names}
        if task.sentences:
            data["paper"] = [{"number": str(n), "text": text} for n, text in enumerate(task.sentences)]
        items.append({"data": data})
    return msgspec.json.format(msgspec.json.encode(items), indent=1)


def label_studio_interface(tasks: TasksFile) -> str:
    names = shown_names(tasks)
    parts = [_INTERFACE["text"].format(heading=name.replace("_", " ").capitalize(), name=name) for name in names]
    if tasks.header.sort == "sentences":
        parts.append(_INTERFACE["marks"].format(marks=_MARKS, source=SOURCE))
    for criterion in tasks.header.criteria:
        question, name = quoteattr(criterion.question), quoteattr(criterion.name)
        parts.append(_INTERFACE["criterion"].format(question=question, name=name, text=names[0], yes=YES, no=NO))
    if any(task.sentences for task in tasks.records):
        parts.append(_INTERFACE["paper"])
    return f"<View>\n{''.join(parts)}</View>\n"


def read_label_studio(content: bytes, into: ForeignAnnotations) -> None:
    try:
        items = msgspec.json.decode(content, type=prepared(tuple[_Item, ...]))
    except BROKEN_JSON as error:
        raise RunFormatError(
            f"{into.path}: expected the export of Label Studio of the sort 'JSON': {error}; export the project so"
        ) from error
    for item in items:
        where = f"task '{item.data.evidencebench_task}'"
        into.require_same_tasks(item.data.evidencebench_tasks, where)
        if not item.annotations:
            into.problems["tasks that nobody has submitted"] += 1
        for submitted in sorted(item.annotations, key=lambda submitted: submitted.updated_at):
            if submitted.was_cancelled:
                into.problems["tasks that an annotator has skipped"] += 1
                continue
            try:
                annotation = _annotation(item.data.evidencebench_task, submitted, into)
            except msgspec.ValidationError as error:
                raise RunFormatError(f"{into.path}: {where}: {error}") from error
            match submitted.completed_by:  # the address where the export has it, else a number
                case {"email": str(name)} if name:
                    into.add(name, annotation, where)
                case {"id": int(number)} | number:
                    into.add("unknown" if number is None else f"user {number}", annotation, where)


def _annotation(task: str, submitted: _Submitted, into: ForeignAnnotations) -> Annotation:
    if into.tasks.header.sort != "sentences":
        choices = {region.from_name: region.value.get("choices") for region in submitted.result}
        return into.rated(task, {name: choice == [YES] for name, choice in choices.items() if choice in ([YES], [NO])})
    marked: set[int] = set()
    for region in submitted.result:
        if region.from_name != _MARKS:
            continue
        span = msgspec.convert(region.value, prepared(_Span), strict=False)
        if SOURCE not in span.paragraphlabels:
            into.problems["regions with another label"] += 1
            continue
        # A mark that was dragged to the first character of the next paragraph marks nothing of it.
        last = span.end - 1 if span.end_offset == 0 and span.end > span.start else span.end
        n_sentences = len(into.tasks.by_id[task].sentences) if task in into.tasks.by_id else 0
        if last >= n_sentences:
            raise RunFormatError(f"{into.path}: task '{task}': sentence {last}: the paper has 0..{n_sentences - 1}")
        marked.update(range(span.start, last + 1))
    return MarksAnswer(id=task, sentences=tuple(sorted(marked)), is_done=True)


# A CSV for a spreadsheet: a row a sentence, with a cell to fill; or a row a task, with a cell a criterion.

IS_SOURCE = "is_source"
TASK_COLUMN = "task"
_TASKS, _ANNOTATOR, _NUMBER, _NOTE = "tasks", "annotator", "number", "note"
_YES, _NO = frozenset({"1", "x", "y", "yes", "true"}), frozenset({"0", "n", "no", "false"})
_LONGEST_CELL = 10_000_000
_LONGEST_NUMBER = 9  # digits


def sheet_text(tasks: TasksFile) -> bytes:
    """Return the CSV, as UTF-8 with the mark that spreadsheets look for."""
    names = shown_names(tasks)
    is_marking = tasks.header.sort == "sentences"
    cells = [criterion.name for criterion in tasks.header.criteria]
    if is_marking:
        cells = [_NUMBER, "kind", "sentence", IS_SOURCE]
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow([_TASKS, _ANNOTATOR, TASK_COLUMN, *names, *cells, _NOTE])
    for task in tasks.records:
        begins, texts = [tasks_mark(tasks), "", task.id], [getattr(task, name) for name in names]
        rows: list[list[object]] = [[*begins, *texts, *("" for _ in cells), ""]]
        if is_marking:  # what is long and the same in all rows of a task stands in the first one only
            short = [text if name == "aspect" else "" for name, text in zip(names, texts, strict=True)]
            rows = [
                [*begins, *(short if number else texts), number, kind.value, sentence, "", ""]
                for number, (kind, sentence) in enumerate(zip(task.kinds, task.sentences, strict=True))
            ]
        writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    return target.getvalue().encode("utf-8-sig", errors="replace")


def read_sheet(content: bytes, into: ForeignAnnotations) -> None:
    """Add what a filled sheet holds; a task is done where one of its cells is filled, and empty ones then say no."""
    is_marking = into.tasks.header.sort == "sentences"
    cells = [criterion.name for criterion in into.tasks.header.criteria] or [IS_SOURCE]
    filled: dict[tuple[str, str], dict[str, bool | None]] = {}  # annotator, task -> cell or sentence -> what it says
    for line, row in _rows(decoded(content, name=str(into.path)), into, cells):
        where = f"{into.path}: line {line}"
        task = into.tasks.by_id.get(row[TASK_COLUMN])
        into.require_same_tasks(row[_TASKS], f"line {line}")
        if task is None:
            raise RunFormatError(f"{where}: no task '{row[TASK_COLUMN]}'")
        annotator = row.get(_ANNOTATOR, "").strip() or into.path.stem
        if annotator == into.tasks.path.stem:
            raise RunFormatError(f"{where}: no annotator; name the file after them, or fill the column 'annotator'")
        given = filled.setdefault((annotator, task.id), {})
        for name in cells:
            word = row[name].strip().lower()
            if word not in {"", *_YES, *_NO}:
                raise RunFormatError(f"{where}: {name}: expected yes, no, 1, 0, x or nothing, got {row[name]!r}")
            key = _sentence(row, task, given, where) if is_marking else name
            given[key] = word in _YES if word else given.get(key)
    for (annotator, task_id), given in filled.items():
        answers = {key: answer for key, answer in given.items() if answer is not None}
        if not answers:
            into.problems["tasks without any filled cell: not done"] += 1
        elif not is_marking:
            into.add(annotator, into.rated(task_id, answers), f"task '{task_id}'")
        elif len(given) < len(into.tasks.by_id[task_id].sentences):
            into.problems["tasks with rows missing: left out"] += 1
        else:
            marked = tuple(sorted(int(number) for number, answer in answers.items() if answer))
            annotation = MarksAnswer(id=task_id, sentences=marked, is_done=True)
            into.add(annotator, annotation, f"task '{task_id}'")


def _sentence(row: Mapping[str, str], task: AnnotationTask, given: Container[str], where: str) -> str:
    number, last = row[_NUMBER].strip(), len(task.sentences) - 1
    if not (number.isascii() and number.isdigit()) or len(number) > _LONGEST_NUMBER or int(number) > last:
        raise RunFormatError(f"{where}: sentence {row[_NUMBER]!r}: expected a number, and the paper has 0..{last}")
    if str(int(number)) in given:
        raise RunFormatError(f"{where}: sentence {int(number)} of task '{task.id}' occurs twice")
    return str(int(number))


def _rows(text: str, into: ForeignAnnotations, cells: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows with the number of their last line; the delimiter is what the header has."""
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
        columns = reader.fieldnames or ()
        needed = [_TASKS, TASK_COLUMN, *cells, *([_NUMBER] if into.tasks.header.sort == "sentences" else [])]
        if missing := [name for name in needed if name not in columns]:
            raise RunFormatError(
                f"{into.path}: expected a sheet that 'construct validate --for csv' wrote, with the column "
                f"'{missing[0]}', got {', '.join(columns) or 'an empty file'}"
            )
        for row in reader:
            if any(row.get(name) for name in needed):
                yield reader.line_num, row
    except csv.Error as error:
        raise RunFormatError(f"{into.path}: expected CSV: {error}") from error
    finally:
        csv.field_size_limit(before)


TOOLS: Mapping[str, Mapping[str, Callable[[TasksFile], str | bytes]]] = {
    "label-studio": {"label-studio.json": label_studio_tasks, "label-studio.xml": label_studio_interface},
    "csv": {"csv": sheet_text},
}
"""Tool -> the ends of the names of its files -> what makes them."""


def keep_answers(
    paths: Iterable[Path], tasks: TasksFile, folder: AnswerFolder[Annotation]
) -> tuple[Counter[str], list[str]]:
    """Add what files of other tools hold to a folder; return how many are new, changed and unchanged, and problems.

    Nothing is kept where a file does not fit the tasks, two differ, or a person gave another answer in the app.
    """
    given, kept = dict[tuple[str, str], Annotation](), list[tuple[str, Annotation]]()
    problems, counts = list[str](), Counter(new=0, changed=0, unchanged=0)
    for path in paths:
        content, read = read_bytes(path, at_most=1 << 30), ForeignAnnotations(path=path, tasks=tasks)
        is_json = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
        (read_label_studio if is_json else read_sheet)(content, read)
        problems += [f"{path}: {problem}: {n:,}" for problem, n in read.problems.items()]
        for (name, task), answer in read.answers.items():
            if given.setdefault((name, task), answer) != answer:
                raise RunFormatError(f"{path}: a second answer of '{name}' to task '{task}'; give each once")
    known = {name: folder.answers_of(name) for name in dict.fromkeys(name for name, _ in given)}
    for (name, task), answer in given.items():
        last = known[name].get(task) or annotation_kind(tasks)(id=task, revision=0, by=IMPORTED)
        if replace(last, note="", revision=1, at="", by="", crc=None) == answer:
            counts["unchanged"] += 1
        elif last.by == IMPORTED:
            counts["changed" if last.revision else "new"] += 1
            kept.append((name, replace(answer, revision=last.revision + 1, by=IMPORTED)))
        else:
            raise PeopleError(
                f"{folder.path_of(name)}: '{name}' gave task '{task}' another answer in the app; change it there, or "
                "give this annotator another name"
            )
    for name, answer in kept:
        folder.save(name, answer)
    return counts, problems
