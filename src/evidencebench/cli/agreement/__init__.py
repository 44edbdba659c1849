"""``evidencebench agreement``: check the labels of a data set with people.

The files: `annotate`, `report`, `sample`.
"""

from evidencebench.cli.main import LazyGroup

command = LazyGroup(
    "agreement",
    package=__name__,
    lines={
        "sample": "Draw what people are asked, blind, also for other tools.",
        "annotate": "Let people annotate TASKS in a browser, and adjudicate.",
        "report": "Report how people agree with each other and with the model.",
    },
    help="Check the labels of a data set with people.",
)
