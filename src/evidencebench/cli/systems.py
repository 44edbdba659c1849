"""``evidencebench systems``: lists the systems, and `new` writes a package with one; ``evidencebench tasks``."""

import inspect
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.main import LazyGroup
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_cautions, print_json, print_prose, print_table, terminal_width
from evidencebench.data.tasks import TASKS
from evidencebench.execution.making import find_code, options_of
from evidencebench.execution.system_table import PACKAGED, SYSTEMS, Factory, plugin_named, plugins
from evidencebench.files.atomic import write_whole
from evidencebench.integrations.plugin_template import plugin_files, require_new_name
from evidencebench.provenance import library_versions
from evidencebench.runs.header import option_text
from evidencebench.tables import Table

_MEANINGS: dict[float | str | None, str] = {"optimal": "as many as the optimum", None: "no limit; recall and precision"}


@options.command
def tasks(*, as_json: options.AsJson, table_format: options.TableFormat) -> None:
    """List the tasks: their budgets, and the aspects that count.

    er_at_10 is evidence retrieval (ER) with 10 sentences. Any other budget is a
    task too: er_at_25, result_er_at_3, er_at_5_percent, er_at_aspects.

    \b
    Example: evidencebench tasks --json
    """
    if as_json:
        print_json({task.name: {"aspects": task.scope, "budget": task.budget} for task in TASKS.values()})
        return
    rows = [(task.name, _MEANINGS.get(task.budget, str(task.budget)), task.scope) for task in TASKS.values()]
    print_table(Table(columns=["task", "sentences that count", "aspects that count"], rows=rows), table_format)
    if table_format == "text":
        click.echo()
        print_prose("Any other budget is a task too: er_at_25, result_er_at_3, er_at_5_percent, er_at_aspects.")


def systems(
    *,
    only: Annotated[str | None, option("--only S", "List only this system.", shell_complete=options.complete_systems)],
    as_json: options.AsJson,
    table_format: options.TableFormat,
) -> None:
    """List the systems with their options and defaults.

    Options follow the name: bm25:k1=1.2,b=0.75. Put a value that has commas, such
    as a system with options, in square brackets, and join lists with plus signs:
    fuse:systems=[bm25:k1=1.2,b=0.75+tfidf],weights=[2+1]. Your own code is
    file.py:Class or package.module:factory, and makes an object with rank(query,
    task). Systems of installed packages are listed with the package's name; --only
    S imports one and shows its options.

    \b
    Examples:
      evidencebench systems --json
      evidencebench systems new my-ranker
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    factories: dict[str, Factory | None]  # None for a plug-in, which only ``--only`` imports
    if only is not None:
        factories = {only: find_code(only).factory}
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
    print_table(Table(columns=["system", "what comes first in its answers"], rows=_fold_rows(rows)), table_format)
    if not taken:
        return
    folded = _fold_rows([(name, text.replace(",", ", ")) for name, text in taken.items()])
    print_table(Table(columns=["system", "options with their defaults"], rows=folded), table_format)


def _record(name: str, factory: Factory | None) -> dict[str, Any]:
    defaults = factory and {
        key: None if field.default is MISSING else msgspec.to_builtins(field.default, enc_hook=str)
        for key, field in options_of(factory).items()
    }
    return {"description": factory and _first_line(factory), "options": defaults, "package": _package(name)}


def _package(name: str) -> str | None:
    """Return the package whose plug-in a system is, with its version; None for a system of evidencebench."""
    plugin = plugin_named(name)
    return " ".join([plugin.package, *library_versions(plugin.package).values()]) if plugin else None


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


@options.command
def new(*, name: Annotated[str, argument()]) -> None:
    """Write a package for your own system, to install and change.

    NAME is the name of the new folder, the package and its system: lower-case
    letters, digits and hyphens, as in my-ranker. The folder has pyproject.toml, the
    system and a test.

    \b
    Examples:
      evidencebench systems new my-ranker
      pip install --editable my-ranker
      evidencebench run my-ranker:weight=2 --data sample -o mine.jsonl
    """
    require_new_name(name)
    folder = Path(name)
    if folder.exists():
        raise click.UsageError(f"'{name}': exists here; choose another name, or another folder to be in")
    for path, text in plugin_files(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / path, text)
        click.echo(folder / path)
    click.echo(f"next: pip install --editable {name}")
    click.echo(f"then: evidencebench run {name} --data sample -o {name}.jsonl")


command: click.Command = options.command(systems, LazyGroup, commands=[new], invoke_without_command=True)
