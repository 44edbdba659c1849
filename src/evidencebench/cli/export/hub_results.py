"""``evidencebench export hub-results``."""

from pathlib import Path
from typing import Annotated

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, refuse_existing, require_file, tell_written
from evidencebench.cli.scoring_options import ExportScoring
from evidencebench.files.atomic import write_whole
from evidencebench.integrations.score_records import as_yaml, hub_entries, scored_tasks
from evidencebench.provenance import require_extra
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def command(
    *,
    run: Annotated[Path, argument()],
    scoring: ExportScoring,
    dataset_id: Annotated[str, option("--dataset ID", "The data's name on the Hub: ORG/NAME.")],
    output: Annotated[Path, options.output("FILE", "The YAML file; - prints it.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace FILE where it exists.")],
    as_json: options.AsJson,
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
    scored, _ = scoring.score([run])
    ((label, opened),) = scored.runs.items()
    evaluated = opened.header.created if opened.header is not None else None
    scores = list(scored_tasks(scored, label, scoring.resampling))
    entries = hub_entries(scores, scored.dataset, dataset_id=dataset_id, evaluated=evaluated)
    write_whole(output, as_yaml(entries))
    if as_json:
        print_json({"output": str(output), "entries": entries})
    else:
        tell_written(output, f"{printable(str(output))}: {counted(len(entries), 'entry', 'entries')}")
