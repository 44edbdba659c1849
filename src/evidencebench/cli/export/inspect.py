"""``evidencebench export inspect``."""

from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, progress, refuse_existing, require_file
from evidencebench.data.dataset import open_dataset
from evidencebench.provenance import require_extra
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def command(
    *,
    run: Annotated[Path, argument()],
    data: options.Data,
    tasks: options.Tasks,
    output: Annotated[Path, options.output("LOG", "The log: a name in .eval.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace LOG where it exists.")],
    rules: options.RulesChoice,
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Write RUN, scored, as a log of inspect_ai, for its viewer.

    A sample is an instance, with the sentences that RUN chose and a score for
    each task: aspect recall, as 'score' computes it. Failed and missing answers
    score 0 and are counted. Standard errors are clustered by review or paper.

    \b
    Examples:
      evidencebench export inspect bm25.jsonl --data sample -o bm25.eval
      inspect view --log-dir .
    """
    require_extra("export inspect", "inspect", "inspect_ai")
    from evidencebench.integrations.inspect_ai import log_of_run, write_log  # noqa: PLC0415 - an extra

    require_file(output, "cannot be a log of inspect_ai")
    refuse_existing(output, overwrite=overwrite)
    with progress(f"exporting {run.name}", progress_style) as on_progress:
        log = log_of_run(run, open_dataset(data), tasks, rules=rules, on_progress=on_progress)
        write_log(log, output)
    figures = {
        score.name: {name: metric.value for name, metric in score.metrics.items()} for score in log.results.scores
    }
    if as_json:
        print_json({"log": str(output), "samples": len(log.samples), "scores": figures})
        return
    click.echo(f"{printable(str(output))}: {counted(len(log.samples), 'sample')}")
    for name, values in figures.items():
        click.echo(f"  {name}: aspect recall {100 * values['mean']:.1f} +- {100 * values['stderr']:.1f} %")
    click.echo(f"next: inspect view --log-dir {printable(str(output.parent))}")
