"""Formats by suffix, several files as one."""

import glob
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from platform import node
from typing import Any, TypeAlias, cast

from evidencebench.data.instance import DataSource, Instance
from evidencebench.data.json_format import (
    open_indexed_json,
    open_json,
    open_json_lines,
    write_json,
    write_json_lines,
)
from evidencebench.data.parquet_format import open_parquet, write_parquet
from evidencebench.errors import ChangedDataError, DataError, FormatError, UnreadableError
from evidencebench.files.atomic import Output, is_stream, locked_part, put_in_place
from evidencebench.files.disk import FileState, ShardedSnapshot, Snapshot, changed, open_snapshot
from evidencebench.wording import counted

# Files beside the data that describe them, and hidden ones.
_NO_DATA = re.compile(r"(?:croissant|dataset_infos?|state)\.json|.*\.placement\.json|[._].*")
_NUMBERED = re.compile(r"(?P<name>.+)-(?P<number>\d{5})-of-(?P<n>\d{5})(?P<suffix>\..+)")
_MAGIC = re.compile(r"[*?[]")
_MOST_SHOWN = 3
_WHOLE = "whole"  # the folder of all new shards, none of which is missing; while it is there, some are in place


def is_sharded(path: Path) -> bool:
    """Say whether a path names several files: a folder, or a pattern such as ``shards/*.parquet``."""
    return path.is_dir() or (_MAGIC.search(str(path)) is not None and not path.exists())


def _shards_in(path: Path) -> tuple[Path, ...]:
    """Return the data files of a folder or a pattern, 2 before 10; raises `UnreadableError`, as if one is missing."""
    if not path.is_dir():
        matches = sorted(map(Path, glob.glob(str(path), recursive=True)), key=_natural)  # noqa: PTH207 - of any depth
        files = tuple(match for match in matches if not match.is_dir())
        if not files:
            raise UnreadableError(f"{path}: no file fits this pattern; expected data files")
        _require_in_place(path, {file.parent for file in files})
        return files
    try:
        inside = sorted(path.iterdir(), key=_natural)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    _require_in_place(path, [path])
    files = tuple([file for file in inside if _format_of(file) and not _NO_DATA.fullmatch(file.name)])
    if not files:
        raise UnreadableError(f"{path}: is a folder without a data file; expected .parquet, .jsonl or .json in it")
    _require_one_whole_set(path, files)
    return files


def shard_name(name: str, number: int, n_shards: int) -> str:
    """Return the name of a shard as Hugging Face's tools write it; ``number`` counts from 0."""
    stem, dot, suffix = name.partition(".")
    return f"{stem}-{number:05d}-of-{n_shards:05d}{dot}{suffix}"


def shards_named(path: Path) -> list[Path]:
    """Return the files that stand where shards of a file would, whatever their number."""
    matches = (_NUMBERED.fullmatch(file.name) for file in path.parent.iterdir())
    return sorted(path.parent / match[0] for match in matches if match and match["name"] + match["suffix"] == path.name)


@contextmanager
def new_shards(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a folder for the shards of a file, which replace all that are there when the block has ended well.

    Until all have their names, opening them refuses them; after a kill in between, the next call goes on.
    """
    with locked_part(path.with_name(f".{path.name}.part"), path) as (made, _):
        whole = made.with_name(_WHOLE)
        was_stopped = whole.exists()
        _put_in_place(whole, path)
        if (old_shards := shards_named(path)) and not overwrite and not was_stopped:
            raise DataError(f"{old_shards[0]}: exists; choose another name, or replace all shards with --overwrite")
        try:
            yield made
            put_in_place(made, whole)
            _put_in_place(whole, path)
        finally:
            _put_in_place(whole, path)  # what Ctrl-C has cut short


def _put_in_place(whole: Path, path: Path) -> None:
    """Remove the shards of before, then move the new ones out of a folder, and remove that last."""
    if whole.exists():
        new = list(whole.iterdir())
        for shard in shards_named(path) if new else ():
            if not shard.name.endswith(new[0].name.rpartition("-of-")[2]):
                shard.unlink()
        for shard in new:
            put_in_place(shard, path.with_name(shard.name))
        whole.rmdir()


def _require_in_place(path: Path, folders: Iterable[Path]) -> None:
    """Raise where files may be shards of before, since a process puts new ones in place there, or was stopped at it."""
    for whole in (whole for folder in folders for whole in folder.glob(f".*.part/{_WHOLE}")):
        raise UnreadableError(
            f"{path}: expected the shards of one data set, got old and new ones of {whole.parent.name[1:-5]}: a "
            "command that replaces them works, or was stopped; give the same one again"
        )


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(text), "") if text.isdecimal() else (-1, text) for text in re.split(r"(\d{1,18})", str(path))]


def _require_one_whole_set(folder: Path, files: Iterable[Path]) -> None:
    """Raise where names such as ``train-00000-of-00005.parquet`` are of several sets, or one of a set is missing."""
    numbers: dict[tuple[str, str, int], set[int]] = {}
    for match in filter(None, (_NUMBERED.fullmatch(file.name) for file in files)):
        numbers.setdefault((match["name"], match["suffix"], int(match["n"])), set()).add(int(match["number"]))
    if len(numbers) > 1:
        sets = ", ".join(f"{name}-*-of-{n:05d}{suffix}" for name, suffix, n in sorted(numbers))
        raise UnreadableError(f"{folder}: expected the shards of one data set, got {sets}; give one of these patterns")
    for (name, suffix, n), present in numbers.items():
        missing = [shard_name(name + suffix, number, n) for number in range(n) if number not in present]
        if missing:
            shown = ", ".join(missing[:_MOST_SHOWN]) + (", ..." if len(missing) > _MOST_SHOWN else "")
            raise UnreadableError(
                f"{folder}: expected {counted(n, 'shard')}, but {counted(len(missing), 'shard is', 'shards are')} "
                f"missing: {shown}; to read the others alone, give a pattern such as '{folder}/{name}-*{suffix}'"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A data file as it was opened, so that another process reads the same file or none."""

    path: Path
    was: FileState | str  # its state; of a gzip file, which is unpacked, its checksum; empty for shards
    shards: tuple["DataFile", ...] = ()  # of a folder or a pattern
    sha256: str | None = None  # by which another machine knows the file, where its state differs; None: by state alone
    index: bytes | None = field(default=None, repr=False)  # of a large JSON file, see `JsonFile.index`
    ids: tuple[str, ...] | None = field(default=None, repr=False)  # those that were chosen; None: all


Open: TypeAlias = Callable[[Snapshot], DataSource]
Write: TypeAlias = Callable[[Output, Iterable[Instance]], None]

FORMATS: Mapping[str, tuple[Open, Write]] = {
    ".json": (open_json, write_json),
    ".jsonl": (open_json_lines, write_json_lines),
    ".ndjson": (open_json_lines, write_json_lines),
    ".parquet": (open_parquet, write_parquet),
}
"""How files are read and written whose names end in a suffix, or in it and ``.gz``."""


@dataclass(frozen=True, kw_only=True)
class ShardedSource(DataSource):
    snapshot: ShardedSnapshot
    sources: tuple[DataSource, ...]
    places: Mapping[str, DataSource]  # id -> its shard
    repeated_ids: tuple[str, ...]
    _read_last: list[DataSource] = field(default_factory=list)

    def shards_of(self, instance_id: str) -> tuple[Path, ...]:
        return tuple(source.snapshot.path for source in self.sources if instance_id in source)

    def instance(self, instance_id: str) -> Instance:
        with self._shard_of(instance_id) as shard:
            return shard.instance(instance_id)

    def fields(self, instance_id: str) -> tuple[Any, list[str]]:
        with self._shard_of(instance_id) as shard:
            return shard.fields(instance_id)

    def forget(self) -> None:
        for source in self.sources:
            source.forget()

    @contextmanager
    def _shard_of(self, instance_id: str) -> Iterator[DataSource]:
        """Yield the shard of an instance; the one that was read before forgets, so that memory stays that of one."""
        shard = self.places[instance_id]
        if self._read_last and self._read_last[0] is not shard:
            self._read_last[0].forget()
        self._read_last[:] = [shard]
        try:
            yield shard
        except FormatError as error:
            raise FormatError(f"{shard.snapshot.path.name}: {error}") from error


def open_source(file: Path | DataFile) -> DataSource:
    """Return the instances of a data file, or of all in a folder or of a pattern; other suffixes are read as JSON."""
    if isinstance(file, DataFile):
        return _sharded(file.path, file.shards) if file.shards else _reopen(file)
    if is_sharded(file):
        return _sharded(file, _shards_in(file))
    return _open(open_snapshot(file))


def _open(snapshot: Snapshot) -> DataSource:
    return (_format_of(snapshot.path) or FORMATS[".json"])[0](snapshot)


def _reopen(file: DataFile) -> DataSource:
    snapshot = open_snapshot(file.path)
    if file.was != _was(snapshot):  # checked before reading, so that no error is about another file
        if file.sha256 is None:
            raise changed(file.path)
        if file.sha256 != snapshot.sha256:
            raise ChangedDataError(
                f"{changed(file.path)}; on a cluster, every machine needs the same file, and {node()} has another one"
            )
    return _open(snapshot) if file.index is None else open_indexed_json(snapshot, file.index)


def _sharded(path: Path, files: Iterable[Path | DataFile]) -> ShardedSource:
    sources = tuple(_reopen(file) if isinstance(file, DataFile) else _open(open_snapshot(file)) for file in files)
    places = {name: source for source in sources for name in source.ids}
    repeated_ids = {name for source in sources for name in source.repeated_ids}
    if sum(len(source.ids) for source in sources) > len(places):
        times = Counter(name for source in sources for name in source.ids)
        repeated_ids |= {name for name, n in times.items() if n > 1}
    return ShardedSource(
        snapshot=ShardedSnapshot(path=path, shards=tuple(cast("Snapshot", source.snapshot) for source in sources)),
        sources=sources,
        places=places,
        repeated_ids=tuple(filter(repeated_ids.__contains__, places)),
    )


def file_of(source: DataSource, ids: tuple[str, ...] | None = None) -> DataFile:
    if isinstance(source, ShardedSource):
        return DataFile(path=source.snapshot.path, was="", shards=tuple(map(file_of, source.sources)), ids=ids)
    snapshot = cast("Snapshot", source.snapshot)
    sha256 = vars(snapshot).get("sha256")
    return DataFile(path=snapshot.path, was=_was(snapshot), sha256=sha256, index=source.index(), ids=ids)


def _was(snapshot: Snapshot) -> FileState | str:
    return snapshot.state or snapshot.sha256  # the same state means the same checksum


def writer_of(path: Path) -> Write:
    """Return what writes the format of a file's suffix, JSON Lines for a stream; raises `DataError` for other names."""
    data_format = _format_of(path) or (FORMATS[".jsonl"] if is_stream(path) else None)
    if data_format is None:
        *others, last = FORMATS
        raise DataError(f"{path}: expected a name that ends in {', '.join(others)} or {last}, or .gz of these")
    return data_format[1]


def _format_of(path: Path) -> tuple[Open, Write] | None:
    name = path.name.removesuffix(".gz")
    return next((FORMATS[suffix] for suffix in FORMATS if name.endswith(suffix)), None)
