"""``evidencebench agreement``: check the labels of a data set with people, one command a file.

The commands: `sample`, `annotate`, and `report`, which prints with `printing`.
"""

import click

from evidencebench.cli.groups import LazyGroup

_COMMANDS = {
    "sample": "Draw what people are asked, blind, also for other tools.",
    "annotate": "Let people annotate TASKS in a browser, and adjudicate.",
    "report": "Report how people agree with each other and with the model.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Check the labels of a data set with people."""
