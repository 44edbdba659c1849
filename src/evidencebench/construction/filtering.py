"""The step ``filter``: drafts of which too few aspects have a source sentence are dropped."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.construction.draft_file import DraftFile, DraftHeader, open_drafts, writing_drafts
from evidencebench.construction.judged_draft import judging_of

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
