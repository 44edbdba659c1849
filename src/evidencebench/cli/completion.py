"""What a shell completes besides commands, options and choices: systems, tasks and data."""

from collections.abc import Callable, Iterable
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from evidencebench.data.catalog import CATALOG
from evidencebench.data.tasks import TASKS

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completer(names: Callable[[], Iterable[str]], *more: str) -> Completer:
    """Return what lists the names that begin with the typed text; the shell itself completes ``more`` (``file``)."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return [*(CompletionItem(incomplete, type=sort) for sort in more), *found]

    return complete


def _names(module: str, table: str) -> Iterable[str]:
    """Return the names of a table that is imported only when a shell asks, since that is slow."""
    found: Iterable[str] = getattr(import_module(f"evidencebench.{module}"), table)
    return found


complete_systems = _completer(lambda: _names("execution.system_table", "SYSTEMS"))
complete_trainings = _completer(lambda: _names("training.training_table", "TRAININGS"))
complete_tasks = _completer(lambda: TASKS)
complete_data = _completer(lambda: ("sample", *CATALOG), "file")
