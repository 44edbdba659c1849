"""``evidencebench audit review``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from evidencebench.cli import options
from evidencebench.cli.options import PageServing, argument, option
from evidencebench.construction.people.tasks import read_misses
from evidencebench.tables import printable
from evidencebench.wording import counted

if TYPE_CHECKING:  # starlette is an extra
    from evidencebench.pages.people.tasks import TaskApp


@options.command
def command(
    *,
    misses: Annotated[Path, argument()],
    folder: Annotated[Path, option("--folder", "Where verdicts are kept; made if missing.", options.FOLDER)],
    serving: PageServing,
) -> None:
    """Let people say the cause of each miss in a browser.

    MISSES is what 'audit sample' wrote. People sign in with a name, see hypothesis,
    missed aspect, and the paper with sources and selected sentences marked, and
    choose a cause, with mouse or keyboard. Every choice is saved at once, and can be
    changed.

    \b
    Example: evidencebench audit review misses.jsonl --folder audit --open
    """
    misses_file = read_misses(misses)

    def make() -> "TaskApp":
        from evidencebench.pages.people.audits import audit_tasks  # noqa: PLC0415 - an extra

        return audit_tasks(misses_file, folder)

    what = f"people audit {counted(len(misses_file.records), 'miss', 'misses')} of {printable(misses.name)}"
    serving.serve_tasks("audit review", make, what)
