"""People who answer as a system does: their picks, and a run that grows with each submission."""

import hashlib
import logging
import os
import platform
import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import DataError, FinalError, PeopleError, RunError, RunFormatError, StaleError, UnopenedError
from evidencebench.files.atomic import whole_file
from evidencebench.files.disk import BROKEN_JSON, read_whole
from evidencebench.files.records import Journal, open_journal, require_same
from evidencebench.runs.header import DataHeader, RunHeader, SystemHeader, differing_runs
from evidencebench.runs.run import RUNS, encode_answer, read_run
from evidencebench.system import Ranking
from evidencebench.version import __version__
from evidencebench.wording import counted


class Picks(msgspec.Struct, frozen=True, kw_only=True):
    """What a person picks in one tab of a browser: 0-based indices, in the order they were picked."""

    sentences: tuple[int, ...] = ()
    reached: int = 0  # the sentence that the person has got to; 0 in files of earlier versions
    seconds: int = 0  # how long the person worked on it, as the page says
    revision: int = 0  # of the draft that the tab has changed: counts the changes; 0 in files of earlier versions
    tab: str = ""  # a name that only this tab has, and another one after it was loaded again


class PickDraft(Picks, frozen=True, kw_only=True):
    """The picks as the last change has left them, and the tab that made it."""

    opened: str  # when the person first saw the paper, ISO 8601, UTC


class _DraftsFile(msgspec.Struct, frozen=True, kw_only=True):
    evidencebench_drafts: int = 1
    drafts: dict[str, PickDraft] = {}  # by instance, the one that was worked on last at the end


def checked_picks(sentences: Sequence[int], *, n_sentences: int, budget: int) -> tuple[int, ...]:
    for index in sentences:
        if not 0 <= index < n_sentences:
            raise PeopleError(f"sentence {index}: the paper has sentences 0..{n_sentences - 1}")
    if len(set(sentences)) < len(sentences):
        raise PeopleError("a sentence is picked twice")
    if len(sentences) > budget:
        raise PeopleError(f"{counted(len(sentences), 'sentence')} picked, but at most {budget} count; remove some")
    return tuple(sentences)


def require_no_link(path: Path) -> None:
    if path.is_symlink():
        raise RunError(f"{path}: is a link; people's files must lie in the folder itself")


Clock = Callable[[], datetime]
"""Returns the current time in UTC."""

_log = logging.getLogger(__name__)


class Person:
    """A person's answers to one task. Threads may share it; a second process gets an error.

    No file is made before the person has opened a paper, so that a name typed wrong leaves nothing behind. Raises
    `RunFormatError` if a file is damaged, and `RunMismatchError` if the run was begun on other data, on another task or
    with another limit. Every method raises `RunError` if the files cannot be used, or are no longer those of before.

    Attributes
    ----------
    submitted
        Instance id -> answer, a set, in the order of submission; it notes the ``seconds`` of work, as the page says,
        and ``seconds_open``, by the server's clock, from when the person first saw the paper.
    drafts
        Instance id -> picks of a paper that was opened and not submitted; the one that was changed last at the end.
    """

    def __init__(self, run_path: Path, drafts_path: Path, *, header: RunHeader, clock: Clock) -> None:
        self.run_path, self.header = run_path, header
        self._drafts_path, self._clock = drafts_path, clock
        self._lock = threading.RLock()
        self._open = ExitStack()
        self._journal: Journal | None = None
        self.submitted: dict[str, Ranking] = {}
        self.drafts: dict[str, PickDraft] = {}
        if os.path.lexists(run_path):
            self._ensure_journal()

    @property
    def name(self) -> str:
        return str(self.header.system.options["name"])

    def begin(self, instance_id: str) -> PickDraft:
        """Return the draft of an instance, made now if its paper is seen for the first time; raises `FinalError`."""
        with self._lock:
            self._ensure_journal()  # opened first, since it may have to be read again
            if instance_id in self.submitted:
                raise FinalError(f"{instance_id}: already submitted, and a submission is final")
            if instance_id not in self.drafts:
                opened = self._clock().isoformat(timespec="seconds")
                self._write({**self.drafts, instance_id: PickDraft(opened=opened)})
            return self.drafts[instance_id]

    def save(self, instance_id: str, picks: Picks) -> PickDraft:
        """Save picks that are not final; raises `StaleError` where another tab has changed the picks since."""
        with self._lock:
            draft = self._with_picks(instance_id, picks)
            if draft != self.drafts[instance_id]:
                others = {name: kept for name, kept in self.drafts.items() if name != instance_id}
                self._write({**others, instance_id: draft})
            return draft

    def submit(self, instance_id: str, picks: Picks) -> Ranking:
        """Append an answer to the run, on the disk and final; raises `UnopenedError`, and what `save` raises."""
        with self._lock:
            self._ensure_journal()
            if instance_id not in self.submitted and instance_id not in self.drafts:
                raise UnopenedError(
                    f"{instance_id}: submitted without having been opened; open the paper, and pick again"
                )
            draft = self._with_picks(instance_id, picks)
            seconds_open = max(draft.seconds, self._seconds_since(draft.opened))
            notes = {"seconds": draft.seconds, "seconds_open": seconds_open}
            submission = Ranking(sentences=draft.sentences, ordered=False, notes=notes)
            answered = self._clock().isoformat(timespec="seconds")
            line = encode_answer(instance_id, self.header.tasks[0], submission, answered=answered)
            journal = self._ensure_journal()
            try:
                journal.append(line)
                journal.sync()
            except OSError as error:
                self._release()  # a torn line is mended when the journal is opened again
                raise RunError(f"{self.run_path}: cannot be written: {error.strerror}") from error
            self.submitted[instance_id] = submission
            drafts = {name: kept for name, kept in self.drafts.items() if name != instance_id}
            try:
                self._write(drafts)
            except RunError as error:  # the submission is on the disk, and readers ignore its draft
                _log.warning("a draft that was submitted is not taken away: %s", error)
                self.drafts = drafts
            return submission

    def close(self) -> None:
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
            raise StaleError(f"{instance_id}: the picks were changed in another tab; look at them, and pick again")
        return msgspec.structs.replace(timed, sentences=picks.sentences, revision=before.revision + 1, tab=picks.tab)

    def _write(self, drafts: dict[str, PickDraft]) -> None:
        require_no_link(self._drafts_path)
        try:
            with whole_file(self._drafts_path, follows_links=False) as file:  # a link that was made since is replaced
                file.write(msgspec.json.encode(_DraftsFile(drafts=drafts)))
        except DataError as error:
            raise RunError(str(error)) from error
        self.drafts = drafts

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
            journal.append(msgspec.json.encode(self.header))
        run = read_run(self.run_path)
        begun = run.header or self.header
        # A person's picks do not depend on the versions of libraries.
        now = msgspec.structs.replace(self.header, versions=begun.versions)
        require_same(self.run_path, differing_runs(begun, now), "view it as it was begun, or choose another folder")
        answers = ((instance_id, run.answer(instance_id, task)) for instance_id, task in run.done)
        self.submitted = {instance_id: answer for instance_id, answer in answers if isinstance(answer, Ranking)}
        path = self._drafts_path
        try:
            drafts = msgspec.json.decode(read_whole(path), type=prepared(_DraftsFile)).drafts
        except FileNotFoundError:
            drafts = {}
        except OSError as error:
            raise RunFormatError(f"{path}: cannot be read: {error.strerror}") from error
        except BROKEN_JSON as error:
            raise RunFormatError(
                f"{path}: expected drafts: {error}; move the file away to begin without them"
            ) from error
        self.drafts = {name: draft for name, draft in drafts.items() if name not in self.submitted}

    def _release(self) -> None:
        self._journal = None
        self._open.close()


MAX_NAME_LENGTH = 80

# Characters that are drawn as nothing (Default_Ignorable_Code_Point of Unicode 16), and the blank of Braille.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def checked_name(text: str) -> str:
    """Return a name as it is kept; raises `PeopleError` where it shows nothing, or might look like another."""
    name = unicodedata.normalize("NFC", text.strip())
    # Control, format and surrogate characters turn the text beside a name, or cannot be seen.
    if _UNSEEN.search(name) or any(unicodedata.category(c) in {"Cc", "Cf", "Cs"} for c in name):
        raise PeopleError("the name holds a control character, or one that cannot be seen; type it again")
    name = " ".join(name.split())
    if len(name) > MAX_NAME_LENGTH:
        raise PeopleError(f"the name has {len(name)} characters; at most {MAX_NAME_LENGTH}, please")
    if not any(unicodedata.category(c)[0] in "LNPS" for c in name):
        raise PeopleError("a name is needed: one letter at least")
    return name


def file_stem(name: str) -> str:
    """Return how the names of a person's files begin: readable, safe on every disk, and different for each name."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:32].strip("-") or "person"
    return f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


SYSTEM_NAME = "person"


def utc_now() -> datetime:
    return datetime.now(UTC)


class PeopleFolder:
    """The people who pick sentences, on one task of one data set; their files lie in one folder, made if missing."""

    def __init__(
        self,
        folder: Path,
        *,
        data: DataHeader,
        task: str,
        limit: int | None,
        clock: Clock = utc_now,
        most_open: int = 200,  # people with open files
    ) -> None:
        self.folder, self.task, self.limit = folder, task, limit
        self._data, self._clock, self._most_open = data, clock, most_open
        self._people: OrderedDict[str, Person] = OrderedDict()
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: no folder can be made here: {error.strerror}") from error

    def person(self, name: str) -> Person:
        """Return a person by name. Ask again for each action: files of others are closed, and read again here."""
        name = checked_name(name)
        with self._lock:
            if name in self._people:
                self._people.move_to_end(name)
            else:
                header = RunHeader(
                    system=SystemHeader(name=SYSTEM_NAME, options={"name": name}),
                    data=self._data,
                    tasks=(self.task,),
                    per_task=True,
                    limit=self.limit,
                    versions={"evidencebench": __version__, "python": platform.python_version()},
                    created=self._clock().isoformat(timespec="seconds"),
                )
                files = [self.folder / f"{file_stem(name)}.{self.task}.{end}" for end in ("jsonl", "drafts.json")]
                self._people[name] = Person(*files, header=header, clock=self._clock)
            while len(self._people) > self._most_open:
                self._people.popitem(last=False)[1].close()
            return self._people[name]

    def close(self) -> None:
        with self._lock:
            for person in self._people.values():
                person.close()
            self._people.clear()
