"""What commands print, and how progress is shown."""

import html
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from evidencebench.errors import DataError
from evidencebench.tables import RENDERERS, WIDTH, Table, printable
from evidencebench.writing import is_stream

_PLAIN_SECONDS = 5.0


def print_json(value: Any) -> None:
    """Print one JSON value, indented."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_table(table: Table, table_format: str = "text") -> None:
    """Print a table and an empty line behind it; CSV without one."""
    click.echo(RENDERERS[table_format](table))
    if table_format != "csv":
        click.echo()


def wrapped(signature: str, indent: str = "  ") -> str:
    """Return a signature broken behind its bars, and within a long part behind its commas, to fit a terminal."""
    lines, line = [], indent
    for part in signature.split("|"):
        piece = part if line.strip() == "" else f"|{part}"
        is_long = len(indent) + len(piece) > WIDTH
        for shard in re.split(r"(?<=,)", piece) if is_long else [piece]:
            if len(line) + len(shard) > WIDTH and line.strip():
                lines.append(line)
                line = indent
            line += shard
    return "\n".join([*lines, line])


def print_signatures(signatures: Iterable[str], table_format: str) -> None:
    """Print what decides the scores above; CSV has a column for it instead."""
    lines = [printable(signature) for signature in signatures]
    if table_format == "text":
        click.echo("\n".join(map(wrapped, lines)))
    elif table_format == "markdown":
        click.echo("\n".join(f"* {html.escape(line, quote=False)}" for line in lines))
    elif table_format == "latex":
        click.echo("\n".join(f"% {line}" for line in lines))


@contextmanager
def progress(what: str, style: str, status: Callable[[], str] | None = None) -> Iterator[Callable[[int, int], None]]:
    """Give a function to call with (done, in all); it shows progress on standard error.

    Parameters
    ----------
    what
        What is done.
    style
        ``rich``, ``plain``, ``none`` or ``auto``.
    status
        Says more, in a few words, whenever progress is shown: requests, failures, cost.
    """
    what = printable(what)
    if style == "rich" or (style == "auto" and sys.stderr.isatty()):
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        ]
        if status is not None:
            columns.append(_StatusColumn(status))
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            shown = bar.add_task(what, total=None)
            yield lambda n_done, n_all: bar.update(shown, completed=n_done, total=n_all)
    elif style == "plain":
        yield _plain(what, status)
    else:
        yield lambda *_: None


class _StatusColumn(ProgressColumn):
    def __init__(self, status: Callable[[], str]) -> None:
        super().__init__()
        self._status = status

    def render(self, task: Task) -> Text:  # noqa: ARG002 - the signature is the library's
        return Text(self._status())


def _plain(what: str, status: Callable[[], str] | None) -> Callable[[int, int], None]:
    shown_at = time.monotonic()

    def show(n_done: int, n_all: int) -> None:
        nonlocal shown_at
        if n_done == n_all or time.monotonic() - shown_at >= _PLAIN_SECONDS:
            shown_at = time.monotonic()
            more = f"; {status()}" if status is not None else ""
            click.echo(f"{what}: {n_done}/{n_all}{more}", err=True)

    return show


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise if a file exists that may not be replaced; a stream, such as ``/dev/null``, is none.

    Raises
    ------
    DataError
        Naming the option that allows it.
    """
    if not overwrite and path.exists() and not is_stream(path):
        raise DataError(f"{path}: exists; choose another name, or replace it with --overwrite")
