"""``evidencebench data solve``."""

from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import OutputFile, print_json, progress, refuse_existing, require_file
from evidencebench.data.dataset import open_dataset
from evidencebench.data.optima import solve_file
from evidencebench.tables import printable
from evidencebench.wording import counted

_MAX_SHOWN = 20


@options.command
def command(
    *,
    data: options.DataArgument,
    output: Annotated[Path, option("-o, --output", "The copy to write.", OutputFile())],
    overwrite: Annotated[bool, option("--overwrite", "Replace the copy where it exists.")],
    place: options.WorkPlaceChoice,
    max_errors: options.MaxErrors,
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> int:
    """Derive all four optima of a data set, exactly, into a copy.

    After an interruption, run the same command again to resume. Other instances are
    solved where one fails, and the next run tries that again. Exit code 1: an optimum
    could not be proven, or an instance failed and no copy was written.

    \b
    Example: evidencebench data solve labels.json -o solved.json --jobs 2
    """
    require_file(output, "cannot be resumed after an interruption")
    refuse_existing(output, overwrite=overwrite)
    with progress("solving", progress_style) as on_progress:
        report = solve_file(
            open_dataset(data),
            output,
            jobs=place.jobs,
            engine=place.engine,
            max_errors=max_errors,
            on_progress=on_progress,
        )
    if as_json:
        print_json({"output": str(output), **asdict(report)})
    elif report.failed:
        n_failed, n_all = counted(len(report.failed), "instance"), f"{report.n_instances:,}"
        click.echo(
            f"error: {output}: not written: {n_failed} of {n_all} failed; the same command tries again", err=True
        )
        for instance_id, why in islice(report.failed.items(), _MAX_SHOWN):
            click.echo(f"  failed: {printable(instance_id)}: {printable(why)}", err=True)
        if len(report.failed) > _MAX_SHOWN:
            click.echo(f"  ... and {len(report.failed) - _MAX_SHOWN} more; --json lists them all", err=True)
    else:
        resumed = f", {report.n_resumed} of them by an earlier call" if report.n_resumed else ""
        click.echo(
            f"{output}: {counted(report.n_instances, 'instance')} solved{resumed}; {len(report.unproven)} not proven"
        )
        for instance_id, tasks in report.unproven.items():
            click.echo(f"  not proven: {printable(instance_id)}: {', '.join(tasks)}")
    return 1 if report.unproven or report.failed else 0
