"""``evidencebench data``: everything about the data files themselves.

The files: `convert`, `download`, `list`, `show`, `solve`, `stats`, `validate`.
"""

from evidencebench.cli.main import LazyGroup

command = LazyGroup(
    "data",
    package=__name__,
    lines={
        "convert": "Write a data set in the form that OUTPUT's suffix names.",
        "download": "Fetch official data, resuming and checking size and sha256.",
        "list": "List the known data sets, and which of them are here.",
        "show": "Show one instance, or without ID a line an instance.",
        "solve": "Derive all four optima of a data set, exactly, into a copy.",
        "stats": "Describe a data set in numbers.",
        "validate": "Report every violation of the format, with its place.",
    },
    help="""Validate, describe, show, solve, convert, download data.

D is a file (.json, .jsonl, .gz of either, or .parquet), a folder of such files or
a pattern in quotes ('shards/*.parquet'), or a catalogue name: sample, train, dev,
test, 100k-train, 100k-test.
""",
)
