"""Print_table, print_json, signatures; progress."""

import html
import json
import os
import queue
import re
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from evidencebench.errors import DataError, EvidenceWarning
from evidencebench.experiment.result_table import ResultTable
from evidencebench.files.atomic import is_standard_output, is_stream
from evidencebench.tables import RENDERERS, WIDTH, Table, as_text, printable, table_for_readers
from evidencebench.tables import Column as RowColumn

# In columns. A terminal that does not know its width says 0; tables need about this much.
_NARROWEST = 40


class OutputFile(click.Path):
    """A path to write to; ``-`` is standard output."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return Path("/dev/stdout") if value == "-" else Path(str(super().convert(value, param, ctx)))


def require_file(path: Path, why: str, option: str = "--output") -> None:
    """Raise `click.UsageError` if the path is ``-``; ``why`` is the end of the message."""
    if is_standard_output(path):
        raise click.UsageError(f"{option}: expected a file; standard output {why}")


def tell_written(output: Path, fields: Mapping[str, Any], *lines: str, as_json: bool) -> None:
    """Print lines about a file that was written, or JSON; on standard error where the file is standard output."""
    text = json_text({"output": str(output), **fields}) if as_json else "\n".join(map(printable, lines))
    click.echo(text, err=is_standard_output(output))


def few(lines: Sequence[str], most: int = 20) -> list[str]:
    """Return lines; of more than ``most``, the first ones and how many more there are."""
    more = [f"  ... and {len(lines) - most} more; --json lists them all"] if len(lines) > most else []
    return [*lines[:most], *more]


def print_json(value: Any) -> None:
    click.echo(json_text(value))


def json_text(value: Any) -> str:
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # a file's name may hold bytes that are no text; JSON has an escape for them
        return json.dumps(msgspec.to_builtins(value), indent=2)


def print_table(table: Table, table_format: str = "text") -> None:
    click.echo(as_text(table, terminal_width()) if table_format == "text" else RENDERERS[table_format](table))
    if table_format != "csv":
        click.echo()


def terminal_width() -> int:
    """Return the width of standard output in columns; 80 where it is no terminal."""
    try:
        return max(_NARROWEST, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):  # a file, a pipe, or nothing at all
        return WIDTH


def prose_width() -> int:
    return min(WIDTH, terminal_width())


def print_prose(text: str, indent: str = "", lead: str = "", *, err: bool = False, **tint: bool) -> None:
    """Print running text in lines that fit: the first one behind ``lead``, the others behind ``indent``.

    ``tint`` is a setting of `click.style`, such as bold, that terminals show where the reader has not set NO_COLOR.
    """
    lines = textwrap.fill(text, prose_width(), initial_indent=lead, subsequent_indent=indent, break_on_hyphens=False)
    click.echo(click.style(lines, **tint) if any(tint.values()) and not os.environ.get("NO_COLOR") else lines, err=err)


def print_cautions(cautions: Iterable[object], kind: str = "warning") -> None:
    for caution in cautions:
        click.echo(f"{kind}: {printable(str(caution))}", err=True)


_ODD: list[RowColumn[EvidenceWarning]] = [
    RowColumn("", "system", lambda row: row.system),
    RowColumn("", "warning", lambda row: row.kind),
    RowColumn("", "answers", lambda row: f"{row.n:,} of {row.n_all:,}" if row.n_all else ""),
    RowColumn("", "task", lambda row: row.task),
]


def print_warnings(rows: Sequence[EvidenceWarning]) -> None:
    """Print what is odd as one table on standard error, and below it the first sentence of each kind."""
    texts = {row.kind: f"{row.kind}: {row.text}" for row in reversed(rows)}
    notes = [texts[kind] for kind in dict.fromkeys(row.kind for row in rows)]
    if rows:
        click.echo(as_text(table_for_readers(_ODD, rows, notes=["", *notes]), prose_width()), err=True)


def wrapped(signature: str, indent: str = "  ") -> str:
    """Return a signature in lines that fit the terminal: broken before bars, and in a long part behind commas."""
    lines, line, width = [], indent, terminal_width()
    for part in signature.split("|"):
        piece = part if line.strip() == "" else f"|{part}"
        is_long = len(indent) + len(piece) > width
        for shard in re.split(r"(?<=,)", piece) if is_long else [piece]:
            if len(line) + len(shard) > width and line.strip():
                lines.append(line)
                line = indent
            line += shard if line.strip() else shard.lstrip()
    return "\n".join([*lines, line])


def print_signatures(signatures: Iterable[str], table_format: str) -> None:
    """Print the signatures of the scores above; none with CSV, which may have a column for them."""
    lines = [printable(signature) for signature in signatures]
    if table_format == "text":
        click.echo("\n".join(map(wrapped, lines)))
    elif table_format == "markdown":
        click.echo("\n".join(f"* {html.escape(line, quote=False)}" for line in lines))
    elif table_format == "latex":
        click.echo("\n".join(f"% {line}" for line in lines))


def print_result(result: ResultTable[Any], form: str, bars: Sequence[Callable[[], object]] = (), **how: bool) -> None:
    """Print a result as ``form`` says, also as ``json``; as text with ``bars`` below its tables, notes at the end.

    ``signatures=False`` leaves the signatures out.
    """
    if form == "json":
        print_json(result.fields)
        return
    if form == "csv":
        print_table(result.figures, "csv")
        return
    is_text = form == "text"
    for number, table in enumerate(result.tables):
        print_table(replace(table, notes=()) if is_text else table, form)
        if is_text and number < len(bars):
            bars[number]()
    if is_text and (notes := dict.fromkeys(note for table in result.tables for note in table.notes)):
        for note in notes:
            print_prose(note)
        click.echo()
    if how.get("signatures", True):
        print_signatures(result.signatures, form)


def refuse_existing(path: Path, *, overwrite: bool, no_stream: str = "", option: str = "--output") -> None:
    """Raise, before any work is done, where its result cannot be written to a path; a stream can, but for a reason."""
    if no_stream:
        require_file(path, no_stream, option)
    if path.is_dir():
        raise DataError(f"{path}: is a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise DataError(f"{path}: cannot be written: there is no folder '{path.parent}'; make it first")
    if not overwrite and path.exists() and not is_stream(path):
        raise DataError(f"{path}: exists; choose another name, or replace it with --overwrite")


# Progress of a command on standard error: a bar on a terminal, else a line now and then.


_PLAIN_SECONDS = 5.0
_SILENT_SECONDS = 30.0

Status = Callable[[], str]


@dataclass(frozen=True, slots=True)
class ProgressReporter:
    """Shows progress: call it with (items done, all items). ``tell`` prints a line that stays, also in a signal."""

    show: Callable[[int, int, str], object]
    tell: Callable[[str], object]

    def __call__(self, n_done: int, n_all: int, doing: str = "") -> None:
        """Show that ``n_done`` of ``n_all`` items are done; ``doing`` says of what, in work of several parts."""
        self.show(n_done, n_all, doing)


@contextmanager
def progress(
    what: str, style: str, status: Status | None = None, *, silent_seconds: float = _SILENT_SECONDS
) -> Iterator[ProgressReporter]:
    """Yield a reporter to standard error; ``status`` returns a few words to show: requests, failures, cost."""
    what = printable(what)
    if style == "rich" or (style == "auto" and sys.stderr.isatty()):
        columns: list[ProgressColumn] = [
            _TextColumn(lambda task: f"{what}{task.description}"),
            BarColumn(bar_width=40 if status is None else 10),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        ]
        if status is not None:
            columns.append(_TextColumn(lambda _: status(), gives_way=False))
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task("", total=None)
        with bar, _print_in_thread(lambda text: bar.console.print(Text(text))) as tell:

            def show(n_done: int, n_all: int, doing: str) -> None:
                bar.update(task, completed=n_done, total=n_all, description=doing and f": {doing}")

            yield ProgressReporter(show, tell)
    else:
        lines = _Lines(what, status, is_quiet=style != "plain")
        seconds = None if style == "none" else silent_seconds
        with _print_in_thread(lambda text: click.echo(text, err=True), lines.say, seconds) as tell:
            yield ProgressReporter(lines.show, tell)


@contextmanager
def _print_in_thread(
    say: Callable[[str], object], tick: Callable[[], object] = lambda: None, seconds: float | None = None
) -> Iterator[Callable[[str], object]]:
    """Yield a function that signal handlers may call; ``tick`` is called after ``seconds`` without a line, if given."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # a signal's handler may use this queue

    def print_lines() -> None:
        while True:
            try:
                text = lines.get(timeout=seconds)
            except queue.Empty:
                tick()
            else:
                if text is None:
                    return
                say(text)

    thread = threading.Thread(target=print_lines, name="evidencebench-progress", daemon=True)
    thread.start()
    try:
        yield lines.put
    finally:
        lines.put(None)
        thread.join()


class _Lines:
    def __init__(self, what: str, status: Status | None, *, is_quiet: bool) -> None:
        self._what, self._status, self._is_quiet = what, status, is_quiet
        self._shown_at = time.monotonic()
        self._state = "working"

    def show(self, n_done: int, n_all: int, doing: str) -> None:
        self._state = f"{doing} {n_done}/{n_all}".lstrip()
        if not self._is_quiet and (n_done == n_all or time.monotonic() - self._shown_at >= _PLAIN_SECONDS):
            self.say()

    def say(self) -> None:
        self._shown_at = time.monotonic()
        more = f"; {self._status()}" if self._status is not None else ""
        click.echo(f"{self._what}: {self._state}{more}", err=True)


class _TextColumn(ProgressColumn):
    """Text on one line. On a narrow terminal, columns that give way are cut before all others."""

    def __init__(self, text: Callable[[Task], str], *, gives_way: bool = True) -> None:
        super().__init__(table_column=Column(no_wrap=not gives_way))
        self._text = text

    def render(self, task: Task) -> Text:
        return Text(self._text(task), no_wrap=True, overflow="ellipsis")
