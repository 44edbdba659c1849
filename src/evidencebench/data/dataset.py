"""Open, read and write data files lazily: of a 3 GB file, only an index is held in memory."""

import os
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import overload

from evidencebench.data.catalog import data_path
from evidencebench.data.instance import DataSource, Instance
from evidencebench.data.sources import (
    DataFile,
    ShardedSource,
    file_of,
    new_shards,
    open_source,
    shard_name,
    writer_of,
)
from evidencebench.errors import DataError, FormatError, UnknownInstanceError
from evidencebench.files.atomic import whole_file
from evidencebench.files.disk import PathText, decoded, read_bytes
from evidencebench.query import Query
from evidencebench.tables import Cell, excerpt_html
from evidencebench.wording import check_type, counted, did_you_mean, one_line


class Dataset:
    """The instances of one file, or of several shards, decoded when they are asked for.

    Make one with `open_dataset`. Its length and ids are known at once; ``dataset["id"]`` and ``dataset[0]`` decode one
    instance; iterating decodes one after the other and keeps none.

    Attributes
    ----------
    path
        The file; or a folder or pattern of files.
    ids
        Instance ids, in file order; of a `subset`, the chosen ones.

    Examples
    --------
    >>> from evidencebench import load_sample
    >>> dataset = load_sample()
    >>> dataset[0].id == dataset.ids[0]
    True
    """

    def __init__(self, source: DataSource, chosen: tuple[str, ...] | None = None) -> None:
        self.path: Path = source.snapshot.path
        self.ids: tuple[str, ...] = source.ids if chosen is None else chosen
        self.chosen_ids = chosen
        self._source = source
        self._held: Container[object] = source if chosen is None else frozenset(chosen)

    @property
    def whole(self) -> "Dataset":
        """All instances of the file, of which a `subset` shows some."""
        return self if self.chosen_ids is None else Dataset(self._source)

    def subset(self, ids: Iterable[str] | PathText) -> "Dataset":
        """Return the chosen instances as a data set, in file order; every function takes it in place of all.

        ``ids`` are instance ids, or the path of a file of one id a line. `UnknownInstanceError` is raised where there
        is no such instance; `DataError` where no id is given, one is given twice, or the file cannot be read.

        >>> from evidencebench import load_sample
        >>> load_sample().subset(["evidencebench_sample_id_1", "evidencebench_sample_id_0"]).ids
        ('evidencebench_sample_id_0', 'evidencebench_sample_id_1')
        """
        where, expected = "ids", "instance ids, or the path of a file of one id a line"
        if isinstance(ids, str | os.PathLike):
            where = str(Path(ids))
            text = decoded(read_bytes(Path(where), advice=f"expected {expected}"), name=where)
            ids = filter(None, map(str.strip, text.splitlines()))
        check_type(ids, Iterable, expected)
        chosen = set[str]()
        for name in ids:
            check_type(name, str, f"an instance id, such as '{self.ids[0]}'")
            if name not in self:
                like = did_you_mean(name, self.ids[:10_000]) or f"; its ids look like '{self.ids[0]}'"
                raise UnknownInstanceError(f"{where}: no instance '{name}' in {self.name}{like}")
            if name in chosen:
                raise DataError(f"{where}: '{name}' stands more than once; give each id once")
            chosen.add(name)
        if not chosen:
            raise DataError(f"{where}: expected the id of an instance or more, got none")
        return self if len(chosen) == len(self) else Dataset(self._source, tuple(filter(chosen.__contains__, self.ids)))

    @property
    def name(self) -> str:
        """The file's name, without its folder; of a pattern of files, the folder's too, as in ``shards/*.parquet``."""
        return "/".join(self.path.parts[-2:]) if "*" in self.path.name else self.path.name

    @property
    def sha256(self) -> str:
        """The checksum of the file as it lay on disk when it was opened, in hexadecimal; computed when first asked for.

        Raises
        ------
        ChangedDataError
            If the file has changed since.
        """
        return self._source.snapshot.sha256

    @property
    def file(self) -> DataFile:
        """The description of the file with which `reopen_dataset` opens it in another process."""
        return file_of(self._source, self.chosen_ids)

    def __repr__(self) -> str:
        checksum = ""  # left out where it cannot be computed, or would take seconds
        with suppress(OSError, DataError):
            if self._source.snapshot.is_sha256_at_hand:
                checksum = f"sha256 {self.sha256[:12]}"
        of = "" if self.chosen_ids is None else f"{len(self):,} of "
        return one_line(self, repr(self.name), f"{of}{counted(len(self.whole), 'instance')}", checksum)

    def _repr_html_(self) -> str:
        rows: list[list[Cell]] = []
        with suppress(OSError, DataError):  # what is shown raises nothing
            for instance in self.instances(limit=5):
                query, n_aspects = instance.query, len(instance.labels.aspects)
                rows.append([instance.id, query.paper_id, query.hypothesis, len(query.sentences), n_aspects])
        columns = ["id", "paper", "hypothesis", "sentences", "aspects"]
        return excerpt_html(repr(self), columns, rows, len(self))

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, instance_id: object) -> bool:
        return instance_id in self._held

    def __iter__(self) -> Iterator[Instance]:
        return self.instances()

    @overload
    def __getitem__(self, key: str | int) -> Instance: ...
    @overload
    def __getitem__(self, key: slice) -> list[Instance]: ...
    def __getitem__(self, key: str | int | slice) -> Instance | list[Instance]:
        if isinstance(key, slice):
            return [self[instance_id] for instance_id in self.ids[key]]
        if isinstance(key, int):
            if not -len(self) <= key < len(self):
                raise UnknownInstanceError(f"{self.name}: no instance at position {key}; it holds {len(self)}")
            key = self.ids[key]
        if key not in self:
            raise UnknownInstanceError(f"{self.name}: no instance '{key}'; its ids look like '{self.ids[0]}'")
        return self._decode(key)

    def instances(self, limit: int | None = None) -> Iterator[Instance]:
        """Yield the instances in file order, at most ``limit`` of them (None: all)."""
        return map(self._decode, islice(self.ids, None if limit is None else min(limit, len(self))))

    def queries(self, limit: int | None = None) -> Iterator[Query]:
        """Yield the queries, which systems may read, in file order, at most ``limit`` of them (None: all)."""
        return (instance.query for instance in self.instances(limit))

    def _decode(self, instance_id: str) -> Instance:
        try:
            return self._source.instance(instance_id)
        except FormatError as error:
            command = f"evidencebench data validate {shlex.quote(str(self.path))}"
            raise FormatError(f"{self.path}: {error}; '{command}' lists every violation") from error


def open_dataset(path: PathText) -> Dataset:
    """Return the data set that a file holds, without decoding its instances.

    Parameters
    ----------
    path
        A catalogue name, such as ``"train"`` or ``"sample"``; an address, such as ``"s3://bucket/data.json"``, of which
        a copy is made; or a file: ``.json`` (one object: id -> instance), ``.jsonl`` (one instance a line with its
        ``id``, or one ``{id: instance}`` a line), gzip of either (``.gz``), or ``.parquet`` (one instance a row). A
        folder of such files, or a pattern (``"shards/*.parquet"``), is one data set.

    Raises
    ------
    UnreadableError
        If the file is missing, empty, not JSON, not an object at the top, or holds no instance; or if a folder holds no
        data file, or lacks a shard. Bytes within an instance that are not UTF-8 raise `FormatError` when it is decoded.
    MissingExtraError
        If the file is Parquet, and pyarrow is not installed.
    FormatError
        If two instances have the same id.
    """
    path = data_path(path)
    source = open_source(path)
    if source.repeated_ids:
        name = source.repeated_ids[0]
        within = f" ({' and '.join(map(str, source.shards_of(name)))})" if isinstance(source, ShardedSource) else ""
        raise FormatError(f"{path}: instance id '{name}' stands more than once{within}; ids must be unique")
    return Dataset(source)


def reopen_dataset(file: DataFile) -> Dataset:
    """Return the data set that another process has opened; raises `ChangedDataError` if the file is another one."""
    return Dataset(open_source(file), file.ids)


def dataset_from(given: Dataset | PathText) -> Dataset:
    if isinstance(given, Dataset):
        return given
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"expected a data set, the path of one or a catalogue name, got {type(given).__name__}")
    return open_dataset(given)


def instances_from(given: Dataset | PathText | Iterable[Instance]) -> Dataset | list[Instance]:
    """Return a data set, given as itself, its name or path, or instances, whose ids must differ."""
    if isinstance(given, Dataset | str | os.PathLike) or not isinstance(given, Iterable):
        return dataset_from(given)
    if isinstance(given, Mapping):
        raise TypeError("expected a data set or instances, got a dict; the order is evaluate(systems, data, tasks)")
    instances = list(given)
    seen: set[str] = set()
    for instance in instances:
        if not isinstance(instance, Instance):
            raise TypeError(f"expected a data set or instances, got {type(instance).__name__} among them")
        if instance.id in seen:
            raise FormatError(f"instance id '{instance.id}' stands more than once; ids must be unique")
        seen.add(instance.id)
    return instances


def require_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise ValueError(f"limit: expected at least 1, or None for all, got {limit}")


def write_dataset(path: PathText, instances: Iterable[Instance]) -> int:
    """Write instances in the published format and return how many.

    The file appears whole or not at all. Its suffix decides the format, as in `open_dataset`; a stream without a
    suffix gets JSON Lines. Gzip output is the same bytes for the same instances.

    Raises
    ------
    FormatError
        If two instances have the same id.
    DataError
        If the file cannot be written, or its suffix names no format.
    """
    path = Path(path)
    write = writer_of(path)
    written: set[str] = set()

    def each_once() -> Iterator[Instance]:
        for instance in instances:
            if instance.id in written:
                raise FormatError(f"{path}: instance id '{instance.id}' was to be written twice; ids must be unique")
            yield instance
            written.add(instance.id)

    with whole_file(path) as file:
        write(file, each_once())
    return len(written)


def write_shards(
    path: PathText, instances: Iterable[Instance], n_instances: int, shard_size: int, *, overwrite: bool
) -> list[Path]:
    """Write shards of at most ``shard_size``, all or none, and return their files; see `new_shards`."""
    path, rest = Path(path), iter(instances)
    n_shards = -(-n_instances // shard_size)
    names = [shard_name(path.name, number, n_shards) for number in range(n_shards)]
    with new_shards(path, overwrite=overwrite) as folder:
        for name in names:
            write_dataset(folder / name, islice(rest, shard_size))
    return [path.with_name(name) for name in names]
