"""``evidencebench export every-eval-ever``."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, get_args

import click

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_json
from evidencebench.cli.scoring_options import ExportScoring
from evidencebench.integrations.score_records import Evaluator, Relationship, write_records
from evidencebench.tables import printable


@options.command
def command(
    *,
    runs: options.Runs,
    scoring: ExportScoring,
    organization: Annotated[str, option("--organization NAME", "Who evaluates.")],
    relationship: Annotated[
        Any,
        options.choice(
            "--relationship", "Relation of the evaluator to the maker of the system.", reversed(get_args(Relationship))
        ),
    ],
    model: Annotated[
        str | None, option("--model ORG/NAME", "What the collection calls the system; by default from the run.")
    ],
    output: Annotated[Path, options.output("FOLDER", "The datastore.")],
    as_json: options.AsJson,
) -> None:
    """Write scores of RUNs as records of Every Eval Ever.

    A record (schema 0.3.0) holds aspect recall on each task with its interval, the
    number of instances, the counts of answers, the checksum of the data, and the
    system with all options: FOLDER/data/evidencebench/ORG/NAME/UUID.json.

    \b
    Example:
      evidencebench export every-eval-ever bm25.jsonl --data sample \\
          --organization 'My Lab' -o datastore
    """
    evaluator = Evaluator(organization=organization, relationship=relationship, model=model)
    scored, _ = scoring.score(runs)
    paths = write_records(output, scored, evaluator, scoring.resampling, now=datetime.now(UTC))
    if as_json:
        print_json({"records": [str(path) for path in paths]})
        return
    for path in paths:
        click.echo(printable(str(path)))
