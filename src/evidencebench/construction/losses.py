"""What the steps drop: the filter, and the losses of all steps whose files lie in the work folder."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path

from evidencebench.construction.draft import (
    STEP_FILES,
    Draft,
    DraftFile,
    DraftHeader,
    dropped,
    judging_of,
    open_drafts,
    writing_drafts,
)
from evidencebench.construction.harvest.harvest import NOT_AT_HAND, PAPER_LICENCE, REVIEW_LICENCE, SEVERAL_PAPERS
from evidencebench.construction.recheck import UNJUDGED
from evidencebench.construction.step import NO_REPLY
from evidencebench.tables import Cell, Table, as_csv
from evidencebench.wording import counted


@dataclass(frozen=True, slots=True)
class StepLosses:
    step: str
    n_drafts: int
    n_kept: int
    dropped: Mapping[str, int]


def steps_before(last: DraftFile) -> list[DraftFile]:
    """Return the files of drafts in its folder that led to ``last``, it included, first step first."""
    files = [last]
    while reads := files[0].header.reads:
        path = last.path.parent / reads
        if not path.is_file() or any(file.path.name == path.name for file in files):
            break
        files.insert(0, open_drafts(path, must_be_finished=False))
    return files


def losses_of(file: DraftFile) -> StepLosses:
    return StepLosses(file.header.step, len(file.marks), len(file.going_on), file.dropped)


def dropped_csv(files: Sequence[DraftFile], last_step: str, dropped_last: Iterable[Draft]) -> bytes:
    """Return ``dropped.csv``: what each step dropped, in the order of the ids, then what the last one did."""
    gone = ((file.header.step, file[name]) for file in files for name in sorted({*file.offsets} - {*file.going_on}))
    rows = [
        [draft.id, draft.review_id, draft.paper_id, step, draft.dropped, draft.detail]
        for step, draft in chain(gone, ((last_step, draft) for draft in dropped_last))
    ]
    table = Table(columns=["draft", "review", "paper", "step", "reason", "detail"], rows=rows)
    return as_csv(table).encode(errors="replace") + b"\n"


def by_number(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def loss_table(steps: Iterable[StepLosses]) -> Table:
    rows: list[list[Cell]] = []
    for step in steps:
        rows.append([step.step, step.n_drafts, sum(step.dropped.values()), step.n_kept])
        rows += [[f"dropped: {reason}", None, n, None] for reason, n in by_number(step.dropped)]
    return Table(columns=["step", "drafts", "dropped", "kept"], rows=rows)


LEAST_COVERED = 0.7  # of a draft's aspects must have a source, as the benchmark's makers had it (arXiv:2504.18736)
TOO_FEW = "too few aspects have a source sentence"
NO_ASPECTS = "has no aspects"


def filter_drafts(
    source: DraftFile,
    path: Path,
    *,
    least_covered: float = LEAST_COVERED,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> DraftFile:
    header = DraftHeader(step="filter", settings={"least_covered": least_covered}, reads=source.path.name)
    least = Fraction(str(least_covered))  # as written in decimals: as a binary float, 0.7 of 10 is not quite 7
    with writing_drafts(path, header, made_of=source.sums, overwrite=True) as writer:
        for n_done, draft in enumerate(source.drafts(), 1):
            if draft.id not in writer.done:
                covered = list(map(bool, judging_of(draft).sources))
                made = draft if covered else dropped(draft, NO_ASPECTS)
                if sum(covered) < least * len(covered):
                    why = f"{sum(covered)} of {len(covered)}, expected at least {100 * least_covered:g} %"
                    made = dropped(draft, TOO_FEW, why)
                writer.append(made)
            on_progress(n_done, len(source.going_on))
        if source.is_finished:
            writer.finish()
    return open_drafts(path, must_be_finished=source.is_finished)


_REMEDIES = {  # reason -> what to do where nothing is kept; the first counts
    NOT_AT_HAND: "`construct run CONFIG --fetch` downloads open-access ones",
    REVIEW_LICENCE: "see `licences` of the configuration",
    PAPER_LICENCE: "see `licences` of the configuration",
    SEVERAL_PAPERS: "use reviews that describe each study by itself, or a `table` of summaries",
    NO_REPLY: "read some with `construct show`; another model may help",
    UNJUDGED: "raise `max_tokens` where replies are cut off, or use another model",
    TOO_FEW: "read some with `construct show`, or lower `least_covered`",
}


def explained(last: DraftFile, assembly: Counter[str] | None = None) -> tuple[str, ...]:
    """Return what became of the drafts, a sentence for each step up to the first that keeps none; nothing if some are.

    ``last`` is the file of the last step that was run; ``assembly``: for which reasons it then left out all drafts.
    """
    if not assembly and (last.going_on or not (last.marks or last.is_finished)):
        return ()
    sentences = list[str]()
    for file in steps_before(last):
        n_kept, told = len(file.going_on), counted(len(file.marks), "draft")
        if file.path.name == STEP_FILES["harvest"]:
            n_reviews = len({draft_id.partition(":")[0] for draft_id in file.marks})
            n_found = n_kept + file.dropped[NOT_AT_HAND] + file.dropped[PAPER_LICENCE]
            told = f"{counted(n_reviews, 'review')}: {counted(n_found, 'passage')} of one paper"
        told = f"{file.header.step}: {told}, {n_kept:,} kept"
        if not file.marks:
            told = f"{file.header.step}: no passage that cites a paper with a mark like [7]"
        n_unreadable = len(file.header.unreadable_papers)
        if n_unreadable:
            told += f"; {counted(n_unreadable, 'file')} of papers cannot be read"
        sentences.append(told + _listed(file.dropped))
        if not n_kept:
            remedies = (f": {remedy}" for reason, remedy in _REMEDIES.items() if reason in file.dropped)
            sentences[-1] += next(remedies, "")
            return tuple(sentences)
    return (*sentences, f"assemble: {counted(len(last.going_on), 'draft')}: 0 kept{_listed(assembly or Counter())}")


def _listed(dropped: Counter[str]) -> str:
    listed = ", ".join(f"{reason} ({n:,})" for reason, n in dropped.most_common())
    return f"; dropped: {listed}" if listed else ""
