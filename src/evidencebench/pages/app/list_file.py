"""The list as it is found, as comma-separated values: every paper with the recall of every system on one task."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from evidencebench.pages.viewer.page_records import ListRow
from evidencebench.tables import safe_cell

_FIELDS = ("position", "id", "paper_id", "hypothesis", "n_sentences", "n_aspects", "n_results")


def csv_lines(systems: Sequence[str], rows: Iterable[ListRow], *, task: int, task_name: str) -> Iterator[bytes]:
    """Yield the lines of the file, in UTF-8; ``systems`` are the names of the columns with recalls."""
    yield _line([*_FIELDS, *(f"{system}, {task_name}" for system in systems)])
    for row in rows:
        yield _line([*(getattr(row, name) for name in _FIELDS), *(recalls[task] for recalls in row.recalls)])


def _line(cells: Iterable[object]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    return line.getvalue().encode(errors="replace")
