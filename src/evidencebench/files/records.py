"""RecordFormat and Journal: files of a header and a JSON object a line, which grow, survive kill -9 and are resumed."""

import codecs
import errno
import hashlib
import io
import os
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import asdict

from evidencebench.decoding import prepared
from evidencebench.errors import (
    DataError,
    EvidenceBenchError,
    RunError,
    RunFormatError,
    RunMismatchError,
    UnreadableError,
)
from evidencebench.files.atomic import why_unwritable, write_whole
from evidencebench.files.disk import BROKEN_JSON, PathText, read_blocks, read_bytes
from evidencebench.files.places import hold, lies_at, lock_of
from evidencebench.provenance import differences

_MOST_LINE_BYTES = 256 << 20

# The last member of a JSON object: the CRC-32 of all that stands before it.
_CHECKSUM = b',"crc":"%08x"}'
_N_CHECKSUM_BYTES = len(_CHECKSUM % 0)


class TextLine(NamedTuple):
    """A line of a text: its number from 1, the byte where it begins, and its bytes without the line end."""

    number: int
    start: int
    content: memoryview
    is_ended: bool


def lines_in(parts: Iterable[bytes]) -> Iterator[TextLine]:
    """Yield the lines of a text in parts that are not blank; raises `UnreadableError` where a line is over 256 MiB."""
    rest, base, number = b"", 0, 0
    for part in parts:
        text = rest + part if rest else part
        view = memoryview(text)
        start = 0 if base or rest else start_of(text)
        while (end := text.find(b"\n", start)) >= 0:
            number += 1
            if not _is_blank(view[start:end]):
                yield TextLine(number, base + start, view[start:end], is_ended=True)
            start = end + 1
        rest, base = text[start:], base + start
        if len(rest) > max(len(part), _MOST_LINE_BYTES):
            raise UnreadableError(f"line {number + 1}: expected a line, got more than {_MOST_LINE_BYTES:,} bytes of it")
    if not _is_blank(memoryview(rest)):
        yield TextLine(number + 1, base, memoryview(rest), is_ended=False)


def _is_blank(line: memoryview) -> bool:
    return not bytes(line[:64]).strip() and not bytes(line).strip()


def start_of(text: bytes | mmap) -> int:
    """Return the byte at which a text begins: after the byte-order mark that some editors put before UTF-8."""
    return len(codecs.BOM_UTF8) if text[: len(codecs.BOM_UTF8)] == codecs.BOM_UTF8 else 0


def is_whole_object(line: bytes | memoryview) -> bool:
    try:
        msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except BROKEN_JSON:
        return False
    return True


def with_checksum(line: bytes) -> bytes:
    """Return a non-empty JSON object with one more member, ``crc``, which shows accidental damage (not forgery)."""
    return line[:-1] + _CHECKSUM % zlib.crc32(line[:-1])


def has_checksum(line: bytes | memoryview, crc: str) -> bool:
    """Say whether a line of `with_checksum` is unchanged; ``crc`` is the checksum that it holds."""
    return f"{zlib.crc32(line[:-_N_CHECKSUM_BYTES]):08x}" == crc


def repeated_keys(pairs: Iterable[tuple[str, object]]) -> list[str]:
    """Return the keys that stand more than once among an object's members; readers of JSON report none."""
    return [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]


_MOST_BYTES = 1 << 30
_SYNC_SECONDS = 1.0
_BLOCK_BYTES = 1 << 16

H = TypeVar("H", bound=msgspec.Struct)
R = TypeVar("R")
T = TypeVar("T")


class RecordLine(NamedTuple, Generic[R]):
    """A record with the number of its line, from 1, the byte at which it begins, and its bytes."""

    number: int
    start: int
    content: memoryview
    record: R


@dataclass(frozen=True, kw_only=True)
class Records(Generic[H, R]):
    """What a file holds, in its order, and the checksum of its bytes."""

    path: Path
    header: H
    by_id: Mapping[str, R]
    sha256: str

    @cached_property
    def records(self) -> tuple[R, ...]:
        return tuple(self.by_id.values())


START_OVER = "start over with --overwrite (in Python overwrite=True)"


def require_same(path: Path, differing: str, advice: str = f"choose another file, or {START_OVER}") -> None:
    if differing:
        raise RunMismatchError(f"{path}: was made with other settings: {differing}; {advice}")


@dataclass(frozen=True, kw_only=True)
class RecordFormat(Generic[H, R]):
    """A kind of file: a header, then a record a line.

    ``what`` names a file in messages, ``a_record`` a record, ``made_by`` the command that makes it. ``begins`` are the
    first bytes of every such file. Where ``grows`` is off, a file is written whole, and a torn line is damage. The
    checks raise an `EvidenceBenchError` that need not name the file. ``remedy`` ends the message on a damaged line.
    """

    header: type[H]
    record: type[R]
    begins: bytes
    what: str
    a_record: str
    made_by: str
    version_field: str | None = "version"
    check_header: Callable[[H, memoryview], object] = lambda *_: None
    check: Callable[[R, memoryview], object] = lambda *_: None
    grows: bool = True
    remedy: str = ""

    def is_at(self, path: Path) -> bool:
        """Say whether a file begins as one of this kind; raises `UnreadableError` if it cannot be read."""
        return next(read_blocks(path), b"").startswith(self.begins)

    def read(self, path: PathText) -> Records[H, R]:
        """Return all of a file whose records have ids; raises `UnreadableError`, and `RunFormatError` with the line."""
        path = Path(path)
        content = read_bytes(path, at_most=_MOST_BYTES)
        header, lines = self.scan(path, [content])
        by_id: dict[str, R] = {}
        for line in lines:
            name: str = line.record.id  # type: ignore[attr-defined]
            if name in by_id:
                raise RunFormatError(f"{path}: line {line.number}: '{name}' stands more than once")
            by_id[name] = line.record
        if not by_id:
            raise RunFormatError(f"{path}: expected {self.a_record} a line behind the header, got none")
        return Records(path=path, header=header, by_id=by_id, sha256=hashlib.sha256(content).hexdigest())

    def scan(self, path: Path, blocks: Iterable[bytes] | None = None) -> tuple[H, Iterator[RecordLine[R]]]:
        """Return the header, and the records as they are read; ``blocks`` hold the file; raises as `read`."""
        lines = lines_in(read_blocks(path) if blocks is None else blocks)
        expected = f"the header of {self.what}, which '{self.made_by}' makes"
        first = next(lines, None)
        if first is None or (self.grows and _is_torn(first)):
            raise RunFormatError(f"{path}: line 1: expected {expected}, got nothing")
        header = self._decoded(path, first, msgspec.json.Decoder(prepared(self.header)), expected, self.check_header)
        version = 1 if self.version_field is None else getattr(header, self.version_field)
        if version != 1:
            raise RunFormatError(
                f"{path}: {self.what} of version {version}, but this version reads 1; "
                "upgrade with 'pip install -U evidencebench'"
            )
        return header, self.records(path, lines)

    def records(self, path: Path, lines: Iterable[TextLine]) -> Iterator[RecordLine[R]]:
        """Yield the records of lines without a header; raises as `read`."""
        decoder = msgspec.json.Decoder(prepared(self.record))
        for line in lines:
            if self.grows and _is_torn(line):
                return
            record = self._decoded(path, line, decoder, self.a_record, self.check)
            yield RecordLine(line.number, line.start, line.content, record)

    def write(self, path: PathText, header: H, records: Iterable[R]) -> None:
        write_whole(Path(path), (msgspec.json.encode(line) + b"\n" for line in (header, *records)))

    @contextmanager
    def append(
        self, path: Path, header: H, *, overwrite: bool = False, differing: Callable[[H, H], str] | None = None
    ) -> Iterator["Journal"]:
        """Open a file to go on with; a header without a record is replaced, another one needs ``overwrite``."""
        with open_journal(path, self.begins, truncate=overwrite) as journal:
            journal.begin(msgspec.json.encode(header))
            old = self.scan(path)[0]
            changes = differing(old, header) if differing else differences(asdict(old), asdict(header))
            require_same(path, changes, f"choose another file, or {self.remedy or START_OVER}")
            yield journal

    def _decoded(
        self,
        path: Path,
        line: TextLine,
        decoder: msgspec.json.Decoder[T],
        expected: str,
        check: Callable[[T, memoryview], object],
    ) -> T:
        remedy = f"; {self.remedy}" if self.remedy else ""
        try:
            decoded = decoder.decode(line.content)
            check(decoded, line.content)
        except BROKEN_JSON as error:
            raise RunFormatError(f"{path}: line {line.number}: expected {expected}: {error}{remedy}") from error
        except EvidenceBenchError as error:
            raise RunFormatError(f"{path}: line {line.number}: {error}{remedy}") from error
        return decoded


def _is_torn(line: TextLine) -> bool:
    return not (line.is_ended or is_whole_object(line.content))


class Journal:
    """An open file that grows. Lines reach the operating system at once; the disk has all but the last second."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, _opened(path)
        self._synced_at = time.monotonic()

    @property
    def is_empty(self) -> bool:
        return os.fstat(self._file.fileno()).st_size == 0

    def begin(self, header: bytes) -> None:
        """Write the header, unless lines follow one already; a header alone, of a call that failed, is replaced."""
        with self._path.open("rb") as file:
            file.readline()
            is_begun = bool(file.read(1))
        if is_begun:
            return
        if not self.is_empty:
            self.start_over()
        self.append(header)

    def start_over(self) -> None:
        """Replace the file by an empty one; a process that reads the old one keeps it."""
        self._file.close()
        try:
            write_whole(self._path, b"")
        except DataError as error:
            raise RunError(str(error)) from error
        finally:
            self._file = _opened(self._path)

    def mend(self) -> None:
        """Write the line end of a whole last line, and cut off a torn one."""
        size, end = self._file.seek(0, os.SEEK_END), b""
        while len(end) < size and b"\n" not in end:
            n_bytes = min(size, max(_BLOCK_BYTES, 2 * len(end)))
            self._file.seek(size - n_bytes)
            end = self._file.read(n_bytes) or b""
        line = end.rpartition(b"\n")[2]
        if is_whole_object(line):
            self._file.write(b"\n")
        elif line:
            self._file.truncate(size - len(line))

    def close(self) -> None:
        self._file.close()

    def lies_at(self, path: Path) -> bool:
        return lies_at(path, self._file.fileno())

    def append(self, line: bytes) -> None:
        """Write one line, given without its line end."""
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[self._file.write(rest) or 0 :]
        if time.monotonic() - self._synced_at > _SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced_at = time.monotonic()


def _opened(path: Path) -> io.FileIO:
    return io.FileIO(path, "a+")


@contextmanager
def open_journal(path: Path, begins: bytes, *, truncate: bool = False, waits: bool = False) -> Iterator[Journal]:
    """Open a journal to append to, its torn last line repaired; made if it does not exist.

    ``begins`` are the first bytes of every journal of this kind: a file that begins otherwise is not ours, and is not
    touched. ``truncate`` removes all lines. Raises `RunError` if it cannot be written, is no regular file, holds
    something else, or another process is writing it, unless it ``waits`` for that.
    """
    target = Path(os.path.realpath(path))  # so that a link stays a link when the file is replaced
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            raise RunError(
                f"{path}: expected a regular file, which can be resumed, got a pipe or a device; choose another name"
            )
        with hold(lock_of(target), waits=waits) as is_held:
            if not is_held:
                raise RunError(f"{path}: another process is writing this file; wait for it, or choose another name")
            if not _begins_as(target, begins):
                raise RunError(f"{path}: holds something else, which would be lost; choose another name")
            with closing(Journal(target)) as journal:
                if truncate and not journal.is_empty:
                    journal.start_over()  # cutting the file under a memory map would kill its reader
                else:
                    journal.mend()
                try:
                    yield journal
                finally:
                    journal.sync()
    except OSError as error:
        if error.errno == errno.EBADF and isinstance(error.__context__, KeyboardInterrupt):
            # Not of this file: where Ctrl-C cuts `shutil.rmtree` short, it closes the descriptor of a folder twice.
            raise error.__context__ from None
        raise RunError(f"{path}: {why_unwritable(path, error)}") from error


def _begins_as(path: Path, begins: bytes) -> bool:
    if not path.exists():
        return True
    with path.open("rb") as file:
        return begins.startswith(file.read(len(begins)))  # a shorter head is a torn header
