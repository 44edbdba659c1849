"""The system ``exec``: a program of the user's, in whatever language."""

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from evidencebench.errors import ProgramError, ProgramOutputError, SystemSpecError
from evidencebench.provenance import CODE_OF
from evidencebench.query import Query
from evidencebench.storage.reading import file_sha256
from evidencebench.system import Brief, Ranking
from evidencebench.systems.programs.messages import Greeting, decode_answer_line, decode_greeting, encode_request
from evidencebench.systems.programs.program import Program
from evidencebench.traits import Traits


@dataclass(frozen=True, slots=True, kw_only=True)
class Exec:
    """What a program answers, in any language, as lines of JSON: `exec:./my-program`.

    Attributes
    ----------
    command
        The program and its arguments, with quotes as in a shell; no shell is started. A program in the current folder
        begins with ``./``. One process runs for each worker.
    timeout_seconds
        The longest wait for an answer. Then the program is killed, the answer is failed, and the next query starts it
        anew.
    start_seconds
        The longest wait for the program's first line.
    """

    command: str
    timeout_seconds: float = 60.0
    start_seconds: float = 120.0
    _program: Program = field(init=False, repr=False, compare=False)
    _greeting: Greeting = field(init=False, repr=False, compare=False)
    _digests: Mapping[str, str] = field(init=False, repr=False, compare=False)
    _numbers: Iterator[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("timeout_seconds", "start_seconds"):
            if not getattr(self, name) > 0:
                raise SystemSpecError(f"exec: {name}: expected more than 0, got {getattr(self, name)}")
        words = _words_of(self.command)
        program = Program(words, timeout_seconds=self.timeout_seconds, start_seconds=self.start_seconds)
        object.__setattr__(self, "_digests", _digests_of(words))
        object.__setattr__(self, "_program", program)
        object.__setattr__(self, "_numbers", count(1))
        try:
            object.__setattr__(self, "_greeting", program.start(decode_greeting))
        except ProgramError as error:
            raise type(error)(f"exec: '{self.command}': {error}") from error

    @property
    def traits(self) -> Traits:
        """What the program's first line says; its versions, and the digests of the files that the command names."""
        greeting = self._greeting
        return Traits(
            reads_brief=greeting.reads_brief,
            reads_hypothesis=greeting.reads_hypothesis,
            selects=greeting.selects,
            versions=lambda: {**greeting.versions, **self._digests},
            release=self._program.end,
        )

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return the program's answer; raises a `ProgramError` of the class that says why there is none."""
        number = next(self._numbers)
        request = encode_request(number, query, brief)
        return self._program.ask(request, lambda line: decode_answer_line(line, number), self._read_same_greeting)

    def _read_same_greeting(self, line: bytes) -> None:
        if decode_greeting(line) != self._greeting:
            raise ProgramOutputError("expected the same first line as at the first start")


def _words_of(command: str) -> list[str]:
    """Return the words of a command, the first of which names a program that can be run."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SystemSpecError(f"exec: '{command}': expected a command with quotes as in a shell: {error}") from error
    if not words:
        raise SystemSpecError("exec: expected a program, as in exec:./my-program or exec:[./my-program --depth 3,4]")
    if shutil.which(words[0]) is None:
        advice = f"; one in this folder is ./{words[0]}" if Path(words[0]).is_file() and "/" not in words[0] else ""
        allowed = f"; allow it, by chmod +x {words[0]}" if Path(words[0]).is_file() and not advice else ""
        raise SystemSpecError(f"exec: '{words[0]}': there is no such program that can be run{advice}{allowed}")
    return words


def _digests_of(words: Sequence[str]) -> dict[str, str]:
    """Return the digest of each file that a command names, under the name by which headers hold those of code."""
    paths = {word: Path(word) for word in words} | {words[0]: Path(str(shutil.which(words[0])))}
    files = {word: path for word, path in paths.items() if path.is_file()}
    try:
        return {f"{CODE_OF}{word}": f"sha256:{file_sha256(path)}" for word, path in files.items()}
    except OSError as error:
        raise SystemSpecError(f"exec: '{error.filename}': cannot be read: {error.strerror}") from error
