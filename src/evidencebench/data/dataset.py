"""Open, read and write files in the published format, lazily: a 3 GB file costs an index, not its contents."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import overload

import msgspec

from evidencebench.data.catalog import data_path
from evidencebench.data.formats.indexing import Index, index_json, index_lines
from evidencebench.data.formats.published import decode_instance, encode_instance, has_key_id
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError, FormatError, UnknownInstanceError, UnreadableError
from evidencebench.one_line import counted, one_line
from evidencebench.query import Query
from evidencebench.runs.run_file import RUN_BEGINS
from evidencebench.storage.content import Content, FileState, changed, open_content
from evidencebench.storage.reading import PathText
from evidencebench.storage.whole_file import is_stream, whole_file

_LINE_SUFFIXES = (".jsonl", ".ndjson")
_QUICKLY_READ_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A data file as it was opened, for another process that must not read any other.

    Attributes
    ----------
    path
        The file.
    state
        By which a change of it is noticed; None of what is unpacked.
    sha256
        Its checksum; needed where there is no state.
    """

    path: Path
    state: FileState | None
    sha256: str | None


class Dataset:
    """The instances of one file, decoded when they are asked for.

    Make one with `open_dataset`. Its length and ids are known at once; ``dataset["id"]`` and ``dataset[0]`` decode one
    instance; iterating decodes one after the other and keeps none.

    Attributes
    ----------
    path
        The file.
    ids
        Instance ids, in file order.
    state
        By which a change of the file is noticed; None of what is unpacked.

    Examples
    --------
    >>> from evidencebench import load_sample
    >>> dataset = load_sample()
    >>> dataset[0].id == dataset.ids[0]
    True
    """

    def __init__(self, path: Path, index: Index) -> None:
        self.path = path
        self.ids = tuple(index.places)
        self._index = index

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.path.name

    @property
    def sha256(self) -> str:
        """The checksum of the file as it lay on disk when it was opened, in hexadecimal; made when first asked for.

        Raises
        ------
        ChangedDataError
            If the file is another one by now.
        """
        return self._index.content.sha256

    @property
    def state(self) -> FileState | None:
        """By which a change of the file is noticed; None of what was unpacked."""
        return self._index.content.state

    @property
    def file(self) -> DataFile:
        """What `reopen_dataset` opens in another process."""
        return file_of(self.path, self._index)

    def __repr__(self) -> str:
        return one_line(self, repr(self.name), counted(len(self), "instance"), self._shown_checksum())

    def _shown_checksum(self) -> str:
        """Return the checksum as far as it is shown; nothing where finding it would take seconds, or cannot be done."""
        content = self._index.content
        if "sha256" not in vars(content) and content.size > _QUICKLY_READ_BYTES:
            return ""
        with suppress(OSError, DataError):
            return f"sha256 {self.sha256[:12]}"
        return ""

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, instance_id: object) -> bool:
        return instance_id in self._index.places

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
        if key not in self._index.places:
            raise UnknownInstanceError(f"{self.name}: no instance '{key}'; its ids look like '{self.ids[0]}'")
        return self._decode(key)

    def instances(self, limit: int | None = None) -> Iterator[Instance]:
        """Yield the instances in file order, at most ``limit`` of them (None: all)."""
        return map(self._decode, islice(self.ids, None if limit is None else min(limit, len(self))))

    def queries(self, limit: int | None = None) -> Iterator[Query]:
        """Yield what systems may read, in file order, at most ``limit`` of them (None: all)."""
        return (instance.query for instance in self.instances(limit))

    def _decode(self, instance_id: str) -> Instance:
        origin = self._index.origin(instance_id)
        try:
            return decode_instance(instance_id, origin)
        except FormatError as error:
            raise FormatError(
                f"{self.path}: {error}; 'evidencebench data validate {self.path}' lists every violation"
            ) from error


def open_dataset(path: PathText) -> Dataset:
    """Return the data set that a file holds, without decoding its instances.

    Parameters
    ----------
    path
        A catalogue name, such as ``"train"`` or ``"sample"``; or a file: ``.json`` (one object: id -> instance),
        ``.jsonl`` (one instance a line with its ``id``, or one ``{id: instance}`` a line), or gzip of either (``.gz``).

    Raises
    ------
    UnreadableError
        If the file is missing, a folder, empty, not JSON, not an object at the top, or holds no instance. Bytes within
        an instance that are not UTF-8 are found when it is decoded, as a `FormatError`.
    FormatError
        If two instances have the same id.
    """
    path = data_path(path)
    index = index_file(path)
    if index.duplicates:
        raise FormatError(f"{path}: instance id '{index.duplicates[0]}' stands more than once; ids must be unique")
    return Dataset(path, index)


def dataset_from(given: Dataset | PathText) -> Dataset:
    """Return a data set from itself, or from what `open_dataset` takes.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(given, Dataset):
        return given
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"expected a data set, the path of one or a catalogue name, got {type(given).__name__}")
    return open_dataset(given)


def instances_from(given: Dataset | PathText | Iterable[Instance]) -> Dataset | list[Instance]:
    """Return instances from what stands for them: a data set or its name, or instances.

    Raises
    ------
    FormatError
        If two instances have the same id.
    TypeError
        If it is none of these.
    """
    if isinstance(given, Dataset | str | os.PathLike) or not isinstance(given, Iterable):
        return dataset_from(given)
    found = list(given)
    seen: set[str] = set()
    for one in found:
        if not isinstance(one, Instance):
            raise TypeError(f"expected a data set or instances, got {type(one).__name__} among them")
        if one.id in seen:
            raise FormatError(f"instance id '{one.id}' stands more than once; ids must be unique")
        seen.add(one.id)
    return found


def require_limit(limit: int | None) -> None:
    """Raise unless a limit is a number of instances, or None, which is all.

    Raises
    ------
    ValueError
        If it is below 1.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit: expected at least 1, or None for all, got {limit}")


def reopen_dataset(file: DataFile) -> Dataset:
    """Return the data set that another process has opened; raises as `open_dataset` and `index_again` do."""
    return Dataset(file.path, index_again(file))


def file_of(path: Path, index: Index) -> DataFile:
    """Return what `index_again` takes in another process."""
    content = index.content
    # Of a file that is the same by its state the checksum is too, and reading all of it takes seconds.
    return DataFile(path=path, state=content.state, sha256=content.sha256 if content.state is None else None)


def index_again(file: DataFile) -> Index:
    """Return the index of a file that another process has opened.

    Raises
    ------
    ChangedDataError
        If the file is another one by now.
    UnreadableError
        As `index_file` does.
    """
    content = open_content(file.path)
    if content.state != file.state or (file.state is None and content.sha256 != file.sha256):
        raise changed(file.path)  # before it is read: what is wrong with another file is beside the point
    return _indexed(file.path, content)


def index_file(path: Path) -> Index:
    """Return where each instance of a file stands, with the ids that stand more than once."""
    return _indexed(path, open_content(path))


def _indexed(path: Path, content: Content) -> Index:
    if not content.size:
        raise UnreadableError(f"{path}: the file is empty; expected a JSON object of instances")
    if content.read(0, min(content.size, len(RUN_BEGINS))) == RUN_BEGINS:
        raise UnreadableError(f"{path}: is a run, and no data; expected the data that it was made on")
    plain_name = path.name.removesuffix(".gz")
    index = index_lines if plain_name.endswith(_LINE_SUFFIXES) else index_json
    try:
        found = index(content)
    except UnreadableError as error:
        raise UnreadableError(f"{path}: {error}") from error
    if not found.places:
        raise UnreadableError(f"{path}: holds no instance; expected at least one, as id -> instance")
    return found


def write_dataset(path: PathText, instances: Iterable[Instance]) -> int:
    """Write instances in the published format and return how many.

    The file appears whole or not at all. Its suffix decides the form, as in `open_dataset`, and a stream without one
    gets an instance a line; gzip output is the same bytes for the same instances.

    Raises
    ------
    FormatError
        If two instances have the same id.
    DataError
        If the file cannot be written, or its suffix names no form.
    """
    path = Path(path)
    require_data_name(path)
    as_lines = not path.name.removesuffix(".gz").endswith(".json")
    written: set[str] = set()
    with whole_file(path) as file:
        for instance in instances:
            if instance.id in written:
                raise FormatError(f"{path}: instance id '{instance.id}' was to be written twice; ids must be unique")
            file.write(_line(instance) if as_lines else _member(instance, is_first=not written))
            written.add(instance.id)
        if not as_lines:
            file.write(b"\n}\n" if written else b"{}\n")
    return len(written)


def require_data_name(path: Path) -> None:
    """Raise unless a file's suffix names a form that can be written, or it is a stream.

    Raises
    ------
    DataError
        Naming the suffixes.
    """
    if not (path.name.removesuffix(".gz").endswith((".json", *_LINE_SUFFIXES)) or is_stream(path)):
        raise DataError(f"{path}: expected a name that ends in .json, .jsonl or .ndjson, or .gz of these")


def _member(instance: Instance, *, is_first: bool) -> bytes:
    return (b"{\n" if is_first else b",\n") + msgspec.json.encode(instance.id) + b": " + encode_instance(instance)


def _line(instance: Instance) -> bytes:
    fields, name = encode_instance(instance), msgspec.json.encode(instance.id)
    if has_key_id(fields):  # which may be another one, so the name cannot stand beside it
        return b"{" + name + b":" + fields + b"}\n"
    return b'{"id":' + name + b"," + fields.removeprefix(b"{") + b"\n"
