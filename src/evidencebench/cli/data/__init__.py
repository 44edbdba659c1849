"""``evidencebench data``: everything about the files themselves, one command a file."""

import click

from evidencebench.cli.data import convert, download, known, show, solve, stats, validate


@click.group
def command() -> None:
    """Validate, describe, show, solve, convert, download data.

    D is a file (.json, .jsonl, or .gz of either) or a catalogue name: sample,
    train, dev, test, 100k-train, 100k-test.
    """


for _module in (convert, download, known, show, solve, stats, validate):
    command.add_command(_module.command)
