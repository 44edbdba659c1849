"""``evidencebench tasks``."""

from evidencebench.cli import options
from evidencebench.cli.output import print_json, print_table
from evidencebench.data.tasks import TASKS
from evidencebench.tables import Table

_MEANINGS = {"optimal": "as many as the optimum", None: "no limit; recall and precision"}


@options.command
def command(*, as_json: options.AsJson, table_format: options.TableFormat) -> None:
    """List the tasks: how many sentences and aspects count.

    Any other budget is a task too: er_at_25, result_er_at_3.

    \b
    Example: evidencebench tasks --json
    """
    if as_json:
        print_json({task.name: {"aspects": task.scope, "budget": task.budget} for task in TASKS.values()})
        return
    rows = [
        (task.name, _MEANINGS[task.budget] if not isinstance(task.budget, int) else str(task.budget), task.scope)
        for task in TASKS.values()
    ]
    print_table(Table(columns=["task", "sentences that count", "aspects that count"], rows=rows), table_format)
