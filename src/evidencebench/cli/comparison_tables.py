"""The tables that ``evidencebench compare`` prints."""

from collections.abc import Sequence
from string import ascii_uppercase

from evidencebench.cli.output import print_table
from evidencebench.scoring.cautions import TRAINED_ON_IT
from evidencebench.scoring.compare import Comparison
from evidencebench.scoring.ranks import ALPHA
from evidencebench.scoring.score_texts import percent
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted

SEEN = f"† {TRAINED_ON_IT}"
"""What the mark behind a run's label means."""

Compared = tuple[str, str, Comparison]
"""Two runs by their labels, and what came of them on a task."""


def matrices(compared: Sequence[Compared], adjusted: Sequence[float], known: Sequence[str] = ()) -> list[Table]:
    """Return a table a task: every run against every other, as differences.

    Parameters
    ----------
    compared, adjusted
        Every pair of runs on every task, and its p-value.
    known
        Labels of runs whose models were trained on this data.
    """
    by_task: dict[str, dict[tuple[str, str], str]] = {}
    means: dict[str, dict[str, float]] = {}
    for (first, second, found), p_value in zip(compared, adjusted, strict=True):
        star = "*" if p_value < ALPHA else ""
        points = round(100 * found.test.difference.mean, 1)
        cells = by_task.setdefault(found.task.name, {})
        cells[first, second], cells[second, first] = f"{points:+.1f}{star}", f"{-points + 0.0:+.1f}{star}"
        means.setdefault(found.task.name, {}).update({first: found.first.mean, second: found.second.mean})
    labels = list(dict.fromkeys(label for first, second, _ in compared for label in (first, second)))
    letters = {label: letter_of(number) for number, label in enumerate(labels)}
    tables = []
    for task, cells in by_task.items():
        rows: list[list[Cell]] = [
            [
                f"{letters[label]} {label}{' †' if label in known else ''}",
                100 * means[task][label],
                *(cells.get((label, other), "") for other in labels),
            ]
            for label in labels
        ]
        title = f"{task}: aspect recall in %, and the difference row - column in points"
        tables.append(Table(title=title, columns=["run", "recall", *letters.values()], rows=rows))
    return tables


def matrix_note(n_tests: int) -> str:
    """Return what stands in `matrices`."""
    return f"* p below {ALPHA} by sign flips, Holm over {counted(n_tests, 'test')} (all pairs and tasks)"


def letter_of(number: int) -> str:
    """Return A, B, ..., Z, AA, AB, ... for 0, 1, ..."""
    n_rounds, left = divmod(number, len(ascii_uppercase))
    return (letter_of(n_rounds - 1) if n_rounds else "") + ascii_uppercase[left]


def print_comparisons(
    compared: Sequence[Compared], adjusted: Sequence[float], table_format: str, known: Sequence[str] = ()
) -> None:
    """Print two tables for each pair of runs; as CSV one flat table. ``known`` are as in `matrices`."""
    if table_format == "csv":
        flat = [
            [first, second, *_csv_row(found, p), *(str(one in known).lower() for one in (first, second))]
            for first, second, found, p in _with(compared, adjusted)
        ]
        print_table(Table(columns=_CSV_COLUMNS, rows=flat), "csv")
        return
    pairs: dict[tuple[str, str], list[tuple[Comparison, float]]] = {}
    for first, second, found, p_value in _with(compared, adjusted):
        pairs.setdefault((first, second), []).append((found, p_value))
    for (first, second), members in pairs.items():
        names = [f"{label}{' †' if label in known else ''}" for label in (first, second)]
        title = f"first: {printable(names[0])}\nsecond: {printable(names[1])}\n"
        if table_format != "text":
            title = " - ".join(names)
        columns = ["task", "first", "second", "difference", "p (Holm)", "n"]
        differences = [_difference_row(*member) for member in members]
        print_table(Table(title=title, columns=columns, rows=differences), table_format)
        columns = ["task", "overlap in %", "better", "equal", "worse", "detectable", "unanswered"]
        details = [_detail_row(found) for found, _ in members]
        notes = [SEEN] if {first, second} & set(known) else []
        print_table(Table(columns=columns, rows=details, notes=notes), table_format)


def _with(compared: Sequence[Compared], adjusted: Sequence[float]) -> list[tuple[str, str, Comparison, float]]:
    return [(*one, p_value) for one, p_value in zip(compared, adjusted, strict=True)]


def _difference_row(found: Comparison, p_value: float) -> list[Cell]:
    means: list[Cell] = [100 * found.first.mean, 100 * found.second.mean]
    return [found.task.name, *means, percent(found.test.difference), f"{p_value:.4f}", found.test.difference.n]


def _detail_row(found: Comparison) -> list[Cell]:
    test = found.test
    counts: list[Cell] = [test.n_better, test.n_equal, test.n_worse]
    detectable = None if test.minimum_detectable is None else 100 * test.minimum_detectable
    unanswered = f"{found.first_counts.unanswered}, {found.second_counts.unanswered}"
    return [found.task.name, percent(found.overlap), *counts, detectable, unanswered]


_CSV_COLUMNS = (
    *("first", "second", "task", "mean_first", "mean_second", "difference", "low", "high", "p", "p_holm"),
    *("n", "better", "equal", "worse", "overlap", "detectable"),
    *("unanswered_first", "unanswered_second", "trained_on_it_first", "trained_on_it_second"),
)


def _csv_row(found: Comparison, p_value: float) -> list[Cell]:
    test = found.test
    difference = test.difference
    overlap = None if found.overlap is None else found.overlap.mean
    unanswered = [counts.unanswered for counts in (found.first_counts, found.second_counts)]
    numbers: list[Cell] = [found.first.mean, found.second.mean, difference.mean, difference.low, difference.high]
    counts: list[Cell] = [difference.n, test.n_better, test.n_equal, test.n_worse]
    return [found.task.name, *numbers, test.p_value, p_value, *counts, overlap, test.minimum_detectable, *unanswered]
