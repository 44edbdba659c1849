"""Entry point, lazy groups, how a command ends, standard streams."""

import errno
import gc
import io
import os
import platform
import select
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, shell_complete

from evidencebench.engine.protocol import ENDING_SIGNALS
from evidencebench.errors import EvidenceBenchError, EvidenceWarning, FailedAnswerError, StopError
from evidencebench.tables import WIDTH, printable
from evidencebench.version import __version__
from evidencebench.wording import did_you_mean

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class LazyGroup(click.Group):
    """A group of ``commands``, and of those in ``lines``, each a module of ``package`` imported when it is used."""

    def __init__(
        self,
        name: str,
        *,
        package: str = "",
        lines: Mapping[str, str] | None = None,  # name -> line of help
        modules: Mapping[str, str] | None = None,  # name -> module, where several commands share one
        **settings: Any,
    ) -> None:
        super().__init__(name, **{"help": COMMANDS.get(name), **settings})
        own = {name: (command.help or "").partition("\n")[0] for name, command in self.commands.items()}
        self.package = package
        self.lines: dict[str, str] = {**(lines or {}), **own}
        self.modules: Mapping[str, str] = modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name in self.commands or cmd_name not in self.lines:
            return self.commands.get(cmd_name)
        module = import_module(f"{self.package}.{self.modules.get(cmd_name, cmd_name.replace('-', '_'))}")
        return next(one for one in vars(module).values() if isinstance(one, click.Command) and one.name == cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.lines and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{name}'{did_you_mean(name, self.lines)}.")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=line) for name, line in self.lines.items() if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))


# The standard streams: replaced where they are closed, and safe to write to when nobody reads.


def open_streams() -> None:
    """Open closed streams, drop text that standard error cannot take, escape characters that a terminal cannot show."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # `os.open` takes the lowest free number: the closed stream's, which else the next file would get.
            descriptor = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))
    if sys.__stderr__ is not None and sys.stderr is sys.__stderr__:  # else it was closed, or a test replaces it
        written = io.BufferedWriter(_LossyStream(sys.__stderr__.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(written, encoding=sys.__stderr__.encoding, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _is_unread(descriptor: int) -> bool:
    if not hasattr(select, "poll"):  # on Windows
        return True
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    return any(event & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, event in poller.poll(0))


class _LossyStream(io.FileIO):
    """A stream that drops what cannot be written."""

    def write(self, content: "ReadableBuffer", /) -> int:
        try:
            return super().write(content) or memoryview(content).nbytes  # None where it would have to wait
        except OSError:
            return memoryview(content).nbytes


# How a command ends: a message on standard error and an exit code.


EXIT_OK, EXIT_BAD_INPUT, EXIT_STOPPED, EXIT_BUG, EXIT_INTERRUPTED = 0, 2, 3, 70, 130
"""The exit codes; 1: done, but something was found; 143 and 129: as 130, by SIGTERM and SIGHUP. The help lists them."""

# The error numbers of a failed write.
_WRITE_ERRORS = {errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG}


def exit_code_of(call: Callable[[], None], arguments: Sequence[str]) -> int:
    """Call a command and return its exit code; the message of an error may say, by the arguments, how to resume."""
    ended_by: list[int] = []
    try:
        with _others_as_interrupt(ended_by):
            call()
            sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        click.echo(_refusal(error), err=True)
        return EXIT_BAD_INPUT
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - an unexpected error is reported too, and one of own code
        if isinstance(error, BrokenPipeError) and _is_unread(out := sys.stdout.fileno()):  # such as by `head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), out)  # what is still to be written is dropped
            return EXIT_OK
        exit_code, message = _code_and_message(error, arguments)
        if isinstance(error, EvidenceBenchError):
            print_trace(error.trace)
        click.echo(message, err=True)
        return 128 + ended_by[0] if ended_by and exit_code == EXIT_INTERRUPTED else exit_code
    return EXIT_OK


@contextmanager
def _others_as_interrupt(ended_by: list[int]) -> Iterator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does, unless they are ignored, as by ``nohup``; note which came."""

    def interrupt(number: int, _: object) -> None:
        ended_by.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as behind `&` in a script
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    caught = [number for number in ENDING_SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in caught:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def _refusal(error: click.ClickException) -> str:
    """Return what is wrong with a command line and, if the reason leaves room in two lines, how to write it."""
    reason = " ".join(error.format_message().split())
    message = f"error: {printable(reason)}"
    context = getattr(error, "ctx", None) or click.get_current_context(silent=True)
    if context is None or len(message) > WIDTH:
        return message
    usage = " ".join(context.get_usage().removeprefix("Usage: ").split())
    return f"{message}\nusage: {usage} (--help for more)"


def print_trace(trace: str | None) -> None:
    """Print a traceback within own code on standard error; None: nothing."""
    for line in trace.splitlines() if trace is not None else ():
        words = line.lstrip()
        click.echo(f"  {' ' * (len(line) - len(words))}{printable(words)}", err=True)


def _code_and_message(error: BaseException, arguments: Sequence[str]) -> tuple[int, str]:
    match arguments:  # the commands that keep their finished work
        case ["run", *_] | ["data", "solve", *_] | ["papers", "fetch", *_]:
            is_resumable = True
        case ["crossval", *options]:
            is_resumable = any(option.startswith(("-o", "--output")) for option in options)
        case _:
            is_resumable = False
    kept = "; finished work is kept: run the same command again to resume" if is_resumable else ""
    match error:
        case KeyboardInterrupt() | click.exceptions.Abort():
            return EXIT_INTERRUPTED, f"interrupted{kept}"
        case StopError():  # whose message says what to do first
            resumed = "; rerun to resume" if is_resumable else ""
            if is_resumable and isinstance(error, FailedAnswerError):
                resumed += "; if you edit your code, start over with --overwrite"
            return EXIT_STOPPED, f"stopped: {printable(str(error))}{resumed}"
        case EvidenceBenchError():
            return EXIT_BAD_INPUT, f"error: {printable(str(error))}"
        case OSError():
            reason = f"{error.filename}: {error.strerror}"
            if error.filename is None:
                is_written = error.errno in _WRITE_ERRORS
                reason = f"standard output, or a file: {error.strerror}" if is_written else str(error)
            return EXIT_BAD_INPUT, f"error: {printable(reason)}"
        case MemoryError():
            return EXIT_BAD_INPUT, f"error: there is not enough memory for this{kept}"
        case _:
            return EXIT_BUG, _bug_report(error, arguments, kept)


def _bug_report(error: BaseException, arguments: Sequence[str], kept: str) -> str:
    lines = [
        f"unexpected: {type(error).__name__}: {error}{kept}",
        "This is a bug in evidencebench, not in your command. Please report it with",
        "the lines below; first remove what is private.",
        f"  version: evidencebench {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"  command: {shlex.join(['evidencebench', *arguments])}",
        *"".join(traceback.format_exception(error)).splitlines(),
    ]
    return "\n".join(map(printable, lines))


COMMANDS = {
    "demo": "Validate, solve, run and score the built-in sample.",
    "systems": "List the systems with their options and defaults.",
    "tasks": "List the tasks: their budgets, and the aspects that count.",
    "data": "Validate, describe, show, solve, convert and download data.",
    "papers": "Download papers, and show the text that is read from them.",
    "llm": "List providers, show prompts and replies, serve a fake model.",
    "cache": "List and prune stored replies and embeddings.",
    "find": "Find the evidence for a hypothesis in your own papers.",
    "review": "Review a folder of papers: ask questions, decide, export.",
    "mcp": "Serve folders of papers to an AI assistant over MCP.",
    "run": "Run SYSTEM on a data set and write a run file.",
    "train": "Train a model on labelled data and write it to a folder.",
    "crossval": "Cross-validate SYSTEM, retraining it for each fold of papers.",
    "score": "Score RUN: a run file, {id: [indices]} as JSON, or a TREC run.",
    "compare": "Compare runs on the same instances, pair by pair.",
    "leaderboard": "Rank runs by aspect recall, together with the baselines.",
    "view": "View papers, their evidence and what each RUN selected.",
    "report": "Write a report on RUNs, with the papers, as one HTML file.",
    "export": "Write data and runs in the formats of other tools.",
    "controls": "Measure whether SYSTEMs use the hypothesis.",
    "construct": "Build a benchmark from papers and reviews.",
    "audit": "Find out which misses of a run are not the system's fault.",
    "settings": "List the settings that commands share.",
}


@click.group(
    cls=LazyGroup,
    package="evidencebench.cli",
    lines=COMMANDS,
    modules={"tasks": "systems", "train": "training", "crossval": "training"},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(__version__, prog_name="evidencebench", allow_from_autoenv=False)
def cli() -> None:
    """Find the evidence for a hypothesis in papers, and score systems that find it.

    \b
    evidencebench demo                                  all steps, in seconds
    evidencebench run bm25 --data sample -o bm25.jsonl  run a system
    evidencebench score bm25.jsonl --data sample        score its answers

    Any option can also be set by an environment variable, such as
    EVIDENCEBENCH_RUN_JOBS=2. Values that many commands share are settings: see
    'evidencebench settings'. Exit codes: 0 success; 1 finished, but with problems
    (violations, failed answers); 2 bad input; 3 stopped early (a cost limit, a
    server that keeps failing, --fail-fast); 70 a bug, with what to report; 130
    interrupted, 143 by SIGTERM, 129 by SIGHUP.
    """
    warnings.filterwarnings("ignore", category=EvidenceWarning)  # commands print them as a table


_COMPLETE = "_EVIDENCEBENCH_COMPLETE"
"""The variable in which a shell asks for its script, or for completions."""


def main() -> None:
    gc.set_threshold(50_000)  # few cycles are made: imports and reading take a tenth less
    open_streams()
    arguments = sys.argv[1:]
    sys.exit(exit_code_of(partial(_invoke, arguments), arguments))


def _invoke(arguments: Sequence[str]) -> None:
    """Call the command, or print what a shell asks for: the script for it to source, or the completions of a line."""
    if wanted := os.environ.get(_COMPLETE):
        if shell_complete(cli, {}, "evidencebench", _COMPLETE, wanted) != 0:
            raise click.UsageError(f"{_COMPLETE}: expected bash_source, fish_source or zsh_source, got '{wanted}'")
        return
    for number, argument in enumerate(arguments, 1):
        try:
            argument.encode()
        except UnicodeEncodeError as error:  # neither a run nor JSON could hold it
            raise click.UsageError(
                f"argument {number}: expected text in UTF-8, got '{printable(argument)}'; rename the file, if it is one"
            ) from error
    with cli.make_context("evidencebench", [*arguments], auto_envvar_prefix="EVIDENCEBENCH") as context:
        cli.invoke(context)


if __name__ == "__main__":
    main()
