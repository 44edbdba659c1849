"""Exec: a program in any language."""

import errno
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from math import inf
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar, cast

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import (
    ProgramEndedError,
    ProgramError,
    ProgramOutputError,
    ProgramTimeoutError,
    StopError,
    SystemSpecError,
)
from evidencebench.files.disk import file_sha256
from evidencebench.models.llm.providers import without_known_keys
from evidencebench.provenance import CODE_OF
from evidencebench.query import Query
from evidencebench.system import Ranking, RankingTask, Traits

PROTOCOL = 1
"""The version of these lines. It grows when a program that was written for an earlier one would answer wrongly."""


class Greeting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    protocol: int
    reads_task: bool = False
    reads_hypothesis: bool = True
    selects: bool = False
    versions: dict[str, str] = {}


class ProgramAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to a request: the fields of a `Ranking`, or an error. An ``id`` must be the request's."""

    sentences: tuple[int, ...] | None = None
    scores: tuple[float, ...] | None = None
    ordered: bool = True
    notes: dict[str, int] = {}
    error: str | None = None
    id: int | None = None


def encode_request(number: int, query: Query, task: RankingTask) -> bytes:
    """Return a request, its line end included: all that a system may read, and nothing else."""
    request = {
        "protocol": PROTOCOL,
        "id": number,
        "query": {
            "instance_id": query.instance_id,
            "paper_id": query.paper_id,
            "hypothesis": query.hypothesis,
            "sentences": query.sentences,
            "kinds": query.kinds,
            "goal": query.goal,
        },
        "task": {"budget": task.budget, "scope": task.scope, "name": task.name},
    }
    return msgspec.json.encode(request) + b"\n"


def decode_greeting(line: bytes) -> Greeting:
    greeting: Greeting = _decoded(line, Greeting, f'{{"protocol":{PROTOCOL}}} as its first line')
    if greeting.protocol != PROTOCOL:
        raise ProgramOutputError(f"expected protocol {PROTOCOL}, got {greeting.protocol}")
    return greeting


def decode_answer_line(line: bytes, number: int) -> Ranking:
    answer: ProgramAnswer = _decoded(line, ProgramAnswer, 'an answer, such as {"sentences":[4,0]} or {"error":"..."}')
    if answer.id is not None and answer.id != number:
        raise ProgramOutputError(f"expected the answer to request {number}, got that to {answer.id}")
    if (answer.sentences is None) == (answer.error is None):
        raise ProgramOutputError(f"expected either sentences or an error, got {_shown(line)}")
    if answer.sentences is None:
        raise ProgramError(f"the program says: {without_known_keys(str(answer.error))}")
    return Ranking(sentences=answer.sentences, scores=answer.scores, ordered=answer.ordered, notes=answer.notes)


def _decoded(line: bytes, kind: type[Any], expected: str) -> Any:
    try:
        return msgspec.json.decode(line, type=prepared(kind))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProgramOutputError(f"expected {expected}, got {_shown(line)}: {error}") from error


def _shown(line: bytes) -> str:
    text = without_known_keys(line.decode(errors="replace"))
    return repr(text if len(text) <= 80 else f"{text[:80]}...")  # noqa: PLR2004 - in characters


Answer = TypeVar("Answer")

MAX_LINE_BYTES = 2**24
_CHUNK_BYTES = 2**16
_ENDING_SECONDS = 1.0
_MOST_TIMEOUTS = 3  # of a program that has answered nothing
# Leads the program's group, and kills it once its input ends, which it does when this process is killed, too.
_GUARD = ("/bin/sh", "-c", "trap '' HUP INT TERM; read _; kill -KILL 0")


class Program:
    """A program that runs once it is started, and is started again for the query after a failed one."""

    def __init__(self, words: Sequence[str], *, timeout_seconds: float, start_seconds: float) -> None:
        self._words, self._timeout_seconds, self._start_seconds = tuple(words), timeout_seconds, start_seconds
        self._lock = threading.Lock()  # one request at a time, whatever threads ask
        self._numbers = count(1)
        self._timeouts_left: float = _MOST_TIMEOUTS
        self._running: list[_Process] = []  # at most one; a list, so that the finalizer can hold it without this object
        weakref.finalize(self, _end_all, self._running)
        self.greeting: Greeting = self._start()

    def ask(self, query: Query, task: RankingTask) -> Ranking:
        """Return the answer to a query; after any error but those that the program tells, the next call starts it."""
        with self._lock:
            number = next(self._numbers)
            request = encode_request(number, query, task)
            try:
                if not self._running and self._start() != self.greeting:
                    self._give_up(ProgramOutputError("expected the same first line as at the first start"))
                return self._exchange(request, self._timeout_seconds, lambda line: decode_answer_line(line, number))
            except ProgramTimeoutError as error:
                self._timeouts_left -= 1
                if self._timeouts_left > 0:
                    raise
                raise StopError(
                    f"exec: the program answered none of {_MOST_TIMEOUTS} requests: {error}; mend it, or give it more "
                    "time with timeout_seconds"
                ) from error

    def end(self) -> None:
        """End the program where it runs; the next query starts it again."""
        with self._lock:
            _end_all(self._running)

    def _start(self) -> Greeting:
        self._running.append(_Process(self._words))
        return self._exchange(b"", self._start_seconds, decode_greeting)

    def _exchange(self, line: bytes, seconds: float, read: Callable[[bytes], Answer]) -> Answer:
        try:
            reply = self._running[0].exchange(line, seconds)
            if line:
                self._timeouts_left = inf
            return read(reply)
        except (ProgramTimeoutError, ProgramEndedError, ProgramOutputError) as error:
            self._give_up(error)
        except ProgramError:  # what the program itself calls an error leaves it running
            raise
        except BaseException:  # an interrupt between a request and its answer
            self._running.pop().kill()
            raise

    def _give_up(self, error: ProgramError) -> NoReturn:
        raise type(error)(f"{error}{self._running.pop().kill()}") from error


class _Process:
    def __init__(self, words: Sequence[str]) -> None:
        none, pipe = subprocess.DEVNULL, subprocess.PIPE
        self._guard = subprocess.Popen(_GUARD, stdin=pipe, stdout=none, stderr=none, process_group=0)  # noqa: S603
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user names the program, and no shell reads its words
                words, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, process_group=self._guard.pid
            )
        except OSError as error:
            self._end_group()
            advice = "; a script begins with a line such as #!/bin/sh" if error.errno == errno.ENOEXEC else ""
            raise ProgramError(f"'{words[0]}' cannot be started: {error.strerror}{advice}") from error
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, stderr = cast("tuple[IO[bytes], IO[bytes], IO[bytes]]", pipes)
        os.set_blocking(self._stdin.fileno(), False)
        self._read = bytearray()
        self._complaint = bytearray()
        self._listener = threading.Thread(target=self._keep_complaint, args=[stderr], daemon=True)
        self._listener.start()

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Write a line and return the next line; the empty line is not written."""
        deadline = time.monotonic() + seconds
        left = memoryview(line)
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            if left and selector.select(0):
                self._receive()
                raise ProgramOutputError("expected one line a request, got more before the next request")
            if left:
                selector.register(self._stdin, selectors.EVENT_WRITE)
            while left or b"\n" not in self._read:
                if len(self._read) > MAX_LINE_BYTES:
                    raise ProgramOutputError(f"expected a line of at most {MAX_LINE_BYTES:,} bytes, got more")
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if time.monotonic() >= deadline:
                    what = "answer" if line else "first line"
                    raise ProgramTimeoutError(
                        f"no {what} within {seconds:g} s; a program must flush its standard output after each line, "
                        "and read its input line by line, as mawk does with -W interactive only"
                    )
                for key, _ in ready:
                    if key.fileobj is self._stdout:
                        self._receive()
                    else:
                        left = self._send(left)
                        if not left:
                            selector.unregister(self._stdin)
        reply, _, behind = bytes(self._read).partition(b"\n")
        self._read = bytearray(behind)
        if behind:
            raise ProgramOutputError("expected one line a request, got more")
        return reply

    def kill(self) -> str:
        """Kill the program with all that it started, and return the end of its standard error, for a message."""
        with suppress(OSError):
            self._stdin.close()
        self._end_group()
        self._process.wait()
        self._listener.join(_ENDING_SECONDS)  # a process that left the group may hold the pipe open
        self._stdout.close()
        complaint = " ".join(without_known_keys(self._complaint.decode(errors="replace")).split())[-300:]
        return f"; on standard error: {complaint}" if complaint else ""

    def _end_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._guard.pid, signal.SIGKILL)
        self._guard.communicate()

    def end(self) -> None:
        """Let the program end by itself, by the end of its input, and kill what is left of it."""
        with suppress(OSError):
            self._stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_SECONDS)
        self.kill()

    def _send(self, left: memoryview) -> memoryview:
        try:
            return left[os.write(self._stdin.fileno(), left[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            return left
        except BrokenPipeError:
            raise self._ended() from None

    def _receive(self) -> None:
        chunk = os.read(self._stdout.fileno(), _CHUNK_BYTES)
        if not chunk:
            raise self._ended()
        self._read += chunk

    def _ended(self) -> ProgramEndedError:
        try:
            status = self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return ProgramEndedError("the program closed its input or output before it answered")
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return ProgramEndedError(f"the program {how} before it answered")

    def _keep_complaint(self, stderr: IO[bytes]) -> None:
        """Read the program's standard error, so that it never waits, and keep the end of it."""
        with stderr:
            while chunk := os.read(stderr.fileno(), _CHUNK_BYTES):
                self._complaint = (self._complaint + chunk)[-4096:]


def _end_all(running: list[_Process]) -> None:
    while running:
        running.pop().end()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exec:
    """A program in any language that answers in JSON Lines: `exec:./my-program`. One process runs for each worker.

    The program that does not answer in time is killed, the answer is failed, and the next query starts it anew.
    """

    command: str  # with quotes as in a shell; none is started. A program in the current folder begins with ./
    timeout_seconds: float = 60.0  # the longest wait for an answer
    start_seconds: float = 120.0  # the longest wait for the program's first line
    _program: Program = field(init=False, repr=False, compare=False)
    _digests: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if os.name == "nt":
            raise SystemSpecError("exec: runs on Linux and macOS; on Windows call the program from a file.py:function")
        for name in ("timeout_seconds", "start_seconds"):
            if not getattr(self, name) > 0:
                raise SystemSpecError(f"exec: {name}: expected more than 0, got {getattr(self, name)}")
        words = _words_of(self.command)
        paths = {word: Path(word) for word in words} | {words[0]: Path(str(shutil.which(words[0])))}
        files = {word: path for word, path in paths.items() if path.is_file()}
        try:
            digests = {f"{CODE_OF}{word}": f"sha256:{file_sha256(path)}" for word, path in files.items()}
        except OSError as error:
            raise SystemSpecError(f"exec: '{error.filename}': cannot be read: {error.strerror}") from error
        object.__setattr__(self, "_digests", digests)
        try:
            program = Program(words, timeout_seconds=self.timeout_seconds, start_seconds=self.start_seconds)
        except ProgramError as error:
            raise type(error)(f"exec: '{self.command}': {error}") from error
        object.__setattr__(self, "_program", program)

    @property
    def traits(self) -> Traits:
        greeting = self._program.greeting
        return Traits(
            reads_task=greeting.reads_task,
            reads_hypothesis=greeting.reads_hypothesis,
            selects=greeting.selects,
            versions=lambda: {**greeting.versions, **self._digests},
            release=self._program.end,
        )

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        return self._program.ask(query, task)


def _words_of(command: str) -> list[str]:
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
