"""A run: a header with everything that decides the result, then one answer a line."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from evidencebench.errors import RunFormatError, RunMismatchError
from evidencebench.provenance import CODE_OF, differences
from evidencebench.specification import MAX_DEPTH
from evidencebench.storage.json_lines import has_checksum, is_whole_object, lines_of, with_checksum
from evidencebench.storage.reading import PathText, read_whole
from evidencebench.system import Ranking
from evidencebench.wording import counted, one_line

FORMAT_VERSION = 1
MOST_RUN_BYTES = 8 << 30
"""How large a run may be: that of a system which scores every sentence of the largest data, for six tasks, has 3 GB."""

RUN_BEGINS = b'{"evidencebench_run":'
"""The first bytes of every run file."""

# Of each nested system a list, the system and its value.
_MAX_SHOWN_DEPTH = 3 * MAX_DEPTH
_SHOWN_DIGITS = 12


class SystemHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The system: its table name or import path, and every option, defaults included."""

    name: str
    options: dict[str, Any] = {}

    @property
    def signature(self) -> str:
        """Such as ``bm25(k1=0.9,b=0.4)``, or ``diverse(system=bm25(k1=0.9,b=0.4),method=mmr)``."""
        return _signature(self.name, self.options, depth=0)


def option_text(value: Any, depth: int = 0, *, with_inner_options: bool = True) -> str:
    """Return an option's value as a signature holds it.

    Parameters
    ----------
    value
        A JSON value of a header.
    depth
        How deep it is nested.
    with_inner_options
        Whether a nested system is shown with its options.

    Examples
    --------
    >>> option_text([{"name": "bm25", "options": {"k1": 1.2}}, {"name": "tfidf", "options": {}}])
    '[bm25(k1=1.2)+tfidf]'
    >>> option_text({"name": "bm25", "options": {"k1": 1.2}}, with_inner_options=False)
    'bm25'
    """
    if isinstance(value, list | dict) and depth > _MAX_SHOWN_DEPTH:  # a header made by hand may nest without end
        return "..."
    match value:
        case {"name": str(name), "options": dict() as options}:
            return _signature(name, options if with_inner_options else {}, depth + 1)
        case list():
            inner = (option_text(one, depth + 1, with_inner_options=with_inner_options) for one in value)
            return f"[{'+'.join(inner)}]"
        case dict():
            return f"{{{','.join(f'{key}={option_text(one, depth + 1)}' for key, one in value.items())}}}"
        case _:
            return str(value)


def _signature(name: str, options: Mapping[str, Any], depth: int) -> str:
    given = {key: value for key, value in options.items() if value is not None}  # None: left open
    text = ",".join(f"{key}={option_text(value, depth)}" for key, value in given.items())
    return f"{name}({text})" if text else name


def code_text(versions: Mapping[str, str]) -> str:
    """Return the digests of own code among versions as a signature ends in them; empty where there is none.

    Examples
    --------
    >>> code_text({"numpy": "2.1", "code of mine:Best": "sha256:1f3c2a9b4d5e6f70"})
    '[code 1f3c2a9b4d5e]'
    """
    own = [value.removeprefix("sha256:") for name, value in versions.items() if name.startswith(CODE_OF)]
    shown = "+".join(dict.fromkeys(digest[:_SHOWN_DIGITS] for digest in own))
    return f"[code {shown}]" if own else ""


class DataHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The data: its file, the file's checksum and how many instances it holds."""

    name: str
    path: str
    sha256: str
    n: Annotated[int, msgspec.Meta(ge=0)]

    def __post_init__(self) -> None:
        """Keep what can be written: a file's name may hold bytes that are no text."""
        for name in ("name", "path"):
            msgspec.structs.force_setattr(self, name, getattr(self, name).encode(errors="replace").decode())


class RunHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a run.

    Attributes
    ----------
    evidencebench_run
        Version of this file format.
    system, data
        What ran on what.
    tasks
        Names of the tasks that the answers are for.
    per_task
        Whether each task has answers of its own; else one answer an instance serves every task.
    limit
        Only the first so many instances were run; None: all.
    seed
        Of everything random.
    hypothesis
        ``"own"``, or ``"wrong"`` where each instance was asked with another paper's.
    versions
        Of this package and what its numbers come from.
    trained_on
        The sha256 of the data that the system's models were trained on, as far as they say; None: the run was begun by
        a version that did not ask.
    created
        When the run was begun, ISO 8601, UTC.
    """

    evidencebench_run: int = FORMAT_VERSION
    system: SystemHeader
    data: DataHeader
    tasks: tuple[str, ...]
    per_task: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    hypothesis: Literal["own", "wrong"] = "own"
    versions: dict[str, str] = {}
    trained_on: tuple[str, ...] | None = None
    created: str = ""

    def __repr__(self) -> str:
        tasks = ", ".join(self.tasks)
        return one_line(self, repr(self.signature), repr(self.data.name), counted(self.data.n, "instance"), tasks)

    @property
    def signature(self) -> str:
        """The system as it ran, such as ``bm25(k1=0.9,b=0.4)`` or ``bm25(k1=0.9,b=0.4)[wrong hypothesis, seed 0]``."""
        wrong = "" if self.hypothesis == "own" else f"[{self.hypothesis} hypothesis, seed {self.seed}]"
        return self.system.signature + wrong


class AnswerLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer: sentences, or the error that stands in their place.

    ``answered`` says when, of people only; ``crc`` is the checksum of the line, as `storage.json_lines` makes it.
    """

    id: str
    task: str | None = None
    sentences: tuple[int, ...] | None = None
    scores: tuple[float, ...] | None = None
    ordered: bool = True
    notes: dict[str, int] = {}
    error: str | None = None
    answered: str | None = None
    crc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The system gave no answer, and why: not the same as an empty answer, nor as a missing one.

    Attributes
    ----------
    error
        What went wrong.
    notes
        Counts of what was done in vain, as in `Ranking`.
    trace
        Where in the system's code it failed, as Python shows a traceback; None: not known. No run file holds it.
    """

    error: str
    notes: Mapping[str, int] = field(default_factory=dict, compare=False)
    trace: str | None = field(default=None, compare=False, repr=False)


Answer = Ranking | Failure

_header_decoder = msgspec.json.Decoder(RunHeader)
_line_decoder = msgspec.json.Decoder(AnswerLine)


class RunFile:
    """A run as it lies on disk, its answers decoded when they are asked for.

    Attributes
    ----------
    path
        The file.
    header
        What decides the result; None in the files of others.
    is_bare
        Whether its answers are bare lists of sentences, which do not say whether they are rankings or sets.

    Parameters
    ----------
    content
        The bytes that it was read from.
    """

    def __init__(
        self,
        path: Path,
        header: RunHeader | None,
        lines: Mapping[tuple[str, str | None], memoryview | Answer],
        content: bytes = b"",
        *,
        is_bare: bool = False,
    ) -> None:
        self.path = path
        self._content = content
        self.header = header
        self.is_bare = is_bare
        self._lines = lines
        self._last: tuple[memoryview, Answer] | None = None

    def __repr__(self) -> str:
        system = repr(self.header.signature) if self.header else ""
        return one_line(
            self, repr(self.path.name), system, counted(len(self._lines), "answer"), f"{len(self.failed)} failed"
        )

    @property
    def name(self) -> str:
        """The system's signature; for files of others, the file's name."""
        return self.header.signature if self.header else self.path.name

    @property
    def signature(self) -> str:
        """What decides its answers: the system as it ran, with its own code's digest; or a file's name and checksum."""
        if self.header is not None:
            return f"{self.header.signature}{code_text(self.header.versions)}"
        return f"{self.path.name}@sha256:{self.sha256[:_SHOWN_DIGITS]}"

    @cached_property
    def sha256(self) -> str:
        """The checksum of the very bytes that its answers were read from, in hexadecimal."""
        return hashlib.sha256(self._content).hexdigest()

    def trained_on(self, sha256: str) -> bool | None:
        """Say whether what made it was trained on data of this checksum; None where the file cannot say."""
        known = self.header.trained_on if self.header is not None else None
        return None if known is None else sha256 in known

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
        """Return the answer for an instance and task, or None where the run has none."""
        line = self._lines.get((instance_id, task))
        if line is None:
            line = self._lines.get((instance_id, None))
        if line is None or isinstance(line, Ranking | Failure):
            return line
        last = self._last  # looked up once, since another thread may ask too
        if last is None or last[0] is not line:  # each task asks for the same answer in turn
            self._last = last = (line, _answer_of(_line_decoder.decode(line)))
        return last[1]


def _answer_of(line: AnswerLine) -> Answer:
    if line.sentences is None:
        return Failure(error=line.error or "unknown", notes=line.notes)
    return Ranking(sentences=line.sentences, scores=line.scores, ordered=line.ordered, notes=line.notes)


def encode_answer(instance_id: str, task: str | None, answer: Answer, *, answered: str | None = None) -> bytes:
    """Return one line of a run, without its line end.

    Parameters
    ----------
    instance_id, task, answer
        The answer, and what it is for.
    answered
        When it was given, ISO 8601, UTC; None: not kept.
    """
    if isinstance(answer, Failure):
        line = AnswerLine(id=instance_id, task=task, error=answer.error, notes=dict(answer.notes))
    else:
        line = AnswerLine(
            id=instance_id,
            task=task,
            sentences=answer.sentences,
            scores=answer.scores,
            ordered=answer.ordered,
            notes=dict(answer.notes),
            answered=answered,
        )
    return with_checksum(msgspec.json.encode(line))


def read_run(path: PathText, *, needs_header: bool = True, content: bytes | None = None) -> RunFile:
    """Read a run in this package's own form.

    A torn last line, as a killed process leaves it, is left out, and so are blank lines.

    Parameters
    ----------
    path
        The file.
    needs_header
        Whether the first line is the header; else every line is an answer.
    content
        Its bytes, where they are read already.

    Raises
    ------
    RunFormatError
        If the file cannot be read, has no header, or a line is not an answer; the message names the line.
    """
    path = Path(path)
    content = read_content(path) if content is None else content
    header: RunHeader | None = None
    lines: dict[tuple[str, str | None], memoryview | Answer] = {}
    for number, _, line, is_ended in lines_of(content):
        if not is_ended and not is_whole_object(line):
            break
        try:
            if header is None and needs_header:
                header = _header_decoder.decode(line)
                _check_header(path, header)
            else:
                _add(path, number, lines, line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            what = "the header of a run" if header is None and needs_header else "an answer"
            raise RunFormatError(f"{path}: line {number}: expected {what}: {error}") from error
    if header is None and needs_header:
        raise RunFormatError(f"{path}: line 1: expected the header of a run, got nothing whole")
    return RunFile(path, header, lines, content)


def _add(path: Path, number: int, lines: dict[tuple[str, str | None], memoryview | Answer], line: memoryview) -> None:
    # Decoded once in full here, so that a bad line is found now and by its number.
    decoded = _line_decoder.decode(line)
    if decoded.crc is not None and not has_checksum(line, decoded.crc):
        _require_same_answer(path, number, decoded, decoded.crc)
    key = (decoded.id, decoded.task)
    if (decoded.sentences is None) == (decoded.error is None):
        raise RunFormatError(f"{path}: line {number}: expected either 'sentences' or 'error'")
    if key in lines and not isinstance(lines[key], Failure):
        raise RunFormatError(f"{path}: line {number}: a second answer for '{decoded.id}'")
    lines[key] = Failure(error=decoded.error, notes=decoded.notes) if decoded.error is not None else line


def _require_same_answer(path: Path, number: int, line: AnswerLine, crc: str) -> None:
    """Raise unless a line differs from what was sealed in its spelling only, as another program writes it again."""
    if not has_checksum(with_checksum(msgspec.json.encode(msgspec.structs.replace(line, crc=None))), crc):
        raise RunFormatError(
            f"{path}: line {number}: the answer to '{line.id}' is not the one that was written: its crc {crc} does not "
            "fit; restore the line, or take the crc out of it to have it read as it stands"
        )


def _check_header(path: Path, header: RunHeader) -> None:
    if header.evidencebench_run != FORMAT_VERSION:
        raise RunFormatError(
            f"{path}: run format {header.evidencebench_run}, but this version reads {FORMAT_VERSION}; "
            "upgrade with 'pip install -U evidencebench'"
        )
    if not header.tasks or len(set(header.tasks)) < len(header.tasks):
        got = ", ".join(header.tasks) or "none"
        raise RunFormatError(f"{path}: line 1: expected the names of one task or more, each once, got {got}")


def read_content(path: Path) -> bytes:
    """Return the bytes of a run file, all at once: who looks at it for long must not see it change.

    Raises
    ------
    RunFormatError
        If it cannot be read.
    """
    if path.is_dir():
        raise RunFormatError(f"{path}: is a folder; expected a run file")
    try:
        return read_whole(path, at_most=MOST_RUN_BYTES)
    except OSError as error:
        raise RunFormatError(f"{path}: cannot be read: {error.strerror}") from error


def check_same_run(
    path: Path,
    old: RunHeader,
    new: RunHeader,
    *,
    what_to_do: str = "choose another file, or start over with --overwrite",
) -> None:
    """Raise unless a run begun under one header may be continued under another.

    Everything must agree but where the data lies, when the run was begun, and what follows from the rest.

    Parameters
    ----------
    path, old, new
        The run file, the header that it has, and the one that it would get.
    what_to_do
        How the message ends.

    Raises
    ------
    RunMismatchError
        Naming every field that differs.
    """
    if old.system.name != new.system.name:  # its options and prompts differ too, and nobody asks which
        found = f"system was {old.system.name}, now {new.system.name}"
    else:
        differing = (
            differences(old.system.options, new.system.options),
            differences(_deciding(old), _deciding(new)),
            differences(old.versions, new.versions),
        )
        found = "; ".join(filter(None, differing))
    if found:
        raise RunMismatchError(f"{path}: begun as another run: {found}; {what_to_do}")


def _deciding(header: RunHeader) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(header))
    del fields["system"], fields["created"], fields["versions"], fields["data"]["path"], fields["data"]["name"]
    del fields["trained_on"]  # which follows from the model, and whose digest is among the versions
    return fields
