"""``evidencebench data``: everything about the data files themselves, one command a file.

In reading order:

* `convert`: cli/data/convert
* `download`: cli/data/download
* `list`: cli/data/list
* `show`: cli/data/show
* `solve`: cli/data/solve
* `stats`: cli/data/stats
* `validate`: cli/data/validate
"""

import click

from evidencebench.cli.main import LazyGroup

_COMMANDS = {
    "convert": "Write a data set in the form that OUTPUT's suffix names.",
    "download": "Fetch official data, resuming and checking size and sha256.",
    "list": "List the known data sets, and which of them are here.",
    "show": "Show one instance, or without ID a line an instance.",
    "solve": "Derive all four optima of a data set, exactly, into a copy.",
    "stats": "Describe a data set in numbers.",
    "validate": "Report every violation of the format, with its place.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Validate, describe, show, solve, convert, download data.

    D is a file (.json, .jsonl, .gz of either, or .parquet), a folder of such files or
    a pattern in quotes ('shards/*.parquet'), or a catalogue name: sample, train, dev,
    test, 100k-train, 100k-test.
    """
