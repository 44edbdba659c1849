"""What the steps drop: the filter, the losses of each step."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from evidencebench.construction.draft import (
    DRAFTS,
    Draft,
    DraftFile,
    DraftHeader,
    judging_of,
    open_drafts,
    writing_drafts,
)
from evidencebench.errors import DataError, RunError
from evidencebench.tables import Cell, Table, printable, safe_cell

# What was dropped on the way from passages to instances, over all steps whose files lie in the work folder.


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


# The step ``filter``: drafts of which too few aspects have a source sentence are dropped.


LEAST_COVERED = 0.7
"""The share of its aspects that must have a source sentence, as the benchmark's makers had it (arXiv:2504.18736)."""

TOO_FEW = "too few aspects have a source sentence"
NO_ASPECTS = "has no aspects"


def filter_drafts(
    source: DraftFile,
    path: Path,
    *,
    least_covered: float = LEAST_COVERED,
    overwrite: bool = False,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> DraftFile:
    """Write the judged drafts to a file, those with too few covered aspects as dropped, and return that file."""
    header = DraftHeader(step="filter", settings={"least_covered": least_covered}, source_sha256=source.sha256)
    with writing_drafts(path, header, source=source, overwrite=overwrite) as writer:
        for n_done, draft in enumerate(source.drafts(), 1):
            if draft.id not in writer.done:
                writer.append(_filtered(draft, least_covered))
            on_progress(n_done, len(source.going_on))
        writer.finish()
    return open_drafts(path)


def _filtered(draft: Draft, least_covered: float) -> Draft:
    sources = judging_of(draft).sources
    if not sources:
        return msgspec.structs.replace(draft, dropped=NO_ASPECTS)
    n_covered = sum(map(bool, sources))
    # As written in decimals: as a binary float, 0.7 of 10 is not quite 7.
    if n_covered >= Fraction(str(least_covered)) * len(sources):
        return draft
    detail = f"{n_covered} of {len(sources)}, expected at least {100 * least_covered:g} %"
    return msgspec.structs.replace(draft, dropped=TOO_FEW, detail=detail)
