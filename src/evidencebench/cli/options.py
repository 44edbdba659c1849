"""Options and arguments that several commands share."""

import functools
import inspect
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


def bundled_as(name: str, make: Callable[..., Any], *options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return what adds options; those that ``make`` takes reach the command as one argument, the others as they are."""

    def added(command: Command) -> Command:
        @functools.wraps(command)
        def bundled(*args: Any, **kwargs: Any) -> Any:
            given = {one: kwargs.pop(one) for one in inspect.signature(make).parameters}
            return command(*args, **{name: make(**given)}, **kwargs)

        found: Any = bundled
        for option in reversed(options):
            found = option(found)
        return cast("Command", found)

    return added


def _asked_tasks(tasks: tuple[Task, ...], budget: int | None) -> tuple[Task, ...]:
    """Return each task once; none where nothing is asked for."""
    asked = (*tasks, task_named(f"er_at_{budget}")) if budget else tasks
    return tuple({task.name: task for task in asked}.values())


data_option = click.option(
    "-d",
    "--data",
    required=True,
    metavar="D",
    shell_complete=complete_data,
    help="Data file, or a catalogue name (see 'data list').",
)
task_options = bundled_as(
    "tasks",
    _asked_tasks,
    click.option(
        "-t",
        "--task",
        "tasks",
        multiple=True,
        type=_TaskType(),
        metavar="T",
        shell_complete=complete_tasks,
        help="Task name, or er_at_K or result_er_at_K; repeatable. Default: all that can be answered.",
    ),
    click.option(
        "--budget", type=WholeNumber(1), metavar="K", help="Short for --task er_at_K: K sentences, all aspects."
    ),
)
seed_option = click.option(
    "--seed", type=WholeNumber(0), default=0, show_default=True, metavar="N", help="Of everything random."
)
resampling_options = bundled_as(
    "resampling",
    Resampling,
    seed_option,
    click.option(
        "--draws",
        "n_draws",
        type=WholeNumber(1, MAX_DRAWS),
        metavar="N",
        default=DEFAULT_DRAWS,
        show_default=True,
        help="Resamplings behind intervals and tests.",
    ),
    click.option(
        "--level",
        type=Finite(0, 1, min_open=True, max_open=True),
        metavar="SHARE",
        default=DEFAULT_LEVEL,
        show_default=True,
        help="Coverage of the intervals.",
    ),
)
rule_options = bundled_as(
    "rules",
    Rules,
    *(
        click.option(
            f"--{name.replace('_', '-')}",
            type=click.Choice(list(text.choices)),
            default=next(iter(text.choices)),
            show_default=True,
            help=text.help,
        )
        for name, text in RULE_TEXTS.items()
    ),
)


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
