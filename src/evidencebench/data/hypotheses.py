"""Files of hypotheses to ask instead of a data set's own: instance id -> text, as JSON, JSON Lines or CSV."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evidencebench.data.dataset import Dataset
from evidencebench.errors import FormatError
from evidencebench.files.atomic import whole_file
from evidencebench.files.disk import read_text

_FORMS = '.json ({"ID": "text", ...}), .jsonl ({"id": ..., "hypothesis": ...} a line) or .csv (columns id, hypothesis)'
_KEYS = ("id", "hypothesis")


def read_hypotheses(path: Path, dataset: Dataset, limit: int | None = None) -> dict[str, str]:
    """Return instance id -> hypothesis for each of the first ``limit`` instances (None: all); raises `DataError`."""
    if path.suffix not in _READERS:
        raise FormatError(f"{path}: expected hypotheses in a file with the suffix {_FORMS}, got '{path.suffix}'")
    text = read_text(path)
    try:
        hypotheses = _each_once(_READERS[path.suffix](text))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
    if unknown := next((instance_id for instance_id in hypotheses if instance_id not in dataset.whole), None):
        raise FormatError(f"{path}: expected ids of {dataset.name}, such as '{dataset.ids[0]}', got '{unknown}'")
    if missing := [instance_id for instance_id in dataset.ids[:limit] if instance_id not in hypotheses]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise FormatError(f"{path}: expected a hypothesis for every instance, got none for '{missing[0]}'{more}")
    return hypotheses


def write_hypotheses(path: Path, hypotheses: Mapping[str, str], own: Mapping[str, str]) -> None:
    """Write hypotheses as JSON Lines, each beside the ``own`` one, for people to compare; the file appears whole."""
    with whole_file(path) as file:
        for instance_id, text in hypotheses.items():
            line = {"id": instance_id, "hypothesis": text, "own": own[instance_id]}
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def _each_once(pairs: Iterable[tuple[str, Any, Any]]) -> dict[str, str]:
    hypotheses: dict[str, str] = {}
    for where, instance_id, text in pairs:
        if not isinstance(instance_id, str) or not instance_id:
            raise FormatError(f"{where}: expected an instance id, got {instance_id!r}")
        if instance_id in hypotheses:
            raise FormatError(f"{where}: '{instance_id}' stands more than once")
        if not isinstance(text, str) or not text.strip():
            raise FormatError(f"{where}: '{instance_id}': expected a hypothesis, got {text!r}")
        hypotheses[instance_id] = text.strip()
    return hypotheses


def _from_json(text: str) -> Iterator[tuple[str, Any, Any]]:
    pairs = _decoded(text, "the file")
    if not isinstance(pairs, tuple):
        raise FormatError(f"expected one JSON object, id -> hypothesis, got {type(pairs).__name__}")
    return (("the file", *pair) for pair in pairs)


def _from_json_lines(text: str) -> Iterator[tuple[str, Any, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            fields = _decoded(line, f"line {number}")
            if not isinstance(fields, tuple) or not {*_KEYS} <= dict(fields).keys():
                raise FormatError(f'line {number}: expected {{"id": ..., "hypothesis": ...}}')
            yield f"line {number}", dict(fields)["id"], dict(fields)["hypothesis"]


def _from_csv(text: str) -> Iterator[tuple[str, Any, Any]]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        if not set(_KEYS) <= set(rows.fieldnames or ()):
            raise FormatError(f"line 1: expected the columns id and hypothesis, got {rows.fieldnames}")
        for row in rows:
            yield f"line {rows.line_num}", row["id"], row["hypothesis"]
    except csv.Error as error:
        raise FormatError(f"line {rows.line_num}: expected CSV: {error}") from error


def _decoded(text: str, where: str) -> Any:
    """Return a JSON value; an object as a tuple of pairs, so that a key that stands twice is seen."""
    try:
        return json.loads(text, object_pairs_hook=tuple)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: expected JSON: {error}") from error


_READERS = {".json": _from_json, ".jsonl": _from_json_lines, ".csv": _from_csv}
