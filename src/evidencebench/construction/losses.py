"""What the steps drop: the filter, and the losses of all steps whose files lie in the work folder."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, pairwise
from pathlib import Path

from evidencebench.construction.draft import (
    DRAFTS,
    Draft,
    DraftFile,
    DraftHeader,
    dropped,
    judging_of,
    open_drafts,
    writing_drafts,
)
from evidencebench.errors import DataError, RunError
from evidencebench.tables import Cell, Table, as_csv


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLosses:
    step: str
    n_drafts: int
    n_kept: int
    dropped: Mapping[str, int]


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
    return [
        f"{before.path.name} was changed after the step '{after.header.step}' had read it, so that the losses of the "
        "two do not add up; run that step again with --overwrite"
        for before, after in pairwise(files)
        if after.n_behind(before)
    ]


def losses_of(file: DraftFile) -> StepLosses:
    return StepLosses(
        step=file.header.step, n_drafts=len(file.offsets), n_kept=len(file.going_on), dropped=file.dropped
    )


def dropped_csv(files: Sequence[DraftFile], last_step: str, dropped_last: Iterable[Draft]) -> bytes:
    """Return ``dropped.csv``: what each step dropped, in the order of the ids, then what the last one did."""
    gone = ((file.header.step, file[name]) for file in files for name in sorted({*file.offsets} - {*file.going_on}))
    rows = [
        [draft.id, draft.review_id, draft.paper_id, step, draft.dropped, draft.detail]
        for step, draft in chain(gone, ((last_step, draft) for draft in dropped_last))
    ]
    table = Table(columns=["draft", "review", "paper", "step", "reason", "detail"], rows=rows)
    return as_csv(table).encode(errors="replace") + b"\n"


def loss_table(steps: Iterable[StepLosses]) -> Table:
    rows: list[list[Cell]] = []
    for step in steps:
        rows.append([step.step, step.n_drafts, sum(step.dropped.values()), step.n_kept])
        by_number = sorted(step.dropped.items(), key=lambda item: (-item[1], item[0]))
        rows += [[f"dropped: {reason}", None, n, None] for reason, n in by_number]
    return Table(columns=["step", "drafts", "dropped", "kept"], rows=rows)


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
    header = DraftHeader(step="filter", settings={"least_covered": least_covered}, source_sha256=source.sha256)
    least = Fraction(str(least_covered))  # as written in decimals: as a binary float, 0.7 of 10 is not quite 7
    with writing_drafts(path, header, source=source, overwrite=overwrite) as writer:
        for n_done, draft in enumerate(source.drafts(), 1):
            if draft.id not in writer.done:
                covered = list(map(bool, judging_of(draft).sources))
                made = draft if covered else dropped(draft, NO_ASPECTS)
                if sum(covered) < least * len(covered):
                    why = f"{sum(covered)} of {len(covered)}, expected at least {100 * least_covered:g} %"
                    made = dropped(draft, TOO_FEW, why)
                writer.append(made)
            on_progress(n_done, len(source.going_on))
        writer.finish()
    return open_drafts(path)
