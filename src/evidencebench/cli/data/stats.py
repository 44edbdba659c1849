"""``evidencebench data stats``."""

from collections.abc import Iterable
from dataclasses import asdict

import click

from evidencebench.cli.options import data_argument, format_option, json_option, progress_option
from evidencebench.cli.output import print_json, print_table
from evidencebench.cli.progress import progress
from evidencebench.data.dataset import open_dataset
from evidencebench.data.statistics import Description, Spread, describe
from evidencebench.tables import Cell, Table


@click.command(name="stats")
@data_argument
@json_option
@format_option
@progress_option
def command(*, data: str, as_json: bool, table_format: str, progress_style: str) -> None:
    """Describe a data set in numbers.

    \b
    Example: evidencebench data stats sample
    """
    dataset = open_dataset(data)
    with progress("reading", progress_style) as on_progress:
        found = describe(dataset, on_progress)
    if as_json:
        print_json({"path": str(dataset.path), "sha256": dataset.sha256, **asdict(found)})
        return
    tables = (_counts(found), _spreads(found), _kinds(found))
    if table_format == "csv":
        print_table(_flat(tables), "csv")
        return
    for table in tables:
        print_table(table, table_format)


def _counts(found: Description) -> Table:
    counts = {key: value for key, value in asdict(found).items() if key.startswith("n_")}
    rows: list[list[Cell]] = [[key.removeprefix("n_").replace("_", " "), value] for key, value in counts.items()]
    return Table(columns=["how many", "n"], rows=rows)


def _spreads(found: Description) -> Table:
    rows: list[list[Cell]] = []
    for name in ("sentences", "aspects", "results", "evidence", "optimum"):
        spread: Spread | None = getattr(found, name)
        if spread is not None:
            rows.append([name, spread.minimum, spread.mean, spread.maximum])
    return Table(columns=["per instance", "least", "mean", "most"], rows=rows)


def _kinds(found: Description) -> Table:
    rows: list[list[Cell]] = [[kind, 100 * row["share"], 100 * row["evidence"]] for kind, row in found.kinds.items()]
    return Table(columns=["kind", "% of sentences", "% of them evidence"], rows=rows)


def _flat(tables: Iterable[Table]) -> Table:
    """Return one table with a row a number: what, which, value."""
    rows: list[list[Cell]] = []
    for table in tables:
        for what, *values in table.rows:
            rows += [[what, column, value] for column, value in zip(table.columns[1:], values, strict=True)]
    return Table(columns=["what", "which", "value"], rows=rows)
