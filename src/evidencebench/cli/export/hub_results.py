"""``evidencebench export hub-results``."""

from pathlib import Path

import click

from evidencebench.cli import options
from evidencebench.cli.export.scored_for_export import ExportScoring, export_scoring
from evidencebench.cli.output import print_json, refuse_existing, require_file, tell_written
from evidencebench.files.atomic import write_whole
from evidencebench.integrations.score_records import as_yaml, hub_entries, scored_tasks
from evidencebench.provenance import require_extra
from evidencebench.tables import printable
from evidencebench.wording import counted


@click.command(name="hub-results")
@click.argument("run", type=options.PATH)
@export_scoring
@click.option("--dataset", "dataset_id", required=True, metavar="ID", help="The data's name on the Hub: ORG/NAME.")
@options.output("FILE", "The YAML file; - prints it.")
@options.overwrite("Replace FILE where it exists.")
@options.as_json
def command(
    *, run: Path, scoring: ExportScoring, dataset_id: str, output: Path, overwrite: bool, as_json: bool
) -> None:
    """Write scores of RUN as .eval_results of a model on the Hub.

    An entry a task: aspect recall in %, and in its notes the interval, the number
    of instances, the checksum of the data and the signature. In a model's
    repository the file lies in .eval_results/.

    \b
    Example:
      evidencebench export hub-results bm25.jsonl --data sample \\
          --dataset my-lab/my-data -o evidencebench.yaml
    """
    require_extra("export hub-results", "hf", "huggingface_hub", "yaml")
    if as_json:
        require_file(output, "has the entries themselves, so that --json cannot be printed there")
    refuse_existing(output, overwrite=overwrite)
    scored = scoring.score([run])
    ((label, opened),) = scored.runs.items()
    evaluated = opened.header.created if opened.header is not None else None
    scores = list(scored_tasks(scored, label, scoring.resampling))
    entries = hub_entries(scores, scored.dataset, dataset_id=dataset_id, evaluated=evaluated)
    write_whole(output, as_yaml(entries))
    if as_json:
        print_json({"output": str(output), "entries": entries})
    else:
        tell_written(output, f"{printable(str(output))}: {counted(len(entries), 'entry', 'entries')}")
