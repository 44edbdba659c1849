"""A CSV for a spreadsheet: a row a sentence, with a cell to fill; or a row a task, with a cell a criterion.

Cells that a spreadsheet would take for a formula begin with an apostrophe.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from evidencebench.construction.people.annotations import TaskAnnotation
from evidencebench.construction.people.exchange.foreign import ForeignAnnotations, shown_texts, tasks_mark
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.errors import RunFormatError
from evidencebench.storage.text_file import decoded
from evidencebench.tables import safe_cell

IS_SOURCE = "is_source"
TASK_COLUMN = "task"
_TASKS, _ANNOTATOR, _NUMBER, _NOTE = "tasks", "annotator", "number", "note"
_YES, _NO = frozenset({"1", "x", "y", "yes", "true"}), frozenset({"0", "n", "no", "false"})
_LONGEST_CELL = 10_000_000


def sheet_text(tasks: TasksFile) -> bytes:
    """Return the CSV, as UTF-8 with the mark that spreadsheets look for."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\r\n")
    criteria = [criterion.name for criterion in tasks.header.criteria]
    names = list(dict.fromkeys(name for task in tasks.records for name, _ in shown_texts(task)))
    if tasks.header.sort == "sentences":
        head = [_TASKS, _ANNOTATOR, TASK_COLUMN, *names, _NUMBER, "kind", "sentence", IS_SOURCE, _NOTE]
        rows = (row for task in tasks.records for row in _sentence_rows(task, names, tasks_mark(tasks)))
    else:
        head = [_TASKS, _ANNOTATOR, TASK_COLUMN, *names, *criteria, _NOTE]
        rows = (
            [tasks_mark(tasks), "", task.id, *(getattr(task, name) for name in names), *("" for _ in criteria), ""]
            for task in tasks.records
        )
    writer.writerow(head)
    writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    return target.getvalue().encode("utf-8-sig", errors="replace")


def _sentence_rows(task: AnnotationTask, names: Sequence[str], mark: str) -> Iterator[list[object]]:
    """Yield a row a sentence; what is long and the same in all stands in the first one only."""
    for number, (sentence, kind) in enumerate(zip(task.sentences, task.kinds, strict=True)):
        shown = [getattr(task, name) if number == 0 or name == "aspect" else "" for name in names]
        yield [mark, "", task.id, *shown, number, kind.value, sentence, "", ""]


def read_sheet(content: bytes, into: ForeignAnnotations) -> None:
    """Add what a filled sheet holds; the annotator is in a column, else the file's name.

    A task counts as done where one of its cells is filled; empty ones then say no.
    """
    cells = [criterion.name for criterion in into.tasks.header.criteria] or [IS_SOURCE]
    filled: dict[tuple[str, str], dict[str, bool]] = {}  # annotator, task -> cell -> yes or no
    seen: dict[tuple[str, str], set[int]] = {}
    for line, row in _rows(decoded(content, name=str(into.path)), into, cells):
        where = f"line {line}"
        task = into.tasks.by_id.get(row[TASK_COLUMN])
        into.require_same_tasks(row[_TASKS], where)
        if task is None:
            raise RunFormatError(f"{into.path}: {where}: no task '{row[TASK_COLUMN]}'")
        key = (row.get(_ANNOTATOR, "").strip() or into.path.stem, task.id)
        answers = {name: _answer(row[name], f"{into.path}: {where}: {name}") for name in cells}
        given = {name: answer for name, answer in answers.items() if answer is not None}
        of_task = filled.setdefault(key, {})
        if into.tasks.header.sort == "sentences":
            number = _number(row[_NUMBER], task, f"{into.path}: {where}")
            numbers = seen.setdefault(key, set())
            if number in numbers:
                raise RunFormatError(f"{into.path}: {where}: sentence {number} of task '{task.id}' stands twice")
            numbers.add(number)
            given = {str(number): answer for answer in given.values()}
        of_task |= given
    for (annotator, task_id), given in filled.items():
        _add(annotator, into.tasks.by_id[task_id], given, seen.get((annotator, task_id), set()), into)


def _add(
    annotator: str, task: AnnotationTask, given: Mapping[str, bool], seen: set[int], into: ForeignAnnotations
) -> None:
    if not given:
        into.count("tasks without any filled cell: not done")
    elif into.tasks.header.sort != "sentences":
        into.add(annotator, into.rated(task.id, given), f"task '{task.id}'")
    elif len(seen) < len(task.sentences):
        into.count("tasks with rows missing: left out")
    else:
        marked = sorted(int(number) for number, answer in given.items() if answer)
        into.add(annotator, TaskAnnotation(task=task.id, sentences=tuple(marked), is_done=True), f"task '{task.id}'")


def _rows(text: str, into: ForeignAnnotations, cells: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows with the number of their last line; the delimiter is what the header has."""
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
        needed = [_TASKS, TASK_COLUMN, *cells, *([_NUMBER] if into.tasks.header.sort == "sentences" else [])]
        missing = [name for name in needed if name not in (reader.fieldnames or ())]
        if missing:
            raise RunFormatError(
                f"{into.path}: expected a sheet that 'agreement sample --for csv' wrote, with the column "
                f"'{missing[0]}', got {', '.join(reader.fieldnames or ()) or 'an empty file'}"
            )
        for row in reader:
            if any(row.get(name) for name in needed):
                yield reader.line_num, row
    except csv.Error as error:
        raise RunFormatError(f"{into.path}: expected CSV: {error}") from error
    finally:
        csv.field_size_limit(before)


def _answer(cell: str, where: str) -> bool | None:
    word = cell.strip().lower()
    if not word:
        return None
    if word in _YES | _NO:
        return word in _YES
    raise RunFormatError(f"{where}: expected yes, no, 1, 0, x or nothing, got {cell!r}")


def _number(cell: str, task: AnnotationTask, where: str) -> int:
    text = cell.strip()
    if not (text.isascii() and text.isdigit()) or int(text[:9]) >= len(task.sentences):
        raise RunFormatError(
            f"{where}: sentence {cell!r}: expected a number, and the paper has 0..{len(task.sentences) - 1}"
        )
    return int(text)
