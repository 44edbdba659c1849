"""``evidencebench systems``."""

import inspect
from dataclasses import MISSING
from typing import Any

import click

from evidencebench.cli import options
from evidencebench.cli.output import print_json, print_table, terminal_width
from evidencebench.execution.options import options_of
from evidencebench.execution.system_table import SYSTEMS
from evidencebench.runs.header import option_text
from evidencebench.tables import Table


@click.command
@options.as_json
@options.table_format
def command(*, as_json: bool, table_format: str) -> None:
    """List the systems with their options and defaults.

    Options follow the name: bm25:k1=1.2,b=0.75. A value in square brackets
    may hold commas, so a system with options of its own; a list is joined
    by plus signs: fuse:systems=[bm25:k1=1.2,b=0.75+tfidf],weights=[2+1].
    Own code is named file.py:Class or package.module:factory, which returns
    an object with rank(query, brief).

    \b
    Example: evidencebench systems --json
    """
    if as_json:
        defaults = {
            name: {key: None if one.default is MISSING else one.default for key, one in options_of(system).items()}
            for name, system in SYSTEMS.items()
        }
        print_json({name: {"description": _description(name), "options": defaults[name]} for name in SYSTEMS})
        return
    rows = [(name, _description(name)) for name in SYSTEMS]
    if table_format == "csv":
        flat = [(name, line, ",".join(_options(name))) for name, line in rows]
        print_table(Table(columns=["system", "description", "options"], rows=flat), "csv")
        return
    print_table(Table(columns=["system", "what it returns first"], rows=_fold_rows(rows)), table_format)
    taken = [(name, ", ".join(_options(name))) for name in SYSTEMS if _options(name)]
    print_table(Table(columns=["system", "options with their defaults"], rows=_fold_rows(taken)), table_format)


def _description(name: str) -> str:
    return (inspect.getdoc(SYSTEMS[name]) or "").splitlines()[0]


def _options(name: str) -> list[str]:
    """Return each option with its default, ``...`` for one that must be given."""
    return [f"{key}={_default_text(option.default)}" for key, option in options_of(SYSTEMS[name]).items()]


def _default_text(default: Any) -> str:
    if default is MISSING:
        return "..."
    return option_text(list(default) if isinstance(default, tuple) else default)


def _fold_rows(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the rows with long descriptions broken over several rows."""
    folded: list[tuple[str, str]] = []
    width = terminal_width() - 2 - max(len(name) for name, _ in rows)
    for name, text in rows:
        lines = click.formatting.wrap_text(text, width).splitlines()
        folded += [(name if position == 0 else "", line) for position, line in enumerate(lines)]
    return folded
