"""A file as it was when it was opened: parts are read when they are asked for, and a change of the file is an error.

No file of a user is mapped into memory: where a mapped file is cut, the system kills the process that reads it
(SIGBUS), and no check before the reading prevents that. Bytes that are returned are copies.
"""

import gzip
import hashlib
import os
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO

from evidencebench.errors import ChangedDataError, UnreadableError
from evidencebench.storage.reading import open_file

MOST_HELD_BYTES = 64 << 20
"""Up to this size a file is held in memory."""

# A gzip bomb ends here rather than on a full disk; the largest published file unpacks to 3 GB.
MAX_UNPACKED_BYTES = 64 << 30
_BLOCK_BYTES = 1 << 20

FileState = tuple[int, int, int, int, int]
"""Device, inode, bytes, and the times of the last change by mtime and by ctime, in nanoseconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The content of a file when it was opened, unpacked if it is gzipped.

    Small content is held in memory, as ``content``. Large content is read from the file, or, if that is gzipped, from a
    temporary file without a name, which no other process can change; ``unpacked`` is its descriptor. ``state`` shows
    whether the file has changed; None for unpacked content, which is a copy.
    """

    path: Path
    size: int  # in bytes, unpacked
    state: FileState | None = None
    content: bytes | None = None
    unpacked: int | None = None
    packed_sha256: str | None = None

    @property
    def is_sha256_at_hand(self) -> bool:
        """Whether the checksum is computed already, or can be from at most 64 MiB."""
        return self.packed_sha256 is not None or "sha256" in vars(self) or self.size <= 64 << 20

    @cached_property
    def sha256(self) -> str:
        """The checksum of the file as it lay on disk, in hexadecimal; computed when first asked for."""
        if self.packed_sha256 is not None:
            return self.packed_sha256
        total = hashlib.sha256()
        for block in blocks(self) if self.content is None else (self.content,):
            total.update(block)
        return total.hexdigest()

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes start..stop-1 as they were when the file was opened; raises `ChangedDataError`."""
        if self.unpacked is not None:
            return os.pread(self.unpacked, stop - start, start)
        if self.content is not None:
            if self.state is not None and self.state != state_of(self.path):
                raise changed(self.path)
            return self.content[start:stop]
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
            try:
                content = os.pread(descriptor, stop - start, start)
                state = _state(os.fstat(descriptor))  # after the reading, so that nothing can happen in between
            finally:
                os.close(descriptor)
        except OSError as error:
            raise ChangedDataError(
                f"{self.path}: the data file cannot be read any more: {error.strerror}; start again"
            ) from error
        if state != self.state or len(content) != stop - start:
            raise changed(self.path)
        return content


@dataclass(frozen=True, kw_only=True)
class ShardedSnapshot:
    """Several files that are read as one; ``path`` is their folder, or the pattern that they fit."""

    path: Path
    shards: tuple[Snapshot, ...]

    @property
    def is_sha256_at_hand(self) -> bool:
        """Whether the checksums are computed already, or quickly."""
        return all(shard.is_sha256_at_hand for shard in self.shards)

    @cached_property
    def sha256(self) -> str:
        """The checksum of the shards' checksums, a line each, in their order; names do not count."""
        return hashlib.sha256("".join(f"{shard.sha256}\n" for shard in self.shards).encode()).hexdigest()


def open_snapshot(path: Path, *, most_held_bytes: int | None = None) -> Snapshot:
    """Return the snapshot of a file, unpacked where its name ends in ``.gz``; in memory up to ``most_held_bytes``.

    Raises `UnreadableError` if it cannot be read, and `ChangedDataError` if it changes meanwhile.
    """
    if most_held_bytes is None:
        most_held_bytes = MOST_HELD_BYTES
    if path.is_dir():
        raise UnreadableError(f"{path}: is a folder; expected a data file (.json, .jsonl, .gz of either, or .parquet)")
    try:
        with open_file(path) as file:
            if path.name.endswith(".gz"):
                return _unpack(file, path, most_held_bytes)
            status = os.fstat(file.fileno())
            on_disk = Snapshot(path=path, size=status.st_size, state=_state(status))
            is_small = on_disk.size <= most_held_bytes
            return replace(on_disk, content=on_disk.read(0, on_disk.size)) if is_small else on_disk
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableError(f"{path}: cannot be read: {reason}") from error


def blocks(snapshot: Snapshot) -> Iterator[bytes]:
    """Yield the whole content in order, in blocks of 1 MiB."""
    for start in range(0, snapshot.size, _BLOCK_BYTES):
        yield snapshot.read(start, min(start + _BLOCK_BYTES, snapshot.size))


def state_of(path: Path) -> FileState | None:
    """Return a file's state, which another one follows after a change; None if it cannot be read."""
    try:
        return _state(path.stat())
    except OSError:
        return None


def changed(path: Path) -> ChangedDataError:
    """Return the error for a data file that has changed."""
    return ChangedDataError(f"{path}: the data file has changed since it was opened; start again")


def _state(status: os.stat_result) -> FileState:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class _Hashed:
    """A file that is hashed as it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.total = file, hashlib.sha256()

    def read(self, size: int) -> bytes:
        block = self._file.read(size)
        self.total.update(block)
        return block

    def seek(self, offset: int) -> int:
        raise OSError(f"asked to go back to byte {offset} of what is hashed as it is read")


def _unpack(file: IO[bytes], path: Path, most_held_bytes: int) -> Snapshot:
    """Return the snapshot of a gzip file, with the checksum of the very bytes that were unpacked."""
    packed = _Hashed(file)
    with tempfile.SpooledTemporaryFile(max_size=most_held_bytes) as unpacked:
        with gzip.GzipFile(fileobj=packed, mode="rb") as plain:
            while block := plain.read(_BLOCK_BYTES):
                unpacked.write(block)
                if unpacked.tell() > MAX_UNPACKED_BYTES:
                    raise UnreadableError(
                        f"{path}: unpacks to more than {MAX_UNPACKED_BYTES} bytes; unpack it yourself first"
                    )
        sha256, size = packed.total.hexdigest(), unpacked.tell()
        if size <= most_held_bytes:
            unpacked.seek(0)
            return Snapshot(path=path, size=size, content=unpacked.read(), packed_sha256=sha256)
        unpacked.flush()
        kept = os.dup(unpacked.fileno())
        snapshot = Snapshot(path=path, size=size, unpacked=kept, packed_sha256=sha256)
        weakref.finalize(snapshot, os.close, kept)
        return snapshot
