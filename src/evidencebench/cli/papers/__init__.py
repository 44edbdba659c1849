"""``evidencebench papers``: files of papers, one command a file.

The commands: `fetch` and `show`.
"""

import click

from evidencebench.cli.groups import LazyGroup

_COMMANDS = {
    "fetch": "Fetch open-access papers from Europe PMC, by their ids.",
    "show": "Show what is read from files of papers.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Fetch the files of papers, and show what is read from them."""
