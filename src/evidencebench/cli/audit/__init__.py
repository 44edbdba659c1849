"""``evidencebench audit``: find out which misses of a run are not its own fault, one command a file.

Read `sample`, `review` and `report`, in the order in which they are called.
"""

import click

from evidencebench.cli.groups import LazyGroup

_COMMANDS = {
    "sample": "Draw misses of RUN for people to look at.",
    "review": "Let people say the cause of each miss in a browser.",
    "report": "Say by cause what people found, and correct the score.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Find out which misses of RUN are not its own fault."""
