"""``evidencebench compare``."""

from itertools import combinations
from pathlib import Path
from typing import Any

import click

from evidencebench.cli.grading import grade, signature_of
from evidencebench.cli.options import (
    data_option,
    format_option,
    json_option,
    open_data,
    progress_option,
    resampling_options,
    rule_options,
    task_options,
)
from evidencebench.cli.output import print_json, print_table, progress, wrapped
from evidencebench.comparison import Comparison, compare
from evidencebench.evaluation import Rules
from evidencebench.reporting import comparison_fields, percent
from evidencebench.significance import Resampling, holm
from evidencebench.tables import Cell, Table, printable
from evidencebench.tasks import Task


@click.command
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN RUN...")
@data_option
@task_options
@rule_options
@resampling_options
@json_option
@format_option
@progress_option
def command(
    *,
    runs: tuple[Path, ...],
    data: str,
    tasks: tuple[Task, ...],
    rules: Rules,
    resampling: Resampling,
    as_json: bool,
    table_format: str,
    progress_style: str,
) -> None:
    """Compare runs on the same instances, pair by pair.

    Differences are first - second in points of aspect recall. p is from sign
    flips of each paper's difference (exact where they are few), adjusted by Holm
    over all pairs and tasks. The detectable difference is what this data would
    find at the 5 % level with 80 % power.

    \b
    Example: evidencebench compare bm25.jsonl lead.jsonl --data sample
    """
    if len(runs) < 2:  # noqa: PLR2004 - a pair
        raise click.UsageError("expected at least two runs to compare")
    dataset = open_data(data)
    with progress("scoring", progress_style) as on_progress:
        graded = grade(runs, dataset, tasks, rules=rules, with_controls=False, on_progress=on_progress)
    compared: list[tuple[str, str, Comparison]] = []
    for first, second in combinations(graded.runs, 2):
        for task in graded.tasks:
            a, b = graded.scores[first][task.name], graded.scores[second][task.name]
            compared.append((first, second, compare(a, b, resampling=resampling)))
    adjusted = holm([comparison.test.p_value for *_, comparison in compared])
    if as_json:
        pairs = [
            {
                "first": first,
                "second": second,
                "task": found.task.name,
                **comparison_fields(found),
                "p_value_holm": p_value,
                "signatures": [signature_of(graded, label, found.task, resampling) for label in (first, second)],
            }
            for (first, second, found), p_value in zip(compared, adjusted, strict=True)
        ]
        print_json({"data": str(dataset.path), "pairs": pairs})
        return
    print_comparisons(compared, adjusted, table_format)
    if table_format == "text":
        for label in graded.runs:
            for task in graded.tasks:
                click.echo(wrapped(printable(signature_of(graded, label, task, resampling))))


def print_comparisons(compared: list[tuple[str, str, Comparison]], adjusted: list[float], table_format: str) -> None:
    """Print one table for each pair of runs."""
    pairs: dict[tuple[str, str], list[list[Cell]]] = {}
    for (first, second, found), p_value in zip(compared, adjusted, strict=True):
        pairs.setdefault((first, second), []).append(_row(found, p_value))
    for (first, second), rows in pairs.items():
        columns = ["task", "first", "second", "difference", "p (Holm)", "n", "overlap", "detectable"]
        title = (
            f"first: {printable(first)}\nsecond: {printable(second)}"
            if table_format == "text"
            else f"{first} - {second}"
        )
        print_table(Table(title=title, columns=columns, rows=rows), table_format)


def _row(found: Comparison, p_value: float) -> list[Cell]:
    test: Any = found.test
    return [
        found.task.name,
        100 * found.first.mean,
        100 * found.second.mean,
        percent(test.difference),
        f"{p_value:.3f}",
        test.difference.n,
        100 * found.overlap.mean,
        100 * test.minimum_detectable,
    ]
