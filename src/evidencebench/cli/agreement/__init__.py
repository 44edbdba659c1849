"""``evidencebench agreement``: check the labels of a data set with people, one command a file.

In reading order:

* `annotate`: cli/agreement/annotate
* `printing`: cli/agreement/printing
* `report`: cli/agreement/report
* `sample`: cli/agreement/sample
"""

import click

from evidencebench.cli.main import LazyGroup

_COMMANDS = {
    "sample": "Draw what people are asked, blind, also for other tools.",
    "annotate": "Let people annotate TASKS in a browser, and adjudicate.",
    "report": "Report how people agree with each other and with the model.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Check the labels of a data set with people."""
