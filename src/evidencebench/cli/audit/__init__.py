"""``evidencebench audit``: find out which misses of a run are not its own fault.

The files: `report`, `review`, `sample`.
"""

from evidencebench.cli.main import LazyGroup

command = LazyGroup(
    "audit",
    package=__name__,
    lines={
        "sample": "Draw misses of RUN for people to look at.",
        "review": "Let people say the cause of each miss in a browser.",
        "report": "Say by cause what people found, and correct the score.",
    },
    help="Find out which misses of RUN are not its own fault.",
)
