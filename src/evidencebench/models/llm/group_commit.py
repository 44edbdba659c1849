"""Durable writing for many callers: one thread commits all waiting changes together, then wakes the callers."""

import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from evidencebench.errors import CacheError, EvidenceBenchError
from evidencebench.models.llm.reply_database import Reopening

T = TypeVar("T")

Change = Callable[[sqlite3.Connection], T]
"""What is done inside the transaction, perhaps a second time; what it returns goes to whoever asked for it."""

_Waiting = tuple[Change[Any], Future[Any]]
_Queue = SimpleQueue[_Waiting | None]

_MOST_CHANGES = 1024  # in a transaction
_MOST_WAITS = 10  # of a minute each, for another process that holds the file, such as one that compacts it
_LONGEST_CLOSING_SECONDS = 5.0


class GroupCommit:
    """The only writer of a database in this process; its thread starts with the first change.

    `connect` opens the file durably: a commit must not return before it is on the disk.
    """

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path, self._connect = path, connect
        self._lock, self._process_id = threading.Lock(), os.getpid()
        self._started: tuple[_Queue, threading.Thread] | None = None

    def submit(self, change: Change[T]) -> Future[T]:
        """Have a change made, from any thread, even if nobody waits for it any more.

        What is returned is done when the change is on the disk, and fails with `CacheError` where it is not there.
        """
        done: Future[T] = Future()
        self._notice_fork()
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
        """Return when all that was submitted is written and the file given back; the next change opens it again.

        Raises `CacheError` if that takes longer than it may, since another process holds the file.
        """
        self._notice_fork()
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
        if self._started is not None and self._process_id == os.getpid():
            self._started[0].put(None)

    def _notice_fork(self) -> None:
        """Start afresh in a forked process, which has no threads and may have a lock that nobody frees."""
        if self._process_id != os.getpid():
            self._lock, self._process_id, self._started = threading.Lock(), os.getpid(), None


def _write(queue: _Queue, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
    file, is_last = Reopening(path, connect), False
    try:
        while not is_last:
            group, is_last = _next_group(queue)
            _commit(group, file)
    finally:
        file.close()


def _next_group(queue: _Queue) -> tuple[list[_Waiting], bool]:
    """Wait for a change, then take all that are there; say whether they are the last ones."""
    group: list[_Waiting] = []
    try:
        waiting = queue.get()
        while waiting is not None:
            group.append(waiting)
            if len(group) == _MOST_CHANGES:
                return group, False
            waiting = queue.get_nowait()
    except Empty:
        return group, False
    return group, True


class _BadChangeError(Exception):
    """One of several changes failed, and none was made."""


def _commit(group: list[_Waiting], file: Reopening) -> None:
    """Make all the changes in one transaction, or each by itself if one fails; then wake the callers."""
    if not group:
        return
    try:
        values = _in_one_transaction([change for change, _ in group], file)
    except _BadChangeError:
        for one in group:
            _commit([one], file)
        return
    except BaseException as error:  # noqa: BLE001 - whatever it is, whoever waits must hear of it
        if not isinstance(error, EvidenceBenchError):
            file.close()
        for _, done in group:
            if done.set_running_or_notify_cancel():  # a caller that was cancelled meanwhile is not woken
                done.set_exception(error)
        return
    for (_, done), value in zip(group, values, strict=True):
        if done.set_running_or_notify_cancel():
            done.set_result(value)


def _in_one_transaction(changes: list[Change[Any]], file: Reopening) -> list[Any]:
    connection = file.connection()
    _begin(connection)
    try:
        try:
            values = [change(connection) for change in changes]
        except BaseException as error:
            if len(changes) > 1:
                raise _BadChangeError from error
            raise
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return values


def _begin(connection: sqlite3.Connection) -> None:
    """Take the file, however long others need it: what waits to be written may have been paid for."""
    for attempt in range(_MOST_WAITS):
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or attempt == _MOST_WAITS - 1:
                raise
        else:
            return
