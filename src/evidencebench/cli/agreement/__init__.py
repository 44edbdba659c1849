"""``evidencebench agreement``: check the labels of a data set with people, one command a file."""

import click

from evidencebench.cli.groups import LazyGroup

_COMMANDS: dict[str, str] = {}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Check the labels of a data set with people."""
