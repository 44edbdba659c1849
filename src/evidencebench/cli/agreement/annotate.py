"""``evidencebench agreement annotate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from evidencebench.cli import options
from evidencebench.cli.options import PageServing, argument, option
from evidencebench.construction.people.tasks import read_tasks
from evidencebench.tables import printable
from evidencebench.wording import counted

if TYPE_CHECKING:  # starlette is an extra
    from evidencebench.pages.people.tasks import TaskApp


@options.command
def command(
    *,
    tasks_file: Annotated[Path, argument("TASKS")],
    folder: Annotated[Path, option("--folder", "Where annotations are kept; made if missing.", options.FOLDER)],
    serving: PageServing,
) -> None:
    """Let people annotate TASKS in a browser, and adjudicate.

    TASKS is what 'agreement sample' wrote. People sign in with a name and mark the
    sentences that hold the shown aspect, with mouse or keyboard. Every mark is
    saved at once. Where people differ on a task, the page shows them side by side,
    and one decides.

    \b
    Example:
      evidencebench agreement annotate tasks.jsonl --folder annotations --open
    """
    tasks = read_tasks(tasks_file)

    def make() -> "TaskApp":
        from evidencebench.pages.people.annotations import annotation_tasks  # noqa: PLC0415 - an extra

        return annotation_tasks(tasks, folder)

    what = f"people annotate {counted(len(tasks.records), 'task')} of {printable(tasks_file.name)}"
    serving.serve_tasks("agreement annotate", make, what)
