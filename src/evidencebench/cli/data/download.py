"""``evidencebench data download``."""

import os
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import progress, prose_width
from evidencebench.data.catalog import CATALOG
from evidencebench.data.download import fetch
from evidencebench.files.places import data_folder
from evidencebench.wording import did_you_mean


class _Name(click.Choice[str]):
    """A name of the catalogue of official data."""

    def __init__(self) -> None:
        super().__init__(list(CATALOG))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in CATALOG:
            self.fail(f"no data set '{value}'{did_you_mean(value, CATALOG)}; expected one of {', '.join(CATALOG)}")
        return super().convert(value, param, ctx)


@options.command
def command(
    *,
    names: Annotated[tuple[str, ...], argument("NAME...", required=True, kind=_Name())],
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
    if len(names) > 1 and (url or from_file):
        raise click.UsageError("--url and --from-file name one file, so they take one NAME")
    folder = folder or data_folder(os.environ)
    for name in names:
        entry = CATALOG[name]
        with progress(name, progress_style) as on_progress:
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
        click.echo(click.wrap_text(f"licence: {entry.licence}. {entry.note}", prose_width(), "  ", "  "))
