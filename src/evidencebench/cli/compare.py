"""``evidencebench compare``."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import click

from evidencebench.cli.options import (
    data_option,
    format_option,
    json_option,
    limit_option,
    open_data,
    progress_option,
    resampling_options,
    rule_options,
    task_options,
)
from evidencebench.cli.output import print_json, print_signatures, print_table
from evidencebench.cli.plotting import comparison_chart, plot_option, write_picture
from evidencebench.cli.progress import progress
from evidencebench.comparison import Comparison, compare
from evidencebench.evaluation import Counts, Rules
from evidencebench.grading import grade, signature_of
from evidencebench.reporting import comparison_fields, percent
from evidencebench.significance import Resampling, enough_draws, holm
from evidencebench.tables import Cell, Table, printable
from evidencebench.tasks import Task


@click.command
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN RUN...")
@data_option
@task_options
@rule_options
@limit_option
@resampling_options
@plot_option
@json_option
@format_option
@progress_option
def command(
    *,
    runs: tuple[Path, ...],
    data: str,
    tasks: tuple[Task, ...],
    rules: Rules,
    limit: int | None,
    resampling: Resampling,
    plot: Path | None,
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
        graded = grade(
            runs,
            dataset,
            tasks,
            rules=rules,
            with_controls=False,
            with_selections=True,
            limit=limit,
            on_progress=on_progress,
        )
    pairs = list(combinations(graded.runs, 2))
    n_draws = max(resampling.n_draws, enough_draws(len(pairs) * len(graded.tasks)))
    resampling = replace(resampling, n_draws=n_draws)
    compared: list[tuple[str, str, Comparison]] = []
    for first, second in pairs:
        for task in graded.tasks:
            a, b = graded.scores[first][task.name], graded.scores[second][task.name]
            compared.append((first, second, compare(a, b, resampling=resampling)))
    adjusted = holm([comparison.test.p_value for *_, comparison in compared])
    if plot:
        write_picture(plot, comparison_chart(compared, dataset.name, resampling))
    if as_json:
        rows = [
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
        print_json({"data": str(dataset.path), "pairs": rows})
        return
    print_comparisons(compared, adjusted, table_format)
    signatures = (signature_of(graded, label, task, resampling) for label in graded.runs for task in graded.tasks)
    print_signatures(signatures, table_format)


def print_comparisons(compared: list[tuple[str, str, Comparison]], adjusted: list[float], table_format: str) -> None:
    """Print two tables for each pair of runs; as CSV one flat table."""
    if table_format == "csv":
        flat = [[first, second, *_csv_row(found, p)] for first, second, found, p in _with(compared, adjusted)]
        print_table(Table(columns=_CSV_COLUMNS, rows=flat), "csv")
        return
    pairs: dict[tuple[str, str], list[tuple[Comparison, float]]] = {}
    for first, second, found, p_value in _with(compared, adjusted):
        pairs.setdefault((first, second), []).append((found, p_value))
    for (first, second), members in pairs.items():
        title = f"first: {printable(first)}\nsecond: {printable(second)}\n"
        if table_format != "text":
            title = f"{first} - {second}"
        columns = ["task", "first", "second", "difference", "p (Holm)", "n"]
        differences = [_difference_row(*member) for member in members]
        print_table(Table(title=title, columns=columns, rows=differences), table_format)
        columns = ["task", "overlap in %", "better", "equal", "worse", "detectable", "unanswered"]
        details = [_detail_row(found) for found, _ in members]
        print_table(Table(columns=columns, rows=details), table_format)


def _with(
    compared: list[tuple[str, str, Comparison]], adjusted: list[float]
) -> list[tuple[str, str, Comparison, float]]:
    return [(*one, p_value) for one, p_value in zip(compared, adjusted, strict=True)]


def _difference_row(found: Comparison, p_value: float) -> list[Cell]:
    means: list[Cell] = [100 * found.first.mean, 100 * found.second.mean]
    return [found.task.name, *means, percent(found.test.difference), f"{p_value:.4f}", found.test.difference.n]


def _detail_row(found: Comparison) -> list[Cell]:
    test = found.test
    counts: list[Cell] = [test.n_better, test.n_equal, test.n_worse]
    detectable = None if test.minimum_detectable is None else 100 * test.minimum_detectable
    unanswered = f"{_unanswered(found.first_counts)}, {_unanswered(found.second_counts)}"
    return [found.task.name, percent(found.overlap), *counts, detectable, unanswered]


def _unanswered(counts: Counts) -> int:
    """Return how many answers failed, are empty or are missing; each scores 0."""
    return counts.failed + counts.empty + counts.missing


_CSV_COLUMNS = (
    *("first", "second", "task", "mean_first", "mean_second", "difference", "low", "high", "p", "p_holm"),
    *("n", "better", "equal", "worse", "overlap", "detectable"),
    *("unanswered_first", "unanswered_second"),
)


def _csv_row(found: Comparison, p_value: float) -> list[Cell]:
    test = found.test
    difference = test.difference
    overlap = None if found.overlap is None else found.overlap.mean
    unanswered = [_unanswered(counts) for counts in (found.first_counts, found.second_counts)]
    numbers: list[Cell] = [found.first.mean, found.second.mean, difference.mean, difference.low, difference.high]
    counts: list[Cell] = [difference.n, test.n_better, test.n_equal, test.n_worse]
    return [found.task.name, *numbers, test.p_value, p_value, *counts, overlap, test.minimum_detectable, *unanswered]
