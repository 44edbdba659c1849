"""``evidencebench construct harvest``."""

from dataclasses import asdict
from pathlib import Path

import click

from evidencebench.cli import options
from evidencebench.cli.find.inputs import paper_names
from evidencebench.cli.output import print_json, print_table
from evidencebench.cli.progress import progress
from evidencebench.construction.harvest.harvest import PASSAGES_NAME, HarvestReport, harvest
from evidencebench.tables import Table, printable
from evidencebench.wording import counted


@click.command(name="harvest")
@click.argument("reviews", nargs=-1, required=True, type=click.Path(exists=True), metavar="REVIEW...")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    show_default=True,
    metavar="FOLDER",
    help="The work folder, into which passages.jsonl goes.",
)
@click.option("--overwrite", is_flag=True, help="Begin anew where the folder has passages.")
@options.as_json
@options.progress_style
@click.pass_context
def command(
    ctx: click.Context,
    *,
    reviews: tuple[str, ...],
    folder: Path,
    overwrite: bool,
    as_json: bool,
    progress_style: str,
) -> None:
    """Find the passages of reviews that speak of one paper each.

    REVIEW is a review in JATS XML, as PubMed Central has it, or a folder of them.
    Passages are told from citation marks and the list of references; no model is
    asked. Those that cannot be used, such as those on several papers, are kept
    too, with the reason, and counted. Exit code 1: some reviews could not be read.

    \b
    Examples:
      evidencebench construct harvest reviews/ -o work
    """
    paths = [Path(name) for name in paper_names(reviews)]
    with progress("harvesting", progress_style) as on_review:
        report = harvest(paths, folder, overwrite=overwrite, on_review=on_review)
    for message in report.unreadable:
        click.echo(f"error: {printable(message)}", err=True)
    if as_json:
        print_json({"output": str(folder / PASSAGES_NAME), **asdict(report)})
    else:
        _print(report, folder)
    ctx.exit(1 if report.unreadable else 0)


def _print(report: HarvestReport, folder: Path) -> None:
    rows = [("kept", report.n_kept), *(("dropped: " + reason, n) for reason, n in report.dropped.most_common())]
    print_table(Table(columns=("passages", "n"), rows=rows))
    n_read = report.n_reviews - len(report.unreadable)
    click.echo(printable(f"{folder / PASSAGES_NAME}: {counted(n_read, 'review')}"))
