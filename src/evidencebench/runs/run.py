"""Runs of this package: a header, then an answer a line."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from evidencebench.errors import RunFormatError
from evidencebench.files.disk import PathText, read_whole, why_unreadable
from evidencebench.files.records import lines_in
from evidencebench.runs.answers import ANSWERS, AnyAnswer, FailureAnswer, RankingAnswer, decode_answer, encoded
from evidencebench.runs.earlier import in_present_form
from evidencebench.runs.header import SHOWN_DIGITS, RunHeader, code_text
from evidencebench.system import Ranking
from evidencebench.wording import counted, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed answer, with its error; it is neither an empty answer nor a missing one.

    ``notes`` counts the work that was done, as in `Ranking`. ``trace`` is where in the system's code it failed, as
    Python shows a traceback, and ``cause`` the error; no run file holds them.
    """

    error: str
    notes: Mapping[str, int] = field(default_factory=dict, compare=False)
    trace: str | None = field(default=None, compare=False, repr=False)
    cause: BaseException | None = field(default=None, compare=False, repr=False)


Answer = Ranking | Failure


def encode_answer(instance_id: str, task: str | None, answer: Answer, *, epoch: int = 1) -> bytes:
    """Return one line of a run, without its line end."""
    notes = dict(answer.notes)
    if isinstance(answer, Failure):
        return encoded(FailureAnswer(id=instance_id, task=task, epoch=epoch, error=answer.error, notes=notes))
    line = RankingAnswer(
        id=instance_id,
        task=task,
        epoch=epoch,
        sentences=answer.sentences,
        scores=answer.scores,
        ordered=answer.ordered,
        notes=notes,
    )
    return encoded(line)


# A run with scores of all sentences of the largest data, for six tasks, has 3 GB.
_MOST_BYTES = 8 << 30


class RunFile:
    """A run as it lies on disk, its answers decoded when they are asked for.

    The header is None for files that were made elsewhere. ``is_bare`` says that answers are bare lists of sentences,
    which do not tell whether they are rankings or sets. ``content`` holds the bytes of the file. Its answers are those
    of the first epoch; ``later`` has the lines of the others.
    """

    def __init__(
        self,
        path: Path,
        header: RunHeader | None,
        lines: Mapping[tuple[str, str | None], memoryview | Answer],
        content: bytes = b"",
        *,
        is_bare: bool = False,
        epoch: int = 1,
        later: Sequence[Mapping[tuple[str, str | None], memoryview | Answer]] = (),
    ) -> None:
        self.path = path
        self.header = header
        self.is_bare = is_bare
        self.epoch = epoch
        self._later = later
        self._lines, self._content = lines, content
        self._last: tuple[memoryview, Answer] | None = None

    def __repr__(self) -> str:
        system = repr(self.header.signature) if self.header else ""
        return one_line(
            self, repr(self.path.name), system, counted(len(self._lines), "answer"), f"{len(self.failed)} failed"
        )

    @property
    def name(self) -> str:
        """The system's signature; for files that were made elsewhere, the file's name."""
        return self.header.signature if self.header else self.path.name

    @property
    def signature(self) -> str:
        """The system as it ran, with the digest of users' own code; without a header, the file's name and checksum."""
        if self.header is not None:
            return f"{self.header.signature}{code_text(self.header.versions)}"
        return f"{self.path.name}@sha256:{self.sha256[:SHOWN_DIGITS]}"

    @cached_property
    def sha256(self) -> str:
        """The checksum of the very bytes that its answers were read from, in hexadecimal."""
        return hashlib.sha256(self._content).hexdigest()

    @cached_property
    def epochs(self) -> "tuple[RunFile, ...]":
        """The run as it answered each time that it was asked, the first time first."""
        later = enumerate(self._later, 2)
        return (self, *(RunFile(self.path, self.header, lines, self._content, epoch=n) for n, lines in later))

    def trained_on(self, sha256: str) -> bool | None:
        """Say whether the system was trained on data of this checksum; None where the file does not say."""
        trained_on = self.header.trained_on if self.header is not None else None
        return None if trained_on is None else sha256 in trained_on

    def asked(self, ids: Sequence[str]) -> Sequence[str]:
        """Return the ids of the instances that were asked, of all ids of the data."""
        if self.header is None:
            return ids
        return (ids if self.header.data.ids is None else self.header.data.ids)[: self.header.limit]

    @property
    def ids(self) -> frozenset[str]:
        """Ids of the instances that have a line, failures included."""
        return frozenset(instance_id for instance_id, _ in self._lines)

    @property
    def failed(self) -> frozenset[tuple[str, str | None]]:
        """(instance id, task or None) of the answers that failed."""
        return frozenset(key for key, line in self._lines.items() if isinstance(line, Failure))

    @property
    def done(self) -> frozenset[tuple[str, str | None]]:
        """(instance id, task or None) of every line, failures included."""
        return frozenset(self._lines)

    def answer(self, instance_id: str, task: str | None) -> Answer | None:
        line = self._lines.get((instance_id, task))
        if line is None:
            line = self._lines.get((instance_id, None))
        if line is None or isinstance(line, Ranking | Failure):
            return line
        last = self._last  # looked up once, since another thread may ask too
        if last is None or last[0] is not line:  # each task asks for the same answer in turn
            self._last = last = (line, ranking_in(decode_answer(line)))
        return last[1]


def ranking_in(answer: AnyAnswer) -> Ranking:
    """Return an answer as systems give it; of a person, with the time of work and the time since it was opened."""
    if not isinstance(answer, RankingAnswer):
        raise RunFormatError(f"the answer to '{answer.id}' is no ranking of sentences")
    notes = answer.notes
    if answer.opened:
        open_for = datetime.fromisoformat(answer.at) - datetime.fromisoformat(answer.opened)
        notes = {"seconds": answer.seconds, "seconds_open": max(answer.seconds, int(open_for.total_seconds()))}
    return Ranking(sentences=answer.sentences, scores=answer.scores, ordered=answer.ordered, notes=notes)


def read_run(path: PathText, *, needs_header: bool = True, content: bytes | None = None) -> RunFile:
    """Read a run in this package's own form, without a torn last line; raises `RunFormatError`, with the line.

    A person's drafts are no answers, and what is said last of an instance is the answer.
    """
    path = Path(path)
    original = read_content(path) if content is None else content
    current = in_present_form(path, original)
    header: RunHeader | None = None
    is_by_person = False
    if needs_header:
        written, answers = ANSWERS.scan(path, [current])
        if written.run is None:
            raise RunFormatError(f"{path}: holds answers to other tasks than those of instances, and is no run")
        header, is_by_person = written.run, written.role == "person"
    else:
        answers = ANSWERS.records(path, lines_in([current]))
    n_epochs = 1 if header is None else header.epochs
    first, *later = epochs = [dict[tuple[str, str | None], memoryview | Answer]() for _ in range(n_epochs)]
    for number, _, line, answer in answers:
        if is_by_person and not answer.is_done:
            continue
        if not isinstance(answer, RankingAnswer | FailureAnswer):
            raise RunFormatError(f"{path}: line {number}: expected sentences of '{answer.id}', or why it failed")
        if answer.epoch > n_epochs:
            raise RunFormatError(f"{path}: line {number}: expected epochs up to {n_epochs}, got {answer.epoch}")
        key, lines = (answer.id, answer.task), epochs[answer.epoch - 1]
        if key in lines and not isinstance(lines[key], Failure):
            raise RunFormatError(f"{path}: line {number}: a second answer for '{answer.id}'")
        if isinstance(answer, FailureAnswer):
            lines[key] = Failure(error=answer.error, notes=answer.notes)
        else:
            lines[key] = line
    return RunFile(path, header, first, original, later=later)


def read_content(path: Path) -> bytes:
    """Return all bytes of a run file, so that a later change of the file does not matter."""
    if path.is_dir():
        raise RunFormatError(f"{path}: is a folder; expected a run file")
    try:
        return read_whole(path, at_most=_MOST_BYTES)
    except OSError as error:
        raise RunFormatError(f"{path}: {why_unreadable(path, error)}") from error
