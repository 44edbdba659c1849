"""Options that commands share."""

import functools
import inspect
import os
import re
import secrets
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from evidencebench.cli.output import OutputFile
from evidencebench.data.catalog import CATALOG
from evidencebench.data.tasks import TASKS, Task, task_named
from evidencebench.engine.local import InProcess
from evidencebench.engine.protocol import Engine
from evidencebench.engine.ray import RayCluster
from evidencebench.errors import EvidenceBenchError, UnreadableError
from evidencebench.execution.changes import QUERY_CONTROLS, query_control
from evidencebench.files.disk import MOST_BYTES, decoded, read_stream, read_text
from evidencebench.models.http import is_loopback_host
from evidencebench.provenance import require_extra
from evidencebench.scoring.resampling import DEFAULT_DRAWS, DEFAULT_LEVEL, MAX_DRAWS, Resampling
from evidencebench.scoring.selection import RULE_TEXTS, Rules
from evidencebench.tables import RENDERERS

if TYPE_CHECKING:  # starlette is an extra
    from starlette.types import ASGIApp

    from evidencebench.pages.app.server import Address
    from evidencebench.pages.people.tasks import TaskApp


# Options and arguments that several commands share, each under the name of the command's parameter.


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
complete_trainings = _make_completer(lambda: import_module("evidencebench.training.trainings").TRAININGS)
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


# The options that say where work runs: ``--engine``, ``--jobs`` and those of a Ray cluster.


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPlace:
    """Where work runs: on an engine, or where that is None, in so many processes, fewer for small data."""

    jobs: int = 1
    engine: Engine | None = None


def _work_place(
    engine: str | None, jobs: int | None, ray_address: str | None, gpus_per_worker: float | None
) -> WorkPlace:
    """Return the place that the options name; raise where they do not go together."""
    if engine != "ray" and (ray_address is not None or gpus_per_worker is not None):
        raise click.UsageError("--ray-address and --gpus-per-worker go with --engine ray")
    if engine == "ray":
        require_extra("--engine ray", "ray", "ray")
        return WorkPlace(
            engine=RayCluster(n_actors=jobs or None, address=ray_address, gpus_per_actor=gpus_per_worker or 0)
        )
    if engine == "local":
        if jobs is not None and jobs != 1:
            raise click.UsageError("--engine local is this process alone: leave --jobs out, or choose another engine")
        return WorkPlace(engine=InProcess())
    if jobs is None:
        jobs = 1 if engine is None else 0
    return WorkPlace(jobs=jobs or _count_processors())


def _count_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


work_place = bundled_as(
    "place",
    _work_place,
    number(
        "-j",
        "--jobs",
        least=0,
        help="Processes, fewer for small data, or workers of a cluster; 0: one a processor. [default: 1]",
    ),
    click.option(
        "--engine",
        type=click.Choice(["local", "processes", "ray"]),
        help="Where work runs: this process, processes of this machine, or a Ray cluster. [default: by --jobs]",
    ),
    click.option("--ray-address", metavar="A", help="Of the cluster: local, auto or host:port; see docs/scale.md."),
    click.option(
        "--gpus-per-worker",
        type=Finite(0),
        metavar="N",
        help="GPUs that each worker of a cluster holds, such as 1 or 0.5.",
    ),
)


# Serving pages from a command: the address that it listens on, and the options that say which.


def refuse_exposed(host: str, *, expose: bool) -> None:
    """Raise where other machines may reach the host without ``--expose``."""
    if not (expose or is_loopback_host(host)):
        message = f"'{host}' may be reached from other machines; expected a loopback address, or --expose"
        raise click.BadParameter(message, param_hint="--host")


@contextmanager
def listening(host: str, port: int) -> Iterator[None]:
    """Raise an `OSError` of the block as a `click.BadParameter` of ``--port``."""
    try:
        yield
    except OSError as error:
        message = f"cannot listen on port {port} of {host}: {error.strerror}; --port 0 takes a free one"
        raise click.BadParameter(message, param_hint="--port") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class PageServing:
    """The values of the options of commands that serve pages; each field has its option's name."""

    port: int
    host: str
    expose: bool
    is_opened: bool

    def serve(self, command: str, make: "Callable[[Address], AbstractContextManager[tuple[ASGIApp, str]]]") -> None:
        """Serve an app until Ctrl-C; ``make`` yields it for its address, and a few words on what it shows."""
        require_extra(command, "view", "starlette", "uvicorn")
        from evidencebench.pages.app.server import address_of  # noqa: PLC0415 - an extra
        from evidencebench.web.serving import listening_socket, serve_until_signal  # noqa: PLC0415 - an extra

        refuse_exposed(self.host, expose=self.expose)
        with listening(self.host, self.port):
            bound = listening_socket(self.host, self.port)
        with bound:
            token = None if is_loopback_host(self.host) else secrets.token_urlsafe(32)
            address = address_of(bound, self.host, token)
            with make(address) as (app, what):

                def tell() -> None:
                    click.echo(f"{what} on {address.url}")  # which flushes
                    if self.is_opened:
                        threading.Thread(target=webbrowser.open, args=(address.url,), daemon=True).start()

                serve_until_signal(app, bound, tell)

    def serve_tasks(self, command: str, make: "Callable[[], TaskApp]", what: str) -> None:
        """Serve tasks that people answer, until Ctrl-C; ``what`` says what they do."""

        @contextmanager
        def app(address: "Address") -> "Iterator[tuple[ASGIApp, str]]":
            yield make().make_app(address), what

        self.serve(command, app)


def serving_options(*own: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds the options. The command gets them as ``serving``, and ``own`` by their names."""
    return bundled_as(
        "serving",
        PageServing,
        *own,
        number("--port", least=0, most=65535, default=8642, help="0: a free one."),
        click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
        click.option("--expose", is_flag=True, help="Allow a host that other machines reach; a token is asked for."),
        click.option("--open/--no-open", "is_opened", default=False, show_default=True, help="Open it in a browser."),
    )


# Standard input, read whole: the file that ``-`` names.


STANDARD_INPUT = "-"
"""What names standard input in place of a file."""


def read_standard_input(*, at_most: int = MOST_BYTES) -> bytes:
    """Return all bytes of standard input; raises `UnreadableError`."""
    try:
        return read_stream(sys.stdin.buffer, at_most=at_most)
    except OSError as error:
        raise UnreadableError(f"standard input: cannot be read: {error.strerror}") from error


def read_lines(path: Path, *, at_most: int = MOST_BYTES) -> tuple[list[str], str]:
    """Return the lines of a text file, or of standard input for ``-``, and its name; raises `UnreadableError`."""
    if str(path) == STANDARD_INPUT:
        name = "standard input"
        return decoded(read_standard_input(at_most=at_most), name=name).splitlines(), name
    return read_text(path, at_most=at_most).splitlines(), str(path)
