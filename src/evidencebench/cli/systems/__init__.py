"""``evidencebench systems``: lists the systems; the command `new` writes a package with one.

In reading order:

* `new`: cli/systems/new
"""

import inspect
from dataclasses import MISSING
from typing import Annotated, Any

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.main import LazyGroup
from evidencebench.cli.options import option
from evidencebench.cli.output import print_cautions, print_json, print_table, terminal_width
from evidencebench.execution.making import factory_of, options_of
from evidencebench.execution.system_table import PACKAGED, SYSTEMS, Factory, plugin_named, plugins
from evidencebench.provenance import library_versions
from evidencebench.runs.header import option_text
from evidencebench.tables import Table


def _list(
    *,
    only: Annotated[str | None, option("--only S", "This system alone.", shell_complete=options.complete_systems)],
    as_json: options.AsJson,
    table_format: options.TableFormat,
) -> None:
    """List the systems with their options and defaults.

    Options follow the name: bm25:k1=1.2,b=0.75. A value in square brackets may
    hold commas, as a system with its own options; plus signs join a list:
    fuse:systems=[bm25:k1=1.2,b=0.75+tfidf],weights=[2+1]. Own code is named
    file.py:Class or package.module:factory, whose object has rank(query, brief).
    Systems of installed packages are listed with the package's name; --only S
    imports one, for its options.

    \b
    Examples:
      evidencebench systems --json
      evidencebench systems new my-ranker
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    factories: dict[str, Factory | None]  # None for a plug-in, which only ``--only`` imports
    if only is not None:
        factories = {only: factory_of(only)}
    else:
        print_cautions([*plugins().refused.values(), *plugins().torn])
        factories = {name: SYSTEMS[name] if name in PACKAGED else None for name in SYSTEMS}
    if as_json:
        print_json({name: _record(name, factory) for name, factory in factories.items()})
        return
    rows = [(name, _description(name, factory)) for name, factory in factories.items()]
    taken = {name: text for name, factory in factories.items() if factory and (text := _options(factory))}
    if table_format == "csv":
        flat = [(name, line, taken.get(name, "")) for name, line in rows]
        print_table(Table(columns=["system", "description", "options"], rows=flat), "csv")
        return
    print_table(Table(columns=["system", "what it returns first"], rows=_fold_rows(rows)), table_format)
    if not taken:
        return
    folded = _fold_rows([(name, text.replace(",", ", ")) for name, text in taken.items()])
    print_table(Table(columns=["system", "options with their defaults"], rows=folded), table_format)


command = LazyGroup(
    "systems",
    package=__name__,
    lines={"new": "Write a package with a system of your own, to install and change."},
    invoke_without_command=True,
    callback=options.callback(_list),
    params=options.parameters(_list),
    help=inspect.getdoc(_list),
)


def _record(name: str, factory: Factory | None) -> dict[str, Any]:
    if factory is None:
        return {"description": None, "options": None, "package": _package(name)}
    defaults = {
        key: None if field.default is MISSING else msgspec.to_builtins(field.default, enc_hook=str)
        for key, field in options_of(factory).items()
    }
    return {"description": _first_line(factory), "options": defaults, "package": _package(name)}


def _package(name: str) -> str | None:
    """Return the package whose plug-in a system is, with its version; None for a system of evidencebench."""
    plugin = plugin_named(name)
    if plugin is None:
        return None
    return " ".join([plugin.package, *library_versions(plugin.package).values()])


def _description(name: str, factory: Factory | None) -> str:
    package = _package(name)
    line = f"see 'systems --only {name}'" if factory is None else _first_line(factory)
    return f"{line} [{package}]".strip() if package else line


def _first_line(factory: Factory) -> str:
    return next(iter((inspect.getdoc(factory) or "").splitlines()), "")


def _options(factory: Factory) -> str:
    """Return each option with its default, ``...`` for one that must be given."""
    defaults = {key: field.default for key, field in options_of(factory).items()}
    texts = {key: option_text(list(value) if isinstance(value, tuple) else value) for key, value in defaults.items()}
    return ",".join(f"{key}={'...' if defaults[key] is MISSING else text}" for key, text in texts.items())


def _fold_rows(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    folded: list[tuple[str, str]] = []
    width = terminal_width() - 2 - max(len(name) for name, _ in rows)
    for name, text in rows:
        lines = click.formatting.wrap_text(text, width).splitlines()
        folded += [(name if position == 0 else "", line) for position, line in enumerate(lines)]
    return folded
