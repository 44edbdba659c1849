"""``evidencebench data stats``."""

from dataclasses import asdict

from evidencebench.cli import options
from evidencebench.cli.output import print_json, print_table, progress
from evidencebench.data.dataset import open_dataset
from evidencebench.data.statistics import describe
from evidencebench.tables import Cell, Table


@options.command
def command(
    *,
    data: options.DataArgument,
    as_json: options.AsJson,
    table_format: options.TableFormat,
    progress_style: options.ProgressStyle,
) -> None:
    """Describe a data set in numbers.

    \b
    Example: evidencebench data stats sample
    """
    dataset = open_dataset(data)
    with progress("reading", progress_style) as on_progress:
        description = describe(dataset, on_progress)
    if as_json:
        print_json({"path": str(dataset.path), "sha256": dataset.sha256, **asdict(description)})
        return
    counts: list[list[Cell]] = [
        [key.removeprefix("n_").replace("_", " "), value]
        for key, value in asdict(description).items()
        if key.startswith("n_")
    ]
    names = ("sentences", "aspects", "results", "evidence", "optimum")
    spreads: list[list[Cell]] = [
        [name, spread.minimum, spread.mean, spread.maximum] for name in names if (spread := getattr(description, name))
    ]
    kinds: list[list[Cell]] = [
        [kind, 100 * row["share"], 100 * row["evidence"]] for kind, row in description.kinds.items()
    ]
    tables = [
        Table(columns=["how many", "n"], rows=counts),
        Table(columns=["per instance", "least", "mean", "most"], rows=spreads),
        Table(columns=["kind", "% of sentences", "% of them evidence"], rows=kinds),
    ]
    if table_format == "csv":  # one table, a row a number
        rows = [
            [what, column, value]
            for table in tables
            for what, *values in table.rows
            for column, value in zip(table.columns[1:], values, strict=True)
        ]
        tables = [Table(columns=["what", "which", "value"], rows=rows)]
    for table in tables:
        print_table(table, table_format)
