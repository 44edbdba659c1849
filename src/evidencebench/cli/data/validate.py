"""``evidencebench data validate``."""

from dataclasses import asdict
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, progress
from evidencebench.data.catalog import data_path
from evidencebench.data.validation import FileReport, count_by_rule, validate_files
from evidencebench.tables import printable
from evidencebench.wording import counted

_MAX_SHOWN = 50


@options.command
def command(
    *,
    files: Annotated[tuple[str, ...], argument("D...", required=True, shell_complete=options.complete_data)],
    optima: Annotated[bool, option("--optima", "Solve every instance again and compare the stored optima.")],
    place: options.WorkPlaceChoice,
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> int:
    """Report every violation of the format, with its place.

    A paper in two of the files is a violation. Exit code 0: valid; 1: violations, or
    an instance could not be checked; 2: a file cannot be read.

    \b
    Examples:
      evidencebench data validate sample --optima
      evidencebench data validate train.json dev.json test.json --json
    """
    paths = [data_path(name) for name in files]
    with progress("validating", progress_style) as on_progress:
        reports = validate_files(paths, optima=optima, jobs=place.jobs, engine=place.engine, on_progress=on_progress)
    is_valid = all(report.is_valid for report in reports)
    if as_json:
        print_json({"valid": is_valid, "files": list(map(_fields, reports))})
    else:
        for report in reports:
            _print_report(report, optima=optima)
    return 0 if is_valid else 1


def _fields(report: FileReport) -> dict[str, Any]:
    return {
        "path": report.path,
        "valid": report.is_valid,
        "n_instances": report.n_instances,
        "n_violations": len(report.violations),
        "n_warnings": len(report.warnings),
        "warnings_by_rule": count_by_rule(report.warnings),
        "unchecked": report.unchecked,
        "violations": list(map(asdict, report.violations)),
        "warnings": list(map(asdict, report.warnings)),
    }


def _print_report(report: FileReport, *, optima: bool) -> None:
    verdict = counted(len(report.violations), "violation") if report.violations else "no violation"
    verdict = "valid" if report.is_valid else verdict
    solved = ", optima solved again" if optima else ""
    click.echo(f"{printable(report.path)}: {counted(report.n_instances, 'instance')}{solved}: {verdict}")
    for violation in report.violations[:_MAX_SHOWN]:
        click.echo(f"  {printable(str(violation))}")
    if len(report.violations) > _MAX_SHOWN:
        click.echo(f"  ... and {len(report.violations) - _MAX_SHOWN} more; --json lists them all")
    for instance_id, why in report.unchecked.items():
        click.echo(f"  not checked: {printable(instance_id)}: {printable(why)}")
    for rule, n in sorted(count_by_rule(report.warnings).items()):
        first = next(warning for warning in report.warnings if warning.rule == rule)
        click.echo(f"  warning, {counted(n, 'time')} (allowed in this dialect), first: {printable(str(first))}")
