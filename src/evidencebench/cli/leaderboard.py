"""``evidencebench leaderboard``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from evidencebench.cli.options import (
    complete_option,
    controls_option,
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
from evidencebench.cli.output import print_cautions, print_json, print_prose, print_signatures, print_table
from evidencebench.cli.plotting import board_bars, board_chart, plot_option, print_bars, write_picture
from evidencebench.cli.progress import progress
from evidencebench.data.catalog import CATALOG, sha256_matches
from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.scoring.cautions import TRAINED_ON_IT, cautions_of, is_complete
from evidencebench.scoring.leaderboard import Standing, board_of
from evidencebench.scoring.published_results import PUBLISHED, PublishedResult
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import ScoredRuns, score_runs
from evidencebench.scoring.score_texts import percent
from evidencebench.scoring.selection import Rules
from evidencebench.tables import Cell, Table


@click.command
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@data_option
@task_options
@rule_options
@click.option("--published", is_flag=True, help="Add the published figures (official test split).")
@limit_option
@controls_option
@complete_option
@resampling_options
@plot_option
@json_option
@format_option
@progress_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    runs: tuple[Path, ...],
    data: str,
    tasks: tuple[Task, ...],
    rules: Rules,
    published: bool,
    limit: int | None,
    controls: bool,
    require_complete: bool,
    resampling: Resampling,
    plot: Path | None,
    as_json: bool,
    table_format: str,
    progress_style: str,
) -> None:
    """Rank runs by aspect recall beside the controls.

    Ranks are ranges: 1 + the number of systems that are significantly better, to
    the number of systems - those significantly worse (sign flips by paper, Holm
    over all pairs).

    \b
    Example: evidencebench leaderboard bm25.jsonl lead.jsonl --data sample
    """
    dataset = open_data(data)
    with progress("scoring", progress_style) as on_progress:
        graded = score_runs(
            runs, dataset, tasks, rules=rules, with_controls=controls, limit=limit, on_progress=on_progress
        )
    cautions = cautions_of(graded)
    print_cautions(cautions)
    code = 1 if require_complete and not is_complete(graded) else 0
    with progress("ranking", progress_style):
        board = {task.name: board_of(graded, task, resampling).standings for task in graded.tasks}
    if plot:
        write_picture(plot, board_chart(board, dataset.name, resampling))
    if as_json:
        shown: dict[str, Any] = {
            "data": str(dataset.path),
            "warnings": [str(caution) for caution in cautions],
            "tasks": {task: [row.fields() for row in rows] for task, rows in board.items()},
        }
        print_json(shown | ({"published": _published_fields(dataset)} if published else {}))
        ctx.exit(code)
    if table_format == "csv":
        print_table(_flat(board, graded, published=published), "csv")
        ctx.exit(code)
    print_board(board, table_format)
    if published:
        _print_published(dataset, graded, table_format)
    signatures = (row.signature for rows in board.values() for row in rows if row.signature is not None)
    print_signatures(signatures, table_format)
    ctx.exit(code)


def print_board(board: Mapping[str, Sequence[Standing]], table_format: str) -> None:
    """Print a table a task, as text with its picture below."""
    for task, rows in board.items():
        body: list[list[Cell]] = [
            [
                marked(row),
                percent(row.recall),
                row.rank_text,
                row.n,
                row.failed,
                row.empty,
                row.missing,
            ]
            for row in rows
        ]
        columns = ["system", "aspect recall", "ranks", "n", "failed", "empty", "missing"]
        notes = () if table_format == "text" else _notes(rows)
        print_table(Table(title=task, columns=columns, rows=body, notes=notes), table_format)
        if table_format == "text":
            print_bars(board_bars(rows))
    if table_format == "text" and (notes := _notes([row for rows in board.values() for row in rows])):
        for note in notes:
            print_prose(note)
        click.echo()


def marked(row: Standing) -> str:
    """Return what a system is called in a table, with a mark that a note explains."""
    return f"{row.system}{' *' if row.is_control else ''}{' †' if row.trained_on_it else ''}"


def _notes(rows: Sequence[Standing]) -> tuple[str, ...]:
    """Return what the marks mean that are there."""
    notes = {
        "* a control, computed here; oracle knows the answers: the ceiling, unranked": any(
            row.is_control for row in rows
        ),
        f"† {TRAINED_ON_IT}": any(row.trained_on_it for row in rows),
    }
    return tuple(note for note, stands in notes.items() if stands)


_CSV_COLUMNS = (
    *("split", "task", "system", "mean", "low", "high"),
    *("rank_best", "rank_worst", "n", "failed", "empty", "missing", "is_control", "signature", "trained_on_it"),
)


def _flat(board: Mapping[str, Sequence[Standing]], graded: ScoredRuns, *, published: bool) -> Table:
    """Return one table for programs; published figures, on another split, have a mean only."""
    rows: list[list[Cell]] = [_csv_row(task, row, graded) for task, found in board.items() for row in found]
    rows += [
        ["official test, published", task, _published_name(row), round(row.recalls[task] / 100, 4), *[None] * 11]
        for task in board
        for row in (PUBLISHED if published else ())
        if task in row.recalls
    ]
    return Table(columns=_CSV_COLUMNS, rows=rows)


def _published_name(row: PublishedResult) -> str:
    return f"{row.system}, {row.strategy}" if row.strategy else row.system


def _csv_row(task: str, row: Standing, graded: ScoredRuns) -> list[Cell]:
    estimate = row.recall
    best, worst = row.rank or (None, None)
    numbers: list[Cell] = [estimate.mean, estimate.low, estimate.high, best, worst]
    counts: list[Cell] = [row.n, row.failed, row.empty, row.missing]
    return [
        graded.dataset.name,
        task,
        row.system,
        *numbers,
        *counts,
        str(row.is_control).lower(),
        row.signature,
        None if row.trained_on_it is None else str(row.trained_on_it).lower(),
    ]


def _is_official_test(dataset: Dataset) -> bool:
    return sha256_matches(CATALOG["test"].sha256 or "", dataset.sha256)


def _split_note(dataset: Dataset) -> str:
    if _is_official_test(dataset):
        return "the official test split, which is this data"
    return "the official test split: ANOTHER split than yours, not comparable row by row"


def _published_fields(dataset: Dataset) -> dict[str, Any]:
    return {
        "split": "test",
        "same_split": _is_official_test(dataset),
        "source": "arXiv:2504.18736",
        "results": [
            {
                "system": row.system,
                "strategy": row.strategy,
                "aspect_recall": {k: round(v / 100, 4) for k, v in row.recalls.items()},
            }
            for row in PUBLISHED
        ],
    }


def _print_published(dataset: Dataset, graded: ScoredRuns, table_format: str) -> None:
    tasks = [task.name for task in graded.tasks if any(task.name in row.recalls for row in PUBLISHED)]
    shown = [row for row in PUBLISHED if any(task in row.recalls for task in tasks)]
    shown.sort(key=lambda row: -row.recalls.get(tasks[0], -1.0))
    rows: list[list[Cell]] = [[_published_name(row), *(row.recalls.get(task) for task in tasks)] for row in shown]
    columns = ["system, strategy", *tasks]
    title = f"Published figures in % (arXiv:2504.18736),\non {_split_note(dataset)}"
    print_table(Table(title=title, columns=columns, rows=rows), table_format)
