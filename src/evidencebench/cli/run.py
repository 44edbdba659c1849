"""``evidencebench run``."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import click

from evidencebench.cli.options import (
    data_option,
    jobs_option,
    json_option,
    limit_option,
    open_data,
    progress_option,
    seed_option,
    task_options,
)
from evidencebench.cli.output import print_json, progress
from evidencebench.execution import execute
from evidencebench.tables import printable
from evidencebench.tasks import Task


@click.command
@click.argument("system")
@data_option
@task_options
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="RUN", help="The run file.")
@limit_option
@jobs_option
@click.option(
    "--hypothesis",
    type=click.Choice(["own", "wrong"]),
    default="own",
    show_default=True,
    help="Ask each paper its own hypothesis, or another paper's.",
)
@seed_option
@click.option("--overwrite", is_flag=True, help="Start over where RUN exists; default: go on.")
@click.option("--retry-failed", is_flag=True, help="Ask again for answers that failed.")
@json_option
@progress_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    system: str,
    data: str,
    tasks: tuple[Task, ...],
    output: Path,
    limit: int | None,
    jobs: int,
    hypothesis: Literal["own", "wrong"],
    seed: int,
    overwrite: bool,
    retry_failed: bool,
    as_json: bool,
    progress_style: str,
) -> None:
    """Run SYSTEM over a data set into a run file.

    Each answer is appended as it comes. SYSTEM is a name of 'evidencebench systems', with options as in
    bm25:k1=1.2,b=0.75, or own code as package.module:factory. After an
    interruption, the same command goes on where it stopped.

    \b
    Examples:
      evidencebench run bm25 --data sample -o bm25.jsonl
      evidencebench run bm25 --data sample -o swapped.jsonl --hypothesis wrong
      evidencebench run my_package.systems:make --data train -o mine.jsonl -j 2
    """
    with progress(system, progress_style) as on_progress:
        report = execute(
            system,
            open_data(data),
            output,
            tasks=tasks,
            limit=limit,
            jobs=jobs,
            seed=seed,
            hypothesis=hypothesis,
            overwrite=overwrite,
            retry_failed=retry_failed,
            on_progress=on_progress,
        )
    if as_json:
        print_json({"run": str(output), **asdict(report)})
    else:
        resumed = f", {report.n_resumed} of them already there" if report.n_resumed else ""
        click.echo(f"{output}: {report.n_instances} instances{resumed}; {report.n_failed} answers failed")
        if report.first_error:
            click.echo(f"  first failure: {printable(report.first_error)}", err=True)
            click.echo("  they score 0 and are counted; --retry-failed asks again", err=True)
        if report.trained_on_it:
            click.echo("  trained on this data: its score says nothing of other papers (see crossval)", err=True)
        for name, count in report.notes.items():
            click.echo(f"  {count} {printable(name).replace('_', ' ')}", err=True)
        click.echo(f"next: {shlex.join(['evidencebench', 'score', str(output), '--data', data])}")
    ctx.exit(1 if report.n_failed else 0)
