"""``evidencebench export every-eval-ever``."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import click

from evidencebench.cli import options
from evidencebench.cli.export.scored_for_export import ExportScoring, export_scoring
from evidencebench.cli.output import print_json
from evidencebench.integrations.score_records import Evaluator, Relationship, write_records
from evidencebench.tables import printable


@click.command(name="every-eval-ever")
@click.argument("runs", nargs=-1, required=True, type=options.PATH, metavar="RUN...")
@export_scoring
@click.option("--organization", required=True, metavar="NAME", help="Who evaluates.")
@options.choice(
    "--relationship",
    choices=reversed(get_args(Relationship)),
    help="How who evaluates stands to who made the system.",
)
@click.option("--model", metavar="ORG/NAME", help="What the collection calls the system; by default from the run.")
@options.output("FOLDER", "The datastore.", type=options.PATH)
@options.as_json
def command(
    *,
    runs: tuple[Path, ...],
    scoring: ExportScoring,
    organization: str,
    relationship: Any,
    model: str | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write scores of RUNs as records of Every Eval Ever.

    A record holds aspect recall on each task with its interval, the number of
    instances, the counts of answers, the checksum of the data, and the system with
    all options. It is written where the datastore expects it:
    FOLDER/data/evidencebench/ORG/NAME/UUID.json, by version 0.3.0 of the schema.

    \b
    Example:
      evidencebench export every-eval-ever bm25.jsonl --data sample \\
          --organization 'My Lab' -o datastore
    """
    evaluator = Evaluator(organization=organization, relationship=relationship, model=model)
    paths = write_records(output, scoring.score(runs), evaluator, scoring.resampling, now=datetime.now(UTC))
    if as_json:
        print_json({"records": [str(path) for path in paths]})
        return
    for path in paths:
        click.echo(printable(str(path)))
