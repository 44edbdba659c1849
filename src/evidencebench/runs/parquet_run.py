"""A run as Parquet, an answer a row, for tools that read columns; from it, the same run as JSON Lines comes back.

The header's line stands in the file's metadata. A line that is not spelled as this package spells it stands as it is in
the column ``line``. Runs grow line by line as JSON Lines only: what is in Parquet is finished.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.extras import require_extra
from evidencebench.runs.answer_line import AnswerLine
from evidencebench.runs.run_file import RUNS, read_run
from evidencebench.storage.json_lines import is_whole_object, lines_of, with_checksum
from evidencebench.storage.reading import BROKEN_JSON
from evidencebench.storage.whole_file import whole_file

PARQUET_BEGINS = b"PAR1"
_HEADER_KEY = b"evidencebench_run"  # in the metadata: the header's line, or nothing where the run has none
_CHECKSUM_KEY = b"evidencebench_crc"  # CRC-32 of the JSON Lines; it shows accidental damage, not forgery
_ROWS_IN_A_GROUP = 4096


def write_parquet_run(path: Path, content: bytes, name: Path) -> int:
    """Write a run, given as its JSON Lines, as Parquet; return how many answers it has. Messages call it ``name``."""
    require_extra(str(path), "parquet", "pyarrow")
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    header, lines = _header_and_answers(content, name)
    checksum = _checksum_of(b"".join(line + b"\n" for line in (header, *lines) if line))
    schema = _schema().with_metadata({_HEADER_KEY: header, _CHECKSUM_KEY: checksum})
    settings = {"compression": "zstd", "write_statistics": False, "write_page_checksum": True}
    with whole_file(path) as file, pq.ParquetWriter(file, schema, **settings) as writer:
        for start in range(0, len(lines), _ROWS_IN_A_GROUP):
            rows = [_row(line) for line in lines[start : start + _ROWS_IN_A_GROUP]]
            try:
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            except (pa.ArrowInvalid, OverflowError) as error:
                raise RunFormatError(f"{name}: cannot be written as columns: {error}") from error
    return len(lines)


def n_answers_in(content: bytes, name: Path) -> int:
    """Return how many answers the JSON Lines of a run hold; raises `RunFormatError` where they are none."""
    return len(_header_and_answers(content, name)[1])


def _header_and_answers(content: bytes, name: Path) -> tuple[bytes, list[bytes]]:
    """Return the line of the header, empty where there is none, and those of the answers; all are checked."""
    lines = [bytes(line.content) for line in lines_of(content) if line.is_ended or is_whole_object(line.content)]
    if not lines or not (lines[0].startswith(RUNS.begins) or _is_answer(lines[0])):
        raise RunFormatError(f"{name}: expected a run of evidencebench, as 'evidencebench run' writes it")
    has_header = lines[0].startswith(RUNS.begins)
    read_run(name, needs_header=has_header, content=content)
    return (lines[0], lines[1:]) if has_header else (b"", lines)


def lines_from_parquet(path: Path, content: bytes) -> bytes:
    """Return the JSON Lines of a run, given the bytes of its Parquet file; raises `RunFormatError`."""
    require_extra(str(path), "parquet", "pyarrow")
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    with _arrow_errors(path):
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        metadata = file.schema_arrow.metadata or {}
        needed = _schema().names if _HEADER_KEY in metadata else ("id", "sentences", "error")
        if missing := [name for name in needed if name not in file.schema_arrow.names]:
            is_data = "hypothesis" in file.schema_arrow.names
            what = "is data, and no answers; expected" if is_data else f"has no column {', '.join(missing)}; expected"
            raise RunFormatError(f"{path}: {what} a run, as 'evidencebench export run' writes it")
        header: bytes = metadata.get(_HEADER_KEY, b"")
        names = [name for name in _schema().names if name in file.schema_arrow.names]
        parts = [header + b"\n"] if header else []
        for batch in file.iter_batches(_ROWS_IN_A_GROUP, columns=names, use_threads=False):
            columns = {name: batch.column(name).cast(_schema().field(name).type) for name in names}
            rows = pa.RecordBatch.from_pydict(columns).to_pylist()
            parts += [_line(row) + b"\n" for row in rows]
    if not parts:
        raise RunFormatError(f"{path}: holds no answer; expected a run")
    lines = b"".join(parts)
    if metadata.get(_CHECKSUM_KEY, _checksum_of(lines)) != _checksum_of(lines):
        raise RunFormatError(
            f"{path}: the answers are not those that were written: the checksum does not fit; make the file again, or "
            f"take the key {_CHECKSUM_KEY.decode()} out of its metadata to have it read as it stands"
        )
    return lines


def _checksum_of(lines: bytes) -> bytes:
    return b"%08x" % zlib.crc32(lines)


def _schema() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    return pa.schema(
        [
            ("id", pa.string()),
            ("task", pa.string()),
            ("sentences", pa.list_(pa.int64())),
            ("scores", pa.list_(pa.float64())),
            ("ordered", pa.bool_()),
            ("notes", pa.string()),  # JSON
            ("error", pa.string()),
            ("answered", pa.string()),
            ("line", pa.string()),
        ]
    )


def _row(line: bytes) -> dict[str, Any]:
    row = msgspec.structs.asdict(msgspec.json.decode(line, type=AnswerLine))
    row |= {"notes": msgspec.json.encode(row["notes"]).decode() if row["notes"] else None, "crc": None}
    return row if _line(row) == line else row | {"line": line.decode()}


def _line(row: dict[str, Any]) -> bytes:
    """Return the line of an answer, with its checksum."""
    fields = {key: value for key, value in row.items() if value is not None}
    if "line" in fields:
        return str(fields["line"]).encode()
    if "notes" in fields:
        fields["notes"] = msgspec.json.decode(fields["notes"])
    return with_checksum(msgspec.json.encode(msgspec.convert(fields, AnswerLine)))


def _is_answer(line: bytes) -> bool:
    try:
        return "id" in msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except BROKEN_JSON:
        return False


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    try:
        yield
    except (pa.ArrowException, OSError, MemoryError, KeyError, *BROKEN_JSON) as error:  # KeyError: a column twice
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RunFormatError(f"{path}: cannot be read as a run in Parquet: {reason}") from error
