"""``evidencebench table``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_json, print_signatures, print_table, progress
from evidencebench.cli.scoring_options import ScoringOptions
from evidencebench.data.tasks import Task
from evidencebench.scoring.leaderboard import BEST, SystemCell, SystemRow, SystemsTable, systems_table
from evidencebench.scoring.output import PUBLISHED, PublishedResult, signature_of_all
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import TRAINED_ON_IT, ScoredRuns
from evidencebench.scoring.significance import ALPHA, percent
from evidencebench.tables import Bold, Cell, Column, Table, table_for_csv, table_for_readers


@options.command
def command(
    *,
    runs: options.Runs,
    names: Annotated[tuple[str, ...], option("--name RUN=NAME", "Name of a run in the table; repeatable.")],
    uncertainty: Annotated[
        str, options.choice("--uncertainty", "What stands behind a mean.", ("interval", "error", "none"))
    ],
    against: Annotated[
        str, option("--against SYSTEM", "Mark differences to a row of the table, to the best, or 'none'.")
    ] = BEST,
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
    scored, cautions = scoring.score(runs, with_controls=controls)
    by_label = {label: name_of[run.path] for label, run in scored.runs.items() if run.path in name_of}
    with progress("comparing", scoring.progress_style):
        table = systems_table(scored, names=by_label, against=against, resampling=scoring.resampling)
    shown = [row for row in PUBLISHED if any(task.name in row.percents for task in table.tasks)] if published else []
    columns = _columns(table.tasks, uncertainty)
    if scoring.as_json:
        warnings = [str(caution) for caution in cautions]
        print_json({"data": str(scored.dataset.path), "warnings": warnings, **_fields(table, scored, shown)})
    elif scoring.table_format == "csv":
        print_table(_csv_table(table, columns, shown), "csv")
    else:
        caption = _caption(table, scored, scoring.resampling, uncertainty, has_published=bool(shown))
        print_table(_paper_table(table, columns, shown, caption), scoring.table_format)
        signatures = (signature_of_all(scored, label, scoring.resampling) for label in scored.runs)
        print_signatures(signatures, scoring.table_format)
    return scoring.exit_code(scored)


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


def _columns(tasks: Sequence[Task], uncertainty: str) -> list[Column[SystemRow]]:
    columns: list[Column[SystemRow]] = [
        Column("system", "system", lambda row: row.name, _shown_name),
        Column("sort", "", lambda row: row.sort),
        Column("trained_on_it", "", lambda row: row.trained_on_it),
    ]
    return columns + [column for task in tasks for column in _task_columns(task.name, uncertainty)]


def _task_columns(task: str, uncertainty: str) -> list[Column[SystemRow]]:
    def column(figure: str, of: Callable[[SystemCell], Cell]) -> Column[SystemRow]:
        return Column(f"{task}_{figure}", "", lambda row: of(row.cells[task]) if task in row.cells else None)

    mean = column("mean", lambda cell: cell.recall.mean)
    return [
        replace(mean, heading=task, text=lambda row: _cell(row.cells.get(task), uncertainty)),
        column("low", lambda cell: cell.recall.low),
        column("high", lambda cell: cell.recall.high),
        column("standard_error", lambda cell: cell.standard_error),
        column("n", lambda cell: cell.recall.n),
        column("best", lambda cell: cell.is_best),
        column("p", lambda cell: cell.p_value),
        column("p_holm", lambda cell: cell.p_holm),
    ]


def _shown_name(row: SystemRow) -> str:
    sort = "" if row.sort == "run" else f" ({row.sort})"
    return f"{row.name}{sort}{' †' if row.trained_on_it else ''}"


def _cell(cell: SystemCell | None, uncertainty: str) -> Cell:
    if cell is None:
        return ""
    text = f"{100 * cell.recall.mean:.1f}"
    if uncertainty == "interval":
        text = percent(cell.recall, alone="")
    elif uncertainty == "error" and cell.standard_error is not None:
        text += f" ± {100 * cell.standard_error:.1f}"
    text += "*" if cell.differs else ""
    return Bold(text) if cell.is_best else text


def _paper_table(
    table: SystemsTable, columns: Sequence[Column[SystemRow]], published: Sequence[PublishedResult], caption: str
) -> Table:
    systems, own = table.rows, table_for_readers(columns, table.rows)
    tasks = [task.name for task in table.tasks]
    n_of_tasks = [next(row.cells[task].recall.n for row in systems if task in row.cells) for task in tasks]
    breaks = [number for number, (row, below) in enumerate(pairwise(systems), 1) if row.sort != below.sort]
    theirs = [
        [f"{row.name} ‡", *(f"{row.percents[task]:.1f}" if task in row.percents else "" for task in tasks)]
        for row in published
    ]
    return replace(
        own,
        rows=[*own.rows, *theirs],
        below_heads=["", *(f"n = {n}" for n in n_of_tasks)],
        breaks=[*breaks, len(systems)] if published else breaks,
        caption=caption,
    )


def _csv_table(
    table: SystemsTable, columns: Sequence[Column[SystemRow]], published: Sequence[PublishedResult]
) -> Table:
    """Return the table with one column for each figure; of published ones, only means are known."""
    own = table_for_csv(columns, table.rows)
    theirs = [
        {"system": row.name, "sort": "published"} | {f"{task.name}_mean": row.recall(task.name) for task in table.tasks}
        for row in published
    ]
    return replace(own, rows=[*own.rows, *(list(map(cells.get, own.columns)) for cells in theirs)])


def _caption(
    table: SystemsTable, scored: ScoredRuns, resampling: Resampling, uncertainty: str, *, has_published: bool
) -> str:
    unit = "review" if scored.dataset[0].labels.review_id else "paper"
    behind = {
        "interval": f" [{100 * resampling.level:g} % interval, bootstrap over {unit}s]",
        "error": f" ± standard error, robust to {unit}s",
        "none": "",
    }[uncertainty]
    sentences = [f"Aspect recall in %{behind} on {scored.dataset.name}; n instances.", "Best run of each task in bold."]
    if table.reference is not None and table.holm:
        to = "the best" if table.reference == BEST else table.reference
        sentences.append(f"* differs from {to} (p < {ALPHA}, sign flips by {unit}, {table.holm}).")
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
    return {
        "against": table.reference,
        "holm": table.holm,
        "same": table.same,
        "rows": rows,
        **({"published": figures} if published else {}),
    }
