"""JSON and JSON Lines files: the `DataSource` that reads them, and the functions that write them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

import msgspec

from evidencebench.data.formats.json_index import (
    Place,
    Span,
    index_json,
    index_lines,
    not_utf8,
    repeated_keys_by_object,
)
from evidencebench.data.formats.json_instance import decode_instance, encode_instance, has_key_id
from evidencebench.data.instance import Instance, Origin
from evidencebench.errors import FormatError, UnreadableError
from evidencebench.runs.run_file import RUNS
from evidencebench.storage.snapshot import Snapshot
from evidencebench.storage.whole_file import Output


@dataclass(frozen=True, kw_only=True)
class JsonFile:
    """A `DataSource`: where each instance of a file stands, with the bytes of the file as it was opened."""

    snapshot: Snapshot
    places: Mapping[str, Place]
    repeated_ids: tuple[str, ...]  # the last instance of each is read

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the instances, in file order."""
        return tuple(self.places)

    def __contains__(self, instance_id: object) -> bool:
        return instance_id in self.places

    def _origin(self, instance_id: str) -> Origin:
        """Return the JSON object of an id; raises `ChangedDataError` if the file has changed."""
        place = self.places[instance_id]
        if isinstance(place, Origin):
            return place
        return Origin(raw=self.snapshot.read(place.start, place.stop), names_itself=place.names_itself)

    def instance(self, instance_id: str) -> Instance:
        """Return an instance, decoded."""
        return decode_instance(instance_id, self._origin(instance_id))

    def fields(self, instance_id: str) -> tuple[Any, list[str]]:
        """Return an instance as plain JSON values, and the keys in it that stand more than once."""
        raw = bytes(self._origin(instance_id).raw)
        try:
            fields = msgspec.json.decode(raw)
        except UnicodeDecodeError as error:
            raise UnreadableError(f"{self.snapshot.path}: {instance_id}: {not_utf8(error)}") from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise FormatError(str(error)) from error
        # Without spaces each key ends in a quote and a colon; so does the first quote of ":-)", and few other places.
        # As many as there are keys means that no key stands twice, without a slower parser.
        if msgspec.json.format(raw, indent=-1).count(b'":') == _n_keys(fields):
            return fields, []
        return fields, list(chain.from_iterable(repeated_keys_by_object(raw)))

    def forget(self) -> None:
        """Do nothing, since nothing is kept."""

    def index(self) -> bytes | None:
        """Return the spans of instances for `open_indexed_json`; None where the file is small, or an id repeated."""
        if self.snapshot.content is not None:
            return None
        spans = {name: place for name, place in self.places.items() if isinstance(place, Span)}
        if len(spans) < len(self.places):
            return None
        return msgspec.msgpack.encode((spans, self.repeated_ids))


def open_indexed_json(snapshot: Snapshot, index: bytes) -> JsonFile:
    """Return the instances of a file that another process has opened, by the `JsonFile.index` of that."""
    spans, repeated_ids = msgspec.msgpack.decode(index, type=tuple[dict[str, Span], tuple[str, ...]])
    return JsonFile(snapshot=snapshot, places=spans, repeated_ids=repeated_ids)


def _n_keys(value: Any) -> int:
    """Return how many keys all objects in a value have; it is taken apart level by level, which is fast."""
    n_keys, nested = 0, [value]
    while nested:
        objects = [one for one in nested if type(one) is dict]
        n_keys += sum(map(len, objects))
        members = list(chain.from_iterable(map(dict.values, objects)))
        elements = list(chain.from_iterable(one for one in nested if type(one) is list))
        # Most elements are texts, which are told from objects and lists in bulk.
        several = (one for one in (members, elements) if not _NESTED.isdisjoint(map(type, one)))
        nested = [one for values in several for one in values if type(one) in _NESTED]
    return n_keys


_NESTED = frozenset((dict, list))


def _open_indexed(
    index: Callable[[Snapshot], tuple[Mapping[str, Place], tuple[str, ...]]], snapshot: Snapshot
) -> JsonFile:
    path = snapshot.path
    if not snapshot.size:
        raise UnreadableError(f"{path}: the file is empty; expected a JSON object of instances")
    if snapshot.read(0, min(snapshot.size, len(RUNS.begins))) == RUNS.begins:
        raise UnreadableError(f"{path}: is a run, and no data; expected the data that it was made on")
    try:
        places, repeated = index(snapshot)
    except UnreadableError as error:
        raise UnreadableError(f"{path}: {error}") from error
    if not places:
        raise UnreadableError(f"{path}: holds no instance; expected at least one, as id -> instance")
    return JsonFile(snapshot=snapshot, places=places, repeated_ids=repeated)


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
        if has_key_id(fields):  # it may differ from the instance's id, so the two cannot stand side by side
            file.write(b"{" + name + b":" + fields + b"}\n")
        else:
            file.write(b'{"id":' + name + b"," + fields.removeprefix(b"{") + b"\n")
