"""``evidencebench table``."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from evidencebench.cli import options
from evidencebench.cli.output import print_json, print_signatures, print_table
from evidencebench.cli.progress import progress
from evidencebench.cli.scoring_options import ScoringOptions, scoring_options
from evidencebench.scoring.cautions import TRAINED_ON_IT
from evidencebench.scoring.published_results import PUBLISHED, PublishedResult
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.score_texts import percent
from evidencebench.scoring.signature import signature_of_all
from evidencebench.scoring.significance import ALPHA
from evidencebench.scoring.systems_table import BEST, SystemCell, SystemRow, SystemsTable, systems_table
from evidencebench.tables import Bold, Cell, Table

_UNCERTAINTIES = ("interval", "error", "none")


@click.command
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@scoring_options(
    click.option("--name", "names", multiple=True, metavar="RUN=NAME", help="Name of a run in the table; repeatable."),
    options.choice("--uncertainty", choices=_UNCERTAINTIES, help="What stands behind a mean."),
    click.option(
        "--against",
        default=BEST,
        show_default=True,
        metavar="SYSTEM",
        help="Mark differences to a row of the table, to the best, or 'none'.",
    ),
    click.option("--published", is_flag=True, help="Add the published figures (official test split)."),
    click.option("--controls", is_flag=True, help="Add the label-free controls and the ceiling."),
    pictured=False,
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    runs: tuple[Path, ...],
    names: tuple[str, ...],
    uncertainty: str,
    against: str,
    published: bool,
    controls: bool,
    scoring: ScoringOptions,
) -> None:
    """Print RUNs x tasks as one table for a paper.

    Cells are aspect recall in %, as in 'leaderboard', the best in bold. A star
    marks a significant difference to the best run, or to the system that
    --against names, by the tests of 'leaderboard' and 'compare'. A system that
    was trained on this data is marked, and is neither the best nor tested. The
    caption says so.

    LaTeX needs the package booktabs. CSV has shares, not %, with all digits.

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
        found = systems_table(scored, names=by_label, against=against, resampling=scoring.resampling)
    shown = [row for row in PUBLISHED if any(task.name in row.percents for task in found.tasks)] if published else []
    if scoring.as_json:
        warnings = [str(caution) for caution in cautions]
        print_json({"data": str(scored.dataset.path), "warnings": warnings, **_fields(found, scored, shown)})
    elif scoring.table_format == "csv":
        print_table(_csv_table(found, shown), "csv")
    else:
        caption = _caption(found, scored, scoring.resampling, uncertainty, has_published=bool(shown))
        print_table(_paper_table(found, shown, uncertainty, caption), scoring.table_format)
        signatures = (signature_of_all(scored, label, scoring.resampling) for label in scored.runs)
        print_signatures(signatures, scoring.table_format)
    ctx.exit(scoring.exit_code(scored))


def _names(runs: Sequence[Path], given: Sequence[str]) -> dict[Path, str]:
    """Return run -> name; a file's name may hold an equals sign, and so may the name behind it."""
    found: dict[Path, str] = {}
    for one in given:
        runs_of_it = [path for path in runs if one.startswith(f"{path}=") and one != f"{path}="]
        if not runs_of_it:
            files = ", ".join(f"'{path}'" for path in runs)
            raise click.UsageError(f"--name: expected RUN=NAME, where RUN is one of {files}, got '{one}'")
        path = max(runs_of_it, key=lambda path: len(str(path)))
        if path in found:
            raise click.UsageError(f"--name: '{path}' is named twice: '{found[path]}' and '{one}'")
        found[path] = one[len(f"{path}=") :]
    return found


def _paper_table(found: SystemsTable, published: Sequence[PublishedResult], uncertainty: str, caption: str) -> Table:
    rows: list[list[Cell]] = []
    breaks = []
    for number, row in enumerate(found.rows):
        if number and row.sort != found.rows[number - 1].sort:
            breaks.append(number)
        rows.append([_shown_name(row), *(_cell(row.cells.get(task.name), uncertainty) for task in found.tasks)])
    if published:
        breaks.append(len(rows))
        rows += [[f"{row.name} ‡", *(_published_cell(row, task.name) for task in found.tasks)] for row in published]
    return Table(
        columns=["system", *(task.name for task in found.tasks)],
        below_heads=["", *(f"n = {_count(found, task.name)}" for task in found.tasks)],
        rows=rows,
        breaks=breaks,
        caption=caption,
    )


def _shown_name(row: SystemRow) -> str:
    sort = "" if row.sort == "run" else f" ({row.sort})"
    return f"{row.name}{sort}{' †' if row.trained_on_it else ''}"


def _cell(cell: SystemCell | None, uncertainty: str) -> Cell:
    if cell is None:
        return ""
    mean = f"{100 * cell.recall.mean:.1f}"
    if uncertainty == "interval":
        text = percent(cell.recall, alone="")
    elif uncertainty == "error" and cell.standard_error is not None:
        text = f"{mean} ± {100 * cell.standard_error:.1f}"
    else:
        text = mean
    text += "*" if cell.differs else ""
    return Bold(text) if cell.is_best else text


def _published_cell(row: PublishedResult, task: str) -> Cell:
    return f"{row.percents[task]:.1f}" if task in row.percents else ""


def _count(found: SystemsTable, task: str) -> int:
    return next(row.cells[task].recall.n for row in found.rows if task in row.cells)


def _caption(
    found: SystemsTable, scored: ScoredRuns, resampling: Resampling, uncertainty: str, *, has_published: bool
) -> str:
    """Return what a reader of the table must know."""
    unit = "review" if scored.dataset[0].labels.review_id else "paper"
    behind = {
        "interval": f" [{100 * resampling.level:g} % interval, bootstrap over {unit}s]",
        "error": f" ± standard error, robust to {unit}s",
        "none": "",
    }[uncertainty]
    sorts = {row.sort for row in found.rows}
    parts = [f"Aspect recall in %{behind} on {scored.dataset.name}; n instances.", "Best run of each task in bold."]
    if found.reference is not None and found.holm:
        to = "the best" if found.reference == BEST else found.reference
        parts.append(f"* differs from {to} (p < {ALPHA}, sign flips by {unit}, {found.holm}).")
    parts += [f"{name} {told}." for name, told in found.same.items()]
    if any(row.trained_on_it for row in found.rows):
        parts.append(f"† {TRAINED_ON_IT}: neither the best nor tested.")
    if "ceiling" in sorts:
        parts.append("The ceiling knows the answers.")
    if has_published:
        parts.append("‡ published figures (arXiv:2504.18736), on the official test split.")
    return " ".join(parts)


def _csv_table(found: SystemsTable, published: Sequence[PublishedResult]) -> Table:
    """Return the table with one column for each figure."""
    names = [f"{task.name}_{figure}" for task in found.tasks for figure in _FIGURES]
    rows: list[list[Cell]] = [
        [
            row.name,
            row.sort,
            _flag(row.trained_on_it),
            *(one for task in found.tasks for one in _figures(row, task.name)),
        ]
        for row in found.rows
    ]
    for one in published:
        means = [[one.recall(task.name), *[None] * (len(_FIGURES) - 1)] for task in found.tasks]
        rows.append([one.name, "published", None, *(cell for cells in means for cell in cells)])
    return Table(columns=["system", "sort", "trained_on_it", *names], rows=rows)


_FIGURES = ("mean", "low", "high", "standard_error", "n", "best", "p", "p_holm")


def _figures(row: SystemRow, task: str) -> list[Cell]:
    cell = row.cells.get(task)
    if cell is None:
        return [None] * len(_FIGURES)
    recall = cell.recall
    bounds: list[Cell] = [recall.mean, recall.low, recall.high, cell.standard_error, recall.n]
    return [*bounds, _flag(cell.is_best), cell.p_value, cell.p_holm]


def _flag(value: bool | None) -> str | None:  # noqa: FBT001 - what is shown
    return None if value is None else str(value).lower()


def _fields(found: SystemsTable, scored: ScoredRuns, published: Sequence[PublishedResult]) -> Mapping[str, Any]:
    rows = [
        {
            "system": row.name,
            "path": str(scored.runs[row.label].path) if row.label in scored.runs and row.sort != "control" else None,
            "sort": row.sort,
            "trained_on_it": row.trained_on_it,
            "tasks": {task: asdict(cell) for task, cell in row.cells.items()},
        }
        for row in found.rows
    ]
    figures = [{"system": row.name, "tasks": {task: row.recall(task) for task in row.percents}} for row in published]
    return {
        "against": found.reference,
        "holm": found.holm,
        "same": found.same,
        "rows": rows,
        **({"published": figures} if published else {}),
    }
