"""Progress of a command on standard error: a bar on a terminal, else a line now and then."""

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from evidencebench.tables import printable

_PLAIN_SECONDS = 5.0
_SILENT_SECONDS = 30.0
_BAR_WIDTH, _BAR_WIDTH_BESIDE_STATUS = 40, 10

Status = Callable[[], str]


@dataclass(frozen=True, slots=True)
class ProgressReporter:
    """Shows progress: call it with (items done, all items). ``tell`` prints a line that stays, also in a signal."""

    take: Callable[[int, int, str], object]
    tell: Callable[[str], object]

    def __call__(self, n_done: int, n_all: int, doing: str = "") -> None:
        """Show that ``n_done`` of ``n_all`` items are done; ``doing`` says of what, in work of several parts."""
        self.take(n_done, n_all, doing)


@contextmanager
def progress(
    what: str, style: str, status: Status | None = None, *, silent_seconds: float = _SILENT_SECONDS
) -> Iterator[ProgressReporter]:
    """Yield a reporter, which shows progress on standard error.

    The style is ``rich``: a bar; ``plain``: a line every few seconds and at the end; ``none``: nothing; or ``auto``: a
    bar on a terminal, and elsewhere a line whenever ``silent_seconds`` have passed. ``status`` returns a few words that
    are shown with the progress: requests, failures, cost.
    """
    what = printable(what)
    if style == "rich" or (style == "auto" and sys.stderr.isatty()):
        bar = _bar(what, status)
        task = bar.add_task("", total=None)
        with bar, _print_in_thread(lambda text: bar.console.print(Text(text))) as tell:

            def take(n_done: int, n_all: int, doing: str) -> None:
                bar.update(task, completed=n_done, total=n_all, description=doing and f": {doing}")

            yield ProgressReporter(take, tell)
    else:
        lines = _Lines(what, status, is_quiet=style != "plain")
        seconds = None if style == "none" else silent_seconds
        with _print_in_thread(lambda text: click.echo(text, err=True), lines.say, seconds) as tell:
            yield ProgressReporter(lines.take, tell)


@contextmanager
def _print_in_thread(
    say: Callable[[str], object], tick: Callable[[], object] = lambda: None, seconds: float | None = None
) -> Iterator[Callable[[str], object]]:
    """Yield a function that passes a line to a thread that prints it, so that signal handlers may call it.

    ``tick`` is called whenever ``seconds`` have passed without a line; None: never.
    """
    told: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # a signal's handler may use this queue

    def print_lines() -> None:
        while True:
            try:
                text = told.get(timeout=seconds)
            except queue.Empty:
                tick()
            else:
                if text is None:
                    return
                say(text)

    thread = threading.Thread(target=print_lines, name="evidencebench-progress", daemon=True)
    thread.start()
    try:
        yield told.put
    finally:
        told.put(None)
        thread.join()


class _Lines:
    """Prints progress as lines of text."""

    def __init__(self, what: str, status: Status | None, *, is_quiet: bool) -> None:
        self._what, self._status, self._is_quiet = what, status, is_quiet
        self._shown_at = time.monotonic()
        self._state = "working"

    def take(self, n_done: int, n_all: int, doing: str) -> None:
        self._state = f"{doing} {n_done}/{n_all}".lstrip()
        if not self._is_quiet and (n_done == n_all or time.monotonic() - self._shown_at >= _PLAIN_SECONDS):
            self.say()

    def say(self) -> None:
        self._shown_at = time.monotonic()
        more = f"; {self._status()}" if self._status is not None else ""
        click.echo(f"{self._what}: {self._state}{more}", err=True)


def _bar(what: str, status: Status | None) -> Progress:
    """Return a bar on one line. On a narrow terminal its text ``what`` is cut first, then all else."""
    columns: list[ProgressColumn] = [
        _TextColumn(lambda task: f"{what}{task.description}"),
        BarColumn(bar_width=_BAR_WIDTH if status is None else _BAR_WIDTH_BESIDE_STATUS),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    ]
    if status is not None:
        columns.append(_TextColumn(lambda _: status(), gives_way=False))
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _TextColumn(ProgressColumn):
    """Text on one line. On a narrow terminal, columns that give way are cut before all others."""

    def __init__(self, text: Callable[[Task], str], *, gives_way: bool = True) -> None:
        super().__init__(table_column=Column(no_wrap=not gives_way))
        self._text = text

    def render(self, task: Task) -> Text:
        return Text(self._text(task), no_wrap=True, overflow="ellipsis")
