"""``evidencebench construct assemble``."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_cautions, print_json, print_table, progress
from evidencebench.construction.assemble import assemble, split_table
from evidencebench.construction.config import AssemblySettings, SplitBy, checked_name, checked_shares
from evidencebench.construction.draft import DATASET_FOLDER, MANIFEST, open_drafts, output_of
from evidencebench.construction.losses import loss_table
from evidencebench.data.dataset import open_dataset
from evidencebench.files.atomic import require_replaceable_folder
from evidencebench.tables import printable
from evidencebench.wording import counted

_NAME = options.Parsed("name", checked_name)
_DEFAULT_SHARES = {"default": "train=0.8,dev=0.1,test=0.1", "show_default": True}
_SHARE = re.compile(r"(\w+)=([0-9]{1,9}(?:\.[0-9]{1,9}|/[1-9][0-9]{0,8})?)", re.ASCII)


def _shares(text: str) -> Mapping[str, Fraction]:
    """Return split -> share, exactly as written."""
    matches = [_SHARE.fullmatch(share.strip()) for share in text.split(",")]
    shares = {match[1]: Fraction(match[2]) for match in matches if match}
    if len(shares) != len(matches):
        raise ValueError(f"expected shares such as train=0.8,dev=0.1,test=0.1 or a=1/3,b=2/3, got '{text}'")
    return checked_shares(shares)


@options.command
def assemble_(
    *,
    work: Annotated[Path, argument(type=options.EXISTING_FOLDER)],
    papers: Annotated[Path, option("--papers FOLDER", "The papers.", options.FOLDER)],
    name: Annotated[str, option("--name NAME", "Of the data set; ids begin with it.", _NAME)],
    output: Annotated[Path | None, options.output("DATASET", "The folder. [default: WORK/dataset]", options.FOLDER)],
    shares: Annotated[
        Mapping[str, Fraction],
        option("--shares SHARES", "Splits and their shares.", options.Parsed("shares", _shares), **_DEFAULT_SHARES),
    ],
    split_by: Annotated[SplitBy, option("--split-by", "Papers and reviews stay in one split, or only papers.")],
    seed: options.Seed,
    against: Annotated[
        tuple[str, ...],
        option("--against D", "Leave out what this data has; repeatable.", shell_complete=options.complete_data),
    ],
    made_on: Annotated[
        datetime | None, option("--date YYYY-MM-DD", "Of the datasheet. [default: today]", click.DateTime(["%Y-%m-%d"]))
    ],
    overwrite: Annotated[bool, option("--overwrite", "Replace a data set that is there.")],
    place: options.WorkPlaceChoice,
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> int:
    """Make the data set: splits, optima, datasheet.

    Reads WORK/filtered.jsonl. DATASET gets a file for each split, in the published
    format with all optima, dropped.csv (what each step dropped, and why), a
    datasheet, and a manifest with checksums. No paper and no review is in two
    splits. Exit code 1: an optimum could not be proven.

    \b
    Example:
      evidencebench construct assemble work --papers papers --name tea \\
          --against train --against dev
    """
    folder = output or work / DATASET_FOLDER
    require_replaceable_folder(folder, marker=MANIFEST, overwrite=overwrite)
    source = open_drafts(output_of("filter", work))
    settings = AssemblySettings(
        name=name,
        made_on=made_on.date() if made_on else date.today(),  # noqa: DTZ011 - the user's day
        shares=shares,
        split_by=split_by,
        seed=seed,
    )
    with progress("assembling", progress_style) as on_progress:
        report = assemble(
            source,
            papers,
            folder,
            settings,
            against=[open_dataset(name) for name in against],
            overwrite=overwrite,
            **place,
            on_progress=on_progress,
        )
    if as_json:
        print_json(report)
    else:
        print_cautions(report.warnings)
        print_table(loss_table(report.steps))
        print_table(split_table(report.splits))
        click.echo(f"{report.folder}: {counted(report.n_instances, 'instance')}")
        for instance_id, tasks in report.unproven.items():
            click.echo(f"  not proven: {printable(instance_id)}: {', '.join(tasks)}")
    return 1 if report.unproven else 0
