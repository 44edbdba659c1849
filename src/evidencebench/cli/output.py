"""How commands print text, tables, JSON, cautions and signatures, and where they may write."""

import html
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import msgspec

from evidencebench.errors import DataError
from evidencebench.storage.whole_file import is_standard_output, is_stream
from evidencebench.tables import RENDERERS, WIDTH, Table, as_text, printable

STANDARD_OUTPUT = Path("/dev/stdout")
# In columns. A terminal that does not know its width says 0; tables need about this much.
_NARROWEST = 40


class OutputFile(click.Path):
    """A path to write to; ``-`` is standard output."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path that was given, or that of standard output."""
        return STANDARD_OUTPUT if value == "-" else Path(str(super().convert(value, param, ctx)))


def require_file(path: Path, why: str, option: str = "--output") -> None:
    """Raise `click.UsageError` if the path is ``-``; ``why`` is the end of the message."""
    if is_standard_output(path):
        raise click.UsageError(f"{option}: expected a file; standard output {why}")


def tell_written(output: Path, text: str, *, beside_data: bool = False) -> None:
    """Print a line about a file that was written; on standard error if standard output is that file or has data."""
    click.echo(text, err=beside_data or is_standard_output(output))


def print_json(value: Any) -> None:
    """Print one JSON value, indented."""
    click.echo(json_text(value))


def json_text(value: Any) -> str:
    """Return one JSON value, indented."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # a file's name may hold bytes that are no text; JSON has an escape for them
        return json.dumps(msgspec.to_builtins(value), indent=2)


def print_table(table: Table, table_format: str = "text") -> None:
    """Print a table and an empty line behind it; CSV without one."""
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
    """Return the width for running text in columns: the terminal's, at most 80."""
    return min(WIDTH, terminal_width())


def print_prose(text: str) -> None:
    """Print running text in lines that fit."""
    click.echo(textwrap.fill(text, prose_width(), break_on_hyphens=False))


def print_cautions(cautions: Iterable[object]) -> None:
    """Print on standard error what a reader should know before any score."""
    for caution in cautions:
        click.echo(f"warning: {printable(str(caution))}", err=True)


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


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise `DataError`, before any work is done, where its result cannot be written to a path.

    A file that exists is replaced only with ``--overwrite``. A stream, such as ``/dev/null``, is always written to.
    """
    if path.is_dir():
        raise DataError(f"{path}: is a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise DataError(f"{path}: cannot be written: there is no folder '{path.parent}'; make it first")
    if not overwrite and path.exists() and not is_stream(path):
        raise DataError(f"{path}: exists; choose another name, or replace it with --overwrite")
