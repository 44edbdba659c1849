"""``evidencebench agreement report``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.agreement.printing import print_mark_report, print_ratings
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import OutputFile, print_json, progress, refuse_existing, require_file
from evidencebench.construction.people.agreement import disagreement_table, report_marks, report_ratings
from evidencebench.construction.people.exchange import collect_annotations
from evidencebench.construction.people.marks import collect_marks
from evidencebench.construction.people.tasks import read_tasks
from evidencebench.data.dataset import open_dataset
from evidencebench.files.atomic import write_whole
from evidencebench.pages.disagreements import disagreements_page
from evidencebench.tables import as_csv, printable

DEFAULT_MARGIN = 0.05


class _Team(click.ParamType[tuple[str, tuple[str, ...]]]):
    name = "team"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        team, _, members = value.partition("=")
        names = tuple(name.strip() for name in members.split(",") if name.strip())
        if not team.strip() or not names:
            self.fail(f"expected NAME=MEMBER,MEMBER, got {value!r}", param, ctx)
        return team.strip(), names


@options.command
def command(
    *,
    sources: Annotated[tuple[Path, ...], argument("SOURCE...", required=True)],
    tasks_file: Annotated[Path, option("--tasks FILE", "The tasks.")],
    data: Annotated[
        str | None,
        options.data_option("The data set with the model's labels; without it, only people are compared."),
    ],
    model_name: Annotated[str, option("--model-name NAME", "What to call the labels.")] = "model",
    teams: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        option("--team T=A,B", "Annotators who stand as one; repeatable.", _Team()),
    ],
    margin: Annotated[
        float,
        option(
            "--margin SHARE",
            "Differences up to it count as equivalent: 0.05 is 5 points.",
            options.Finite(0, 1, min_open=True, max_open=True),
        ),
    ] = DEFAULT_MARGIN,
    disagreements: Annotated[
        Path | None,
        option(
            "--disagreements FILE", "Write all disagreements: as CSV, or as a page if FILE ends in .html.", OutputFile()
        ),
    ],
    overwrite: Annotated[bool, option("--overwrite", "Replace the file of disagreements.")],
    resampling: options.ResamplingChoice,
    as_json: options.AsJson,
    table_format: Annotated[str, options.output_format("text", "markdown", "latex")],
    progress_style: options.ProgressStyle,
) -> None:
    """Report how people agree with each other and with the model.

    SOURCE is a folder of 'agreement annotate', or what people filled in elsewhere:
    the JSON export of Label Studio, or a CSV (its name is the annotator's, unless
    the column annotator is filled).

    Intervals are studentised bootstraps over papers. Equivalence is shown where
    both one-sided tests reject a difference beyond the margin at the 5 % level;
    choose the margin before you look. A team marks what at least half of its
    members mark.

    \b
    Examples:
      evidencebench agreement report people/ --tasks tasks.jsonl --data D
      evidencebench agreement report ada.csv bo.csv --tasks tasks.jsonl \\
        --data D --margin 0.1 --disagreements differ.csv
    """
    tasks = read_tasks(tasks_file)
    if len(dict(teams)) < len(teams):
        raise click.UsageError("--team: expected each team once")
    if disagreements:
        require_file(disagreements, "has the report", "--disagreements")
        refuse_existing(disagreements, overwrite=overwrite)
    collected = collect_annotations(sources, tasks)
    for problem in collected.problems:
        click.echo(f"warning: {printable(problem)}", err=True)
    if tasks.header.sort != "sentences":
        if disagreements or teams or data:
            raise click.UsageError("--data, --team, --disagreements: expected tasks of the sort 'sentences'")
        rated = report_ratings(tasks, collected.annotations, resampling.level)
        if as_json:
            print_json({**asdict(rated), "warnings": collected.problems})
        else:
            print_ratings(rated, tasks.header.criteria, table_format)
        return
    with progress("comparing", progress_style):
        dataset = None if data is None else open_dataset(data)
        marks = collect_marks(tasks, collected.annotations, dataset=dataset, model_name=model_name, teams=dict(teams))
        report = report_marks(marks, resampling=resampling, margin=margin)
    if disagreements:
        if disagreements.suffix == ".html":
            text = disagreements_page(report.disagreements, title=f"Disagreements in {tasks_file.name}")
        else:
            text = f"{as_csv(disagreement_table(report.disagreements, marks.raters))}\n"
        write_whole(disagreements, text)
    if as_json:
        print_json({**asdict(report), "warnings": collected.problems})
    else:
        print_mark_report(report, resampling, table_format, is_default_margin=margin == DEFAULT_MARGIN)
