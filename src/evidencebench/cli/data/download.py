"""``evidencebench data download``."""

import os
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_prose, progress
from evidencebench.data.catalog import CATALOG, CatalogEntry
from evidencebench.data.download import fetch
from evidencebench.files.places import data_folder
from evidencebench.wording import did_you_mean


def _entry(name: str) -> CatalogEntry:
    if name not in CATALOG:
        raise ValueError(f"no data set '{name}'{did_you_mean(name, CATALOG)}; expected one of {', '.join(CATALOG)}")
    return CATALOG[name]


@options.command
def command(
    *,
    entries: Annotated[
        tuple[CatalogEntry, ...],
        argument(
            "NAME...", options.Parsed("name", _entry), required=True, shell_complete=options.completer(lambda: CATALOG)
        ),
    ],
    mirror: Annotated[str | None, option("--mirror URL", "Base address of a mirror that holds the files.")],
    url: Annotated[str | None, option("--url URL", "The whole address of the file.")],
    from_file: Annotated[Path | None, option("--from-file FILE", "Take a local file instead.", options.FILE)],
    folder: Annotated[Path | None, option("--folder", "Where to keep it; default: see 'data list'.")],
    attempts: Annotated[int, options.number("--attempts N", "Tries, each resuming.", most=100)] = 5,
    force: Annotated[bool, option("--force", "Replace a file that is there.")],
    progress_style: options.ProgressStyle,
) -> None:
    """Fetch official data, resuming and checking size and sha256.

    NAME is train, dev, test, 100k-train or 100k-test. The files keep their own
    licences; they are never part of this package.

    \b
    Examples:
      evidencebench data download train dev test
      evidencebench data download test --mirror https://mirror.example/data
      evidencebench data download test --from-file evidencebench_test_set.json
    """
    if len(entries) > 1 and (url or from_file):
        raise click.UsageError("--url and --from-file name one file, so they take one NAME")
    folder = folder or data_folder(os.environ)
    for entry in entries:
        with progress(entry.name, progress_style) as on_progress:
            fetched = fetch(
                entry,
                folder,
                mirror=mirror,
                url=url,
                source_file=from_file,
                attempts=attempts,
                force=force,
                progress=on_progress,
            )
        checked = "checked" if fetched.verified else "not known to this version, computed"
        click.echo(f"{fetched.path}\n  {fetched.size_bytes} bytes; sha256 {checked}:\n  {fetched.sha256}")
        print_prose(f"licence: {entry.licence}. {entry.note}", "  ", "  ")
