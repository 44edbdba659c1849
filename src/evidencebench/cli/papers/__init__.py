"""``evidencebench papers``: files of papers.

The files: `fetch`, `show`.
"""

from evidencebench.cli.main import LazyGroup

command = LazyGroup(
    "papers",
    package=__name__,
    lines={
        "fetch": "Fetch open-access papers from Europe PMC, by their ids.",
        "show": "Show what is read from files of papers.",
    },
    help="Fetch the files of papers, and show what is read from them.",
)
