"""JSON and JSON Lines: index, read, write, keys of the published format."""

import codecs
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from mmap import ACCESS_READ, mmap
from typing import Any

import msgspec

from evidencebench.data.instance import DataSource, Evaluation, Instance, Labels, Origin
from evidencebench.decoding import prepared
from evidencebench.errors import FormatError, UnreadableError
from evidencebench.files.atomic import Output
from evidencebench.files.disk import BROKEN_JSON, Snapshot, blocks
from evidencebench.files.records import TextLine, lines_in, repeated_keys, start_of
from evidencebench.query import Goal, Kind, Query
from evidencebench.runs.answers import ANSWERS
from evidencebench.runs.earlier import EARLIER_RUNS
from evidencebench.wording import counted

# Where each instance stands in a file: one pass over its bytes, nothing decoded but the ids.

# Above this size a broken file is not parsed again just to word its error.
_MAX_DIAGNOSED_BYTES = 64 << 20

# Bytes of a large file that are read at a time: few enough for a processor's cache, and so many that a value cut at the
# end, which is read again, is a small part of them. A longer value may take as many parts.
_PART_BYTES = 2 << 20
_MOST_PARTS = 32

# The text before a member's value, and after the last one.
_MEMBER = re.compile(rb'\s*+[{,]\s*+("(?:[^"\\]++|\\.)*+")\s*+:\s*+', re.DOTALL)
_END = re.compile(rb"\s*\}\s*")

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_value = msgspec.json.Decoder(msgspec.Raw)
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")


class Span(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes start..stop-1 of a file; ``names_itself`` as in `Origin`."""

    start: int
    stop: int
    names_itself: bool = False


def index_json(snapshot: Snapshot) -> tuple[Mapping[str, Span], tuple[str, ...]]:
    """Return id -> place of the instances in one JSON object, and the repeated ids, whose last place counts."""
    if (stepped := _step_through(snapshot, _PART_BYTES)) is not None:
        return stepped
    with tempfile.TemporaryFile() as copy:  # which no other process can cut
        copy.writelines(blocks(snapshot))
        copy.flush()
        whole = mmap(copy.fileno(), 0, access=ACCESS_READ)
    _decode_members(memoryview(whole)[start_of(whole) :])  # says what is amiss
    return _step_through(snapshot, snapshot.size) or ({}, ())  # of values larger than many parts, or of none


def _step_through(snapshot: Snapshot, part_bytes: int) -> tuple[dict[str, Span], tuple[str, ...]] | None:
    """Return the index of one JSON object, with a part of it in memory; None where anything is unexpected."""
    places, repeated = dict[str, Span](), set[str]()
    base, view = 0, snapshot.read(0, min(part_bytes, snapshot.size))  # the first byte of the part, and its bytes
    position = start_of(view)
    while not ((is_last := base + len(view) == snapshot.size) and places and _END.fullmatch(view, position)):
        member = _member_at(view, position)
        if member is None:  # it may be cut at the end of the part
            n_kept = len(view) - position
            if is_last or n_kept > _MOST_PARTS * part_bytes:
                return None
            base, position = base + position, 0
            view = snapshot.read(base, min(base + max(part_bytes, 2 * n_kept), snapshot.size))
            continue
        name, start, stop = member
        if (view[position:start].lstrip()[:1] == b"{") != (not places):
            return None
        if name in places:
            repeated.add(name)
        places[name] = Span(start=base + start, stop=base + stop)
        position = stop
    return places, tuple(filter(repeated.__contains__, places))


def _member_at(view: bytes, position: int) -> tuple[str, int, int] | None:
    """Return the name of the member at a position, and where its value starts and stops; None if it is not whole."""
    member = _MEMBER.match(view, position)
    if member is None:
        return None
    try:
        name: str = msgspec.json.decode(member[1], type=str)
        _value.decode(memoryview(view)[member.end() :])
    except msgspec.DecodeError as error:
        trailing = _TRAILING.search(str(error))  # the value ends where they begin
        if trailing is None:
            return None
        stop = member.end() + int(trailing[1]) - 1  # which counts from 1
        while view[stop - 1] in b" \t\n\r":
            stop -= 1
        return name, member.end(), stop
    except (UnicodeDecodeError, RecursionError):
        return None
    return None  # nothing follows, so the value may go on in the next part


def index_lines(snapshot: Snapshot) -> tuple[Mapping[str, Span], tuple[str, ...]]:
    """Return the same as `index_json`, for JSON Lines: a line is an instance with its ``id``, or ``{id: instance}``."""
    places: dict[str, Span] = {}
    repeated: list[str] = []
    for line in lines_in(blocks(snapshot)):
        try:
            instance_id, place, is_repeated = _line_member(line)
        except UnreadableError as error:
            raise UnreadableError(f"line {line.number}: {error}") from error
        if is_repeated or instance_id in places:
            repeated.append(instance_id)
        places[instance_id] = place
    return places, tuple(dict.fromkeys(repeated))


def _line_member(line: TextLine) -> tuple[str, Span, bool]:
    """Return the id of the instance in a line and where it stands, and whether the id stands there more than once."""
    members = _decode_members(line.content)
    if "id" in members:
        try:
            name = msgspec.json.decode(members["id"], type=str)
        except BROKEN_JSON as error:
            raise UnreadableError(
                not_utf8(error) if isinstance(error, UnicodeDecodeError) else f"id: {error}"
            ) from error
        return name, Span(start=line.start, stop=line.start + len(line.content), names_itself=True), False
    if len(members) != 1:
        raise UnreadableError("expected an instance with an 'id', or one {id: instance}")
    ((name, raw),) = members.items()
    stop = len(bytes(line.content).rstrip()[:-1].rstrip())  # of the last value, which counts where the id is repeated
    start, first = stop - len(memoryview(raw)), _MEMBER.match(line.content)
    is_repeated = first is None or first.end() != start
    return name, Span(start=line.start + start, stop=line.start + stop), is_repeated


def _decode_members(content: memoryview) -> dict[str, msgspec.Raw]:
    try:
        return _members.decode(content)
    except msgspec.ValidationError as error:
        raise UnreadableError(f"expected a JSON object (id -> instance) at the top: {error}") from error
    except BROKEN_JSON as error:
        raise UnreadableError(_diagnosis(content, error)) from error


def not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8: byte {error.object[error.start]:#04x} cannot be decoded"


def _diagnosis(content: memoryview, found: Exception) -> str:
    """Return why the content is not JSON, with line and column where that is affordable."""
    if bytes(content[:2]) in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
        return "not UTF-8: it begins with the byte-order mark of UTF-16; save it as UTF-8"
    if isinstance(found, UnicodeDecodeError):
        return not_utf8(found)
    try:
        if len(content) <= _MAX_DIAGNOSED_BYTES and not isinstance(found, RecursionError):
            json.loads(bytes(content).decode(), parse_int=str)
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}"
    except json.JSONDecodeError as error:
        is_text = error.pos == 0
        papers = "; it may be a paper, which 'evidencebench find' reads" if is_text else ""
        return f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}{papers}"
    except RecursionError as error:
        found = error
    return (
        "not readable as JSON: nested too deeply" if isinstance(found, RecursionError) else f"not valid JSON: {found}"
    )


def _repeated_keys(content: bytes) -> list[str]:
    """Return the keys that stand more than once in an object of a JSON text, those of inner objects first."""
    repeated: list[str] = []
    json.loads(content, object_pairs_hook=lambda pairs: repeated.extend(repeated_keys(pairs)), parse_int=str)
    return repeated


# One instance as the published files spell it: no other module knows their keys.

# Task name -> the key under which its stored optimum stands.
EVALUATION_KEYS: Mapping[str, str] = {
    "er_at_optimal": "evidence_retrieval_at_optimal_evaluation",
    "er_at_10": "evidence_retrieval_at_10_evaluation",
    "result_er_at_optimal": "results_evidence_retrieval_at_optimal_evaluation",
    "result_er_at_5": "results_evidence_retrieval_at_5_evaluation",
}


class PublishedInstance(msgspec.Struct, gc=False):
    """The fields that are read; ``sentence_index2aspects``, the inverse of ``aspect2sentence_indices``, is skipped."""

    hypothesis: str
    paper_as_candidate_pool: tuple[str, ...]
    aspect_list_ids: tuple[str, ...]
    aspect2sentence_indices: dict[str, tuple[int, ...]]
    sentence_types_in_candidate_pool: tuple[Kind, ...]
    paper_id: str
    results_aspect_list_ids: tuple[str, ...] | None = None
    evidence_retrieval_at_optimal_evaluation: Evaluation | None = None
    evidence_retrieval_at_10_evaluation: Evaluation | None = None
    results_evidence_retrieval_at_optimal_evaluation: Evaluation | None = None
    results_evidence_retrieval_at_5_evaluation: Evaluation | None = None
    aspect_id2aspect: dict[str, str] | None = None
    systematic_review_id: str | int | None = None
    goal: Goal | None = None


_decoder = msgspec.json.Decoder(PublishedInstance)


def decode_instance(instance_id: str, origin: Origin) -> Instance:
    """Return the instance in a published JSON object; raises `FormatError` at the first place that is wrong."""
    try:
        record = _decoder.decode(origin.raw)
    except BROKEN_JSON as error:
        raise FormatError(f"{instance_id}: {error}") from error
    n_sentences, n_kinds = len(record.paper_as_candidate_pool), len(record.sentence_types_in_candidate_pool)
    if n_kinds != n_sentences:
        raise FormatError(
            f"{instance_id}: sentence_types_in_candidate_pool: expected one type for each of "
            f"{counted(n_sentences, 'sentence')}, got {n_kinds}"
        )
    indices = tuple(chain.from_iterable(record.aspect2sentence_indices.values()))
    if indices and not 0 <= min(indices) <= max(indices) < n_sentences:
        aspect, wrong = next(
            (aspect, index)
            for aspect, sources in record.aspect2sentence_indices.items()
            for index in sources
            if not 0 <= index < n_sentences
        )
        raise FormatError(
            f"{instance_id}: aspect '{aspect}' points at sentence {wrong}, "
            f"but the paper has sentences 0..{n_sentences - 1}"
        )
    return instance_from(instance_id, record, origin)


def instance_from(instance_id: str, record: PublishedInstance, origin: Origin | None = None) -> Instance:
    """Return the instance of a record whose lengths and indices are right."""
    query = Query(
        instance_id=instance_id,
        paper_id=record.paper_id,
        hypothesis=record.hypothesis,
        sentences=record.paper_as_candidate_pool,
        kinds=record.sentence_types_in_candidate_pool,
        goal=record.goal,
    )
    labels = Labels(
        aspects=tuple(dict.fromkeys(record.aspect_list_ids)),
        results=tuple(dict.fromkeys(record.results_aspect_list_ids or ())),
        sources=record.aspect2sentence_indices,
        texts=record.aspect_id2aspect or {},
        review_id=None if record.systematic_review_id is None else str(record.systematic_review_id),
        evaluations={
            task: evaluation
            for task, key in EVALUATION_KEYS.items()
            if (evaluation := getattr(record, key)) is not None
        },
    )
    return Instance(query=query, labels=labels, origin=origin)


def encode_instance(instance: Instance) -> bytes:
    """Return the published JSON object of an instance, on one line; what was read and not changed stays as it was."""
    if instance.origin is None:
        return msgspec.json.encode(published_fields(instance))
    before = decode_instance(instance.id, instance.origin)
    if before == instance and not instance.origin.names_itself:
        return msgspec.json.format(instance.origin.raw, indent=-1)
    try:
        fields: dict[str, Any] = msgspec.json.decode(instance.origin.raw)
    except BROKEN_JSON as error:
        raise FormatError(f"{instance.id}: cannot be written with its unknown keys: {error}") from error
    if instance.origin.names_itself:
        del fields["id"]
    old, new = published_fields(before), published_fields(instance)
    for key in old.keys() - new.keys():
        del fields[key]
    changed = {key: value for key, value in new.items() if key not in old or old[key] != value}
    if "sentence_types_in_candidate_pool" in changed and spells_with_spaces(fields["sentence_types_in_candidate_pool"]):
        changed["sentence_types_in_candidate_pool"] = [kind.replace("_", " ") for kind in instance.query.kinds]
    if not changed.keys().isdisjoint(EVALUATION_KEYS.values()):
        changed |= {key: new[key] for key in EVALUATION_KEYS.values()}  # derived anew: all four, null included
    return msgspec.json.encode(fields | changed)


def spells_with_spaces(kinds: Iterable[Any]) -> bool:
    """Say whether any sentence type is spelled as EvidenceBench-100k spells it."""
    return any(" " in kind for kind in {kind for kind in kinds if isinstance(kind, str)})


def published_fields(instance: Instance) -> dict[str, Any]:
    """Return an instance in the keys of the published format, in their order, whatever file it was read from."""
    query, labels = instance.query, instance.labels
    aspects_of_sentence: dict[str, list[str]] = {str(index): [] for index in range(len(query.sentences))}
    for aspect in labels.aspects:
        for index in dict.fromkeys(labels.sources.get(aspect, ())):
            aspects_of_sentence[str(index)].append(aspect)
    fields: dict[str, Any] = {
        "hypothesis": query.hypothesis,
        "paper_as_candidate_pool": query.sentences,
        "aspect_list_ids": labels.aspects,
        "results_aspect_list_ids": labels.results or None,
        "aspect2sentence_indices": {aspect: labels.sources.get(aspect, ()) for aspect in labels.aspects},
        "sentence_index2aspects": aspects_of_sentence,
    }
    for task, key in EVALUATION_KEYS.items():
        fields[key] = labels.evaluations.get(task)
    fields["sentence_types_in_candidate_pool"] = query.kinds
    fields["paper_id"] = query.paper_id
    if labels.texts:
        fields["aspect_id2aspect"] = labels.texts
    if labels.review_id is not None:
        fields["systematic_review_id"] = labels.review_id
    if query.goal is not None:
        fields["goal"] = query.goal
    return fields


@dataclass(frozen=True, kw_only=True)
class JsonFile(DataSource):
    snapshot: Snapshot
    places: Mapping[str, Span]
    repeated_ids: tuple[str, ...]

    def _origin(self, instance_id: str) -> Origin:
        place = self.places[instance_id]
        return Origin(self.snapshot.read(place.start, place.stop), names_itself=place.names_itself)

    def instance(self, instance_id: str) -> Instance:
        return decode_instance(instance_id, self._origin(instance_id))

    def fields(self, instance_id: str) -> tuple[Any, list[str]]:
        raw = self._origin(instance_id).raw
        try:
            return msgspec.json.decode(raw), _repeated_keys(raw)
        except UnicodeDecodeError as error:
            raise UnreadableError(f"{self.snapshot.path}: {instance_id}: {not_utf8(error)}") from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise FormatError(str(error)) from error

    def index(self) -> bytes:
        """Return the spans of instances, and the repeated ids, for `open_indexed_json`."""
        return msgspec.msgpack.encode((self.places, self.repeated_ids))


def open_indexed_json(snapshot: Snapshot, index: bytes) -> JsonFile:
    """Return the instances of a file that another process has opened, by the `JsonFile.index` of that."""
    spans, repeated_ids = msgspec.msgpack.decode(index, type=prepared(tuple[dict[str, Span], tuple[str, ...]]))
    return JsonFile(snapshot=snapshot, places=spans, repeated_ids=repeated_ids)


_MOST_BEGINNING = 40  # bytes by which a run is known
# How files begin that are taken for data.
_NO_DATA = {b"%PDF": "a PDF", b"PK\x03\x04": "a ZIP archive or an Office file", b"<": "XML or HTML"}


def _open_indexed(
    index: Callable[[Snapshot], tuple[Mapping[str, Span], tuple[str, ...]]], snapshot: Snapshot
) -> JsonFile:
    path = snapshot.path
    if not snapshot.size:
        raise UnreadableError(f"{path}: the file is empty; expected a JSON object of instances")
    beginning = snapshot.read(0, min(snapshot.size, _MOST_BEGINNING))
    if what := next((what for begins, what in _NO_DATA.items() if beginning.startswith(begins)), ""):
        raise UnreadableError(f"{path}: is {what}, not data; 'evidencebench find' reads papers")
    if beginning.startswith((ANSWERS.begins, EARLIER_RUNS.begins)):
        raise UnreadableError(f"{path}: is a run, not data; give the data that it was made on")
    try:
        places, repeated = index(snapshot)
    except UnreadableError as error:
        raise UnreadableError(f"{path}: {error}") from error
    if not places:
        raise UnreadableError(f"{path}: holds no instance; expected at least one, as id -> instance")
    return JsonFile(snapshot=snapshot, places=places, repeated_ids=repeated)


def open_json(snapshot: Snapshot) -> JsonFile:
    return _open_indexed(index_json, snapshot)


def open_json_lines(snapshot: Snapshot) -> JsonFile:
    return _open_indexed(index_lines, snapshot)


def write_json(file: Output, instances: Iterable[Instance]) -> None:
    n_written = 0
    for instance in instances:
        file.write(b",\n" if n_written else b"{\n")
        file.write(msgspec.json.encode(instance.id) + b": " + encode_instance(instance))
        n_written += 1
    file.write(b"\n}\n" if n_written else b"{}\n")


def write_json_lines(file: Output, instances: Iterable[Instance]) -> None:
    for instance in instances:
        fields, name = encode_instance(instance), msgspec.json.encode(instance.id)
        members = msgspec.json.decode(fields, type=dict[str, msgspec.Raw])
        if "id" in members:  # it may differ from the instance's id, so the two cannot stand side by side
            file.write(b"{" + name + b":" + fields + b"}\n")
        else:
            file.write(b'{"id":' + name + b"," + fields.removeprefix(b"{") + b"\n")
