"""``evidencebench export trec``."""

from pathlib import Path
from typing import Annotated

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_cautions, print_json, print_prose, progress
from evidencebench.data.dataset import open_dataset
from evidencebench.integrations.trec import TrecReport, write_trec
from evidencebench.runs.formats import open_run
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def command(
    *,
    data: options.DataArgument,
    runs: Annotated[tuple[Path, ...], argument("[RUN]...")],
    output: Annotated[Path, options.output("FOLDER", "The folder.")],
    tasks: options.Tasks,
    overwrite: Annotated[bool, option("--overwrite", "Replace a folder that this command wrote.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Write D and RUNs as TREC topics, diversity qrels and runs.

    topics.tsv has the hypotheses; qrels.all.txt and qrels.results.txt the labels
    (qid subtopic docno rel: subtopics are aspects); runs/ a file for each RUN. The
    sentence 42 of an instance is the docno instance#00042. Scores of runs are places
    from the end, which never tie.

    StRecall@k of ir_measures is then aspect recall for k up to 20. With --task, a run
    has a file for each task, cut to its budget, so that StRecall@20 is recall at
    budgets that differ by instance too.

    \b
    Examples:
      evidencebench export trec sample -o trec
      evidencebench export trec sample bm25.jsonl -o trec --task er_at_optimal
      evidencebench score trec/runs/bm25.run --data sample
    """
    with progress(f"exporting {data}", progress_style) as on_progress:
        report = write_trec(
            output,
            open_dataset(data),
            [open_run(run) for run in runs],
            tasks,
            overwrite=overwrite,
            on_progress=on_progress,
        )
    print_cautions(_cautions(report))
    if as_json:
        print_json({"output": str(output), **msgspec.to_builtins(report)})
        return
    click.echo(f"{printable(str(output))}: {counted(report.n_topics, 'topic')}")
    for name, n_lines in report.qrels.items():
        click.echo(f"  {name}: {counted(n_lines, 'line')}")
    for name, run in report.runs.items():
        print_prose(printable(f"{name}: {counted(run.n_answers, 'answer')} of {run.system}"), "    ", "  ")


def _cautions(report: TrecReport) -> list[str]:
    """Return what the files of runs cannot hold."""
    cautions = []
    for name, run in report.runs.items():
        if run.n_without:
            answers = counted(run.n_without, "answer")
            cautions.append(f"{name}: {answers} failed or selected nothing, which a TREC file cannot say: no lines")
        if run.n_cut_sets:
            sets = counted(run.n_cut_sets, "set")
            cautions.append(f"{name}: {sets} over the budget cut to the sentences named first; 'score' takes the mean")
        elif run.n_sets:
            sets = counted(run.n_sets, "set")
            cautions.append(f"{name}: {sets} of sentences got an order, that in which they were named")
    return cautions
