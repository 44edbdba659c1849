"""Read regular files up to a size limit, and notice when a data file changes."""

import codecs
import errno
import gzip
import hashlib
import io
import os
import stat
import tempfile
import threading
import tomllib
import weakref
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import msgspec

from evidencebench.errors import ChangedDataError, EvidenceBenchError, UnreadableError
from evidencebench.wording import did_you_mean

BROKEN_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not the JSON that is expected: malformed, no UTF-8, nested too deep."""

MOST_BYTES = 64 << 20
"""The most bytes that `read_whole` reads by default: far more than any model card or table of prices has."""

_BLOCK_BYTES = 1 << 20

_WORDS = {
    stat.S_IFIFO: "is a pipe; expected a regular file: save what comes out of it into one first",
    stat.S_IFCHR: "is a device; expected a regular file",
    stat.S_IFBLK: "is a device; expected a regular file",
    stat.S_IFSOCK: "is a socket; expected a regular file",
}


PathText: TypeAlias = str | os.PathLike[str]


def paths_from(given: PathText | Iterable[PathText]) -> tuple[Path, ...]:
    return (Path(given),) if isinstance(given, str | os.PathLike) else tuple(map(Path, given))


def open_file(path: Path) -> BufferedReader:
    """Return a regular file, open for reading; raises `OSError` for anything else, without waiting."""
    _require_regular(path, path.stat())  # before opening it, which would wait for the writer of a pipe
    return path.open("rb")


def read_whole(path: Path, *, at_most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file; raises `OSError` where it has more than ``at_most``, or cannot be read."""
    with open_file(path) as file:
        return read_stream(file, at_most=at_most, name=path)


def read_stream(stream: IO[bytes], *, at_most: int = MOST_BYTES, name: str | Path = "-") -> bytes:
    """Return the bytes of a stream up to its end; raises `OSError`, with ``name``, where there are over ``at_most``."""
    held = io.BytesIO()  # which gives its bytes without a copy; `read(at_most + 1)` would ask for that memory at once
    while block := stream.read(min(_BLOCK_BYTES, at_most + 1 - held.tell())):
        held.write(block)
    if held.tell() > at_most:
        raise OSError(errno.EFBIG, f"holds more than {at_most:,} bytes; expected a smaller file", str(name))
    return held.getvalue()


def file_sha256(path: Path) -> str:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _require_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        words = _WORDS.get(stat.S_IFMT(status.st_mode), "is no regular file")
        raise OSError(errno.EINVAL, words, str(path))


# A file as it was when it was opened: parts are read when they are asked for, and a change of the file is an error.

# A gzip bomb ends here rather than on a full disk; the largest published file unpacks to 3 GB.
MAX_UNPACKED_BYTES = 64 << 30


FileState = tuple[int, int, int, int, int]
"""Device, inode, bytes, and the times of the last change by mtime and by ctime, in nanoseconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The content of a file when it was opened, unpacked if it is gzipped.

    It is read from the file, whose ``state`` shows whether it has changed, or, if it is gzipped, from a temporary file,
    ``unpacked``, which no other process can change.
    """

    path: Path
    size: int  # in bytes, unpacked
    state: FileState | None = None
    unpacked: IO[bytes] | None = None
    packed_sha256: str | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)  # to read `unpacked`

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
        for block in blocks(self):
            total.update(block)
        return total.hexdigest()

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes start..stop-1 as they were when the file was opened; raises `ChangedDataError`."""
        if self.unpacked is not None:
            with self._turn:
                self.unpacked.seek(start)
                return self.unpacked.read(stop - start)
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(start)
                content = file.read(stop - start)
                state = _state(os.fstat(file.fileno()))  # after the reading, so that nothing can happen in between
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
        return all(shard.is_sha256_at_hand for shard in self.shards)

    @cached_property
    def sha256(self) -> str:
        """The checksum of the shards' checksums, a line each, in their order; names do not count."""
        return hashlib.sha256("".join(f"{shard.sha256}\n" for shard in self.shards).encode()).hexdigest()


def open_snapshot(path: Path) -> Snapshot:
    """Return the snapshot of a file, unpacked if it is ``.gz``; raises `UnreadableError`."""
    if path.is_dir():
        raise UnreadableError(f"{path}: is a folder; expected a data file (.json, .jsonl, .gz of either, or .parquet)")
    try:
        with open_file(path) as file:
            if path.name.endswith(".gz"):
                return _unpack(file, path)
            status = os.fstat(file.fileno())
            return Snapshot(path=path, size=status.st_size, state=_state(status))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise UnreadableError(f"{path}: {why_unreadable(path, error)}") from error
        raise UnreadableError(f"{path}: cannot be read: {error}") from error


def blocks(snapshot: Snapshot) -> Iterator[bytes]:
    for start in range(0, snapshot.size, _BLOCK_BYTES):
        yield snapshot.read(start, min(start + _BLOCK_BYTES, snapshot.size))


def changed(path: Path) -> ChangedDataError:
    return ChangedDataError(f"{path}: the data file has changed since it was opened; start again")


def _state(status: os.stat_result) -> FileState:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _unpack(file: BufferedReader, path: Path) -> Snapshot:
    """Return the snapshot of a gzip file, with the checksum of the very bytes that were unpacked."""
    state = _state(os.fstat(file.fileno()))
    with ExitStack() as opened:
        unpacked = opened.enter_context(tempfile.TemporaryFile())
        with gzip.GzipFile(fileobj=file, mode="rb") as plain:
            while block := plain.read(_BLOCK_BYTES):
                unpacked.write(block)
                if unpacked.tell() > MAX_UNPACKED_BYTES:
                    raise UnreadableError(
                        f"{path}: unpacks to more than {MAX_UNPACKED_BYTES} bytes; unpack it yourself first"
                    )
        unpacked.flush()
        file.seek(0)
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        if _state(os.fstat(file.fileno())) != state:
            raise changed(path)
        snapshot = Snapshot(path=path, size=unpacked.tell(), unpacked=unpacked, packed_sha256=sha256)
        weakref.finalize(snapshot, opened.pop_all().close)
        return snapshot


# Files of text: UTF-8, or what the mark at their beginning says.


# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def mark_of(content: bytes) -> tuple[bytes, str]:
    """Return the mark that a file begins with, and the encoding that it tells; two empty ones without."""
    return next(((mark, encoding) for mark, encoding in _MARKS if content.startswith(mark)), (b"", ""))


def decoded(content: bytes, *, name: str, declared: str = "utf-8") -> str:
    """Return text without its mark, or as ``declared`` if it has none; raises `UnreadableError`, with ``name``."""
    mark, marked = mark_of(content)
    encoding = marked or declared
    try:
        return content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{name}: line {line}: expected {encoding.upper()} text, got the byte 0x{error.object[error.start]:02x}; "
            "save it as UTF-8, as with 'iconv -f LATIN1 -t UTF-8'"
        ) from error


def read_text(path: Path, *, at_most: int = MOST_BYTES) -> str:
    """Return the text of a regular file; raises `UnreadableError` where it cannot be read, or is no such text."""
    return decoded(read_bytes(path, at_most=at_most), name=str(path))


def packaged_table(module: str, name: str = "") -> dict[str, Any]:
    """Return the TOML file beside a module, given as its ``__file__``: the one of its name, or ``name``."""
    path = Path(module)
    return tomllib.loads((path.with_name(name) if name else path.with_suffix(".toml")).read_text(encoding="utf-8"))


_MOST_NAMES = 1_000


def why_unreadable(path: Path, error: OSError) -> str:
    """Return what is wrong with a file that cannot be read; of a missing one, a name in its folder that is like it."""
    if not isinstance(error, FileNotFoundError):
        return f"cannot be read: {error.strerror}"
    if not path.parent.is_dir():
        return f"no such file: there is no folder '{path.parent}'"
    try:
        names = [file.name for file in islice(path.parent.iterdir(), _MOST_NAMES)]
    except OSError:
        return "no such file"
    longer = min((name for name in names if path.name and name.startswith(f"{path.name}.")), default="")
    meant = f" (did you mean '{longer}'?)" if longer else did_you_mean(path.name, names)
    return f"no such file{meant}"


def read_bytes(
    path: Path, *, at_most: int = MOST_BYTES, error: type[EvidenceBenchError] = UnreadableError, advice: str = ""
) -> bytes:
    """Return the bytes of a regular file; raises `error` where it cannot be read, with `advice` in its words."""
    try:
        return read_whole(path, at_most=at_most)
    except OSError as cause:
        raise error(f"{path}: {why_unreadable(path, cause)}{advice and f'; {advice}'}") from cause


def read_blocks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a regular file, a piece at a time; raises `UnreadableError` where it cannot be read."""
    try:
        with open_file(path) as file:
            while block := file.read(_BLOCK_BYTES):
                yield block
    except OSError as error:
        raise UnreadableError(f"{path}: {why_unreadable(path, error)}") from error
