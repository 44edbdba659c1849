"""``evidencebench papers``: files of papers, one command a file.

In reading order:

* `fetch`: cli/papers/fetch
* `show`: cli/papers/show
"""

import click

from evidencebench.cli.main import LazyGroup

_COMMANDS = {
    "fetch": "Fetch open-access papers from Europe PMC, by their ids.",
    "show": "Show what is read from files of papers.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Fetch the files of papers, and show what is read from them."""
