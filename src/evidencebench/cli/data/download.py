"""``evidencebench data download``."""

import os
from pathlib import Path
from typing import Any

import click

from evidencebench.cli import options
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


@click.command(name="download")
@click.argument("names", nargs=-1, required=True, type=_Name(), metavar="NAME...")
@click.option("--mirror", metavar="URL", help="Base address of a mirror that holds the files.")
@click.option("--url", metavar="URL", help="The whole address of the file.")
@click.option("--from-file", type=options.FILE, metavar="FILE", help="Take a local file instead.")
@click.option("--folder", type=options.PATH, help="Where to keep it; default: see 'data list'.")
@options.number("--attempts", most=100, default=5, help="Tries, each resuming.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@options.progress_style
def command(
    *,
    names: tuple[str, ...],
    mirror: str | None,
    url: str | None,
    from_file: Path | None,
    folder: Path | None,
    attempts: int,
    force: bool,
    progress_style: str,
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
