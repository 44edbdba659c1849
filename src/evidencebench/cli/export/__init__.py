"""``evidencebench export``: data and runs in the forms that other tools read, one command a file.

The commands: `inspect`, `run` and `trec`.
"""
"""``evidencebench export``: data and runs in the forms that other tools read, one command a file: `hf`, `trec`."""

import click

from evidencebench.cli.groups import LazyGroup

_COMMANDS = {
    "inspect": "Write RUN, scored, as a log of inspect_ai, for its viewer.",
    "run": "Write a run in the form that FILE's suffix names.",
    "hf": "Write data as a folder that load_dataset of Hugging Face opens.",
    "trec": "Write D and RUNs as TREC topics, diversity qrels and runs.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Write data and runs in the forms that other tools read."""
