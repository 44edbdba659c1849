"""Options and arguments that several commands share."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from evidencebench.cli.completion import complete_data, complete_tasks
from evidencebench.cli.numbers import Finite, WholeNumber
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import EvidenceBenchError
from evidencebench.scoring.resampling import DEFAULT_DRAWS, DEFAULT_LEVEL, MAX_DRAWS, Resampling
from evidencebench.scoring.selection import RULE_TEXTS, Rules
from evidencebench.tables import RENDERERS

Command = TypeVar("Command", bound=Callable[..., Any])


class _TaskType(click.ParamType[Task]):
    name = "task"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Task:
        if isinstance(value, Task):
            return value
        try:
            return task_named(value)
        except EvidenceBenchError as error:
            self.fail(str(error), param, ctx)


def data_option(command: Command) -> Command:
    """Add ``--data``."""
    return click.option(
        "-d",
        "--data",
        required=True,
        metavar="D",
        shell_complete=complete_data,
        help="Data file, or a catalogue name (see 'data list').",
    )(command)


def task_options(command: Command) -> Command:
    """Add ``--task`` and ``--budget``; the command gets ``tasks``, a tuple that is empty where nothing is asked for."""

    @functools.wraps(command)
    def bundled(*args: Any, tasks: tuple[Task, ...], budget: int | None, **kwargs: Any) -> Any:
        asked = (*tasks, task_named(f"er_at_{budget}")) if budget else tasks
        return command(*args, tasks=tuple({task.name: task for task in asked}.values()), **kwargs)

    task_option = click.option(
        "-t",
        "--task",
        "tasks",
        multiple=True,
        type=_TaskType(),
        metavar="T",
        shell_complete=complete_tasks,
        help="Task name, or er_at_K or result_er_at_K; repeatable. Default: all that can be answered.",
    )
    budget_option = click.option(
        "--budget", type=WholeNumber(1), metavar="K", help="Short for --task er_at_K: K sentences, all aspects."
    )
    return cast("Command", task_option(budget_option(bundled)))


seed_option = click.option(
    "--seed", type=WholeNumber(0), default=0, show_default=True, metavar="N", help="Of everything random."
)


def resampling_options(command: Command) -> Command:
    """Add ``--seed``, ``--draws`` and ``--level``; the command gets ``resampling``."""

    @functools.wraps(command)
    def bundled(*args: Any, seed: int, n_draws: int, level: float, **kwargs: Any) -> Any:
        return command(*args, resampling=Resampling(seed=seed, n_draws=n_draws, level=level), **kwargs)

    draws_option = click.option(
        "--draws",
        "n_draws",
        type=WholeNumber(1, MAX_DRAWS),
        metavar="N",
        default=DEFAULT_DRAWS,
        show_default=True,
        help="Resamplings behind intervals and tests.",
    )
    level_option = click.option(
        "--level",
        type=Finite(0, 1, min_open=True, max_open=True),
        metavar="SHARE",
        default=DEFAULT_LEVEL,
        show_default=True,
        help="Coverage of the intervals.",
    )
    return cast("Command", seed_option(draws_option(level_option(bundled))))


def rule_options(command: Command) -> Command:
    """Add how answers that do not fit are read; the command gets ``rules``."""

    @functools.wraps(command)
    def bundled(*args: Any, **kwargs: Any) -> Any:
        rules = Rules(**{name: kwargs.pop(name) for name in RULE_TEXTS})
        return command(*args, rules=rules, **kwargs)

    found: Any = bundled
    for name, text in reversed(list(RULE_TEXTS.items())):
        choices = list(text.choices)
        found = click.option(
            f"--{name.replace('_', '-')}",
            type=click.Choice(choices),
            default=choices[0],
            show_default=True,
            help=text.help,
        )(found)
    return cast("Command", found)


def _one_form(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Refuse --json beside --format, whichever of the two comes last."""
    if ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE:
        ctx.meta[_FORMS] = ctx.meta.get(_FORMS, 0) + 1
    if ctx.meta.get(_FORMS, 0) > 1:
        raise click.UsageError("--json prints JSON and --format a table: expected one of them, got both", ctx)
    return value


_FORMS = f"{__name__}.forms"
json_option = click.option("--json", "as_json", is_flag=True, callback=_one_form, help="Print one JSON object.")
format_option = click.option(
    "--format",
    "table_format",
    type=click.Choice(list(RENDERERS)),
    default="text",
    show_default=True,
    callback=_one_form,
    help="How tables are printed.",
)
complete_option = click.option(
    "--require-complete", is_flag=True, help="Exit with 1 where an answer failed or is missing."
)
jobs_option = click.option(
    "-j",
    "--jobs",
    type=WholeNumber(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes; fewer for small data.",
)
limit_option = click.option("--limit", type=WholeNumber(1), metavar="N", help="Only the first N instances.")
progress_option = click.option(
    "--progress",
    "progress_style",
    type=click.Choice(["auto", "rich", "plain", "none"]),
    default="auto",
    show_default=True,
    help="How progress is shown, on standard error; auto: rich on a terminal, else a line every 30 s.",
)
controls_option = click.option(
    "--controls/--no-controls", default=True, show_default=True, help="Show the label-free controls and the ceiling."
)
