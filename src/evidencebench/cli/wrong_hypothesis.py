"""``evidencebench wrong-hypothesis``."""

import click

from evidencebench.answering import default_tasks
from evidencebench.cli.compare import print_comparisons
from evidencebench.cli.options import (
    data_option,
    format_option,
    json_option,
    limit_option,
    open_data,
    progress_option,
    resampling_options,
    task_options,
)
from evidencebench.cli.output import print_json, print_signatures, progress
from evidencebench.comparison import wrong_hypothesis_control
from evidencebench.reporting import comparison_fields, signature
from evidencebench.runs import SystemHeader
from evidencebench.significance import Resampling, holm
from evidencebench.systems import make_system
from evidencebench.tasks import Task


@click.command
@click.argument("system")
@data_option
@task_options
@limit_option
@resampling_options
@json_option
@format_option
@progress_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    system: str,
    data: str,
    tasks: tuple[Task, ...],
    limit: int | None,
    resampling: Resampling,
    as_json: bool,
    table_format: str,
    progress_style: str,
) -> None:
    """Measure whether SYSTEM uses the hypothesis.

    Each paper is asked its own hypothesis, then another paper's.

    A high score does not show that a system used the hypothesis. If recall stays
    and the selections overlap, it did not. 'first' is its own hypothesis, 'second'
    the wrong one.

    \b
    Example: evidencebench wrong-hypothesis bm25 --data sample
    """
    named = make_system(system, seed=resampling.seed)
    asked = tasks or default_tasks(named)
    dataset = open_data(data)
    with progress("asking", progress_style) as on_progress:
        found = wrong_hypothesis_control(
            named, dataset, asked, limit=limit, resampling=resampling, on_progress=on_progress
        )
    n_failed = sum(one.first_counts.failed + one.second_counts.failed for one in found.values())
    if n_failed:
        click.echo(f"{n_failed} answers failed and score 0; 'evidencebench run {system}' says why", err=True)
    if as_json:
        print_json({name: comparison_fields(one, ("own", "wrong")) for name, one in found.items()})
        ctx.exit(1 if n_failed else 0)
    compared = [(f"{system}, own hypothesis", f"{system}, wrong hypothesis", one) for one in found.values()]
    print_comparisons(compared, holm([one.test.p_value for one in found.values()]), table_format)
    if table_format == "text":
        click.echo("Recall that stays, on selections that overlap, is not the hypothesis's doing.\n")
    label = f"{SystemHeader(name=named.name, options=dict(named.options)).signature}[own - wrong hypothesis]"
    signatures = (
        signature(dataset, label, task=one.task, n=one.test.difference.n, resampling=resampling)
        for one in found.values()
    )
    print_signatures(signatures, table_format)
    ctx.exit(1 if n_failed else 0)
