"""``evidencebench audit``: find out which misses of a run are its own fault, one command a file."""

import click

from evidencebench.cli.groups import LazyGroup

_COMMANDS: dict[str, str] = {}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Find out which misses of a run are its own fault."""
