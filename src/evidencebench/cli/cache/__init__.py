"""``evidencebench cache``: what is kept between runs, one command a file.

In reading order:

* `list`: cli/cache/list
* `places`: cli/cache/places
* `prune`: cli/cache/prune
"""

import click

from evidencebench.cli.main import LazyGroup

_COMMANDS = {
    "list": "List what is kept: replies, embeddings, open batches.",
    "prune": "Remove what is kept, and give its space back.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """List and prune what is kept between runs.

    Replies of language models, which cost money, and embeddings, which cost
    time, are kept in one folder: EVIDENCEBENCH_CACHE, by default
    ~/.cache/evidencebench; 'off' keeps nothing. Any number of processes may
    use it at once.
    """
