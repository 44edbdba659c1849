"""A run: a header with everything that decides the result, then one answer a line."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.runs.answer_line import Answer, Failure, checked_line, decode_answer
from evidencebench.runs.header import FORMAT_VERSION, SHOWN_DIGITS, RunHeader, code_text
from evidencebench.storage.json_lines import is_whole_object, lines_of
from evidencebench.storage.reading import BROKEN_JSON, PathText, read_whole
from evidencebench.system import Ranking
from evidencebench.wording import counted, one_line

MOST_RUN_BYTES = 8 << 30
"""The most bytes of a run: one with scores of all sentences of the largest data, for six tasks, has 3 GB."""

RUN_BEGINS = b'{"evidencebench_run":'
"""The first bytes of every run file."""

_header_decoder = msgspec.json.Decoder(RunHeader)


class RunFile:
    """A run as it lies on disk, its answers decoded when they are asked for.

    The header is None for files that were made elsewhere. ``is_bare`` says that answers are bare lists of sentences,
    which do not tell whether they are rankings or sets. ``content`` holds the bytes of the file.
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

    def trained_on(self, sha256: str) -> bool | None:
        """Say whether the system was trained on data of this checksum; None where the file does not say."""
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
            self._last = last = (line, decode_answer(line))
        return last[1]


def read_run(path: PathText, *, needs_header: bool = True, content: bytes | None = None) -> RunFile:
    """Read a run in this package's own form.

    A torn last line, as a killed process leaves it, is left out, and so are blank lines. Unless it ``needs_header``,
    every line is an answer. ``content`` holds the file's bytes where they are read already. Raises `RunFormatError`,
    which names the line, if the file cannot be read, has no header, or a line is not an answer.
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
                found = checked_line(path, number, line)
                key = (found.id, found.task)
                if key in lines and not isinstance(lines[key], Failure):
                    raise RunFormatError(f"{path}: line {number}: a second answer for '{found.id}'")
                lines[key] = line if found.error is None else Failure(error=found.error, notes=found.notes)
        except BROKEN_JSON as error:
            what = "the header of a run" if header is None and needs_header else "an answer"
            raise RunFormatError(f"{path}: line {number}: expected {what}: {error}") from error
    if header is None and needs_header:
        raise RunFormatError(f"{path}: line 1: expected the header of a run, got nothing whole")
    return RunFile(path, header, lines, content)


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
    """Return all bytes of a run file, so that a later change of the file does not matter."""
    if path.is_dir():
        raise RunFormatError(f"{path}: is a folder; expected a run file")
    try:
        return read_whole(path, at_most=MOST_RUN_BYTES)
    except OSError as error:
        raise RunFormatError(f"{path}: cannot be read: {error.strerror}") from error
