"""What a shell completes besides commands, options and choices: systems, tasks and data."""

import click
from click.shell_completion import CompletionItem

from evidencebench.data.catalog import CATALOG
from evidencebench.data.tasks import TASKS


def complete_systems(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Return the systems whose names begin with the typed text."""
    from evidencebench.execution.system_table import SYSTEMS  # noqa: PLC0415 - only when a shell asks

    return [CompletionItem(name) for name in SYSTEMS if name.startswith(incomplete)]


def complete_trainings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - as above
    """Return the trainings whose names begin with the typed text."""
    from evidencebench.training.training_table import TRAININGS  # noqa: PLC0415 - as above

    return [CompletionItem(name) for name in TRAININGS if name.startswith(incomplete)]


def complete_tasks(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - as above
    """Return the tasks whose names begin with the typed text."""
    return [CompletionItem(name) for name in TASKS if name.startswith(incomplete)]


def complete_data(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - as above
    """Return the data sets whose names begin with the typed text; the shell itself completes files."""
    names = [CompletionItem(name) for name in ("sample", *CATALOG) if name.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *names]
