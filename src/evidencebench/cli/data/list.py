"""``evidencebench data list``."""

import os
from dataclasses import asdict
from pathlib import Path

from evidencebench.cli import options
from evidencebench.cli.output import print_json, print_prose, print_table
from evidencebench.data.catalog import CATALOG, CatalogEntry
from evidencebench.data.sample import load_sample, sample_path
from evidencebench.files.places import data_folder
from evidencebench.tables import Cell, Table


@options.command
def command(*, as_json: options.AsJson, table_format: options.TableFormat) -> None:
    """List the known data sets, and which of them are here.

    \b
    Example: evidencebench data list
    """
    folder = data_folder(os.environ)
    if as_json:
        print_json(
            [
                {"name": "sample", "n_instances": len(load_sample()), "licence": "MIT", "path": str(sample_path())},
                *({**asdict(entry), "path": _local_path(entry, folder)} for entry in CATALOG.values()),
            ]
        )
        return
    rows: list[list[Cell]] = [["sample", len(load_sample()), "MIT, synthetic", "comes with the package"]]
    rows += [
        [entry.name, entry.n_instances, entry.licence, "here" if _local_path(entry, folder) else "not downloaded"]
        for entry in CATALOG.values()
    ]
    print_table(Table(columns=["name", "instances", "licence", "state"], rows=rows), table_format)
    if table_format == "text":
        print_prose(f"kept in {folder} (set EVIDENCEBENCH_DATA to change)")


def _local_path(entry: CatalogEntry, folder: Path) -> str | None:
    path = folder / entry.file_name
    return str(path) if path.exists() else None
