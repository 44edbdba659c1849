"""``evidencebench cache``: what is kept between runs, one command a file."""

import click

from evidencebench.cli.cache import export, prune, show


@click.group
def command() -> None:
    """List, prune and export what is kept between runs.

    Replies of language models, which cost money, and embeddings, which cost
    time, are kept in one folder: EVIDENCEBENCH_CACHE, by default
    ~/.cache/evidencebench; 'off' keeps nothing. Any number of processes may
    use it at once.
    """


for _module in (show, prune, export):
    command.add_command(_module.command)
