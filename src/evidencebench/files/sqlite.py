"""SQLite files that processes share: made in one step, so never incomplete, and marked as files of this package."""

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evidencebench.errors import CacheError
from evidencebench.files.atomic import put_in_place
from evidencebench.files.places import hold, lock_of

_WAIT_SECONDS = 60.0
_ROOM_BYTES = 256 << 10  # what some dozen replies take, or a batch of vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFormat:
    keeps: str  # its content, as messages name it
    application_id: int  # in its head, to tell our files from those of others
    version: int  # a file of another one is refused
    tables: str  # the statements that make an empty file


def connect(path: Path, form: DatabaseFormat, *, is_made: bool = True) -> sqlite3.Connection:
    """Return a connection in autocommit, usable from one thread at a time; ``is_made``: make a missing file.

    Raises `CacheError` if the file is something else, of another version, or was deleted without the files that belong
    to it; `sqlite3.Error` or `OSError` if it cannot be opened.
    """
    if is_made and not path.exists():
        _make(path, form)
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=_WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _require_format(connection, path, form)
    except BaseException:
        connection.close()
        raise
    return connection


class Database:
    """A file's connection, opened again if the file was moved away or replaced."""

    def __init__(self, path: Path, form: DatabaseFormat, synchronous: Literal["NORMAL", "FULL"]) -> None:
        self._path, self._form, self._synchronous = path, form, synchronous
        self._opened: tuple[sqlite3.Connection, os.stat_result] | None = None

    def connection(self) -> sqlite3.Connection:
        """Return the connection, opened where it is not; raises as `connect`."""
        if self._opened is not None:
            with suppress(FileNotFoundError):
                if os.path.samestat(self._opened[1], self._path.stat()):
                    return self._opened[0]
            self.close()
        connection = connect(self._path, self._form)
        try:
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            self._opened = (connection, self._path.stat())
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[0].close()

    def __del__(self) -> None:
        self.close()


def reserve_space(connection: sqlite3.Connection) -> None:
    """Write zeros into a file, to fail before money is paid for what cannot be kept; see `release_space`."""
    release_space(connection)  # zeros of a process that was killed
    connection.execute(f"CREATE TABLE room AS SELECT zeroblob({_ROOM_BYTES}) AS zeros")


def release_space(connection: sqlite3.Connection) -> None:
    """Remove the zeros after the commit, so that the next rows take their place."""
    connection.execute("DROP TABLE IF EXISTS room")


def compact(path: Path, form: DatabaseFormat) -> None:
    """Give the space of removed rows back to the disk; raises `sqlite3.Error` if others lock the file too long."""
    with closing(connect(path, form, is_made=False)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def size_bytes(path: Path) -> int:
    """Return the bytes of a file and of the log that belongs to it; 0 where there is none."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _require_format(connection: sqlite3.Connection, path: Path, form: DatabaseFormat) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != form.application_id:
        raise CacheError(f"{path}: expected a cache of {form.keeps}, got something else; move it away")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != form.version:
        raise CacheError(
            f"{path}: expected version {form.version} of a cache of {form.keeps}, got version {version}; use the "
            "evidencebench that made it, or set EVIDENCEBENCH_CACHE to another folder"
        )


def _make(path: Path, form: DatabaseFormat) -> None:
    """Put an empty file in place in one step, so that no other process ever sees half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    log = path.with_name(f"{path.name}-wal")
    # SQLite would write the old pages of a log that was left behind into the new file. Another process that makes the
    # file now makes its log after it, so looking for the file last is safe.
    if log.exists() and not path.exists():
        raise CacheError(
            f"{path}: was deleted without {log.name}, which belongs to it; put it back, or delete {log.name} and "
            f"{path.name}-shm too to start an empty cache of {form.keeps}"
        )
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}.new")
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")  # kept in the file
            connection.executescript(form.tables)
            connection.execute(f"PRAGMA application_id = {form.application_id}")
            connection.execute(f"PRAGMA user_version = {form.version}")
        with hold(lock_of(path), waits=True):
            if not path.exists():  # else another process has made it, whose rows must not be lost
                put_in_place(draft, path)
    finally:
        draft.unlink(missing_ok=True)
