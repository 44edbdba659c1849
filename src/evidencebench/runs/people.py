"""What people answer: a file a person, and one of what was agreed, in a folder that servers may share."""

import hashlib
import platform
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Generic, NamedTuple

import msgspec
from msgspec.structs import replace

from evidencebench.decoding import prepared
from evidencebench.errors import (
    EvidenceBenchError,
    FinalError,
    PeopleError,
    RunError,
    RunFormatError,
    RunMismatchError,
    StaleError,
    UnopenedError,
)
from evidencebench.files.disk import BROKEN_JSON, read_bytes
from evidencebench.files.records import Journal, is_whole_object, lines_in, open_journal
from evidencebench.runs.answers import (
    ANSWERS,
    PERSON,
    SEEN,
    AnswersHeader,
    AnswerT,
    RankingAnswer,
    SeenAnswer,
    check_line,
    encoded,
    form_of,
    header_of,
)
from evidencebench.runs.header import SHOWN_DIGITS, DataHeader, RunHeader, SystemHeader, differing_runs
from evidencebench.version import __version__
from evidencebench.wording import counted

AGREED = "adjudicated.jsonl"  # no person's file is named so
TOGETHER, MODEL = "people together", "model"  # what reports call what people say together, and the labels

_MOST_NOTE = 5_000
_TAIL_BYTES = 200

Clock = Callable[[], datetime]
"""Returns the current time in UTC."""


def utc_now() -> datetime:
    return datetime.now(UTC)


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


def checked_picks(sentences: Sequence[int], *, n_sentences: int, budget: int) -> tuple[int, ...]:
    for index in sentences:
        if not 0 <= index < n_sentences:
            raise PeopleError(f"sentence {index}: the paper has sentences 0..{n_sentences - 1}")
    if len(set(sentences)) < len(sentences):
        raise PeopleError("a sentence is picked twice")
    if len(sentences) > budget:
        raise PeopleError(f"{counted(len(sentences), 'sentence')} picked, but at most {budget} count; remove some")
    return tuple(sentences)


def check_note(note: str) -> None:
    if len(note) > _MOST_NOTE:
        raise PeopleError(f"the note has {len(note)} characters; at most {_MOST_NOTE}, please")


def require_no_link(path: Path) -> None:
    if path.is_symlink():
        raise RunError(f"{path}: is a link; people's files must lie in the folder itself")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder}: no folder can be made here: {error.strerror}") from error


class _LinePlace(NamedTuple):
    """Where a line lies in a file, in bytes."""

    start: int
    length: int


class _Head(msgspec.Struct):
    """What an index needs of a line."""

    id: str
    answer: str
    people: tuple[str, ...] = ()


_heads = msgspec.json.Decoder(_Head)


_Decode = Callable[[Path, bytes, int], AnswerT]  # of a line, in a file, from a byte on


def _read_answer(path: Path, place: _LinePlace, decode: _Decode[AnswerT]) -> AnswerT:
    with path.open("rb") as file:
        file.seek(place.start)
        return decode(path, file.read(place.length), place.start)


class StoredAnswers(Mapping[str, AnswerT]):
    """Item -> answer, the one that was changed last at the end; all are decoded when the first is asked for."""

    def __init__(self, path: Path, places: Mapping[str, _LinePlace], decode: _Decode[AnswerT]) -> None:
        self._path, self._places, self._decode = path, dict(places), decode

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, item: object) -> bool:
        return item in self._places

    def __getitem__(self, item: str) -> AnswerT:
        return self._decoded[item]

    @cached_property
    def _decoded(self) -> dict[str, AnswerT]:
        content = read_bytes(self._path) if self._places else b""
        return {
            item: self._decode(self._path, content[start : start + length], start)
            for item, (start, length) in self._places.items()
        }


_FileState = tuple[int, int, int]  # inode, bytes, and the time of the last change


@dataclass(slots=True, kw_only=True)
class _ReadFile:
    """A file of answers as far as it was read: where the last one of each item lies."""

    name: str = ""  # of the person
    answers: dict[str, _LinePlace] = field(default_factory=dict)
    blind: dict[str, _LinePlace] = field(default_factory=dict)  # the last before the person saw those of others
    seen: dict[str, frozenset[str]] = field(default_factory=dict)  # item -> whose answers the person was shown
    state: _FileState = (0, 0, 0)
    end: int = 0  # of what was read, in bytes
    tail: bytes = b""  # the last bytes of it: others where the file was not only added to

    def take(self, head: _Head, place: _LinePlace) -> None:
        if head.answer == SEEN:
            self.seen[head.id] = self.seen.get(head.id, frozenset()).union(head.people)
            return
        self.answers.pop(head.id, None)  # so that the one that was changed last stands last
        self.answers[head.id] = place
        if head.id not in self.seen:
            self.blind[head.id] = place


class AnswerFolder(Generic[AnswerT]):
    """What people answer to the items that a header names. Threads and servers may share a folder.

    The folder is made with the first answer. ``check`` raises `PeopleError` for an answer that does not fit its item.
    Every method raises `RunError` where a file cannot be used, such as `RunMismatchError` where it is of other items.
    """

    def __init__(
        self,
        folder: Path,
        header: AnswersHeader,
        check: Callable[[AnswerT], object],
        *,
        kind: type[AnswerT],
        suffix: str = ".jsonl",
        is_final: bool = False,  # whether an answer that is done can be changed no more
        clock: Clock = utc_now,
    ) -> None:
        self.folder = folder
        self._header, self._check, self._clock = header, check, clock
        self._kind, self._suffix, self._is_final = kind, suffix, is_final
        self._decoder = msgspec.json.Decoder(prepared(kind))
        self._forms = {form_of(kind), SEEN}
        self._lock = threading.RLock()
        self._files: dict[Path, _ReadFile] = {}

    # Reading.

    def path_of(self, person: str) -> Path:
        if (name := checked_name(person)) in {TOGETHER, MODEL}:
            raise PeopleError(f"'{name}' is what the report calls another rater; choose another name")
        return self.folder / f"{file_stem(name)}{self._suffix}"

    def answers_of(self, person: str) -> Mapping[str, AnswerT]:
        path = self.path_of(person)
        with self._lock:
            return self._stored(path, self._read(path, checked_name(person)).answers)

    def answer_of(self, person: str, item: str) -> AnswerT | None:
        path = self.path_of(person)
        with self._lock:
            return self._last(path, checked_name(person), item)

    def answers_to(self, item: str) -> dict[str, AnswerT]:
        """Return person -> what each answers to one item."""
        with self._lock:
            return {
                file.name: _read_answer(path, file.answers[item], self._decoded)
                for path, file in self._people()
                if item in file.answers
            }

    def agreed_on(self, item: str) -> AnswerT | None:
        with self._lock:
            return self._last(self.folder / AGREED, "", item)

    def _last(self, path: Path, name: str, item: str) -> AnswerT | None:
        place = self._read(path, name).answers.get(item)
        return None if place is None else _read_answer(path, place, self._decoded)

    def agreed(self) -> Mapping[str, AnswerT]:
        path = self.folder / AGREED
        with self._lock:
            return self._stored(path, self._read(path, "").answers)

    def read_all(self) -> dict[str, Mapping[str, AnswerT]]:
        """Return person -> item -> answer; empty without such a folder."""
        with self._lock:
            return {file.name: self._stored(path, file.answers) for path, file in self._people()}

    def blind(self) -> dict[str, Mapping[str, AnswerT]]:
        """Return person -> item -> the last answer before the person was shown those of others, if there is one."""
        with self._lock:
            return {file.name: self._stored(path, file.blind) for path, file in self._people()}

    def _stored(self, path: Path, places: Mapping[str, _LinePlace]) -> StoredAnswers[AnswerT]:
        return StoredAnswers(path, places, self._decoded)

    def _decoded(self, path: Path, line: bytes, start: int) -> AnswerT:
        try:
            answer = self._decoder.decode(line)
            check_line(answer, line)
            self._check(answer)
        except (*BROKEN_JSON, EvidenceBenchError) as error:
            number = read_bytes(path)[:start].count(b"\n") + 1
            raise RunFormatError(f"{path}: line {number}: {error}") from error
        return answer

    def _people(self) -> list[tuple[Path, _ReadFile]]:
        files: dict[str, tuple[Path, _ReadFile]] = {}
        for path in sorted(self.folder.glob(f"*{self._suffix}")):
            if path.name == AGREED:
                continue
            file = self._read(path, None)
            if file.name in files:
                raise RunFormatError(f"{path}: a second file of annotator '{file.name}'; remove one of them")
            if file.name:
                files[file.name] = path, file
        return list(files.values())

    def _read(self, path: Path, name: str | None) -> _ReadFile:
        """Return a file as it is now: what was added is read, and all of it where it was changed otherwise."""
        require_no_link(path)
        known = self._files.get(path)
        try:
            status = path.stat()
        except FileNotFoundError:
            if known is not None and known.end:
                raise RunError(
                    f"{path}: was removed while it was in use; put it back, or start the app again"
                ) from None
            return _ReadFile(name=name or "")
        state = status.st_ino, status.st_size, status.st_mtime_ns
        if known is None or known.state != state:
            known = self._added(path, known, state) or self._whole(path, state)
            self._files[path] = known
        if name is not None and known.name != name and known.end:
            raise RunMismatchError(f"{path}: holds the answers of '{known.name}', not of '{name}'; move it away")
        return known

    def _added(self, path: Path, known: _ReadFile | None, state: _FileState) -> _ReadFile | None:
        """Take what was added since; None where the file is another one, or was changed in place."""
        if known is None or not known.end or known.state[0] != state[0] or state[1] < known.end:
            return None
        with path.open("rb") as file:
            file.seek(known.end - len(known.tail))
            if file.read(len(known.tail)) != known.tail:
                return None
            added = file.read()
        try:
            self._take(path, known, added, known.end)
        except RunFormatError:
            return None  # read as a whole, so that the message names the line
        known.state = state
        return known

    def _whole(self, path: Path, state: _FileState) -> _ReadFile:
        content = read_bytes(path)
        if b"\n" not in content:  # a full disk left nothing, or less than the header
            return _ReadFile(state=state)
        header, _ = ANSWERS.scan(path, [content])
        self._require_same(path, header)
        known = _ReadFile(name=header.name, state=state)
        begins = content.index(b"\n") + 1
        known.end, known.tail = begins, content[:begins][-_TAIL_BYTES:]
        self._take(path, known, content[begins:], begins, first_line=2)
        return known

    def _take(self, path: Path, known: _ReadFile, added: bytes, start: int, *, first_line: int = 1) -> None:
        """Index lines, of which the first begins at ``start``; a torn one is left."""
        stop = 0
        for line in lines_in([added]):
            if not line.is_ended and not is_whole_object(line.content):
                break
            number = line.number + first_line - 1
            try:
                head = _heads.decode(line.content)
            except BROKEN_JSON as error:
                raise RunFormatError(f"{path}: line {number}: expected an answer: {error}") from error
            if head.answer not in self._forms:
                raise RunFormatError(f"{path}: line {number}: an answer of another form than is asked for here")
            known.take(head, _LinePlace(start + line.start, len(line.content)))
            stop = line.start + len(line.content) + line.is_ended
        if stop:
            known.end, known.tail = start + stop, added[max(0, stop - _TAIL_BYTES) : stop]

    def _require_same(self, path: Path, header: AnswersHeader) -> None:
        if header.items != self._header.items:
            raise RunMismatchError(
                f"{path}: annotates tasks with the checksum {header.items[:SHOWN_DIGITS]}, but the tasks here have "
                f"{self._header.items[:SHOWN_DIGITS]}; give the tasks that it was begun with, or choose another folder"
            )
        begun, now = header.run, self._header_of(header.name).run
        if begun is None or now is None:
            return
        # What people answer does not depend on the versions of libraries.
        if differing := differing_runs(begun, replace(now, versions=begun.versions)):
            raise RunMismatchError(
                f"{path}: was made with other settings: {differing}; view it as it was begun, or choose another folder"
            )

    def _header_of(self, person: str) -> AnswersHeader:
        run = self._header.run
        if run is not None:
            run = replace(run, system=SystemHeader(name=run.system.name, options={"name": person}))
        return replace(self._header, role="person" if person else "agreed", name=person, run=run)

    # Writing.

    def open(self, person: str, answer: AnswerT) -> AnswerT:
        """Return what a person answered so far; nothing was, so that the time begins: an empty answer is kept."""
        path, name = self.path_of(person), checked_name(person)
        with self._lock:
            last = self._last(path, name, answer.id)
            if last is None:
                return self._append(path, name, replace(answer, revision=0, opened=self._now()))
            if self._is_final and last.is_done:
                raise FinalError(f"{answer.id}: already submitted, and a submission is final")
            return last

    def save(self, person: str, answer: AnswerT) -> AnswerT:
        """Keep an answer on the disk, and return it as it is kept; raises `StaleError` where another tab was faster.

        ``revision`` is to be one more than that of the answer which it changes.
        """
        return self._append(self.path_of(person), checked_name(person), answer)

    def submit(self, person: str, answer: AnswerT) -> AnswerT:
        """Keep an answer that is final; raises `UnopenedError`, and what `save` raises."""
        if self.answer_of(person, answer.id) is None:
            raise UnopenedError(f"{answer.id}: submitted without having been opened; open the paper, and pick again")
        return self.save(person, replace(answer, is_done=True))

    def agree(self, by: str, answer: AnswerT) -> AnswerT:
        """Keep what was agreed, written down by a person."""
        return self._append(self.folder / AGREED, "", replace(answer, by=checked_name(by)))

    def note_seen(self, person: str, shown: Mapping[str, Iterable[str]]) -> None:
        """Keep which answers a person was shown: item -> whose."""
        path, name = self.path_of(person), checked_name(person)
        with self._lock:
            seen = self._read(path, name).seen
            new = {item: set(people).difference(seen.get(item, ())) for item, people in shown.items()}
            lines = [
                encoded(SeenAnswer(id=item, people=tuple(sorted(people)), at=self._now()))
                for item, people in new.items()
                if people
            ]
            if not lines:
                return
            with self._opened(path, name) as journal:
                for line in lines:
                    journal.append(line)

    def _append(self, path: Path, name: str, answer: AnswerT) -> AnswerT:
        if not isinstance(answer, self._kind):
            raise PeopleError(f"'{answer.id}': expected an answer of another form, got one of {type(answer).__name__}")
        self._check(answer)
        with self._lock, self._opened(path, name) as journal:
            last = self._last(path, name, answer.id)
            changed = self._changed(last, answer)
            if changed == last:
                return changed
            journal.append(encoded(replace(changed, at=self._now())))
            return self._last(path, name, answer.id) or answer

    @contextmanager
    def _opened(self, path: Path, name: str) -> Iterator[Journal]:
        self._read(path, name)  # raises where the file was removed
        _make(self.folder)
        with open_journal(path, ANSWERS.begins, waits=True) as journal:
            journal.begin(msgspec.json.encode(self._header_of(name)))
            yield journal

    def _changed(self, last: AnswerT | None, given: AnswerT) -> AnswerT:
        """Return what the last answer becomes: itself, where nothing new is said."""
        if last is None:
            if given.revision > 1:
                raise self._stale(given)
            return given
        is_own_tab = bool(given.tab) and given.tab == last.tab
        if is_own_tab and given.request and given.request <= last.request:
            return last  # sent again, since the reply was lost, or overtaken by a later request
        if self._is_final and last.is_done:
            raise FinalError(f"{given.id}: already submitted, and a submission is final")
        seconds = max(last.seconds, self._bounded(given.seconds, last.opened))
        if _said(given) == _said(last):
            return replace(last, seconds=seconds, reached=given.reached)
        if given.revision != last.revision + 1 and not is_own_tab:
            raise self._stale(given)
        return replace(given, revision=last.revision + 1, opened=last.opened, seconds=seconds)

    def _stale(self, given: AnswerT) -> StaleError:
        return StaleError(f"'{given.id}' was changed elsewhere, as in another tab; look at it again")

    def _bounded(self, seconds: int, opened: str) -> int:
        """Return a time of work that is no longer than the time since the item was opened."""
        return min(seconds, self.seconds_since(opened)) if opened else seconds

    def seconds_since(self, opened: str) -> int:
        return int((self._clock() - datetime.fromisoformat(opened)).total_seconds())

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")


def _said(answer: AnswerT) -> AnswerT:
    """Return an answer without when and where it was given."""
    return replace(answer, revision=0, seconds=0, reached=0, opened="", at="", tab="", request=0, crc=None)


def picks_folder(
    folder: Path, data: DataHeader, task: str, limit: int | None, *, clock: Clock = utc_now
) -> AnswerFolder[RankingAnswer]:
    """Return the folder, made if missing, of people who pick sentences for a task; each of their files is a run."""
    _make(folder)
    run = RunHeader(
        system=SystemHeader(name=PERSON, options={"name": ""}),
        data=data,
        tasks=(task,),
        per_task=True,
        limit=limit,
        versions={"evidencebench": __version__, "python": platform.python_version()},
        created=clock().isoformat(timespec="seconds"),
    )
    return AnswerFolder(
        folder,
        header_of(run),
        lambda _: None,  # what may be picked is known where the paper is
        kind=RankingAnswer,
        suffix=f".{task}.jsonl",
        is_final=True,
        clock=clock,
    )
