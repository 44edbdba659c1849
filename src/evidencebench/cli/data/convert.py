"""``evidencebench data convert``."""

from pathlib import Path

import click

from evidencebench.cli import options
from evidencebench.cli.output import OutputFile, refuse_existing, tell_written
from evidencebench.cli.progress import progress
from evidencebench.data.dataset import open_dataset, write_dataset
from evidencebench.wording import counted


@click.command(name="convert")
@options.data_argument
@click.argument("output", type=OutputFile())
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT where it exists.")
@options.progress_style
def command(*, data: str, output: Path, overwrite: bool, progress_style: str) -> None:
    """Write a data set in the form that OUTPUT's suffix names.

    .json, .jsonl, .json.gz or .jsonl.gz; - is standard output, an instance a line.
    Nothing is lost: what this version does not know is kept.

    \b
    Example: evidencebench data convert sample sample.jsonl.gz
    """
    refuse_existing(output, overwrite=overwrite)
    with progress(f"converting {data}", progress_style):
        n_written = write_dataset(output, open_dataset(data))
    tell_written(output, f"{output}: {counted(n_written, 'instance')}")
