"""Who answers what in a review: papers assigned to reviewers by turns, in a file that people may edit."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path

from evidencebench.errors import UnreadableError
from evidencebench.files.atomic import write_whole
from evidencebench.files.disk import read_text
from evidencebench.runs.people import checked_name
from evidencebench.tables import cell_as_written, safe_cell

EACH = 2
"""How many reviewers a paper is assigned to."""

_COLUMNS = ["paper", "reviewer"]


def read_assigned(desk_folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Return paper -> its reviewers; one that is not there is open to everybody. Raises `UnreadableError`."""
    path = _path(desk_folder)
    if not path.exists():
        return {}
    rows = csv.DictReader(io.StringIO(read_text(path)))
    if rows.fieldnames != _COLUMNS:
        got = ", ".join(rows.fieldnames or ()) or "nothing"
        raise UnreadableError(f"{path}: line 1: expected the columns {', '.join(_COLUMNS)}, got {got}")
    assigned: dict[str, list[str]] = {}
    for row in rows:
        assigned.setdefault(cell_as_written(row["paper"]), []).append(row["reviewer"] or "")
    return {paper: tuple(reviewers) for paper, reviewers in assigned.items()}


def assign(desk_folder: Path, papers: Iterable[str], reviewers: Sequence[str]) -> None:
    """Assign each paper that nobody has yet to two reviewers by turns."""
    names = tuple(dict.fromkeys(map(checked_name, reviewers)))
    assigned = dict(read_assigned(desk_folder))
    turns = cycle(names)
    for paper in papers:
        if paper not in assigned:
            assigned[paper] = tuple(islice(turns, min(EACH, len(names))))
    text = io.StringIO()
    written = csv.writer(text, lineterminator="\n")
    written.writerow(_COLUMNS)
    written.writerows((safe_cell(paper), name) for paper, names_of in assigned.items() for name in names_of)
    desk_folder.mkdir(parents=True, exist_ok=True)
    write_whole(_path(desk_folder), text.getvalue())


def _path(desk_folder: Path) -> Path:
    return desk_folder / "assigned.csv"
