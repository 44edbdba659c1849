"""One person: a run that grows by an answer a submission, and the drafts of what is not submitted."""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from evidencebench.errors import FinalError, RunError, StaleError, UnopenedError
from evidencebench.runs.answer_line import encode_answer
from evidencebench.runs.header import RunHeader, differing_runs
from evidencebench.runs.people.drafts import PickDraft, Picks, read_drafts, require_no_link, write_drafts
from evidencebench.runs.run_file import RUNS, read_run
from evidencebench.storage.records import Journal, open_journal, require_same
from evidencebench.system import Ranking

Clock = Callable[[], datetime]
"""Returns the current time in UTC."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a person submitted for an instance."""

    sentences: tuple[int, ...]
    seconds: int  # of work, as the page says
    seconds_open: int  # by the server's clock, from when the person first saw it

    def as_ranking(self) -> Ranking:
        """Return the submission as an answer: a set, whose order says nothing."""
        notes = {"seconds": self.seconds, "seconds_open": self.seconds_open}
        return Ranking(sentences=self.sentences, ordered=False, notes=notes)


class Person:
    """A person's answers to one task. Threads may share it; a second process gets an error.

    No file is made before the person has opened a paper, so that a name typed wrong leaves nothing behind. Raises
    `RunFormatError` if a file is damaged, and `RunMismatchError` if the run was begun on other data, on another task or
    with another limit. Every method raises `RunError` if the files cannot be used, or are no longer those of before.
    """

    def __init__(self, run_path: Path, drafts_path: Path, *, header: RunHeader, clock: Clock) -> None:
        self.run_path = run_path
        self._drafts_path, self._header, self._clock = drafts_path, header, clock
        self._lock = threading.RLock()
        self._open = ExitStack()
        self._journal: Journal | None = None
        self._submitted: dict[str, Submission] = {}
        self._drafts: dict[str, PickDraft] = {}
        if os.path.lexists(run_path):
            self._ensure_journal()

    @property
    def name(self) -> str:
        """The person's name."""
        return str(self._header.system.options["name"])

    @property
    def is_new(self) -> bool:
        """Whether the person has opened no paper yet."""
        return not self._submitted and not self._drafts

    @property
    def signature(self) -> str:
        """The person as a system, such as ``person(name=Ada)``."""
        return self._header.signature

    def status(self, instance_id: str) -> str:
        """Return ``"submitted"``, ``"draft"`` where a paper has picks, else ``"open"``."""
        if instance_id in self._submitted:
            return "submitted"
        draft = self._drafts.get(instance_id)
        return "draft" if draft is not None and draft.sentences else "open"

    def submission(self, instance_id: str) -> Submission | None:
        """Return what was submitted for an instance, or None."""
        return self._submitted.get(instance_id)

    def draft(self, instance_id: str) -> PickDraft | None:
        """Return what was picked so far, or None before the paper was first opened."""
        return self._drafts.get(instance_id)

    @property
    def submissions(self) -> dict[str, Submission]:
        """Instance id -> what was submitted, in the order of submission."""
        return dict(self._submitted)

    @property
    def last_draft(self) -> str | None:
        """The id of the paper that was worked on last, of those that are not submitted; None where there is none."""
        return next(reversed(self._drafts), None)

    def begin(self, instance_id: str) -> PickDraft:
        """Return the draft of an instance, made now if its paper is seen for the first time; raises `FinalError`."""
        with self._lock:
            self._ensure_journal()  # opened first, since it may have to be read again
            if instance_id in self._submitted:
                raise FinalError(f"{instance_id}: already submitted, and a submission is final")
            if instance_id not in self._drafts:
                opened = self._clock().isoformat(timespec="seconds")
                self._write({**self._drafts, instance_id: PickDraft(opened=opened)})
            return self._drafts[instance_id]

    def save(self, instance_id: str, picks: Picks) -> PickDraft:
        """Save picks that are not final, and where the person is; a paper that was not opened yet is opened now.

        Raises `StaleError` where another tab has changed the picks since: a tab replaces only picks that it has seen.
        """
        with self._lock:
            draft = self._with_picks(instance_id, picks)
            if draft != self._drafts[instance_id]:
                others = {name: kept for name, kept in self._drafts.items() if name != instance_id}
                self._write({**others, instance_id: draft})
            return draft

    def submit(self, instance_id: str, picks: Picks) -> Submission:
        """Append an answer to the run, on the disk and final; raises `UnopenedError`, and what `save` raises."""
        with self._lock:
            self._ensure_journal()
            if instance_id not in self._submitted and instance_id not in self._drafts:
                raise UnopenedError(
                    f"{instance_id}: submitted without having been opened; open the paper, and pick again"
                )
            draft = self._with_picks(instance_id, picks)
            seconds_open = max(draft.seconds, self._seconds_since(draft.opened))
            submission = Submission(sentences=draft.sentences, seconds=draft.seconds, seconds_open=seconds_open)
            answered = self._clock().isoformat(timespec="seconds")
            line = encode_answer(instance_id, self._header.tasks[0], submission.as_ranking(), answered=answered)
            journal = self._ensure_journal()
            try:
                journal.append(line)
                journal.sync()
            except OSError as error:
                self._release()  # a torn line is mended when the journal is opened again
                raise RunError(f"{self.run_path}: cannot be written: {error.strerror}") from error
            self._submitted[instance_id] = submission
            drafts = {name: kept for name, kept in self._drafts.items() if name != instance_id}
            try:
                self._write(drafts)
            except RunError as error:  # the submission is on the disk, and readers ignore its draft
                _log.warning("a draft that was submitted is not taken away: %s", error)
                self._drafts = drafts
            return submission

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._release()

    def _seconds_since(self, opened: str) -> int:
        return int((self._clock() - datetime.fromisoformat(opened)).total_seconds())

    def _with_picks(self, instance_id: str, picks: Picks) -> PickDraft:
        before = self.begin(instance_id)
        # The seconds never decrease, and are at most the time since the paper was opened.
        bounded = max(before.seconds, min(picks.seconds, self._seconds_since(before.opened)))
        timed = msgspec.structs.replace(before, seconds=bounded, reached=picks.reached)
        if picks.sentences == before.sentences:
            return timed
        # A tab knows its own last change, even if the reply to it was lost.
        if picks.revision != before.revision and (not picks.tab or picks.tab != before.tab):
            raise StaleError(
                f"{instance_id}: the picks were changed in another tab; look at them, and pick again",
                sentences=before.sentences,
                revision=before.revision,
            )
        return msgspec.structs.replace(timed, sentences=picks.sentences, revision=before.revision + 1, tab=picks.tab)

    def _write(self, drafts: dict[str, PickDraft]) -> None:
        write_drafts(self._drafts_path, drafts)
        self._drafts = drafts

    def _ensure_journal(self) -> Journal:
        if self._journal is None:
            require_no_link(self.run_path)
            require_no_link(self._drafts_path)
            self._journal = self._open.enter_context(open_journal(self.run_path, RUNS.begins))
            try:
                self._read(self._journal)
            except BaseException:
                self._release()
                raise
        if not self._journal.lies_at(self.run_path):  # what is appended to it would be lost
            raise RunError(
                f"{self.run_path}: was removed or replaced while it was in use; put it back, and start the app again"
            )
        return self._journal

    def _read(self, journal: Journal) -> None:
        if journal.is_empty:
            journal.append(msgspec.json.encode(self._header))
        run = read_run(self.run_path)
        begun = run.header or self._header
        # A person's picks do not depend on the versions of libraries.
        now = msgspec.structs.replace(self._header, versions=begun.versions)
        require_same(self.run_path, differing_runs(begun, now), "view it as it was begun, or choose another folder")
        self._submitted = {}
        for instance_id, task in run.done:
            answer = run.answer(instance_id, task)
            if isinstance(answer, Ranking):
                seconds = answer.notes.get("seconds", 0)
                seconds_open = answer.notes.get("seconds_open", seconds)
                self._submitted[instance_id] = Submission(
                    sentences=answer.sentences, seconds=seconds, seconds_open=seconds_open
                )
        drafts = read_drafts(self._drafts_path)
        self._drafts = {name: draft for name, draft in drafts.items() if name not in self._submitted}

    def _release(self) -> None:
        self._journal = None
        self._open.close()
