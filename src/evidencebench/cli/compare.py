"""Compare, and the tables of pairs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, count, groupby, product
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, print_prose, print_signatures, print_table, progress
from evidencebench.cli.scoring_options import PlotFile, ScoringOptions, comparison_chart, json_head, write_picture
from evidencebench.runs.oddities import TRAINED_ON_IT
from evidencebench.scoring.compare import Comparison, Pair, compare_pairs, holm_text
from evidencebench.scoring.controls import knows_labels
from evidencebench.scoring.output import comparison_fields, signature_of, signature_of_all
from evidencebench.scoring.significance import ALPHA, estimate_columns, mean_or_none, percent
from evidencebench.tables import Cell, Column, Row, Table, printable, share_column, table_for_csv, table_for_readers

SEEN = f"† {TRAINED_ON_IT}"


def matrices(compared: Sequence[Pair[str]], trained_on_it: Sequence[str] = ()) -> list[Table]:
    """Return a table for each task; ``trained_on_it`` are the labels of runs whose models were trained on this data."""
    labels = list(dict.fromkeys(label for pair in compared for label in (pair.first, pair.second)))
    names = ("".join(letters) for length in count(1) for letters in product(ascii_uppercase, repeat=length))
    letters = dict(zip(labels, names, strict=False))  # A, B, ..., Z, AA, AB, ...
    tables = []
    for task in dict.fromkeys(pair.comparison.task.name for pair in compared):
        differences: dict[tuple[str, str], str] = {}
        means: dict[str, float] = {}
        for pair in (pair for pair in compared if pair.comparison.task.name == task):
            star = "*" if pair.p_value < ALPHA else ""
            points = round(100 * pair.comparison.test.difference.mean, 1)
            differences[pair.first, pair.second] = f"{points:+.1f}{star}"
            differences[pair.second, pair.first] = f"{-points + 0.0:+.1f}{star}"
            means |= {pair.first: pair.comparison.first.mean, pair.second: pair.comparison.second.mean}
        rows: list[list[Cell]] = [
            [
                f"{letters[label]} {label}{' †' if label in trained_on_it else ''}",
                100 * means[label],
                *(differences.get((label, other), "") for other in labels),
            ]
            for label in labels
        ]
        title = f"{task}: aspect recall in %, and the difference row - column in points"
        tables.append(Table(title=title, columns=["run", "recall", *letters.values()], rows=rows))
    return tables


def comparison_columns(
    comparison: Callable[[Row], Comparison],
    names: tuple[str, str],
    *,
    difference: str,
    p_holm: Callable[[Row], float | None],
    p_text: Callable[[Row], str],
) -> dict[str, Column[Row]]:
    """Return name -> column, in the order of CSV; ``difference`` is a heading."""
    first, second = names
    columns: list[Column[Row]] = [
        Column("task", "task", lambda row: comparison(row).task.name),
        share_column(f"mean_{first}", first, lambda row: comparison(row).first.mean),
        share_column(f"mean_{second}", second, lambda row: comparison(row).second.mean),
        *estimate_columns(("difference", "low", "high"), difference, lambda row: comparison(row).test.difference),
        Column("p", "", lambda row: comparison(row).test.p_value),
        Column("p_holm", "p (Holm)", p_holm, p_text),
        Column("n", "n", lambda row: comparison(row).test.difference.n),
        Column("better", "better", lambda row: comparison(row).test.n_better),
        Column("equal", "equal", lambda row: comparison(row).test.n_equal),
        Column("worse", "worse", lambda row: comparison(row).test.n_worse),
        share_column("overlap", "overlap, %", lambda row: mean_or_none(comparison(row).overlap)),
        share_column("detectable", "detectable", lambda row: comparison(row).test.minimum_detectable),
        Column(f"unanswered_{first}", "", lambda row: comparison(row).first_counts.unanswered),
        Column(f"unanswered_{second}", "", lambda row: comparison(row).second_counts.unanswered),
    ]
    return {column.name: column for column in columns}


_COLUMNS: dict[str, Column[Pair[str]]] = comparison_columns(
    lambda pair: pair.comparison,
    ("first", "second"),
    difference="difference",
    p_holm=lambda pair: pair.p_value,
    p_text=lambda pair: pair.p_text,
)
_DIFFERENCES = [_COLUMNS[name] for name in ("task", "mean_first", "mean_second", "difference", "p_holm", "n")]
_DETAILS: list[Column[Pair[str]]] = [
    _COLUMNS["task"],
    Column("", "overlap in %", lambda pair: percent(pair.comparison.overlap)),
    *(_COLUMNS[name] for name in ("better", "equal", "worse", "detectable")),
    Column(
        "",
        "unanswered",
        lambda pair: f"{pair.comparison.first_counts.unanswered}, {pair.comparison.second_counts.unanswered}",
    ),
]


def print_comparisons(compared: Sequence[Pair[str]], table_format: str, trained_on_it: Sequence[str] = ()) -> None:
    """Print two tables for each pair of runs; as CSV one table of all. ``trained_on_it`` is as in `matrices`."""
    if table_format == "csv":
        columns: list[Column[Pair[str]]] = [
            Column("first", "", lambda pair: pair.first),
            Column("second", "", lambda pair: pair.second),
            *_COLUMNS.values(),
            Column("trained_on_it_first", "", lambda pair: pair.first in trained_on_it),
            Column("trained_on_it_second", "", lambda pair: pair.second in trained_on_it),
        ]
        print_table(table_for_csv(columns, compared), "csv")
        return
    for labels, group in groupby(compared, key=lambda pair: (pair.first, pair.second)):
        pairs = list(group)
        names = [f"{label}{' †' if label in trained_on_it else ''}" for label in labels]
        title = f"first: {printable(names[0])}\nsecond: {printable(names[1])}\n"
        if table_format != "text":
            title = " - ".join(names)
        print_table(table_for_readers(_DIFFERENCES, pairs, title=title), table_format)
        notes = [SEEN] if set(labels) & set(trained_on_it) else []
        print_table(table_for_readers(_DETAILS, pairs, notes=notes), table_format)


@options.command
def compare(
    *,
    runs: Annotated[tuple[Path, ...], argument("RUN RUN...", required=True)],
    details: Annotated[bool, option("--details", "Also print the tables of each pair, after the matrix.")],
    plot: PlotFile,
    scoring: ScoringOptions,
) -> int:
    """Compare runs on the same instances, pair by pair.

    Differences are first - second in points of aspect recall. p is from sign flips
    of each paper's difference, adjusted (Holm) over the pairs of runs that differ
    in an answer, task by task. The detectable difference is what this data shows at
    the 5 % level with 80 % power. More than two runs are shown as a matrix.

    \b
    Example: evidencebench compare bm25.jsonl lead.jsonl --data sample
    """
    if len(runs) < 2:  # noqa: PLR2004 - a pair
        raise click.UsageError("expected at least two runs to compare")
    scored = scoring.score(runs, changed_apart=False, with_controls=False, with_selections=True)
    labels, table_format = list(scored.runs), scoring.table_format
    pairs = list(combinations(labels, 2))
    resampling = scoring.resampling
    ceilings = [label for label, run in scored.runs.items() if knows_labels(run)]
    compared: list[Pair[str]] = []
    with progress("comparing", scoring.progress_style) as on_progress:
        for number, task in enumerate(scored.tasks, 1):
            scores = {label: scored.scores[label][task.name] for label in labels}
            compared += compare_pairs(scores, pairs, ceilings, resampling=resampling)
            on_progress(number, len(scored.tasks))
    ordered = sorted(compared, key=lambda pair: pairs.index((pair.first, pair.second)))
    if plot:
        write_picture(plot, comparison_chart(ordered, scored.dataset.name, resampling))
    if scoring.as_json:
        rows = [
            {
                "first": pair.first,
                "second": pair.second,
                "task": task.name,
                **comparison_fields(pair.comparison),
                "p_value_holm": pair.p_value,
                "trained_on_it": list(map(scored.trained_on_it, (pair.first, pair.second))),
                "signatures": [signature_of(scored, label, task, resampling) for label in (pair.first, pair.second)],
            }
            for pair, task in ((pair, pair.comparison.task) for pair in ordered)
        ]
        print_json({**json_head(scored), "pairs": rows})
        return scoring.finish(scored)
    known = [label for label in labels if scored.trained_on_it(label)]
    if len(pairs) > 1 and table_format != "csv":
        notes = [f"* p below {ALPHA} by sign flips, {holm_text(ordered)}", *([SEEN] if known else [])]
        for table in matrices(ordered, known):
            print_table(table if table_format == "text" else replace(table, notes=notes), table_format)
        if table_format == "text":
            print_prose(notes[0])
            click.echo("\n".join([*notes[1:], ""]))
    if len(pairs) == 1 or details or table_format == "csv":
        print_comparisons(ordered, table_format, known)
        signatures = (signature_of(scored, label, task, resampling) for label in labels for task in scored.tasks)
        print_signatures(signatures, table_format)
    else:
        print_signatures((signature_of_all(scored, label, resampling) for label in labels), table_format)
        if table_format == "text":
            click.echo("\n--details shows every pair: intervals, p, overlap, instances better and worse")
    return scoring.finish(scored)
