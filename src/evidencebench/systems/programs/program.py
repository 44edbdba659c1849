"""A program that answers each line with a line: started, asked under a time limit, and killed with all that it started.

No shell reads its words. The program has a process group of its own. It is killed, with its group, when it hangs, ends,
or writes what it should not, and when this process ends, however that comes; the next line starts it anew.
"""

import errno
import os
import selectors
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import IO, TypeVar

from evidencebench.errors import ProgramEndedError, ProgramError, ProgramOutputError, ProgramTimeoutError, StopError
from evidencebench.models.llm.credentials import without_known_keys

Answer = TypeVar("Answer")

MAX_LINE_BYTES = 2**24
"""A longer line from a program is refused."""
_CHUNK_BYTES = 2**16
_ENDING_SECONDS = 1.0
_MOST_TIMEOUTS = 3  # of a program that has answered nothing
# Leads the program's group, and kills it once its input ends, which it does when this process is killed, too.
_GUARD = ("/bin/sh", "-c", "trap '' HUP INT TERM; read _; kill -KILL 0")


class Program:
    """A program that runs once it is started, and is started again for the request after a failed one."""

    def __init__(self, words: Sequence[str], *, timeout_seconds: float, start_seconds: float) -> None:
        self._words, self._timeout_seconds, self._start_seconds = tuple(words), timeout_seconds, start_seconds
        self._lock = threading.Lock()  # one request at a time, whatever threads ask
        self._timeouts_left: float = _MOST_TIMEOUTS
        self._running: list[_Process] = []  # at most one; a list, so that the finalizer can hold it without this object
        weakref.finalize(self, _end_all, self._running)

    def start(self, read_greeting: Callable[[bytes], Answer]) -> Answer:
        """Start the program, and return what ``read_greeting`` makes of its first line."""
        with self._lock:
            return self._start(read_greeting)

    def ask(
        self, line: bytes, read_answer: Callable[[bytes], Answer], read_greeting: Callable[[bytes], object]
    ) -> Answer:
        """Send a line, and return what ``read_answer`` makes of the line that comes back.

        Raises `ProgramTimeoutError`, `ProgramEndedError` or `ProgramOutputError`, after which the next call starts the
        program again, and what else ``read_answer`` raises; `StopError` where it never answers.
        """
        with self._lock:
            try:
                if not self._running:
                    self._start(read_greeting)
                return self._exchange(line, self._timeout_seconds, read_answer)
            except ProgramTimeoutError as error:
                self._timeouts_left -= 1
                if self._timeouts_left > 0:
                    raise
                raise StopError(
                    f"exec: the program answered none of {_MOST_TIMEOUTS} requests: {error}; mend it, or give it more "
                    "time with timeout_seconds"
                ) from error

    def end(self) -> None:
        """End the program where it runs; the next call starts it again."""
        with self._lock:
            _end_all(self._running)

    def _start(self, read_greeting: Callable[[bytes], Answer]) -> Answer:
        self._running.append(_Process(self._words))
        return self._exchange(b"", self._start_seconds, read_greeting)

    def _exchange(self, line: bytes, seconds: float, read: Callable[[bytes], Answer]) -> Answer:
        (process,) = self._running
        try:
            reply = process.exchange(line, seconds)
            if line:
                self._timeouts_left = inf
            return read(reply)
        except (ProgramTimeoutError, ProgramEndedError, ProgramOutputError) as error:
            self._running.clear()
            raise type(error)(f"{error}{process.kill()}") from error
        except ProgramError:  # what the program itself calls an error leaves it running
            raise
        except BaseException:  # an interrupt between a request and its answer
            self._running.clear()
            process.kill()
            raise


class _Process:
    """One process of a program, with what it has written so far."""

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
        self._stdin, self._stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        os.set_blocking(self._stdin.fileno(), False)
        self._read = bytearray()
        self._complaint = bytearray()
        self._listener = threading.Thread(target=self._keep_complaint, args=[_pipe(self._process.stderr)], daemon=True)
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


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ProgramError("the program has no pipes")
    return stream


def _end_all(running: list[_Process]) -> None:
    while running:
        running.pop().end()
