"""Options and arguments that several commands share, each under the name of the command's parameter."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from evidencebench.cli.output import OutputFile
from evidencebench.data.catalog import CATALOG
from evidencebench.data.tasks import TASKS, Task, task_named
from evidencebench.errors import EvidenceBenchError
from evidencebench.execution.query_controls import QUERY_CONTROLS, query_control
from evidencebench.scoring.resampling import DEFAULT_DRAWS, DEFAULT_LEVEL, MAX_DRAWS, Resampling
from evidencebench.scoring.selection import RULE_TEXTS, Rules
from evidencebench.tables import RENDERERS

Command = TypeVar("Command", bound=Callable[..., Any])
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

PATH = click.Path(path_type=Path)
FILE, EXISTING_FILE = (click.Path(path_type=Path, dir_okay=False, exists=exists) for exists in (False, True))
FOLDER, EXISTING_FOLDER = (click.Path(path_type=Path, file_okay=False, exists=exists) for exists in (False, True))

_MOST = 2**63 - 1  # the largest whole number of 64 bits
_PLAIN = re.compile(r"[-+.0-9a-zA-Z]*", re.ASCII)


class WholeNumber(click.IntRange):
    """A whole number in a range, in plain digits: Python would read ``1_0`` too."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or fail with a message."""
        _require_plain(self, value, param, ctx)
        found: int = super().convert(value, param, ctx)
        if abs(found) > _MOST:
            self.fail(f"{found} is too large.", param, ctx)
        return found


class Finite(click.FloatRange):
    """A finite number in a range; ``nan`` and ``inf`` are refused."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail with a message."""
        _require_plain(self, value, param, ctx)
        found: float = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


def _require_plain(
    kind: click.ParamType[Any], value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    if isinstance(value, str) and _PLAIN.fullmatch(value) is None:
        kind.fail(f"{value!r} is not a valid {kind.name}.", param, ctx)


def _make_completer(names: Callable[[], Iterable[str]], *more: str) -> Completer:
    """Return a function for names that begin with the typed text; the shell itself completes ``more`` (``file``)."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return [*(CompletionItem(incomplete, type=sort) for sort in more), *found]

    return complete


# The tables are imported only when a shell asks for names, since their import is slow.
complete_systems = _make_completer(lambda: import_module("evidencebench.execution.system_table").SYSTEMS)
complete_trainings = _make_completer(lambda: import_module("evidencebench.training.training_table").TRAININGS)
complete_data = _make_completer(lambda: ("sample", *CATALOG), "file")


class _Named(click.ParamType[Any]):
    """What a function finds by a name."""

    def __init__(self, name: str, named: Callable[[str], Any]) -> None:
        self.name, self._named = name, named

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._named(value) if isinstance(value, str) else value
        except (EvidenceBenchError, ValueError) as error:
            self.fail(str(error), param, ctx)


def query_control_option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """Return an option for a query control."""
    complete = _make_completer(lambda: QUERY_CONTROLS)
    return click.option(
        *names, type=_Named("query control", query_control), metavar="CONTROL", shell_complete=complete, **settings
    )


def number(
    *names: str, least: int = 1, most: int | None = None, metavar: str = "N", **settings: Any
) -> Callable[[Command], Command]:
    """Return an option for a whole number."""
    return click.option(*names, type=WholeNumber(least, most), metavar=metavar, show_default=True, **settings)


def output(metavar: str, text: str, **settings: Any) -> Callable[[Command], Command]:
    """Return the option ``--output``, by default for a file and required."""
    settings = {"type": OutputFile(), "required": True, **settings}
    return click.option("-o", "--output", metavar=metavar, help=text, **settings)


def overwrite(text: str) -> Callable[[Command], Command]:
    """Return the option ``--overwrite``."""
    return click.option("--overwrite", is_flag=True, help=text)


def choice(*names: str, choices: Iterable[str], **settings: Any) -> Callable[[Command], Command]:
    """Return an option for one of several words, by default the first."""
    words = list(choices)
    return click.option(*names, type=click.Choice(words), default=words[0], show_default=True, **settings)


def bundled_as(name: str, make: Callable[..., Any], *options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds options; ``make`` turns those with the names of its parameters into one argument."""

    def added(command: Command) -> Command:
        @functools.wraps(command)
        def bundled(*args: Any, **kwargs: Any) -> Any:
            given = {one: kwargs.pop(one) for one in inspect.signature(make).parameters if one in kwargs}
            return command(*args, **{name: make(**given)}, **kwargs)

        found: Any = bundled
        for option in reversed(options):
            found = option(found)
        return cast("Command", found)

    return added


def _merge_tasks(tasks: tuple[Task, ...], budget: int | None) -> tuple[Task, ...]:
    """Return the tasks of ``--task`` and ``--budget``, each once; none where neither is given."""
    asked = (*tasks, task_named(f"er_at_{budget}")) if budget else tasks
    return tuple({task.name: task for task in asked}.values())


system = click.argument("system", shell_complete=complete_systems)
model = click.option(
    "--model", required=True, metavar="MODEL", help="Such as openai/NAME; behind commas, options of llm_base."
)
data_argument = click.argument("data", metavar="D", shell_complete=complete_data)
data = click.option(
    "-d",
    "--data",
    required=True,
    metavar="D",
    shell_complete=complete_data,
    help="Data file, folder or pattern of files, or a catalogue name (see 'data list').",
)
tasks = bundled_as(
    "tasks",
    _merge_tasks,
    click.option(
        "-t",
        "--task",
        "tasks",
        multiple=True,
        type=_Named("task", task_named),
        metavar="T",
        shell_complete=_make_completer(lambda: TASKS),
        help="Task name, or er_at_K or result_er_at_K; repeatable. Default: all that can be answered.",
    ),
    number("--budget", metavar="K", help="Short for --task er_at_K: K sentences, all aspects."),
)
seed = number("--seed", least=0, default=0, help="Of everything random.")
resampling = bundled_as(
    "resampling",
    Resampling,
    seed,
    number("--draws", "n_draws", most=MAX_DRAWS, default=DEFAULT_DRAWS, help="Resamplings behind intervals and tests."),
    click.option(
        "--level",
        type=Finite(0, 1, min_open=True, max_open=True),
        metavar="SHARE",
        default=DEFAULT_LEVEL,
        show_default=True,
        help="Coverage of the intervals.",
    ),
)
rules = bundled_as(
    "rules",
    Rules,
    *(choice(f"--{name.replace('_', '-')}", choices=text.choices, help=text.help) for name, text in RULE_TEXTS.items()),
)


def _refuse_both(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Refuse --json beside --format, whichever of the two comes last."""
    if ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE:
        ctx.meta[_FORMS] = ctx.meta.get(_FORMS, 0) + 1
    if ctx.meta.get(_FORMS, 0) > 1:
        raise click.UsageError("--json prints JSON and --format a table: expected one of them, got both", ctx)
    return value


_FORMS = f"{__name__}.forms"
as_json = click.option("--json", "as_json", is_flag=True, callback=_refuse_both, help="Print one JSON object.")


def output_format(*words: str) -> Callable[[Command], Command]:
    """Return the option ``--format`` with these choices; not with ``--json``."""
    return choice("--format", "table_format", choices=words, callback=_refuse_both, help="How tables are printed.")


table_format = output_format(*RENDERERS)
require_complete = click.option(
    "--require-complete", is_flag=True, help="Exit with 1 where an answer failed or is missing."
)
max_errors = number("--max-errors", least=0, help="Stop when more than N have failed; default: go on to the end.")
prices = click.option("--prices", type=FILE, metavar="FILE", help="Your own price table; see docs/llm.md.")
limit = number("--limit", help="Only the first N instances.")
progress_style = choice(
    "--progress",
    "progress_style",
    choices=("auto", "rich", "plain", "none"),
    help="How progress is shown, on standard error; auto: rich on a terminal, else a line every 30 s.",
)
controls = click.option(
    "--controls/--no-controls", default=True, show_default=True, help="Show the label-free controls and the ceiling."
)
