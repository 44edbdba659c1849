"""The tables that ``evidencebench compare`` prints."""

from collections.abc import Sequence
from itertools import groupby
from string import ascii_uppercase

from evidencebench.cli.output import print_table
from evidencebench.scoring.cautions import TRAINED_ON_IT
from evidencebench.scoring.compare import Pair, holm_text
from evidencebench.scoring.score_texts import percent
from evidencebench.scoring.significance import ALPHA
from evidencebench.tables import Cell, Table, printable

SEEN = f"† {TRAINED_ON_IT}"
"""The meaning of the mark behind a run's label."""


def matrices(compared: Sequence[Pair[str]], known: Sequence[str] = ()) -> list[Table]:
    """Return one table for each task: the difference of every run to every other.

    ``known`` are the labels of runs whose models were trained on this data.
    """
    labels = list(dict.fromkeys(label for pair in compared for label in (pair.first, pair.second)))
    letters = {label: letter_of(number) for number, label in enumerate(labels)}
    tables = []
    for task in dict.fromkeys(pair.comparison.task.name for pair in compared):
        cells: dict[tuple[str, str], str] = {}
        means: dict[str, float] = {}
        for pair in compared:
            if pair.comparison.task.name == task:
                star = "*" if pair.p_value < ALPHA else ""
                points = round(100 * pair.comparison.test.difference.mean, 1)
                cells[pair.first, pair.second] = f"{points:+.1f}{star}"
                cells[pair.second, pair.first] = f"{-points + 0.0:+.1f}{star}"
                means |= {pair.first: pair.comparison.first.mean, pair.second: pair.comparison.second.mean}
        rows: list[list[Cell]] = [
            [
                f"{letters[label]} {label}{' †' if label in known else ''}",
                100 * means[label],
                *(cells.get((label, other), "") for other in labels),
            ]
            for label in labels
        ]
        title = f"{task}: aspect recall in %, and the difference row - column in points"
        tables.append(Table(title=title, columns=["run", "recall", *letters.values()], rows=rows))
    return tables


def matrix_note(compared: Sequence[Pair[str]]) -> str:
    """Return the note that explains the stars in `matrices`."""
    return f"* p below {ALPHA} by sign flips, {holm_text(compared)}"


def letter_of(number: int) -> str:
    """Return A, B, ..., Z, AA, AB, ... for 0, 1, ..."""
    n_rounds, left = divmod(number, len(ascii_uppercase))
    return (letter_of(n_rounds - 1) if n_rounds else "") + ascii_uppercase[left]


def print_comparisons(compared: Sequence[Pair[str]], table_format: str, known: Sequence[str] = ()) -> None:
    """Print two tables for each pair of runs; as CSV one table of all. ``known`` are as in `matrices`."""
    if table_format == "csv":
        print_table(Table(columns=_CSV_COLUMNS, rows=[_csv_row(pair, known) for pair in compared]), "csv")
        return
    for (first, second), pairs in groupby(compared, key=lambda pair: (pair.first, pair.second)):
        members = list(pairs)
        names = [f"{label}{' †' if label in known else ''}" for label in (first, second)]
        title = f"first: {printable(names[0])}\nsecond: {printable(names[1])}\n"
        if table_format != "text":
            title = " - ".join(names)
        columns = ["task", "first", "second", "difference", "p (Holm)", "n"]
        print_table(Table(title=title, columns=columns, rows=list(map(_difference_row, members))), table_format)
        columns = ["task", "overlap in %", "better", "equal", "worse", "detectable", "unanswered"]
        notes = [SEEN] if {first, second} & set(known) else []
        print_table(Table(columns=columns, rows=list(map(_detail_row, members)), notes=notes), table_format)


def _difference_row(pair: Pair[str]) -> list[Cell]:
    found = pair.comparison
    difference = found.test.difference
    means: list[Cell] = [100 * found.first.mean, 100 * found.second.mean]
    return [found.task.name, *means, percent(difference), pair.p_text, difference.n]


def _detail_row(pair: Pair[str]) -> list[Cell]:
    found, test = pair.comparison, pair.comparison.test
    counts: list[Cell] = [test.n_better, test.n_equal, test.n_worse]
    detectable = None if test.minimum_detectable is None else 100 * test.minimum_detectable
    unanswered = f"{found.first_counts.unanswered}, {found.second_counts.unanswered}"
    return [found.task.name, percent(found.overlap), *counts, detectable, unanswered]


_CSV_COLUMNS = (
    *("first", "second", "task", "mean_first", "mean_second", "difference", "low", "high", "p", "p_holm"),
    *("n", "better", "equal", "worse", "overlap", "detectable"),
    *("unanswered_first", "unanswered_second", "trained_on_it_first", "trained_on_it_second"),
)


def _csv_row(pair: Pair[str], known: Sequence[str]) -> list[Cell]:
    found, test, names = pair.comparison, pair.comparison.test, (pair.first, pair.second)
    difference = test.difference
    return [
        *(*names, found.task.name, found.first.mean, found.second.mean),
        *(difference.mean, difference.low, difference.high, test.p_value, pair.p_value),
        *(difference.n, test.n_better, test.n_equal, test.n_worse),
        *(None if found.overlap is None else found.overlap.mean, test.minimum_detectable),
        *(found.first_counts.unanswered, found.second_counts.unanswered),
        *(str(name in known).lower() for name in names),
    ]
