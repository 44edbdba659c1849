"""How a command ends: a message on standard error and an exit code."""

import errno
import platform
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from evidencebench.cli.streams import drop_output, reader_has_left
from evidencebench.errors import EvidenceBenchError, FailedAnswerError, StopError
from evidencebench.tables import printable
from evidencebench.version import __version__

EXIT_OK, EXIT_BAD_INPUT, EXIT_STOPPED, EXIT_BUG, EXIT_INTERRUPTED = 0, 2, 3, 70, 130
"""The exit codes; 1: done, but something was found; 143 and 129: as 130, by SIGTERM and SIGHUP. The help lists them."""

# The error numbers of a failed write.
_WRITE_ERRORS = {errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG}

_KEPT = "; what was finished is kept: the same command goes on from there"
# For a stop, whose message says what to do first.
_KEPT_AT_STOP = "; what was finished is kept, and the next start goes on from there"
_EDITED = "; own code that was edited starts over, with --overwrite"


def exit_code_of(call: Callable[[], None], arguments: Sequence[str]) -> int:
    """Call a command and return its exit code; print an error that it raises on standard error.

    A pipe whose reader has left is no error. The arguments decide whether the message says that the command can be
    resumed; an unexpected error is reported with them.
    """
    ended_by: list[int] = []
    try:
        with _others_as_interrupt(ended_by):
            call()
            sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        error.show()
        return EXIT_BAD_INPUT
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - an unexpected error is reported too, and one of own code
        if isinstance(error, BrokenPipeError) and reader_has_left():  # such as `head`
            drop_output()
            return EXIT_OK
        exit_code, message = _code_and_message(error, arguments)
        if isinstance(error, EvidenceBenchError):
            print_trace(error.trace)
        click.echo(message, err=True)
        return 128 + ended_by[0] if ended_by and exit_code == EXIT_INTERRUPTED else exit_code
    return EXIT_OK


@contextmanager
def _others_as_interrupt(ended_by: list[int]) -> Iterator[None]:
    """Let SIGTERM and SIGHUP, as of a scheduler or a closed terminal, do what Ctrl-C does; note which of them came.

    One that is ignored, as by ``nohup``, stays so. Ctrl-C itself may be ignored, as behind ``&`` in a script.
    """

    def interrupt(number: int, _: object) -> None:
        ended_by.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    caught = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]
    for number in caught:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def print_trace(trace: str | None) -> None:
    """Print a traceback within own code on standard error; None: nothing."""
    for line in trace.splitlines() if trace is not None else ():
        words = line.lstrip()
        click.echo(f"  {' ' * (len(line) - len(words))}{printable(words)}", err=True)


def _code_and_message(error: BaseException, arguments: Sequence[str]) -> tuple[int, str]:
    """Return the exit code and the message of an error."""
    is_resumable = _is_resumable(arguments)
    kept = _KEPT if is_resumable else ""
    match error:
        case KeyboardInterrupt() | click.exceptions.Abort():
            return EXIT_INTERRUPTED, f"interrupted{kept}"
        case StopError():
            edited = _EDITED if isinstance(error, FailedAnswerError) else ""
            return EXIT_STOPPED, f"stopped: {printable(str(error))}{_KEPT_AT_STOP + edited if is_resumable else ''}"
        case EvidenceBenchError():
            return EXIT_BAD_INPUT, f"error: {printable(str(error))}"
        case OSError():
            return EXIT_BAD_INPUT, f"error: {printable(_os_message(error))}"
        case MemoryError():
            return EXIT_BAD_INPUT, f"error: there is not enough memory for this{kept}"
        case _:
            return EXIT_BUG, _bug_report(error, arguments, kept)


def _os_message(error: OSError) -> str:
    """Return the message of an `OSError`, with the name of its file."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return f"standard output, or a file: {error.strerror}" if error.errno in _WRITE_ERRORS else str(error)


def _bug_report(error: BaseException, arguments: Sequence[str], kept: str) -> str:
    """Return the message of an unexpected error: that it is a mistake in evidencebench, and the lines to report."""
    lines = [
        f"unexpected: {type(error).__name__}: {error}{kept}",
        "This is a mistake in evidencebench, not in what you typed. Please report it with",
        "the lines below; first take out what nobody else should see.",
        f"  version: evidencebench {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"  command: {shlex.join(['evidencebench', *arguments])}",
        *"".join(traceback.format_exception(error)).splitlines(),
    ]
    return "\n".join(map(printable, lines))


def _is_resumable(arguments: Sequence[str]) -> bool:
    """Say whether the command keeps its finished work, and goes on from there when it is called again."""
    match arguments:
        case ["run", *_] | ["data", "solve", *_] | ["papers", "fetch", *_]:
            return True
        case ["crossval", *options]:
            return any(option.startswith(("-o", "--output")) for option in options)
        case _:
            return False
