"""Download the files of the catalogue: resume after a cut, refuse a wrong file."""

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import IO, Annotated

import msgspec

from evidencebench.data.catalog import CatalogEntry, sha256_matches
from evidencebench.data.sources import open_source
from evidencebench.decoding import prepared
from evidencebench.errors import DataError, DownloadError
from evidencebench.files.atomic import put_in_place, write_whole
from evidencebench.files.disk import BROKEN_JSON, PathText, file_sha256, read_whole
from evidencebench.files.places import hold, lock_of
from evidencebench.web.fetch import (
    FETCHES,
    ask,
    require_lasting,
    require_web_address,
    wrong_file,
)
from evidencebench.web.http import HttpAnswer
from evidencebench.web.retry import TransientError
from evidencebench.wording import counted

# The part file of a download, and two files beside it: the origin of its bytes, and a lock.


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


def _discard(part: Path) -> None:
    """Delete a part file and its origin, in this order: bytes of unknown origin are safe, a wrong origin is not."""
    part.unlink(missing_ok=True)
    _origin_file(part).unlink(missing_ok=True)


def _origin_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


@contextmanager
def locked_part_file(part: Path) -> Iterator[None]:
    lock = lock_of(part)
    with ExitStack() as holding:
        with _disk_errors(lock):
            is_held = holding.enter_context(hold(lock))
        if not is_held:
            raise wrong_file(lock, "no other process that fetches this file", "one", "wait for it")
        yield


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, DataError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong_file(path, "to write there", reason, "free space there, or choose another folder") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A whole file in the data folder; ``verified`` says that its checksum was compared with a known one."""

    path: Path
    size_bytes: int
    sha256: str
    verified: bool


Progress = Callable[[int, int], None]
"""Called after each block with (bytes so far, bytes of the whole file, or bytes so far where that is not known)."""

# The most bytes an instance of a file of unknown size; published ones have some 40 KB on average.
_MOST_BYTES_AN_INSTANCE = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    entry: CatalogEntry
    address: str
    part: Path
    timeout_seconds: float
    progress: Progress

    @property
    def held_bytes(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    @property
    def most_bytes(self) -> int:
        return self.entry.size_bytes or self.entry.n_instances * _MOST_BYTES_AN_INSTANCE


def fetch(
    entry: CatalogEntry,
    folder: PathText,
    *,
    mirror: str | None = None,
    url: str | None = None,
    source_file: PathText | None = None,
    attempts: int = 5,
    timeout_seconds: float = 30.0,
    sleep: Callable[[float], object] = time.sleep,
    progress: Progress | None = None,
    force: bool = False,
) -> Fetched:
    """Return the file of a catalogue entry, fetched into a folder (which is made) unless it lies there already.

    At most one of ``mirror`` (the address of a folder), ``url`` (of the file) and ``source_file`` (a copy on this disk)
    replaces the entry's own address. ``timeout_seconds`` is how long the server may stay silent, or send fewer than a
    thousand bytes a second. Raises `DownloadError`; the file in the folder is then unchanged.

    Source: RFC 9110, section 13.1.5 (If-Range), 14 (Range, 206, 416) and 10.2.3 (Retry-After).
    """
    if attempts < 1 or timeout_seconds <= 0:
        got = f"{attempts} and {timeout_seconds:g} s"
        raise wrong_file("fetch", "1 or more attempts and a timeout above 0 s", got, "raise them")
    if sum(origin is not None for origin in (mirror, url, source_file)) > 1:
        raise wrong_file("fetch", "at most one of mirror, url and source file", "several", "choose one")
    folder = Path(folder)
    target = folder / entry.file_name
    part = target.with_name(f"{target.name}.part")
    with _disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        is_there = target.exists()
    if is_there and not force:
        with _add_advice("replace it by force"):
            return check_file(entry, target)
    if is_there and not target.is_file() and not target.is_dir():
        raise wrong_file(target, "a regular file to replace", "a pipe or a device", "choose another folder")
    address = url if url is not None else entry.url if mirror is None else f"{mirror.rstrip('/')}/{target.name}"
    job = _Job(
        entry=entry,
        address=require_web_address(address),
        part=part,
        timeout_seconds=timeout_seconds,
        progress=progress or (lambda _held, _total: None),
    )
    with _disk_errors(part), locked_part_file(part):
        if source_file is not None:
            with _add_advice("give the right file"):
                check_file(entry, Path(source_file))  # before the part file goes, which may hold hours of download
            _discard(part)
            shutil.copyfile(source_file, part)
        else:
            _complete(job, attempts, sleep)
        try:
            with _add_advice("the part file is deleted: run it again, or give another address, mirror or copy"):
                fetched = check_file(entry, part)
        except DownloadError:
            _discard(part)
            raise
        with _disk_errors(target):
            put_in_place(part, target)
            _discard(part)
        return replace(fetched, path=target)


def check_file(entry: CatalogEntry, path: Path) -> Fetched:
    """Return a file's size and checksum, both compared; where no checksum is known, its instances are counted too."""
    try:
        size = path.stat().st_size
        if entry.size_bytes not in {None, size}:  # before the checksum, which reads gigabytes
            raise DownloadError(f"{path}: expected {entry.size_bytes:,} bytes, got {size:,}")
        computed = file_sha256(path)
    except OSError as error:
        raise DownloadError(f"{path}: expected a file that can be read, got: {error.strerror}") from error
    if entry.sha256 is not None and not sha256_matches(entry.sha256, computed):
        raise DownloadError(f"{path}: expected the sha256 checksum {entry.sha256}, got {computed}")
    if entry.sha256 is None or "..." in entry.sha256:
        try:
            source = open_source(path)
        except DataError as error:
            raise DownloadError(f"{error}; expected {counted(entry.n_instances, 'instance')}") from error
        if source.repeated_ids or len(source.ids) != entry.n_instances:
            got = f"'{source.repeated_ids[0]}' more than once" if source.repeated_ids else f"{len(source.ids):,}"
            raise DownloadError(f"{path}: expected {counted(entry.n_instances, 'instance')}, got {got}")
    return Fetched(path=path, size_bytes=size, sha256=computed, verified=entry.sha256 is not None)


@contextmanager
def _add_advice(what_to_do: str) -> Iterator[None]:
    try:
        yield
    except DownloadError as error:
        raise DownloadError(f"{error}; {what_to_do}") from error


# The part file, grown by requests. It is continued only under the ETag or date that its first bytes came with.


def _complete(job: _Job, attempts: int, sleep: Callable[[float], object]) -> None:
    try:
        replace(FETCHES, max_attempts=attempts, sleep=sleep).call(lambda _: _advance(job))
    except TransientError as error:
        size = job.entry.size_bytes
        expected = "the whole file" if size is None else f"{size:,} bytes"
        got = f"{job.held_bytes:,} in {counted(attempts, 'attempt')}, the last of which failed: {error}"
        raise wrong_file(job.address, expected, got, "run it again to resume") from error


def _advance(job: _Job) -> None:
    """Complete the part file with one request, or raise."""
    try:
        origin = msgspec.json.decode(read_whole(_origin_file(job.part)), type=prepared(PartOrigin))
    except (OSError, *BROKEN_JSON):  # absent, torn by a kill, or not ours
        origin = PartOrigin(address=job.address)
    known = job.entry.size_bytes or origin.total
    start = job.held_bytes
    if start > (known or job.most_bytes) or origin.validator is None or origin.address != job.address:
        start = 0
    if start and start == known:
        return  # killed after the last byte: nothing to ask for
    headers = {}
    if start and origin.validator is not None:
        headers = {"Range": f"bytes={start}-", "If-Range": origin.validator}
    with closing(_Receiver(job, start, origin)) as receiver:
        ask(
            job.address,
            headers,
            silent_seconds=job.timeout_seconds,
            most_bytes=sys.maxsize,  # counted below
            receive=receiver.receive,
        )
    receiver.require_whole()


class _Receiver:
    """Writes an answer into the part file: from ``start`` on, or from its beginning where it is the whole file."""

    def __init__(self, job: _Job, start: int, origin: PartOrigin) -> None:
        self._job, self._start, self._origin = job, start, origin
        self._file: IO[bytes] | None = None
        self._held = self._most = 0
        self._told: int | None = None  # the size of the file, as the server says
        self._total: int | None = None
        self._has_all = False

    def receive(self, answer: HttpAnswer) -> Callable[[bytes], object]:
        job = self._job
        if self._start and answer.status in {HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE}:
            self._total = _continued_total(job, answer, self._start, self._origin)
            self._has_all = self._start == self._total
            if self._has_all:
                return lambda _: None
        elif answer.status == HTTPStatus.OK:  # also from a server without ranges, or for a changed file
            self._start, self._total = 0, answer.length
            etag, last_modified = (answer.headers.get(name) or None for name in ("ETag", "Last-Modified"))
            self._origin = PartOrigin(
                address=job.address, etag=etag, last_modified=last_modified, total=self._total or None
            )
        else:
            require_lasting(answer)
            raise wrong_file(job.address, "the file", f"the answer {answer.said_status}")
        _require_plain(job, answer)
        if self._total is None:
            _require_end(job, answer)
        self._held = self._start
        self._told = self._total
        self._total = job.entry.size_bytes if self._total is None else self._total
        self._most = job.most_bytes if self._total is None else self._total
        return self._take

    def _take(self, block: bytes) -> None:
        if self._file is None:
            self._file = self._opened(block)
        self._held += len(block)
        if self._held > self._most:
            _discard(self._job.part)
            at_most = "at most " if self._total is None else ""
            raise wrong_file(self._job.address, f"{at_most}{self._most:,} bytes", "more")
        self._file.write(block)
        self._job.progress(self._held, self._total or self._held)

    def _opened(self, first: bytes) -> IO[bytes]:
        if not self._start and first.lstrip().startswith(b"<"):
            raise _page(self._job)
        _require_size(self._job, self._told)
        if not self._start:
            _discard(self._job.part)
            write_whole(_origin_file(self._job.part), msgspec.json.encode(self._origin))
        file = self._job.part.open("r+b" if self._start else "wb")
        file.seek(self._start)
        return file

    def require_whole(self) -> None:
        if self._has_all:
            return
        if self._held == 0:
            raise TransientError("the answer was empty")
        if self._total is not None and self._held < self._total:
            raise TransientError(f"the connection ended after {self._held:,} of {self._total:,} bytes")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _continued_total(job: _Job, answer: HttpAnswer, start: int, origin: PartOrigin) -> int:
    """Return the whole file's length from an answer that goes on at ``start``, or ends there; else start again."""
    stated = answer.headers.get("Content-Range") or "no Content-Range"
    is_part = answer.status == HTTPStatus.PARTIAL_CONTENT
    match = re.fullmatch(r"bytes (\d{1,18})-\d+/(\d{1,18})" if is_part else r"bytes \*/((\d{1,18}))", stated.strip())
    is_same = origin.validator in {answer.headers.get("ETag"), answer.headers.get("Last-Modified")} - {None, ""}
    if match is None or int(match[1]) != start:
        reason = f"asked for the bytes from {start:,} on, got '{stated}'"
    elif not is_same or (job.entry.size_bytes or origin.total) not in {None, int(match[2])}:
        reason = "the file on the server changed between two parts"
    else:
        return int(match[2])
    _discard(job.part)
    raise TransientError(f"{reason}, so it starts again from the first byte")


def _require_plain(job: _Job, answer: HttpAnswer) -> None:
    encoding = answer.headers.get("Content-Encoding") or "identity"
    if encoding.lower() != "identity":
        raise wrong_file(job.address, "plain bytes", f"them encoded as {encoding}")
    if answer.headers.get("Content-Type", "").partition(";")[0].strip().lower() == "text/html":
        raise _page(job)


def _require_end(job: _Job, answer: HttpAnswer) -> None:
    is_chunked = "Transfer-Encoding" in answer.headers
    if not is_chunked and job.entry.size_bytes is None and job.entry.sha256 is None:
        raise wrong_file(job.address, "a Content-Length", "none, so that a cut would go unnoticed")


def _require_size(job: _Job, told: int | None) -> None:
    """Raise, before anything is written, for a file of another size."""
    size = job.entry.size_bytes
    if size is not None and told not in {None, size}:
        raise wrong_file(job.address, f"{size:,} bytes", f"a file of {told:,}")
    if told is not None and told > job.most_bytes:
        raise wrong_file(job.address, f"at most {job.most_bytes:,} bytes", f"a file of {told:,}")


def _page(job: _Job) -> DownloadError:
    return wrong_file(job.address, "a JSON file", "a web page", "open it in a browser to see why")
