"""Read answers in any form: our runs as JSON Lines or Parquet, plain JSON, TREC runs, dicts."""

import codecs
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import AnswerError, EvidenceBenchError, FormatError, RunFormatError
from evidencebench.files.atomic import whole_file, write_whole
from evidencebench.files.disk import BROKEN_JSON, PathText
from evidencebench.files.records import is_whole_object, lines_in, repeated_keys
from evidencebench.provenance import require_extra
from evidencebench.runs.answers import ANSWERS, FailureAnswer, RankingAnswer, check_line, decode_answer, encoded
from evidencebench.runs.earlier import EARLIER_RUNS, in_present_form
from evidencebench.runs.run import Answer, Failure, RunFile, ranking_in, read_content, read_run
from evidencebench.system import Ranking, index_in, ranking_from, ranking_of
from evidencebench.wording import counted

# A run as Parquet, an answer a row, for tools that read columns; from it, the same run as JSON Lines comes back.

PARQUET_BEGINS = b"PAR1"
_HEADER_KEY = b"evidencebench_run"  # in the metadata: the header's line, or nothing where the run has none
_ROWS_IN_A_GROUP = 4096


def write_run(path: Path, content: bytes, name: Path) -> int:
    """Write a run, given as its JSON Lines, as these or as Parquet; return how many answers it has.

    Messages call it ``name``.
    """
    header, lines = _header_and_answers(content, name)
    if path.suffix != ".parquet":
        write_whole(path, content)
        return len(lines)
    require_extra(str(path), "parquet", "pyarrow")
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    schema = _schema().with_metadata({_HEADER_KEY: header})
    settings = {"compression": "zstd", "write_statistics": False, "write_page_checksum": True}
    with whole_file(path) as file, pq.ParquetWriter(file, schema, **settings) as writer:
        for start in range(0, len(lines), _ROWS_IN_A_GROUP):
            rows = [row for line in lines[start : start + _ROWS_IN_A_GROUP] for row in _rows(line)]
            try:
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            except (pa.ArrowInvalid, OverflowError) as error:
                raise RunFormatError(f"{name}: cannot be written as columns: {error}") from error
    return len(lines)


def _header_and_answers(content: bytes, name: Path) -> tuple[bytes, list[bytes]]:
    """Return the line of the header, empty where there is none, and those of the answers; all are checked."""
    lines = [bytes(line.content) for line in lines_in([content]) if line.is_ended or is_whole_object(line.content)]
    if not lines or not (lines[0].startswith(ANSWERS.begins) or _is_answer_line(lines[0])):
        raise RunFormatError(f"{name}: expected a run of evidencebench, as 'evidencebench run' writes it")
    has_header = lines[0].startswith(ANSWERS.begins)
    read_run(name, needs_header=has_header, content=content)
    return (lines[0], lines[1:]) if has_header else (b"", lines)


def lines_from_parquet(path: Path, content: bytes) -> bytes:
    require_extra(str(path), "parquet", "pyarrow")
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    with arrow_errors(path, "a run in Parquet", RunFormatError):
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        metadata = file.schema_arrow.metadata or {}
        there = file.schema_arrow.names
        bare = ("id", "error" if "error" in there and "sentences" not in there else "sentences")
        needed = _ALL_RUNS_HAVE if _HEADER_KEY in metadata else bare
        missing, is_data = [name for name in needed if name not in there], "hypothesis" in there
        if missing or is_data:
            what = "is a data file, not a run; expected" if is_data else f"has no column {', '.join(missing)}; expected"
            raise RunFormatError(f"{path}: {what} a run, as 'evidencebench export run' writes it")
        header: bytes = metadata.get(_HEADER_KEY, b"")
        names = [name for name in _schema().names if name in there]
        is_earlier, is_by_person = "epoch" not in there, b'"role":"person"' in header
        parts = [header + b"\n"] if header else []
        for batch in file.iter_batches(_ROWS_IN_A_GROUP, columns=names, use_threads=False):
            columns = {name: batch.column(name).cast(_schema().field(name).type) for name in names}
            rows = pa.RecordBatch.from_pydict(columns).to_pylist()
            if is_earlier:
                parts += [msgspec.json.encode(_filled(row)) + b"\n" for row in rows]
            else:
                parts += [_line(row, is_done=is_by_person) + b"\n" for row in rows]
    if not parts:
        raise RunFormatError(f"{path}: holds no answer; expected a run")
    return in_present_form(path, b"".join(parts))


def _schema() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    return pa.schema(
        [
            ("id", pa.string()),
            ("task", pa.string()),
            ("epoch", pa.int64()),  # not in files of earlier versions
            ("sentences", pa.list_(pa.int64())),
            ("scores", pa.list_(pa.float64())),
            ("ordered", pa.bool_()),
            ("notes", pa.string()),  # JSON
            ("error", pa.string()),
            ("answered", pa.string()),
            ("crc", pa.string()),  # not in files of earlier versions
        ]
    )


_ALL_RUNS_HAVE = ("id", "task", "sentences", "scores", "ordered", "notes", "error", "answered")


def _rows(line: bytes) -> Iterator[dict[str, Any]]:
    """Yield the row of an answer; a person's draft has none."""
    answer = decode_answer(line)
    if isinstance(answer, RankingAnswer) and answer.opened:
        if not answer.is_done:
            return
        answer = _submission(answer)
    if not isinstance(answer, RankingAnswer | FailureAnswer):
        return
    row: dict[str, Any] = {"id": answer.id, "task": answer.task, "epoch": answer.epoch, "answered": answer.at or None}
    row["notes"] = msgspec.json.encode(answer.notes).decode() if answer.notes else None
    if isinstance(answer, FailureAnswer):
        row |= {"error": answer.error, "ordered": True}
    else:
        row |= {"sentences": answer.sentences, "scores": answer.scores, "ordered": answer.ordered}
    yield {**row, "crc": decode_answer(encoded(answer)).crc}


def _submission(answer: RankingAnswer) -> RankingAnswer:
    """Return what a person submitted, without how it came about."""
    ranking = ranking_in(answer)
    return RankingAnswer(
        id=answer.id,
        task=answer.task,
        sentences=ranking.sentences,
        ordered=ranking.ordered,
        notes=dict(ranking.notes),
        at=answer.at,
        is_done=True,
    )


def _line(row: dict[str, Any], *, is_done: bool) -> bytes:
    fields = _filled(row)
    own: dict[str, Any] = {name: fields[name] for name in ("id", "task", "epoch", "notes") if name in fields}
    answer: RankingAnswer | FailureAnswer
    if "error" in fields:
        answer = msgspec.convert({**own, "answer": "failure", "error": fields["error"]}, prepared(FailureAnswer))
    else:
        own |= {name: fields[name] for name in ("sentences", "scores", "ordered") if name in fields}
        own |= {"answer": "ranking", "at": fields.get("answered", ""), "is_done": is_done}
        answer = msgspec.convert(own, prepared(RankingAnswer))
    check_line(msgspec.structs.replace(answer, crc=fields.get("crc")), b"")
    return encoded(answer)


def _filled(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a row has a value of."""
    fields = {key: value for key, value in row.items() if value is not None}
    if "notes" in fields:
        fields["notes"] = msgspec.json.decode(fields["notes"])
    return fields


@contextmanager
def arrow_errors(path: Path, form: str, kind: type[EvidenceBenchError]) -> Iterator[None]:
    """Raise an error of this kind, which names the file, where it cannot be read in a form such as ``Parquet``."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    # KeyError: a column twice.
    damage = (pa.ArrowException, OSError, OverflowError, MemoryError, IndexError, KeyError, StopIteration, *BROKEN_JSON)
    try:
        yield
    except damage as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise kind(f"{path}: cannot be read as {form}: {reason}") from error
    except FormatError as error:
        raise kind(f"{path}: {error}") from error


# Answers in a dict, as Python and the tools of information retrieval hold them: indices or scores by instance.


GivenAnswer: TypeAlias = Ranking | Failure | Iterable[int] | Mapping[int, float] | Mapping[str, float] | None


def answers_in(given: Mapping[str, GivenAnswer]) -> dict[str, Answer]:
    """Return instance id -> answer, as `ranking_from` reads it, or None for one that failed; raises `AnswerError`."""
    return {instance_id: _answer(instance_id, answer) for instance_id, answer in given.items()}


def _answer(instance_id: object, given: object) -> Answer:
    if not isinstance(instance_id, str):
        raise AnswerError(f"answers: expected instance ids as keys, got {instance_id!r}")
    if given is None:
        return Failure(error="None among the answers")
    try:
        return given if isinstance(given, Failure) else ranking_from(given, instance_id)
    except AnswerError as error:
        raise AnswerError(f"answers: {instance_id}: {error}") from error


# Answers made elsewhere: a plain ``{id: [indices]}`` JSON, or a TREC run. Both become a `RunFile` without a header.

_TREC_COLUMNS = 6
# Plain digits only, as float() also takes 1_0 and digits of other scripts; lengths are bounded generously.
_SCORE = re.compile(r"[+-]?(?:[0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?")
# How other files of this package begin, and what to do with them instead.
_NO_RUNS = {
    b'{"evidencebench_crossval":': (
        "the kept work of a cross-validation, and no run; 'evidencebench crossval -o RUN' writes its out-of-fold "
        "answers as a run, and keeps this work beside it, in RUN.splits"
    ),
    b'{"evidencebench_examples":': "a file of examples for prompts, and no run; 'evidencebench run' makes one",
    b'{"evidencebench_drafts":': "a person's drafts, and no run; the run lies beside it",
}


def open_run(path: PathText) -> RunFile:
    """Return the answers in a file, which has one of three forms.

    Parameters
    ----------
    path
        A run of this package (JSON Lines or Parquet), or its lines without a header; a JSON object
        ``{instance id: [indices]}``, where null marks a failed answer, a list is a set of sentences, and
        ``{"ranking": [indices]}`` has the best first; or a TREC run, ``qid Q0 docno rank score tag``, whose docno is
        the sentence's index, as ``42`` or ``qid#00042``.

    Raises
    ------
    RunFormatError
        If it has none of these forms; the message says where.
    """
    path = Path(path)
    content = read_content(path)
    if content.startswith(PARQUET_BEGINS):
        lines = lines_from_parquet(path, content)
        return read_run(path, needs_header=lines.startswith(ANSWERS.begins), content=lines)
    first_line = next((bytes(line.content).lstrip() for line in lines_in([content])), b"")
    if not first_line:
        raise RunFormatError(f"{path}: the file is empty; expected a run or answers")
    if first_line.startswith(b"\x1f\x8b"):
        raise RunFormatError(f"{path}: is gzipped; unpack it first")
    beginning = b"".join(content[:100].removeprefix(codecs.BOM_UTF8).split())
    for begins, what in _NO_RUNS.items():
        if beginning.startswith(begins):
            raise RunFormatError(f"{path}: is {what}")
    if first_line.startswith((ANSWERS.begins, EARLIER_RUNS.begins)):
        return read_run(path, content=content)
    if _is_answer_line(first_line):
        return read_run(path, needs_header=False, content=content)
    if first_line.startswith(b"{"):
        return _read_plain(path, content)
    if len(first_line.split()) == _TREC_COLUMNS:
        _decode_text(path, content)
        return _read_trec(path, content)
    raise RunFormatError(
        f"{path}: line 1: not a run; expected what 'evidencebench run' writes, JSON {{id: [indices]}}, or a TREC run "
        "(qid Q0 docno rank score tag)"
    )


def content_of_run(path: Path) -> bytes:
    """Return the bytes of a run file; of one in Parquet, the JSON Lines that it was made from."""
    content = read_content(path)
    if content.startswith(PARQUET_BEGINS):
        return lines_from_parquet(path, content)
    first_line = next((bytes(line.content) for line in lines_in([content])), b"")
    is_run = first_line.startswith((ANSWERS.begins, EARLIER_RUNS.begins)) or _is_answer_line(first_line)
    return in_present_form(path, content) if is_run else content


def _decode_text(path: Path, content: bytes) -> str:
    plain = content.removeprefix(codecs.BOM_UTF8)
    try:
        return plain.decode()
    except UnicodeDecodeError as error:
        raise RunFormatError(f"{path}: not UTF-8: byte {plain[error.start]:#04x} at offset {error.start}") from error


def _is_answer_line(line: bytes) -> bool:
    try:
        members = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except BROKEN_JSON:
        try:
            members = json.loads(line)  # takes NaN, of which the reader of answers then tells
        except (ValueError, RecursionError):
            return False
    return isinstance(members, dict) and "id" in members and bool({"answer", "sentences", "error"} & members.keys())


def _read_plain(path: Path, content: bytes) -> RunFile:
    try:
        answers = json.loads(_decode_text(path, content), object_pairs_hook=_dict_of_unique)
    except (ValueError, RecursionError) as error:
        raise RunFormatError(f"{path}: not valid JSON, expected {{id: [indices]}}: {error}") from error
    if any(isinstance(value, dict) and "hypothesis" in value for value in answers.values()):
        raise RunFormatError(f"{path}: is a data file, not a run; usage: evidencebench score RUN --data DATA")
    lines: dict[tuple[str, str | None], Answer] = {}
    wrong: list[str] = []
    for instance_id, value in answers.items():
        try:
            lines[instance_id, None] = _plain_answer(value)
        except msgspec.ValidationError as error:
            wrong.append(f"{instance_id}: {str(error).partition(' - at')[0]}")
    if wrong:
        are = counted(len(wrong), "answer is", "answers are")
        raise RunFormatError(
            f'{path}: {are} no list of indices, such as {wrong[0]}; write [3, 17], {{"ranking": [3, 17]}} or null'
        )
    return RunFile(path, None, lines, content, is_bare=any(isinstance(value, list) for value in answers.values()))


class _RankedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer that says what its order means: ``{"ranking": [...]}`` or ``{"set": [...]}``."""

    ranking: tuple[int, ...] | None = None
    set: tuple[int, ...] | None = None


def _plain_answer(value: Any) -> Answer:
    if value is None:
        return Failure(error="null in the answers file")
    if not isinstance(value, dict):
        return Ranking(sentences=msgspec.convert(value, type=tuple[int, ...]), ordered=False)
    given = msgspec.convert(value, type=prepared(_RankedAnswer))
    if (given.ranking is None) == (given.set is None):
        raise msgspec.ValidationError("Expected either 'ranking' or 'set'")
    return Ranking(sentences=given.ranking or given.set or (), ordered=given.ranking is not None)


def _dict_of_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if repeated := repeated_keys(pairs):
        raise ValueError(f"'{repeated[0]}' stands more than once")
    return dict(pairs)


def _read_trec(path: Path, content: bytes) -> RunFile:
    scored: dict[str, list[tuple[float, int]]] = {}
    for number, _, line, _ in lines_in([content]):
        columns = [column.decode() for column in bytes(line).split()]
        if len(columns) != _TREC_COLUMNS:
            raise RunFormatError(f"{path}: line {number}: expected {_TREC_COLUMNS} columns, got {len(columns)}")
        query_id, _, document, _, score, _ = columns
        try:
            index = index_in(document, query_id)
        except ValueError as error:
            raise RunFormatError(f"{path}: line {number}: docno: {error}") from error
        if not _SCORE.fullmatch(score) or not math.isfinite(float(score)):
            raise RunFormatError(f"{path}: line {number}: expected a score that is a finite number, got '{score}'")
        scored.setdefault(query_id, []).append((-float(score), index))
    answers: dict[tuple[str, str | None], Answer] = {
        (query, None): ranking_of(pairs) for query, pairs in scored.items()
    }
    return RunFile(path, None, answers, content)
