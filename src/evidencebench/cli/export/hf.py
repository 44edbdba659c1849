"""``evidencebench export hf``."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, progress
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.errors import DataError
from evidencebench.integrations.hugging_face import HubSplit, known_entry, licence_of, write_hf
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def command(
    *,
    data: Annotated[str | None, argument("[D]", shell_complete=options.complete_data)],
    splits: Annotated[tuple[str, ...], option("--split NAME=D", "A split and its data; repeatable, without D.")],
    licences: Annotated[
        tuple[str, ...],
        option("--licence [NAME=]L", "The licence of unknown data, or of one split, such as CC-BY-4.0; repeatable."),
    ],
    output: Annotated[Path, options.output("FOLDER", "The folder.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace a folder that this command wrote.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Write data as a folder that load_dataset of Hugging Face opens.

    data/ has Parquet files of 10,000 instances each, README.md is the data card,
    croissant.json the metadata for mlcroissant. Licences of the published splits
    are known; those of other data must be named.

    \b
    Examples:
      evidencebench export hf sample -o my-data
      evidencebench export hf --split train=train --split dev=dev -o original
      evidencebench export hf mine.json --licence CC-BY-4.0 -o my-data
    """
    if (data is None) == (not splits):
        raise click.UsageError("expected either D, or --split NAME=D for each split")
    named = {"": data} if data is not None else _by_name("--split", splits)
    opened = {name: open_dataset(path) for name, path in named.items() if path is not None}
    if "" in opened:  # a single split has its own name where it is published, else that which tools expect
        entry = known_entry(opened[""])
        opened = {"train" if entry is None else entry.name.rpartition("-")[2]: opened[""]}
    given = _by_name("--licence", licences, may_be_unnamed=True)
    if unknown := sorted(given.keys() - opened.keys() - {""}):
        raise click.UsageError(f"--licence: no split '{unknown[0]}'; expected one of {', '.join(opened)}")
    hub_splits = [
        HubSplit(name=name, dataset=dataset, licence=_licence(name, dataset, given)) for name, dataset in opened.items()
    ]
    with progress("exporting", progress_style) as on_progress:
        written = write_hf(
            output, hub_splits, published_on=datetime.now(UTC).date(), overwrite=overwrite, on_progress=on_progress
        )
    if as_json:
        print_json({"output": str(output), "splits": msgspec.to_builtins(written)})
        return
    click.echo(f"{printable(str(output))}:")
    for split in written:
        files = f"{counted(len(split.shards), 'file')} of {split.n_bytes:,} bytes"
        click.echo(f"  {split.name}: {counted(split.n_instances, 'instance')}, {files}, {printable(split.licence)}")


def _by_name(option: str, given: Sequence[str], *, may_be_unnamed: bool = False) -> dict[str, str]:
    """Return name -> value of values such as ``train=FILE``; the name of one without is empty."""
    values: dict[str, str] = {}
    for text in given:
        named = re.fullmatch(r"(\w+)=(.+)", text, re.ASCII | re.DOTALL)
        if named is None and not may_be_unnamed:
            raise click.UsageError(f"{option}: expected NAME=D, such as train=train, got '{printable(text)}'")
        name, value = (named[1], named[2]) if named else ("", text)
        if name in values:
            raise click.UsageError(f"{option}: expected one value a split, got two{f' for {name}' if name else ''}")
        values[name] = value
    return values


def _licence(name: str, dataset: Dataset, given: Mapping[str, str]) -> str:
    known, named = licence_of(dataset), given.get(name, given.get(""))
    if known is not None and name in given and given[name] != known:
        raise DataError(f"split '{name}': {dataset.path} is published under {known}, not {given[name]}")
    if licence := known or named:
        return licence
    raise DataError(
        f"split '{name}': the licence of {dataset.path} is not known; name it with --licence {name}=LICENCE"
    )
