"""The part file of a download, and two files beside it: the origin of its bytes, and a lock.

::

    <file>.part        the bytes that came so far; its length is where the next request starts
    <file>.part.json   the address they came from, and the length and the ETag or date that the server gave with them
    <file>.part.lock   locked by the process that fetches the file; others are refused
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path
from typing import Annotated

import msgspec

from evidencebench.errors import DataError
from evidencebench.storage.locks import try_lock
from evidencebench.storage.reading import BROKEN_JSON, read_whole
from evidencebench.storage.whole_file import write_whole
from evidencebench.web.fetch import wrong_file


class PartOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Where the bytes of a part file came from; ``etag``, ``last_modified`` and ``total`` bytes as the server said."""

    address: str
    etag: str | None = None
    last_modified: str | None = None
    total: Annotated[int, msgspec.Meta(gt=0)] | None = None

    @property
    def validator(self) -> str | None:
        """The value of If-Range: a strong ETag, else the date (RFC 9110, section 13.1.5)."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified or None

    def differs(self, headers: Message) -> bool:
        """Say whether an answer is of another version; the ETag decides, or the date where an ETag is missing."""
        return next((before != now for before, now in self._pairs(headers) if before and now), False)

    def is_named(self, headers: Message) -> bool:
        """Say whether an answer has the same ETag or the same date."""
        return any(before and before == now for before, now in self._pairs(headers))

    def _pairs(self, headers: Message) -> tuple[tuple[str | None, str | None], ...]:
        return (self.etag, headers.get("ETag")), (self.last_modified, headers.get("Last-Modified"))


def held_bytes(part: Path) -> int:
    """Return the bytes of a part file; 0 where there is none."""
    return part.stat().st_size if part.exists() else 0


def discard(part: Path) -> None:
    """Delete a part file and its origin, in this order: bytes of unknown origin are safe, a wrong origin is not."""
    part.unlink(missing_ok=True)
    _origin_file(part).unlink(missing_ok=True)


def read_origin(part: Path, address: str) -> PartOrigin:
    """Return the origin of a part file; without validators where it is not known, or was another address."""
    try:
        found = msgspec.json.decode(read_whole(_origin_file(part)), type=PartOrigin)
    except (OSError, *BROKEN_JSON):  # absent, torn by a kill, or not ours
        return PartOrigin(address=address)
    return found if found.address == address else PartOrigin(address=address)


def write_origin(part: Path, origin: PartOrigin) -> None:
    """Write the origin of the bytes that a part file is about to get."""
    write_whole(_origin_file(part), msgspec.json.encode(origin))


def _origin_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


@contextmanager
def locked_part_file(part: Path) -> Iterator[None]:
    """Hold the lock of a part file, so that no two processes write it at once."""
    path = part.with_name(f"{part.name}.lock")
    with disk_errors(path):
        descriptor = _open_lock(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _open_lock(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW, 0o666)
        if not try_lock(descriptor):
            os.close(descriptor)
            raise wrong_file(path, "to fetch the file alone", "another process that does", "wait for it")
        if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
            return descriptor
        os.close(descriptor)  # the process that held it before has removed it


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the disk into a `DownloadError` that says what to do."""
    try:
        yield
    except (OSError, DataError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong_file(path, "to write there", reason, "free the place or choose another") from error
