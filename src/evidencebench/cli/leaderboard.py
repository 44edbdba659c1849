"""``evidencebench leaderboard`` and ``evidencebench table``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_json, print_prose, print_signatures, print_table, progress
from evidencebench.cli.scoring_options import (
    PlotFile,
    ScoringOptions,
    board_bars,
    board_chart,
    json_head,
    print_bars,
    write_picture,
)
from evidencebench.data.catalog import CATALOG, sha256_matches
from evidencebench.data.dataset import Dataset
from evidencebench.runs.oddities import TRAINED_ON_IT
from evidencebench.scoring.leaderboard import (
    BEST,
    COLUMNS,
    Standing,
    SystemCell,
    SystemRow,
    SystemsTable,
    board_of,
    systems_table,
)
from evidencebench.scoring.measures import ASPECT_RECALL
from evidencebench.scoring.output import PUBLISHED, PublishedResult, signature_of_all
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import NOT_MEASURED, ScoredRuns
from evidencebench.scoring.significance import ALPHA, percent
from evidencebench.tables import Bold, Cell, Column, Table, table_for_csv, table_for_readers

_Uncertainty = Literal["interval", "error", "epochs", "none"]
Standings = Mapping[str, Sequence[Standing]]
"""Task name -> the rows of its leaderboard, the best system first."""


@options.command
def leaderboard(
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
    scored = scoring.score(runs, with_controls=controls)
    dataset, resampling, table_format = scored.dataset, scoring.resampling, scoring.table_format
    with progress("ranking", scoring.progress_style):
        board = {task.name: board_of(scored, task, resampling).standings for task in scored.tasks}
    if plot:
        write_picture(plot, board_chart(board, dataset.name, resampling))
    if scoring.as_json:
        tasks = {task: [row.fields() for row in rows] for task, rows in board.items()}
        more = {"published": _published_fields(dataset)} if published else {}
        print_json({**json_head(scored), "tasks": tasks, **more})
    elif table_format == "csv":
        print_table(_board_csv(board, dataset, published=published), "csv")
    else:
        print_board(board, table_format)
        if published:
            print_table(_published_table(list(board), dataset), table_format)
        signatures = (row.signature for rows in board.values() for row in rows if row.signature is not None)
        print_signatures(signatures, table_format)
    return scoring.finish(scored)


_SYSTEM: Column[Standing] = Column(
    "system", "system", lambda row: f"{row.system}{' *' if row.is_control else ''}{' †' if row.trained_on_it else ''}"
)


def print_board(board: Standings, table_format: str) -> None:
    is_text = table_format == "text"
    for task, rows in board.items():
        notes = () if is_text else _notes(rows)
        has_epochs = any(row.epochs for row in rows)
        columns = [column for column in COLUMNS if has_epochs or "epochs" not in column.heading]
        print_table(table_for_readers([_SYSTEM, *columns], rows, title=task, notes=notes), table_format)
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


def _board_csv(board: Standings, dataset: Dataset, *, published: bool) -> Table:
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
    results = [
        {"system": row.system, "strategy": row.strategy}
        | {ASPECT_RECALL.key: {task: row.recall(task) for task in row.percents}}
        for row in PUBLISHED
    ]
    same = _is_official_test(dataset)
    return {"split": "test", "same_split": same, "source": "arXiv:2504.18736", "results": results}


def _published_table(tasks: Sequence[str], dataset: Dataset) -> Table:
    tasks = [task for task in tasks if any(task in row.percents for row in PUBLISHED)]
    results = [row for row in PUBLISHED if any(task in row.percents for task in tasks)]
    results.sort(key=lambda row: -row.percents.get(tasks[0], -1.0))
    rows: list[list[Cell]] = [[row.name, *(row.percents.get(task) for task in tasks)] for row in results]
    another = ": ANOTHER split than yours, not comparable row by row"
    which = ", which is this data" if _is_official_test(dataset) else another
    title = f"Published figures in % (arXiv:2504.18736),\non the official test split{which}"
    return Table(title=title, columns=["system, strategy", *tasks], rows=rows)


@options.command
def table(
    *,
    runs: options.Runs,
    names: Annotated[tuple[str, ...], option("--name RUN=NAME", "Name of a run in the table; repeatable.")],
    uncertainty: Annotated[_Uncertainty, option("--uncertainty", "What stands behind a mean.")],
    against: Annotated[str, option("--against SYSTEM", "Mark differences to a row, to the best, or 'none'.")] = BEST,
    published: Annotated[bool, option("--published", "Add the published figures (official test split).")],
    controls: Annotated[bool, option("--controls", "Add the label-free controls and the ceiling.")],
    scoring: ScoringOptions,
) -> int:
    """Print RUNs x tasks as one table for a paper.

    Cells are aspect recall in %, the best run in bold. A star marks a significant
    difference to the best, or to --against, by the tests of 'leaderboard' and
    'compare'. Systems trained on this data are marked, and neither best nor tested.
    LaTeX needs the package booktabs. CSV has shares with all digits, not %.

    \b
    Examples:
      evidencebench table bm25.jsonl lead.jsonl --data sample --format latex
      evidencebench table bm25.jsonl lead.jsonl --data sample --controls \\
          --name bm25.jsonl=BM25 --name lead.jsonl=Lead --against Lead
    """
    name_of = _names(runs, names)
    scored = scoring.score(runs, with_controls=controls)
    by_label = {label: name_of[run.path] for label, run in scored.runs.items() if run.path in name_of}
    with progress("comparing", scoring.progress_style):
        table = systems_table(scored, names=by_label, against=against, resampling=scoring.resampling)
    shown = [row for row in PUBLISHED if any(task.name in row.percents for task in table.tasks)] if published else []
    columns = _columns(table, uncertainty)
    if scoring.as_json:
        print_json(
            {
                **json_head(scored),
                **_fields(table, scored, shown),
            }
        )
    elif scoring.table_format == "csv":  # one column for each figure; of published ones, only means are known
        own = table_for_csv(columns, table.rows)
        theirs = [
            {"system": row.name, "sort": "published"} | {f"{task}_mean": row.recall(task) for task in row.percents}
            for row in shown
        ]
        print_table(replace(own, rows=[*own.rows, *(list(map(cells.get, own.columns)) for cells in theirs)]), "csv")
    else:
        caption = _caption(table, scored, scoring.resampling, uncertainty, has_published=bool(shown))
        print_table(_paper_table(table, columns, shown, caption), scoring.table_format)
        signatures = (signature_of_all(scored, label, scoring.resampling) for label in scored.runs)
        print_signatures(signatures, scoring.table_format)
    return scoring.finish(scored)


def _names(runs: Sequence[Path], given: Sequence[str]) -> dict[Path, str]:
    """Return run -> name; a file's name may hold an equals sign, and so may the name behind it."""
    names: dict[Path, str] = {}
    for text in given:
        paths = [path for path in runs if text.startswith(f"{path}=") and text != f"{path}="]
        if not paths:
            files = ", ".join(f"'{path}'" for path in runs)
            raise click.UsageError(f"--name: expected RUN=NAME, where RUN is one of {files}, got '{text}'")
        path = max(paths, key=lambda path: len(str(path)))
        if path in names:
            raise click.UsageError(f"--name: '{path}' is named twice: '{names[path]}' and '{text}'")
        names[path] = text[len(f"{path}=") :]
    return names


def _columns(table: SystemsTable, uncertainty: str) -> list[Column[SystemRow]]:
    def shown_name(row: SystemRow) -> str:
        return f"{row.name}{'' if row.sort == 'run' else f' ({row.sort})'}{' †' if row.trained_on_it else ''}"

    columns: list[Column[SystemRow]] = [
        Column("system", "system", lambda row: row.name, shown_name),
        Column("sort", "", lambda row: row.sort),
        Column("trained_on_it", "", lambda row: row.trained_on_it),
    ]
    measured = any(cell.wrong_hypothesis for row in table.rows for cell in row.cells.values())
    heading = "wrong" if measured else ""
    return columns + [column for task in table.tasks for column in _task_columns(task.name, uncertainty, heading)]


def _task_columns(task: str, uncertainty: str, wrong_heading: str) -> list[Column[SystemRow]]:
    def column(figure: str, of: Callable[[SystemCell], Cell]) -> Column[SystemRow]:
        return Column(f"{task}_{figure}", "", lambda row: of(row.cells[task]) if task in row.cells else None)

    mean = column("mean", lambda cell: cell.recall.mean)
    wrong = column("wrong_hypothesis", lambda cell: cell.wrong_hypothesis and cell.wrong_hypothesis.recall.mean)
    return [
        replace(mean, heading=task, text=lambda row: _cell(row.cells.get(task), uncertainty)),
        column("low", lambda cell: cell.recall.low),
        column("high", lambda cell: cell.recall.high),
        column("standard_error", lambda cell: cell.standard_error),
        column("n", lambda cell: cell.recall.n),
        column("best", lambda cell: cell.is_best),
        column("p", lambda cell: cell.p_value),
        column("p_holm", lambda cell: cell.p_holm),
        replace(wrong, heading=wrong_heading, text=lambda row: row.cells[task].wrong_text if task in row.cells else ""),
        column("wrong_p_holm", lambda cell: cell.wrong_hypothesis and cell.wrong_hypothesis.p_holm),
        column("epoch_deviation", lambda cell: cell.epoch_deviation),
    ]


def _cell(cell: SystemCell | None, uncertainty: str) -> Cell:
    if cell is None:
        return ""
    text = f"{100 * cell.recall.mean:.1f}"
    deviation = {"error": cell.standard_error, "epochs": cell.epoch_deviation}.get(uncertainty)
    if uncertainty == "interval":
        text = percent(cell.recall, alone="")
    elif deviation is not None:
        text += f" ± {100 * deviation:.1f}"
    text += "*" if cell.differs else ""
    return Bold(text) if cell.is_best else text


def _paper_table(
    table: SystemsTable, columns: Sequence[Column[SystemRow]], published: Sequence[PublishedResult], caption: str
) -> Table:
    systems, own = table.rows, table_for_readers(columns, table.rows)
    names = [column.name for column in columns if column.heading][1:]
    n_of_tasks = {
        f"{task.name}_mean": next(row.cells[task.name].recall.n for row in systems if task.name in row.cells)
        for task in table.tasks
    }
    breaks = [number for number, (row, below) in enumerate(pairwise(systems), 1) if row.sort != below.sort]
    theirs = [
        [f"{row.name} ‡", *(means.get(name, "") for name in names)]
        for row in published
        for means in [{f"{task}_mean": f"{mean:.1f}" for task, mean in row.percents.items()}]
    ]
    return replace(
        own,
        rows=[*own.rows, *theirs],
        below_heads=["", *(f"n = {n_of_tasks[name]}" if name in n_of_tasks else "" for name in names)],
        breaks=[*breaks, len(systems)] if published else breaks,
        caption=caption,
    )


def _caption(
    table: SystemsTable, scored: ScoredRuns, resampling: Resampling, uncertainty: str, *, has_published: bool
) -> str:
    unit = "review" if scored.dataset[0].labels.review_id else "paper"
    behind = {
        "interval": f" [{100 * resampling.level:g} % interval, bootstrap over {unit}s]",
        "error": f" ± standard error, robust to {unit}s",
        "epochs": " ± standard deviation of the epochs' means, for runs of several epochs",
        "none": "",
    }[uncertainty]
    sentences = [f"Aspect recall in %{behind} on {scored.dataset.name}; n instances.", "Best run of each task in bold."]
    if table.reference is not None and table.holm:
        to = "the best" if table.reference == BEST else table.reference
        sentences.append(f"* differs from {to} (p < {ALPHA}, sign flips by {unit}, {table.holm}).")
    if any(cell.wrong_hypothesis for row in table.rows for cell in row.cells.values()):
        sentences.append("Wrong: asked another paper's hypothesis, with p of the difference (Holm over the runs).")
    else:
        sentences.append(f"With another paper's hypothesis: {NOT_MEASURED}.")
    sentences += [f"{name} {sameness}." for name, sameness in table.same.items()]
    if any(row.trained_on_it for row in table.rows):
        sentences.append(f"† {TRAINED_ON_IT}: neither the best nor tested.")
    if any(row.sort == "ceiling" for row in table.rows):
        sentences.append("The ceiling knows the answers.")
    if has_published:
        sentences.append("‡ published figures (arXiv:2504.18736), on the official test split.")
    return " ".join(sentences)


def _fields(table: SystemsTable, scored: ScoredRuns, published: Sequence[PublishedResult]) -> Mapping[str, Any]:
    rows = [
        {
            "system": row.name,
            "path": str(scored.runs[row.label].path) if row.label in scored.runs and row.sort != "control" else None,
            "sort": row.sort,
            "trained_on_it": row.trained_on_it,
            "tasks": {task: asdict(cell) for task, cell in row.cells.items()},
        }
        for row in table.rows
    ]
    figures = [{"system": row.name, "tasks": {task: row.recall(task) for task in row.percents}} for row in published]
    more = {"published": figures} if published else {}
    return {"against": table.reference, "holm": table.holm, "same": table.same, "rows": rows, **more}
