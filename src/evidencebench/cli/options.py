"""Options that commands share."""

import re
import secrets
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from inspect import Parameter, getdoc, signature
from math import isfinite
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, get_args, get_origin

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from evidencebench.cli.configuration import Setting, set_option
from evidencebench.cli.output import OutputFile, progress
from evidencebench.data.catalog import CATALOG
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.data.tasks import TASKS, Task, task_named
from evidencebench.engine.local import InProcess, usable_processors
from evidencebench.engine.protocol import Engine
from evidencebench.engine.ray import RayCluster
from evidencebench.errors import EvidenceBenchError, UnreadableError
from evidencebench.execution.changes import QUERY_CONTROLS, query_control
from evidencebench.files.disk import PathText, decoded, read_bytes, read_stream
from evidencebench.files.remote import is_remote, local_copy
from evidencebench.provenance import require_extra
from evidencebench.scoring.resampling import DEFAULT_DRAWS, DEFAULT_LEVEL, MAX_DRAWS, Resampling
from evidencebench.scoring.selection import RULE_TEXTS, OutOfRange, OverLength, Rules, Ties
from evidencebench.tables import RENDERERS
from evidencebench.web.http import is_loopback

if TYPE_CHECKING:  # starlette is an extra
    from starlette.types import ASGIApp

    from evidencebench.pages.app.server import Address


# How a command says what it is given: each parameter of its function has, beside its type, the option that fills it.
# A dataclass, or ``Annotated[type, make]``, stands for all parameters of that class or function.


PATH = click.Path(path_type=Path)
FILE, EXISTING_FILE = (click.Path(path_type=Path, dir_okay=False, exists=exists) for exists in (False, True))
FOLDER, EXISTING_FOLDER = (click.Path(path_type=Path, file_okay=False, exists=exists) for exists in (False, True))


@dataclass(frozen=True, slots=True)
class Declared:
    """An option or argument, but for what the parameter says: its type and default.

    Of a ``Literal``, the first word is the default.
    """

    names: Sequence[str]  # none for an argument
    settings: Mapping[str, Any]
    kind: type[click.Option] = click.Option

    def parameter(self, name: str, hint: Any, default: Any) -> click.Parameter:
        settings, kinds, is_tuple = dict(self.settings), (hint, *get_args(hint)), get_origin(hint) is tuple
        is_required = not is_tuple and type(None) not in kinds
        if settings["type"] is None:
            words = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())
            settings["type"] = click.Choice(words) if words else PATH if Path in kinds else None
            if get_origin(hint) is Literal and default is Parameter.empty:
                default = words[0]
        if not self.names:
            settings = {"nargs": -1 if is_tuple else 1, "required": is_required, **settings}
            return click.Argument([name], **settings)
        if default is not Parameter.empty:
            settings = {"default": default, "show_default": True, **settings}
        elif hint is bool:
            settings = {"is_flag": True, **settings}
        elif "default" not in settings:
            settings = {"required": is_required, **settings}
        return self.kind([name, *self.names], multiple=is_tuple, **settings)


def argument(metavar: str | None = None, kind: Any = None, **settings: Any) -> Declared:
    return Declared((), {"metavar": metavar, "type": kind, **settings})


def option(usage: str, text: str, kind: Any = None, **settings: Any) -> Declared:
    """Declare an option by its names and the placeholder of its value, such as ``-d, --data D``, and its help."""
    words = [word.rstrip(",") if word.startswith("-") else word for word in usage.split()]
    names = [word for word in words if word.startswith("-")]
    metavar = words[-1] if len(words) > len(names) else None
    return Declared(names, {"help": text, "type": kind, "metavar": metavar, **settings})


def setting(name: str, text: str, kind: Any = None, **settings: Any) -> Declared:
    """Declare a value that many commands share, which has no option of its own."""
    return Declared([f"--{name}"], {"help": text, "type": kind, **settings}, Setting)


def number(usage: str, text: str, *, least: int = 1, most: int | None = None, **settings: Any) -> Declared:
    return option(usage, text, WholeNumber(least, most), **settings)


def data_option(text: str, **settings: Any) -> Declared:
    return option("-d, --data D", text, shell_complete=complete_data, **settings)


def output(metavar: str, text: str, kind: Any = None) -> Declared:
    return option(f"-o, --output {metavar}", text, kind or OutputFile())


def command(
    function: Callable[..., int | None], kind: type[click.Command] = click.Command, **settings: Any
) -> click.Command:
    """Return a function, each parameter ``Annotated[type, declared]``, as a command; it returns the exit code."""

    def call(**values: Any) -> None:
        if code := _filled(function, values):
            click.get_current_context().exit(code)

    name = function.__name__.strip("_").replace("_", "-")
    params = _parameters(function)
    if own_settings := [param for param in params if isinstance(param, Setting)]:
        params.append(set_option(own_settings))
    return kind(name, callback=call, params=params, help=getdoc(function), **settings)


def _parameters(make: Callable[..., Any]) -> list[click.Parameter]:
    params: list[click.Parameter] = []
    for name, hint, default, declared in _declared(make):
        params += [declared.parameter(name, hint, default)] if isinstance(declared, Declared) else _parameters(declared)
    return params


def _declared(make: Callable[..., Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    for parameter in signature(make).parameters.values():
        hint = declared = parameter.annotation
        if get_origin(hint) is Annotated:
            hint, declared = get_args(hint)
        yield parameter.name, hint, parameter.default, declared


def _filled(make: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    return make(
        **{
            name: values[name] if isinstance(declared, Declared) else _filled(declared, values)
            for name, _, _, declared in _declared(make)
        }
    )


class _PlainNumber(click.ParamType[Any]):
    """A finite number in plain digits; Python would read ``1_0``, ``nan`` and ``inf`` too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and re.fullmatch(r"[-+.0-9a-zA-Z]*", value) is None:
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        number = super().convert(value, param, ctx)
        if isinstance(number, int) and abs(number) >= 1 << 63:
            self.fail(f"{number} is too large.", param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class WholeNumber(_PlainNumber, click.IntRange):
    name = "whole number"


class Finite(_PlainNumber, click.FloatRange):
    name = "number"


OPEN_SHARE = Finite(0, 1, min_open=True, max_open=True)


class Parsed(click.ParamType[Any]):
    """A value that a function reads from the text; its errors are told as those of the option."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name: str = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value) if isinstance(value, str) else value
        except (EvidenceBenchError, ValueError) as error:
            self.fail(str(error), param, ctx)


Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completer(names: Callable[[], Iterable[str]], *more: str) -> Completer:
    """Return a function for names that begin with the typed text; the shell itself completes ``more`` (``file``)."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        items = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return [*(CompletionItem(incomplete, type=sort) for sort in more), *items]

    return complete


# The tables are imported only when a shell asks for names, since their import is slow.
complete_systems: Completer = completer(lambda: import_module("evidencebench.execution.system_table").SYSTEMS)
complete_trainings: Completer = completer(lambda: import_module("evidencebench.training.trainings").TRAININGS)
complete_data: Completer = completer(lambda: ("sample", *CATALOG), "file")


def control_option(text: str) -> Declared:
    kind = Parsed("query control", query_control)
    return option("--control CONTROL", text, kind, shell_complete=completer(lambda: QUERY_CONTROLS))


_TASK_HELP = (
    "Task, such as er_at_10 (ER: evidence retrieval), result_er_at_K or er_at_5_percent; repeatable. "
    "Default: every task that applies."
)
_TASK = option("-t, --task T", _TASK_HELP, Parsed("task", task_named), shell_complete=completer(lambda: TASKS))


def _merge_tasks(
    tasks: Annotated[tuple[Task, ...], _TASK],
    budget: Annotated[int | None, number("--budget K", "Short for --task er_at_K: K sentences, all aspects.")],
) -> tuple[Task, ...]:
    """Return the tasks of ``--task`` and ``--budget``, each once; none where neither is given."""
    named = (*tasks, task_named(f"er_at_{budget}")) if budget else tasks
    return tuple({task.name: task for task in named}.values())


def _refuse_both(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Refuse --json beside --format, whichever of the two comes last."""
    if ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE:
        ctx.meta[_FORMS] = ctx.meta.get(_FORMS, 0) + 1
    if ctx.meta.get(_FORMS, 0) > 1:
        raise click.UsageError("--json prints JSON and --format a table: expected one of them, got both", ctx)
    return value


_FORMS = f"{__name__}.forms"


def output_format(*words: str) -> Declared:
    kind = click.Choice(words)
    return option(
        "--format", "How tables are printed.", kind, default=words[0], show_default=True, callback=_refuse_both
    )


System = Annotated[str, argument(shell_complete=complete_systems)]
Model = Annotated[str, option("--model MODEL", "Such as openai/NAME; options of llm_base after commas.")]
DataArgument = Annotated[str, argument("D", shell_complete=complete_data)]
Data = Annotated[str, data_option("Data: a file, a folder, a glob, a URL or a catalogue name.")]
Runs = Annotated[tuple[Path, ...], argument("RUN...", required=True, kind=PATH)]
Names = Annotated[tuple[str, ...], option("--name RUN=NAME", "Display name of a run; repeatable.")]
Tasks = Annotated[tuple[Task, ...], _merge_tasks]
Limit = Annotated[int | None, number("--limit N", "Only the first N instances.")]
Ids = Annotated[Path | None, option("--ids FILE", "Only these instances: one id per line; - is standard input.", FILE)]
MaxErrors = Annotated[int | None, number("--max-errors N", "Stop after more than N failures.", least=0)]
Prices = Annotated[Path | None, setting("prices", "Your own price table; see docs/llm.md.", FILE)]
Seed = Annotated[int, number("--seed N", "Seed for all random draws.", least=0, default=0, show_default=True)]
AsJson = Annotated[bool, option("--json", "Print one JSON object.", callback=_refuse_both)]
TableFormat = Annotated[str, output_format(*RENDERERS)]
ProgressStyle = Annotated[
    Literal["auto", "rich", "plain", "none"],
    setting("progress", "Progress on standard error; auto: rich on a terminal, else a line every 30 s."),
]
Controls = Annotated[
    bool,
    option("--controls/--no-controls", "Show the baselines and the ceiling.", default=True, show_default=True),
]


def _resampling(
    seed: Seed,
    n_draws: Annotated[
        int, setting("draws", "Resamples for intervals and tests.", WholeNumber(1, MAX_DRAWS))
    ] = DEFAULT_DRAWS,
    level: Annotated[float, setting("level", "Confidence level of the intervals.", OPEN_SHARE)] = DEFAULT_LEVEL,
) -> Resampling:
    return Resampling(seed=seed, n_draws=n_draws, level=level)


ResamplingChoice = Annotated[Resampling, _resampling]


def _rules(
    over_length: Annotated[OverLength, setting("over-length", RULE_TEXTS["over_length"].help)],
    ties: Annotated[Ties, setting("ties", RULE_TEXTS["ties"].help)],
    out_of_range: Annotated[OutOfRange, setting("out-of-range", RULE_TEXTS["out_of_range"].help)],
) -> Rules:
    return Rules(over_length=over_length, ties=ties, out_of_range=out_of_range)


RulesChoice = Annotated[Rules, _rules]


def names_of(runs: Sequence[Path], given: Sequence[str]) -> dict[PathText, str]:
    """Return run -> name; a file's name may hold an equals sign, and so may the name behind it."""
    names: dict[PathText, str] = {}
    for text in given:
        paths = [path for path in runs if text.startswith(f"{path}=") and text != f"{path}="]
        if not paths:
            files = ", ".join(f"'{path}'" for path in runs)
            raise click.UsageError(f"--name: expected RUN=NAME, where RUN is one of {files}, got '{text}'")
        path = max(paths, key=lambda path: len(str(path)))
        if path in names:
            raise click.UsageError(f"--name: '{path}' is named twice: '{names[path]}' and '{text}'")
        names[path] = text[len(f"{path}=") :]
    return names


# Where work runs: ``--jobs``, and the settings of engines.


class WorkPlace(TypedDict):
    """Where work runs: on an engine, or where that is None, in so many processes, fewer for small data."""

    jobs: int
    engine: Engine | None


def _work_place(
    jobs: Annotated[
        int | None, number("-j, --jobs N", "Processes or workers; 0: one per processor. [default: 1]", least=0)
    ],
    engine: Annotated[
        Literal["local", "processes", "ray"] | None,
        setting("engine", "This process, processes on this machine, or a Ray cluster; if not set, --jobs decides."),
    ],
    ray_address: Annotated[str | None, setting("ray-address", "Address of the Ray cluster; see docs/scale.md.")],
    gpus_per_worker: Annotated[float | None, setting("gpus-per-worker", "GPUs per worker, such as 0.5.", Finite(0))],
) -> WorkPlace:
    if engine != "ray" and (ray_address is not None or gpus_per_worker is not None):
        raise click.UsageError("the settings ray-address and gpus-per-worker need engine=ray")
    if engine == "ray":
        require_extra("engine=ray", "ray", "ray")
        cluster = RayCluster(n_actors=jobs or None, address=ray_address, gpus_per_actor=gpus_per_worker or 0)
        return WorkPlace(jobs=1, engine=cluster)
    if engine == "local":
        if jobs is not None and jobs != 1:
            raise click.UsageError("engine=local is this process alone: leave --jobs out, or choose another engine")
        return WorkPlace(jobs=1, engine=InProcess())
    if jobs is None:
        jobs = 1 if engine is None else 0
    return WorkPlace(jobs=jobs or usable_processors(), engine=None)


WorkPlaceChoice = Annotated[WorkPlace, _work_place]


# Serving pages from a command: the address that it listens on, and the options that say which.


def listen(host: str, port: int, *, expose: bool) -> socket:
    from evidencebench.web.serving import listening_socket  # noqa: PLC0415 - an extra

    if not (expose or is_loopback(host)):
        message = f"'{host}' may be reached from other machines; expected a loopback address, or --expose"
        raise click.BadParameter(message, param_hint="--host")
    try:
        return listening_socket(host, port)
    except OSError as error:
        message = f"cannot listen on port {port} of {host}: {error.strerror}; --port 0 takes a free one"
        raise click.BadParameter(message, param_hint="--port") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class PageServing:
    port: Annotated[int, number("--port N", "Port to listen on; 0: any free one.", least=0, most=65535)] = 8642
    host: Annotated[str, option("--host", "Address to listen on.")] = "127.0.0.1"
    expose: Annotated[bool, option("--expose", "Allow a --host that other machines can reach; a token is required.")]
    is_opened: Annotated[bool, option("--open/--no-open", "Open the page in a browser.")] = False

    @contextmanager
    def listening(self, command: str) -> "Iterator[tuple[Address, Callable[[ASGIApp, str], None]]]":
        """Yield the address, and what serves an app there until Ctrl-C, given a few words on what the app shows."""
        require_extra(command, "view", "starlette", "uvicorn")
        from evidencebench.pages.app.server import address_of  # noqa: PLC0415 - an extra
        from evidencebench.web.serving import serve_until_signal  # noqa: PLC0415 - an extra

        with listen(self.host, self.port, expose=self.expose) as bound:
            token = None if is_loopback(self.host) else secrets.token_urlsafe(32)
            address = address_of(bound, self.host, token)

            def tell(what: str) -> None:
                click.echo(f"{what} on {address.url}")  # which flushes
                if self.is_opened:
                    threading.Thread(target=webbrowser.open, args=(address.url,), daemon=True).start()

            yield address, lambda app, what: serve_until_signal(app, bound, partial(tell, what))


STANDARD_INPUT = "-"


def read_input(path: Path) -> tuple[bytes, str]:
    """Return the bytes of a file, or of standard input for ``-``, and its name; raises `UnreadableError`."""
    if str(path) != STANDARD_INPUT:
        return read_bytes(path), str(path)
    try:
        return read_stream(sys.stdin.buffer), "standard input"
    except OSError as error:
        raise UnreadableError(f"standard input: cannot be read: {error.strerror}") from error


def open_part(data: str, ids: Path | None) -> Dataset:
    """Return a data set, or the part that ``--ids`` names."""
    if is_remote(data):
        with progress("fetching", "auto") as shown:
            data = str(local_copy(data, on_progress=shown))
    try:
        dataset = open_dataset(data)
    except UnreadableError as error:
        if data not in import_module("evidencebench.execution.system_table").SYSTEMS or Path(data).exists():
            raise
        raise UnreadableError(f"{data}: is a system, not data; give a data file, or a name such as sample") from error
    return dataset if ids is None else dataset.subset(read_lines(ids)[0] if str(ids) == STANDARD_INPUT else ids)


def read_lines(path: Path) -> tuple[list[str], str]:
    """Return the lines of a text file, or of standard input for ``-``, and its name; raises `UnreadableError`."""
    content, name = read_input(path)
    return decoded(content, name=name).splitlines(), name
