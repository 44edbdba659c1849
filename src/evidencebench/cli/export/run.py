"""``evidencebench export run``."""

from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, refuse_existing
from evidencebench.errors import DataError
from evidencebench.files.atomic import write_whole
from evidencebench.runs.formats import content_of_run, n_answers_in, write_parquet_run
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def command(
    *,
    run: Annotated[Path, argument()],
    output: Annotated[Path, options.output("FILE", "Ends in .parquet or .jsonl.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace FILE where it exists.")],
    as_json: options.AsJson,
) -> None:
    """Write a run in the form that FILE's suffix names.

    .parquet or .jsonl. Parquet has an answer a row: id, task, sentences, scores,
    ordered, notes, error. Every command takes it as a run, and the way back gives
    the same answers. A run that is to be resumed is .jsonl.

    \b
    Examples:
      evidencebench export run bm25.jsonl -o bm25.parquet
      evidencebench score bm25.parquet --data sample
      evidencebench export run bm25.parquet -o again.jsonl
    """
    if output.suffix not in {".parquet", ".jsonl"}:
        raise DataError(f"{output}: expected a name that ends in .parquet or .jsonl")
    refuse_existing(output, overwrite=overwrite)
    content = content_of_run(run)
    if output.suffix == ".parquet":
        n_answers = write_parquet_run(output, content, run)
    else:
        n_answers = n_answers_in(content, run)
        write_whole(output, content)
    if as_json:
        print_json({"output": str(output), "n_answers": n_answers})
    else:
        click.echo(f"{printable(str(output))}: {counted(n_answers, 'answer')}")
