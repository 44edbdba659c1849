"""The file that a download grows into, and what is kept beside it: where its bytes came from, and who writes it.

::

    <file>.part        the bytes that came so far; its length is where the next request starts
    <file>.part.json   the address they came from, and the length and the ETag or date that the server gave with them
    <file>.part.lock   there while a process fetches the file; every other one is refused
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path

from evidencebench.errors import DataError
from evidencebench.storage.reading import read_whole
from evidencebench.storage.whole_file import write_whole
from evidencebench.web.fetch import wrong_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the bytes of a part file came from.

    Attributes
    ----------
    address
        What was asked.
    etag, last_modified
        As the server gave them with the first bytes; None: not at all.
    total
        How long it said that the whole file is, in bytes; None: it did not.
    """

    address: str
    etag: str | None = None
    last_modified: str | None = None
    total: int | None = None

    @property
    def validator(self) -> str | None:
        """What If-Range may carry: a strong ETag, else the date (RFC 9110, section 13.1.5)."""
        if self.etag is not None and not self.etag.startswith("W/"):
            return self.etag
        return self.last_modified

    def differs(self, headers: Message) -> bool:
        """Say whether an answer is of another version; the ETag decides, the date where one has no ETag."""
        return next((before != now for before, now in self._pairs(headers) if before and now), False)

    def is_named(self, headers: Message) -> bool:
        """Say whether an answer repeats the ETag or the date."""
        return any(before is not None and before == now for before, now in self._pairs(headers))

    def _pairs(self, headers: Message) -> tuple[tuple[str | None, str | None], ...]:
        return (self.etag, headers.get("ETag")), (self.last_modified, headers.get("Last-Modified"))


def held_bytes(part: Path) -> int:
    """Return how long a part file is; 0 where there is none."""
    return part.stat().st_size if part.exists() else 0


def discard(part: Path) -> None:
    """Delete a part file and its origin, in this order: bytes of unknown origin are safe, a wrong origin is not."""
    part.unlink(missing_ok=True)
    _origin_file(part).unlink(missing_ok=True)


def read_origin(part: Path, address: str) -> Origin:
    """Return how bytes from an address came into a part file; nothing is known of those from another."""
    try:
        stored = json.loads(read_whole(_origin_file(part)))
        etag, last_modified = (str(stored[name]) if stored[name] else None for name in ("etag", "last_modified"))
        is_ours, total = stored["address"] == address, stored.get("total")
    except (OSError, ValueError, TypeError, KeyError, RecursionError):  # absent, torn by a kill, or not ours
        return Origin(address=address)
    if not is_ours:
        return Origin(address=address)
    total = total if isinstance(total, int) and total > 0 else None
    return Origin(address=address, etag=etag, last_modified=last_modified, total=total)


def write_origin(part: Path, origin: Origin) -> None:
    """Keep where the bytes come from that a part file is about to get."""
    write_whole(_origin_file(part), json.dumps(asdict(origin)))


def _origin_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


@contextmanager
def alone_with(part: Path) -> Iterator[None]:
    """Keep every other process from a part file: of two that write it neither would install what it fetched.

    Raises
    ------
    DownloadError
        If another process has it, or the folder cannot be written.
    """
    path = part.with_name(f"{part.name}.lock")
    with disk_errors(path):
        descriptor = _locked(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        except BlockingIOError as error:
            os.close(descriptor)
            raise wrong_file(path, "to fetch the file alone", "another process that does", "wait for it") from error
        os.close(descriptor)  # whoever had it before has removed it


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into an error in words."""
    try:
        yield
    except (OSError, DataError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong_file(path, "to write there", reason, "free the place or choose another") from error
