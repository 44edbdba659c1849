"""``evidencebench audit``: find out which misses of a run are not its own fault, one command a file.

In reading order:

* `report`: cli/audit/report
* `review`: cli/audit/review
* `sample`: cli/audit/sample
"""

import click

from evidencebench.cli.main import LazyGroup

_COMMANDS = {
    "sample": "Draw misses of RUN for people to look at.",
    "review": "Let people say the cause of each miss in a browser.",
    "report": "Say by cause what people found, and correct the score.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Find out which misses of RUN are not its own fault."""
