"""``evidencebench data stats``."""

from dataclasses import asdict

import click

from evidencebench.cli.options import format_option, json_option, open_data, progress_option
from evidencebench.cli.output import print_json, print_table, progress
from evidencebench.description import Spread, describe
from evidencebench.errors import DataError
from evidencebench.tables import Cell, Table


@click.command(name="stats")
@click.argument("data", metavar="D")
@json_option
@format_option
@progress_option
def command(*, data: str, as_json: bool, table_format: str, progress_style: str) -> None:
    """Describe a data set in numbers.

    \b
    Example: evidencebench data stats sample
    """
    dataset = open_data(data)
    with progress("reading", progress_style) as on_progress:
        found = describe(dataset, on_progress)
    if found is None:
        raise DataError(f"{dataset.path}: holds no instance")
    if as_json:
        print_json({"path": str(dataset.path), "sha256": dataset.sha256, **asdict(found)})
        return
    fields = {key: value for key, value in asdict(found).items() if key.startswith("n_")}
    counts: list[list[Cell]] = [[key.removeprefix("n_").replace("_", " "), value] for key, value in fields.items()]
    print_table(Table(columns=["how many", ""], rows=counts), table_format)
    spreads: list[list[Cell]] = []
    for name in ("sentences", "aspects", "results", "evidence", "optimum"):
        spread: Spread | None = getattr(found, name)
        if spread is not None:
            spreads.append([name, spread.minimum, spread.mean, spread.maximum])
    print_table(Table(columns=["per instance", "least", "mean", "most"], rows=spreads), table_format)
    kinds: list[list[Cell]] = [[kind, 100 * row["share"], 100 * row["evidence"]] for kind, row in found.kinds.items()]
    print_table(Table(columns=["kind", "% of sentences", "% of them evidence"], rows=kinds), table_format)
