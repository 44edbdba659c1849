"""What was dropped on the way from passages to instances, over all steps whose files lie in the work folder."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from evidencebench.construction.draft import Draft
from evidencebench.construction.draft_file import DRAFTS, DraftFile, open_drafts
from evidencebench.errors import DataError, RunError
from evidencebench.tables import Cell, Table, printable, safe_cell

COLUMNS = ("draft", "review", "paper", "step", "reason", "detail")
"""The columns of ``dropped.csv``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLosses:
    """How many drafts a step had, and reason -> how many of them it dropped."""

    step: str
    n_drafts: int
    dropped: Mapping[str, int]

    @property
    def n_kept(self) -> int:
        """How many drafts went on."""
        return self.n_drafts - sum(self.dropped.values())

    def fields(self) -> dict[str, Any]:
        """Return the losses as plain values."""
        return {"step": self.step, "n_drafts": self.n_drafts, "n_kept": self.n_kept, "dropped": dict(self.dropped)}


def steps_before(last: DraftFile) -> list[DraftFile]:
    """Return the files of drafts in its folder that led to ``last``, it included, first step first."""
    files = {}
    for path in sorted(last.path.parent.glob("*.jsonl")):
        with suppress(RunError, DataError):  # one of another construction may be damaged
            if DRAFTS.is_at(path):
                file = open_drafts(path, must_be_finished=False)
                files[file.sha256] = file
    chain = [last]
    while (before := files.pop(chain[-1].header.source_sha256, None)) is not None:
        chain.append(before)
    return chain[::-1]


def changed_since(files: Sequence[DraftFile]) -> list[str]:
    """Return a sentence for each file that was changed after the next step had read it."""
    return [
        f"{before.path.name} was changed after the step '{after.header.step}' had read it, so that the losses of the "
        "two do not add up; run that step again with --overwrite"
        for before, after in pairwise(files)
        if after.n_behind(before)
    ]


def losses_of(file: DraftFile) -> StepLosses:
    """Return what the step that wrote a file dropped."""
    return StepLosses(step=file.header.step, n_drafts=len(file.offsets), dropped=file.dropped)


def dropped_drafts(file: DraftFile) -> Iterator[Draft]:
    """Yield the drafts that a step dropped, in the order of their ids."""
    going_on = set(file.going_on)
    return (file[draft_id] for draft_id in sorted(file.offsets) if draft_id not in going_on)


def dropped_csv(dropped: Iterable[tuple[str, Draft]]) -> Iterator[bytes]:
    """Yield the lines of ``dropped.csv``, given the steps and the drafts that they dropped."""
    yield _csv_line(COLUMNS)
    for step, draft in dropped:
        yield _csv_line((draft.id, draft.review_id, draft.paper_id, step, draft.dropped, draft.detail))


def _csv_line(cells: Iterable[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([safe_cell(printable(cell)) for cell in cells])
    return line.getvalue().encode(errors="replace")


def loss_table(steps: Iterable[StepLosses]) -> Table:
    """Return a table with a row a step, and below it a row a reason for which it dropped drafts."""
    rows: list[list[Cell]] = []
    for step in steps:
        rows.append([step.step, step.n_drafts, step.n_drafts - step.n_kept, step.n_kept])
        by_number = sorted(step.dropped.items(), key=lambda item: (-item[1], item[0]))
        rows += [[f"dropped: {reason}", None, n, None] for reason, n in by_number]
    return Table(columns=["step", "drafts", "dropped", "kept"], rows=rows)
