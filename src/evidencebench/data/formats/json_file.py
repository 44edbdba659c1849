"""Files of JSON and of JSON Lines: a source of instances, and how instances are written."""

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from evidencebench.data.formats.json_index import Index, index_json, index_lines, not_utf8, repeated_keys_by_object
from evidencebench.data.formats.json_instance import decode_instance, encode_instance, has_key_id
from evidencebench.data.instance import Instance
from evidencebench.data.source import DataFile
from evidencebench.errors import FormatError, UnreadableError
from evidencebench.runs.run_file import RUN_BEGINS
from evidencebench.storage.snapshot import Snapshot, changed, open_snapshot
from evidencebench.storage.whole_file import Output


class JsonFile:
    """A `DataSource`: where each instance of a file stands, with the bytes of the file as it was opened."""

    def __init__(self, path: Path, index: Index) -> None:
        self._path, self._index = path, index

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the instances, in file order."""
        return tuple(self._index.places)

    @property
    def repeated_ids(self) -> tuple[str, ...]:
        """The ids that stand more than once; the last one of each is read."""
        return self._index.repeated

    @property
    def sha256(self) -> str:
        """The checksum of the file as it lay on disk."""
        return self._index.snapshot.sha256

    @property
    def is_sha256_at_hand(self) -> bool:
        """Whether the checksum is known, or is made in moments."""
        return self._index.snapshot.is_sha256_at_hand

    @property
    def file(self) -> DataFile:
        """The description by which another process opens the same file."""
        snapshot = self._index.snapshot
        # Of a file that is the same by its state the checksum is too, and reading all of it takes seconds.
        sha256 = snapshot.sha256 if snapshot.state is None else None
        return DataFile(path=self._path, state=snapshot.state, sha256=sha256)

    def __contains__(self, instance_id: object) -> bool:
        return instance_id in self._index.places

    def instance(self, instance_id: str) -> Instance:
        """Return an instance, decoded."""
        return decode_instance(instance_id, self._index.origin(instance_id))

    def fields(self, instance_id: str) -> tuple[Any, list[str]]:
        """Return what stands under an id as plain JSON values, and the keys in it that stand more than once."""
        raw = bytes(self._index.origin(instance_id).raw)
        try:
            fields = msgspec.json.decode(raw)
        except UnicodeDecodeError as error:
            raise UnreadableError(f"{self._path}: {instance_id}: {not_utf8(error)}") from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise FormatError(str(error)) from error
        # Colons behind a quote that ends a string: one a key, so that a repeated key shows without a slower parser.
        compact = msgspec.json.format(raw, indent=-1)
        if compact.count(b'":') - compact.count(b'\\":') == _n_keys(fields):
            return fields, []
        return fields, list(chain.from_iterable(repeated_keys_by_object(raw)))


def _n_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_n_keys, value.values()))
    return sum(map(_n_keys, value)) if isinstance(value, list) else 0


def _open_indexed(index: Callable[[Snapshot], Index], path: Path, as_opened: DataFile | None) -> JsonFile:
    """Return the source that a file is; raises `ChangedDataError` unless it is as it was opened elsewhere."""
    snapshot = open_snapshot(path)
    if as_opened is not None and (
        snapshot.state != as_opened.state or (as_opened.state is None and snapshot.sha256 != as_opened.sha256)
    ):
        raise changed(path)  # checked before it is read, so that no error is about another file
    if not snapshot.size:
        raise UnreadableError(f"{path}: the file is empty; expected a JSON object of instances")
    if snapshot.read(0, min(snapshot.size, len(RUN_BEGINS))) == RUN_BEGINS:
        raise UnreadableError(f"{path}: is a run, and no data; expected the data that it was made on")
    try:
        found = index(snapshot)
    except UnreadableError as error:
        raise UnreadableError(f"{path}: {error}") from error
    if not found.places:
        raise UnreadableError(f"{path}: holds no instance; expected at least one, as id -> instance")
    return JsonFile(path, found)


open_json = partial(_open_indexed, index_json)
open_json_lines = partial(_open_indexed, index_lines)


def write_json(file: Output, instances: Iterable[Instance]) -> None:
    """Write instances as one JSON object: id -> instance."""
    n_written = 0
    for instance in instances:
        file.write(b",\n" if n_written else b"{\n")
        file.write(msgspec.json.encode(instance.id) + b": " + encode_instance(instance))
        n_written += 1
    file.write(b"\n}\n" if n_written else b"{}\n")


def write_json_lines(file: Output, instances: Iterable[Instance]) -> None:
    """Write instances one a line, each with its id."""
    for instance in instances:
        fields, name = encode_instance(instance), msgspec.json.encode(instance.id)
        if has_key_id(fields):  # which may be another one, so the name cannot stand beside it
            file.write(b"{" + name + b":" + fields + b"}\n")
        else:
            file.write(b'{"id":' + name + b"," + fields.removeprefix(b"{") + b"\n")
