"""Run a step over a file of drafts: many at a time, what is done kept, and gone on with after a stop."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evidencebench.construction.draft import Draft
from evidencebench.construction.draft_file import DraftFile, DraftHeader, DraftWriter, writing_drafts
from evidencebench.construction.prompts import digests_of
from evidencebench.construction.steps.model_step import NO_REPLY, ModelStep, dropped, settings_of_asker
from evidencebench.errors import DataError, ReplyError, StopError, UnreadableReplyError
from evidencebench.execution.asking import InstanceOutcome, Todo, Waiting, ask_all, attempted
from evidencebench.runs.answer_line import Failure
from evidencebench.systems.strategies.conversation import Asker


@dataclass(slots=True, kw_only=True)
class StepReport:
    """What a step did.

    Attributes
    ----------
    step
        Its name.
    n_drafts
        How many it was given.
    n_before
        How many of them had been done in an earlier run.
    n_kept
        How many go on to the next step.
    dropped
        Reason -> how many were dropped.
    failures
        Id of a draft -> why it has no line: a request for it failed for good, or its paper cannot be read. The next run
        asks for it again.
    """

    step: str
    n_drafts: int = 0
    n_before: int = 0
    n_kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether every draft has a line."""
        return not self.failures

    def fields(self) -> dict[str, Any]:
        """Return what a program reads."""
        return {**asdict(self), "dropped": dict(self.dropped), "is_finished": self.is_finished}


def settings_of(step: ModelStep, asker: Asker) -> dict[str, Any]:
    """Return what decides the outcome of a step, besides its prompts and its input: its settings and the model's."""
    return {**settings_of_asker(asker), **step.settings}


def run_step(
    step: ModelStep,
    source: DraftFile,
    target: Path,
    *,
    asker: Asker,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    overwrite: bool = False,
    limit: int | None = None,
    drops_failed: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> StepReport:
    """Run a step over the drafts of a file that were not dropped, and write what comes of them.

    Drafts that the target has already are not asked for again. The order of the lines is that in which they are done.

    Parameters
    ----------
    limit
        How many drafts, of any reviews, and the same ones in each step; None: all. With a limit that is less, the
        target stays unfinished.
    drops_failed
        Whether a draft is dropped for which a request failed for good; else it stays without a line.

    Raises
    ------
    RunMismatchError
        If the target was made with other settings, prompts or from another file.
    StopError
        If no more requests may be sent, or replies wait for a batch; what was done is in the target.
    """
    header = DraftHeader(
        step=step.name, settings=settings_of(step, asker), prompts=digests_of(step.prompts), source_sha256=source.sha256
    )
    ids = sorted(source.going_on) if limit is None else sorted(source.going_on, key=_mixed)[:limit]
    with writing_drafts(target, header, source=source, overwrite=overwrite) as writer:
        todo = [Todo(one, None) for one in ids if one not in writer.done]
        record = _Record(
            writer=writer,
            source=source,
            report=StepReport(
                step=step.name,
                n_drafts=len(ids),
                n_before=len(ids) - len(todo),
                n_kept=sum(writer.done.values()),
                dropped=Counter(writer.dropped),
            ),
            drops_failed=drops_failed,
            on_progress=on_progress or (lambda *_: None),
        )
        record.tell_progress()
        ask_all(_asking(step, source, asker, record.made), todo, record.keep, waiting)
        is_all = source.is_finished and len(ids) == len(source.going_on)
        if is_all and not record.n_left and record.report.is_finished:
            writer.finish()
    if record.n_left:
        raise StopError(
            f"{record.n_left} of {len(ids)} drafts wait for a batch; run again: what is stored is not paid twice"
        )
    return record.report


def _mixed(draft_id: str) -> bytes:
    """Return what orders drafts of all reviews among each other, so that the first of them are like all."""
    return hashlib.sha256(draft_id.encode()).digest()


@dataclass(slots=True, kw_only=True)
class _Record:
    """What becomes of the drafts of a step, as they are done."""

    writer: DraftWriter
    source: DraftFile
    report: StepReport
    drops_failed: bool
    on_progress: Callable[[int, int], None]
    made: dict[str, Draft] = field(default_factory=dict)  # done, and not written yet
    n_done: int = 0  # in this run

    @property
    def n_left(self) -> int:
        return self.report.n_drafts - self.report.n_before - self.n_done

    def tell_progress(self) -> None:
        self.on_progress(self.report.n_drafts - self.n_left, self.report.n_drafts)

    def keep(self, outcome: InstanceOutcome) -> None:
        """Write the draft of an outcome, or note why there is none."""
        draft_id = outcome.todo.instance_id
        for failed in outcome.answers.values():
            if isinstance(failed, Failure) and self.drops_failed:
                self.made[draft_id] = dropped(self.source[draft_id], "a request failed", failed.error)
            elif isinstance(failed, Failure):
                self.report.failures[draft_id] = failed.error
        if (draft := self.made.pop(draft_id, None)) is not None:
            self.writer.append(draft)
            self.report.n_kept += not draft.dropped
            self.report.dropped += Counter([draft.dropped] if draft.dropped else [])
        self.n_done += outcome.unanswered is None
        self.tell_progress()


def _asking(
    step: ModelStep, source: DraftFile, asker: Asker, made: dict[str, Draft]
) -> Callable[[Todo], InstanceOutcome]:
    """Return the function that threads call; it leaves what came of a draft in ``made``."""

    def ask(todo: Todo) -> InstanceOutcome:
        draft = source[todo.instance_id]

        def work() -> None:
            try:
                made[todo.instance_id] = step.work(asker, draft)
            except UnreadableReplyError as error:
                made[todo.instance_id] = dropped(draft, NO_REPLY, str(error))

        return attempted(todo, work, failures=(ReplyError, DataError))

    return ask
