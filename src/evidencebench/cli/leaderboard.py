"""``evidencebench leaderboard``."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_json, print_prose, print_signatures, print_table, progress
from evidencebench.cli.plots import PlotFile, board_bars, board_chart, print_bars, write_picture
from evidencebench.cli.scoring_options import ScoringOptions
from evidencebench.data.catalog import CATALOG, sha256_matches
from evidencebench.data.dataset import Dataset
from evidencebench.scoring.leaderboard import COLUMNS, Standing, board_of
from evidencebench.scoring.measures import ASPECT_RECALL
from evidencebench.scoring.output import PUBLISHED
from evidencebench.scoring.score_runs import TRAINED_ON_IT
from evidencebench.tables import Cell, Column, Table, table_for_readers

Standings = Mapping[str, Sequence[Standing]]
"""Task name -> the rows of its leaderboard, the best system first."""


@options.command
def command(
    *,
    runs: options.Runs,
    published: Annotated[bool, option("--published", "Add the published figures (official test split).")],
    controls: options.Controls,
    plot: PlotFile,
    scoring: ScoringOptions,
) -> int:
    """Rank runs by aspect recall beside the controls.

    A rank is a range: from 1 + the number of significantly better systems to the
    number of all - the significantly worse ones (sign flips by paper, Holm over the
    pairs of runs of a task; pairs with a control are adjusted apart).

    \b
    Example: evidencebench leaderboard bm25.jsonl lead.jsonl --data sample
    """
    scored, cautions = scoring.score(runs, with_controls=controls)
    dataset, resampling, table_format = scored.dataset, scoring.resampling, scoring.table_format
    with progress("ranking", scoring.progress_style):
        board = {task.name: board_of(scored, task, resampling).standings for task in scored.tasks}
    if plot:
        write_picture(plot, board_chart(board, dataset.name, resampling))
    if scoring.as_json:
        shown: dict[str, Any] = {
            "data": str(dataset.path),
            "warnings": [str(caution) for caution in cautions],
            "tasks": {task: [row.fields() for row in rows] for task, rows in board.items()},
        }
        print_json(shown | ({"published": _published_fields(dataset)} if published else {}))
    elif table_format == "csv":
        print_table(_csv_table(board, dataset, published=published), "csv")
    else:
        print_board(board, table_format)
        if published:
            print_table(_published_table(list(board), dataset), table_format)
        signatures = (row.signature for rows in board.values() for row in rows if row.signature is not None)
        print_signatures(signatures, table_format)
    return scoring.exit_code(scored)


_SYSTEM: Column[Standing] = Column(
    "system", "system", lambda row: f"{row.system}{' *' if row.is_control else ''}{' †' if row.trained_on_it else ''}"
)


def print_board(board: Standings, table_format: str) -> None:
    is_text = table_format == "text"
    for task, rows in board.items():
        notes = () if is_text else _notes(rows)
        print_table(table_for_readers([_SYSTEM, *COLUMNS], rows, title=task, notes=notes), table_format)
        if is_text:
            print_bars(board_bars(rows))
    if is_text and (notes := _notes([row for rows in board.values() for row in rows])):
        for note in notes:
            print_prose(note)
        click.echo()


def _notes(rows: Sequence[Standing]) -> list[str]:
    control = "* a control, computed here; oracle knows the answers: the ceiling, unranked"
    notes = [control] if any(row.is_control for row in rows) else []
    return [*notes, f"† {TRAINED_ON_IT}"] if any(row.trained_on_it for row in rows) else notes


def _csv_table(board: Standings, dataset: Dataset, *, published: bool) -> Table:
    """Return one table of all tasks, for CSV; published figures, on another split, have a mean only."""
    columns = [column for column in COLUMNS if column.name]
    rows: list[list[Cell]] = [
        [dataset.name, task, row.system, *(column.written(row) for column in columns)]
        for task, standings in board.items()
        for row in standings
    ]
    rows += [
        ["official test, published", task, row.name, *(mean if column.name == "mean" else None for column in columns)]
        for task in board
        for row in (PUBLISHED if published else ())
        if (mean := row.recall(task)) is not None
    ]
    return Table(columns=["split", "task", "system", *(column.name for column in columns)], rows=rows)


def _is_official_test(dataset: Dataset) -> bool:
    return sha256_matches(CATALOG["test"].sha256 or "", dataset.sha256)


def _published_fields(dataset: Dataset) -> dict[str, Any]:
    return {
        "split": "test",
        "same_split": _is_official_test(dataset),
        "source": "arXiv:2504.18736",
        "results": [
            {
                "system": row.system,
                "strategy": row.strategy,
                ASPECT_RECALL.key: {task: row.recall(task) for task in row.percents},
            }
            for row in PUBLISHED
        ],
    }


def _published_table(tasks: Sequence[str], dataset: Dataset) -> Table:
    tasks = [task for task in tasks if any(task in row.percents for row in PUBLISHED)]
    results = [row for row in PUBLISHED if any(task in row.percents for task in tasks)]
    results.sort(key=lambda row: -row.percents.get(tasks[0], -1.0))
    rows: list[list[Cell]] = [[row.name, *(row.percents.get(task) for task in tasks)] for row in results]
    another = ": ANOTHER split than yours, not comparable row by row"
    which = ", which is this data" if _is_official_test(dataset) else another
    title = f"Published figures in % (arXiv:2504.18736),\non the official test split{which}"
    return Table(title=title, columns=["system, strategy", *tasks], rows=rows)
