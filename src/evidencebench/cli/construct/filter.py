"""``evidencebench construct filter``."""

from pathlib import Path

import click

from evidencebench.cli import options
from evidencebench.cli.construct.stepping import make_room
from evidencebench.cli.output import print_json, print_table
from evidencebench.cli.progress import progress
from evidencebench.construction.assembly.losses import loss_table, losses_of
from evidencebench.construction.draft_file import open_drafts
from evidencebench.construction.filtering import LEAST_COVERED, filter_drafts
from evidencebench.construction.work_folder import input_of, output_of


@click.command(name="filter")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="WORK")
@click.option(
    "--least-covered",
    type=options.Finite(0, 1),
    metavar="SHARE",
    default=LEAST_COVERED,
    show_default=True,
    help="Of a draft's aspects that must have a source sentence.",
)
@click.option("--overwrite", is_flag=True, help="Make the file anew where it exists.")
@options.as_json
@options.progress_style
def command(*, folder: Path, least_covered: float, overwrite: bool, as_json: bool, progress_style: str) -> None:
    """Drop drafts of which too few aspects have a source sentence.

    Reads WORK/results.jsonl, writes WORK/filtered.jsonl. Drafts that are dropped
    stay in the file, with the reason.

    \b
    Example: evidencebench construct filter work
    """
    path = output_of("filter", folder)
    make_room([path] if overwrite else [])
    with progress("filtering", progress_style) as on_progress:
        made = filter_drafts(
            open_drafts(input_of("filter", folder)),
            path,
            least_covered=least_covered,
            on_progress=on_progress,
        )
    losses = losses_of(made)
    if as_json:
        print_json({"output": str(path), **losses.fields()})
    else:
        print_table(loss_table([losses]))
        click.echo(f"{path}")
