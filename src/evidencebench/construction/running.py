"""Run a step over a file of drafts: many at a time, what is done kept, and gone on with after a stop."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evidencebench.construction.draft import Draft
from evidencebench.construction.draft_file import DraftFile, DraftHeader, writing_drafts
from evidencebench.construction.prompts import step_prompt
from evidencebench.construction.steps.model_step import NO_REPLY, ModelStep, dropped, settings_of_asker
from evidencebench.errors import DataError, ReplyError, StopError, UnreadableReplyError
from evidencebench.execution.asking import InstanceOutcome, Todo, Waiting, ask_all, attempted
from evidencebench.runs.answer_line import Failure
from evidencebench.systems.strategies.conversation import Asker


@dataclass(slots=True, kw_only=True)
class StepReport:
    """What a step did."""

    step: str
    n_drafts: int = 0  # that it was given
    n_before: int = 0  # of them done in an earlier run
    n_kept: int = 0  # that go on to the next step
    dropped: Counter[str] = field(default_factory=Counter)  # reason -> drafts
    failures: dict[str, str] = field(default_factory=dict)  # id of a draft to be asked for again -> why it has no line

    @property
    def is_finished(self) -> bool:
        """Whether every draft has a line."""
        return not self.failures

    def fields(self) -> dict[str, Any]:
        """Return what a program reads."""
        return {**asdict(self), "dropped": dict(self.dropped), "is_finished": self.is_finished}


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
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> StepReport:
    """Run a step over the drafts of a file that were not dropped, and write what comes of them as it is done.

    Drafts that the target has already are not asked for again. With a ``limit``, only so many drafts are, the same ones
    in each step, and the target stays unfinished. ``drops_failed``: a draft is dropped for which a request failed for
    good; else it stays without a line. Raises `RunMismatchError` if the target was made otherwise, and `StopError` if
    no more requests may be sent, or replies wait for a batch.
    """
    header = DraftHeader(
        step=step.name,
        settings={**settings_of_asker(asker), **step.settings},
        prompts={name: step_prompt(name).digest for name in step.prompts},
        source_sha256=source.sha256,
    )
    ids = sorted(source.going_on)
    if limit is not None:  # by a hash, so that they are a random sample of all reviews
        ids = sorted(ids, key=lambda one: hashlib.sha256(one.encode()).digest())[:limit]
    made: dict[str, Draft] = {}  # done, and not written yet
    with writing_drafts(target, header, source=source, overwrite=overwrite) as writer:
        todos = [Todo(draft_id, None) for draft_id in ids if draft_id not in writer.done]
        n_left = len(todos)
        report = StepReport(
            step=step.name,
            n_drafts=len(ids),
            n_before=len(ids) - n_left,
            n_kept=sum(writer.done.values()),
            dropped=Counter(writer.dropped),
        )

        def keep(outcome: InstanceOutcome) -> None:
            nonlocal n_left
            draft_id = outcome.todo.instance_id
            for failed in outcome.answers.values():
                if isinstance(failed, Failure) and drops_failed:
                    made[draft_id] = dropped(source[draft_id], "a request failed", failed.error)
                elif isinstance(failed, Failure):
                    report.failures[draft_id] = failed.error
            if (draft := made.pop(draft_id, None)) is not None:
                writer.append(draft)
                report.n_kept += not draft.dropped
                report.dropped += Counter([draft.dropped] if draft.dropped else [])
            n_left -= outcome.unanswered is None
            on_progress(len(ids) - n_left, len(ids))

        on_progress(len(ids) - n_left, len(ids))
        ask_all(_asking(step, source, asker, made), todos, keep, waiting)
        is_all = source.is_finished and len(ids) == len(source.going_on)
        if is_all and not n_left and report.is_finished:
            writer.finish()
    if n_left:
        raise StopError(f"{n_left} of {len(ids)} drafts wait for a batch; run again: what is stored is not paid twice")
    return report


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
