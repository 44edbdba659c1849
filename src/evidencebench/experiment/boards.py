"""Which system is best: the leaderboard of each task, and systems x tasks as one table for a paper."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, get_args

from evidencebench.data.catalog import CATALOG, sha256_matches
from evidencebench.data.dataset import Dataset
from evidencebench.experiment.result_table import ResultTable, board_chart, head_of, label_of
from evidencebench.runs.oddities import TRAINED_ON_IT
from evidencebench.scoring.leaderboard import (
    BEST,
    COLUMNS,
    Board,
    Standing,
    SystemCell,
    SystemRow,
    SystemsTable,
    board_of,
    systems_table,
)
from evidencebench.scoring.measures import ASPECT_RECALL, MeasureOrName
from evidencebench.scoring.output import PUBLISHED, PublishedResult, signature_of_all
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.scoring.score_runs import NOT_MEASURED, ScoredRuns
from evidencebench.scoring.significance import ALPHA, percent
from evidencebench.tables import Bold, Cell, Column, Table, table_for_csv, table_for_readers

UNTESTED = "no test: too few papers differ"
Uncertainty = Literal["interval", "error", "epochs", "none"]


def leaderboard_result(
    scored: ScoredRuns,
    resampling: Resampling = DEFAULT_RESAMPLING,
    measure: MeasureOrName = ASPECT_RECALL,
    *,
    published: bool = False,
) -> ResultTable[Mapping[str, Board]]:
    """Return task -> its leaderboard; with ``published``, the published figures of the official test split too."""
    boards = {task.name: board_of(scored, task, resampling, measure) for task in scored.tasks}
    dataset, rows = scored.dataset, {task: board.standings for task, board in boards.items()}
    merged = {task: board.merged.standings for task, board in boards.items()}
    tables = [_board_table(task, board.merged, label_of(measure)) for task, board in boards.items()]
    fields = {"tasks": {task: [row.fields() for row in standings] for task, standings in rows.items()}}
    return ResultTable(
        found=boards,
        tables=(*tables, _published_table(list(rows), dataset)) if published else tuple(tables),
        figures=_board_csv(rows, dataset, published=published),
        fields={**head_of(scored), **fields, **({"published": _published_fields(dataset)} if published else {})},
        signatures=tuple(row.signature for standings in rows.values() for row in standings if row.signature),
        chart=partial(board_chart, merged, dataset.name, label_of(measure), resampling),
    )


def _board_table(task: str, board: Board, label: str) -> Table:
    rows = board.standings
    has_epochs = any(row.epochs for row in rows)
    mean, *others = (column for column in COLUMNS if has_epochs or "epochs" not in column.heading)
    return table_for_readers([_SYSTEM, replace(mean, heading=label), *others], rows, title=task, notes=_notes(board))


_SYSTEM: Column[Standing] = Column(
    "system", "system", lambda row: f"{row.name}{' *' if row.is_control else ''}{' †' if row.trained_on_it else ''}"
)


def _notes(board: Board) -> list[str]:
    rows = board.standings
    notes = {
        "* a baseline, computed here; oracle knows the labels: the ceiling, unranked": any(
            row.is_control for row in rows
        ),
        f"† {TRAINED_ON_IT}": any(row.trained_on_it for row in rows),
        UNTESTED: any(row.wrong_hypothesis and row.wrong_hypothesis.p_holm is None for row in rows),
    }
    return [*filter(None, [board.sameness]), *(note for note, is_needed in notes.items() if is_needed)]


def _board_csv(board: Mapping[str, Sequence[Standing]], dataset: Dataset, *, published: bool) -> Table:
    """Return one table of all tasks, for CSV; published figures, on another split, have a mean only."""
    columns = [column for column in COLUMNS if column.name]
    rows: list[list[Cell]] = [
        [dataset.name, task, row.system, *(column.value(row) for column in columns)]
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
    another = ": ANOTHER split than yours, so rows are not comparable"
    which = ", which is this data" if _is_official_test(dataset) else another
    title = f"Published figures in % (arXiv:2504.18736),\non the official test split{which}"
    return Table(title=title, columns=["system, strategy", *tasks], rows=rows)


def paper_result(
    scored: ScoredRuns,
    resampling: Resampling = DEFAULT_RESAMPLING,
    measure: MeasureOrName = ASPECT_RECALL,
    *,
    names: Mapping[str, str] | None = None,
    uncertainty: Uncertainty = "interval",
    against: str = BEST,
    published: bool = False,
) -> ResultTable[SystemsTable]:
    """Return the table of systems x tasks; ``names`` are by label, ``against`` is of `systems_table`."""
    if uncertainty not in (known := get_args(Uncertainty)):
        raise ValueError(f"uncertainty: expected {', '.join(known[:-1])} or {known[-1]}, got {uncertainty!r}")
    table = systems_table(scored, names=names, against=against, resampling=resampling, measure=measure)
    shown = [row for row in PUBLISHED if any(task.name in row.percents for task in table.tasks)] if published else []
    columns = _columns(table, uncertainty)
    own = table_for_csv(columns, table.rows)  # one column for each figure; of published ones, only means are known
    theirs = [
        {"system": row.name, "sort": "published"} | {f"{task}_mean": row.recall(task) for task in row.percents}
        for row in shown
    ]
    caption = _caption(table, scored, resampling, uncertainty, label_of(measure), has_published=bool(shown))
    return ResultTable(
        found=table,
        tables=(_paper_table(table, columns, shown, caption),),
        figures=replace(own, rows=[*own.rows, *([cells.get(name) for name in own.columns] for cells in theirs)]),
        fields={**head_of(scored), **_fields(table, scored, shown)},
        signatures=tuple(signature_of_all(scored, label, resampling, measure) for label in scored.runs),
    )


_SORTS = {"run": "", "control": " (baseline)", "ceiling": " (ceiling)"}


def _columns(table: SystemsTable, uncertainty: str) -> list[Column[SystemRow]]:
    def shown_name(row: SystemRow) -> str:
        return f"{row.name}{_SORTS[row.sort]}{' †' if row.trained_on_it else ''}"

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
    table: SystemsTable,
    scored: ScoredRuns,
    resampling: Resampling,
    uncertainty: str,
    label: str,
    *,
    has_published: bool,
) -> str:
    unit = "review" if scored.dataset[0].labels.review_id else "paper"
    behind = {
        "interval": f" [{100 * resampling.level:g} % interval, bootstrap over {unit}s]",
        "error": f" ± standard error, robust to {unit}s",
        "epochs": " ± standard deviation of the epochs' means, for runs of several epochs",
        "none": "",
    }[uncertainty]
    sentences = [
        f"{label.capitalize()} in %{behind} on {scored.dataset.name}; n instances.",
        "Best run of each task in bold.",
    ]
    if table.reference is not None and table.holm:
        to = "the best" if table.reference == BEST else table.reference
        sentences.append(f"* differs from {to} (p < {ALPHA}, {resampling.test_name} over {unit}s, {table.holm}).")
    if any(cell.wrong_hypothesis for row in table.rows for cell in row.cells.values()):
        sentences.append("Wrong: with another paper's hypothesis, and p of the difference (Holm over the runs).")
    else:
        sentences.append(f"With another paper's hypothesis: {NOT_MEASURED}.")
    sentences += [f"{name} {sameness}." for name, sameness in table.same.items()]
    if any(row.trained_on_it for row in table.rows):
        sentences.append(f"† {TRAINED_ON_IT}: neither the best nor tested.")
    if any(row.sort == "ceiling" for row in table.rows):
        sentences.append("The ceiling knows the labels.")
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
