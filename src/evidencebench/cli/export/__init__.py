"""``evidencebench export``: data and runs in the forms that other tools read, one command a file: `trec`."""

import click

from evidencebench.cli.groups import LazyGroup

_COMMANDS = {
    "trec": "Write D and RUNs as TREC topics, diversity qrels and runs.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Write data and runs in the forms that other tools read."""
