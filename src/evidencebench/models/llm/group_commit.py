"""Write to a database for many callers: one thread commits all waiting changes together, then wakes the callers."""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from evidencebench.errors import CacheError, EvidenceBenchError

T = TypeVar("T")

Change = Callable[[sqlite3.Connection], T]
"""A function that is called inside the transaction; its result goes to its caller."""

Connect = Callable[[Path], sqlite3.Connection]

_Waiting = tuple[Change[Any], Future[Any]]
_Queue = SimpleQueue[_Waiting | None]

_MOST_CHANGES = 1024  # in a transaction
_LONGEST_WAIT_MILLISECONDS = 600_000  # for another process that locks the file, such as one that compacts it
_LONGEST_CLOSING_SECONDS = 5.0


class Reopening:
    """A connection that is opened at its first use, and again if its file was moved away or replaced."""

    def __init__(self, path: Path, connect: Connect) -> None:
        self._path, self._connect = path, connect
        self._opened: tuple[sqlite3.Connection, tuple[int, int]] | None = None

    def connection(self) -> sqlite3.Connection:
        """Return the connection to the file that is at the path now."""
        if self._opened is not None and self._opened[1] != _identity(self._path):
            self.close()
        if self._opened is None:
            connection = self._connect(self._path)
            identity = _identity(self._path)
            if identity is None:
                connection.close()
                raise CacheError(f"{self._path}: vanished while it was being opened")
            self._opened = (connection, identity)
        return self._opened[0]

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._opened is not None:
            self._opened[0].close()
            self._opened = None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class GroupCommit:
    """The only writer of a database in this process; its thread starts with the first change.

    `connect` opens the file durably: a commit must not return before it is on the disk.
    """

    def __init__(self, path: Path, connect: Connect) -> None:
        self._path, self._connect = path, connect
        self._lock = threading.Lock()
        self._started: tuple[_Queue, threading.Thread] | None = None

    def submit(self, change: Change[T]) -> Future[T]:
        """Let the writing thread make a change; callable from any thread.

        The future that it returns is done when the change is on the disk, and fails with `CacheError` if it cannot be.
        """
        done: Future[T] = Future()
        with self._lock:
            if self._started is None:
                queue: _Queue = SimpleQueue()
                arguments = (queue, self._path, self._connect)
                thread = threading.Thread(target=_write, args=arguments, name="replies", daemon=True)
                thread.start()
                self._started = (queue, thread)
            self._started[0].put((change, done))
        return done

    def close(self, seconds: float = _LONGEST_CLOSING_SECONDS) -> None:
        """Write all submitted changes, then close the file; the next change opens it again.

        Raises `CacheError` if that takes longer than `seconds`, because another process locks the file.
        """
        with self._lock:
            started, self._started = self._started, None
        if started is not None:
            started[0].put(None)
            started[1].join(seconds)
            if started[1].is_alive():
                raise CacheError(
                    f"{self._path}: another process holds it, so what came last is not written yet, and is lost if "
                    "this process ends first; end the other one, such as 'evidencebench cache prune', and run again"
                )

    def __del__(self) -> None:
        if self._started is not None:
            self._started[0].put(None)


def _write(queue: _Queue, path: Path, connect: Connect) -> None:
    file = Reopening(path, connect)
    try:
        while group := _next_group(queue):
            _commit(group, file)
    finally:
        file.close()


def _next_group(queue: _Queue) -> list[_Waiting]:
    """Wait for a change, then return all waiting changes; empty if no more will come."""
    group: list[_Waiting] = []
    while (waiting := queue.get()) is not None:
        group.append(waiting)
        if len(group) == _MOST_CHANGES or queue.empty():
            return group
    if group:
        queue.put(None)  # for the next call
    return group


def _commit(group: list[_Waiting], file: Reopening) -> None:
    """Make changes in one transaction, then wake the callers."""
    outcomes: list[Any]
    try:
        outcomes = _in_one_transaction([change for change, _ in group], file.connection())
    except BaseException as error:  # noqa: BLE001 - the waiting callers must get every error
        if not isinstance(error, EvidenceBenchError):
            file.close()
        outcomes = [error] * len(group)
    for (_, done), outcome in zip(group, outcomes, strict=True):
        if done.set_running_or_notify_cancel():  # False if the caller was cancelled in the meantime
            if isinstance(outcome, BaseException):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)


def _in_one_transaction(changes: list[Change[Any]], connection: sqlite3.Connection) -> list[Any]:
    """Return the result of each change, or its error; a change that fails is undone, the others are kept."""
    outcomes: list[Any] = []
    connection.execute(f"PRAGMA busy_timeout = {_LONGEST_WAIT_MILLISECONDS}")  # waiting replies may be paid
    connection.execute("BEGIN IMMEDIATE")
    try:
        for change in changes:
            connection.execute("SAVEPOINT change")
            try:
                outcomes.append(change(connection))
            except Exception as error:
                if not connection.in_transaction:  # SQLite has undone the whole transaction, such as on a full disk
                    raise
                connection.execute("ROLLBACK TO change")
                outcomes.append(error)
            connection.execute("RELEASE change")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return outcomes
