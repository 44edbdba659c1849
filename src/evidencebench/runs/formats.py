"""Answers made elsewhere: a plain ``{id: [indices]}`` JSON, or a TREC run. Both become a `RunFile` without a header."""

import codecs
import json
import math
import re
from pathlib import Path
from typing import Any

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.runs.given_answers import INDEX_DIGITS, ranking_of
from evidencebench.runs.parquet_run import PARQUET_BEGINS, lines_from_parquet
from evidencebench.runs.run_file import RUNS, RunFile, read_content, read_run
from evidencebench.storage.json_lines import lines_of, repeated_keys
from evidencebench.storage.reading import BROKEN_JSON, PathText
from evidencebench.system import Ranking
from evidencebench.wording import counted

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
_MAX_SHOWN = 3


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
        return read_run(path, needs_header=lines.startswith(RUNS.begins), content=lines)
    first_line = next((bytes(line.content).lstrip() for line in lines_of(content)), b"")
    if not first_line:
        raise RunFormatError(f"{path}: the file is empty; expected a run or answers")
    if first_line.startswith(b"\x1f\x8b"):
        raise RunFormatError(f"{path}: is gzipped; unpack it first")
    beginning = b"".join(content[:100].removeprefix(codecs.BOM_UTF8).split())
    for begins, what in _NO_RUNS.items():
        if beginning.startswith(begins):
            raise RunFormatError(f"{path}: is {what}")
    if first_line.startswith(RUNS.begins):
        return read_run(path, content=content)
    if _is_answer_line(first_line):
        return read_run(path, needs_header=False, content=content)
    if first_line.startswith(b"{"):
        return _read_plain(path, content)
    if len(first_line.split()) == _TREC_COLUMNS:
        _decode_text(path, content)
        return _read_trec(path, content)
    raise RunFormatError(
        f"{path}: line 1: expected a run of evidencebench, a JSON object {{id: [indices]}}, or a TREC run "
        "with 6 columns (qid Q0 docno rank score tag)"
    )


def content_of_run(path: Path) -> bytes:
    """Return the bytes of a run file; of one in Parquet, the JSON Lines that it was made from."""
    content = read_content(path)
    return lines_from_parquet(path, content) if content.startswith(PARQUET_BEGINS) else content


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
        return False
    return "id" in members and ("sentences" in members or "error" in members)


def _read_plain(path: Path, content: bytes) -> RunFile:
    try:
        answers = json.loads(_decode_text(path, content), object_pairs_hook=_dict_of_unique)
    except (ValueError, RecursionError) as error:
        raise RunFormatError(f"{path}: expected a JSON object {{id: [indices]}}: {error}") from error
    if any(isinstance(value, dict) and "hypothesis" in value for value in answers.values()):
        raise RunFormatError(f"{path}: is data, and no answers; expected a run, and the data behind --data")
    lines: dict[tuple[str, str | None], Answer] = {}
    wrong: list[str] = []
    for instance_id, value in answers.items():
        try:
            lines[instance_id, None] = _plain_answer(value)
        except msgspec.ValidationError as error:
            wrong.append(f"{instance_id}: {error}")
    if wrong:
        are = counted(len(wrong), "answer is", "answers are")
        raise RunFormatError(
            f"{path}: {are} no list of sentence indices, such as {'; '.join(wrong[:_MAX_SHOWN])}; "
            'write whole numbers, {"ranking": [...]} where the best stands first, or null for a failed answer'
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
    given = msgspec.convert(value, type=_RankedAnswer)
    if (given.ranking is None) == (given.set is None):
        raise msgspec.ValidationError("Expected either 'ranking' or 'set'")
    return Ranking(sentences=given.ranking or given.set or (), ordered=given.ranking is not None)


def _dict_of_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if repeated := repeated_keys(pairs):
        raise ValueError(f"'{repeated[0]}' stands more than once")
    return dict(pairs)


def _read_trec(path: Path, content: bytes) -> RunFile:
    scored: dict[str, list[tuple[float, int]]] = {}
    for number, _, line, _ in lines_of(content):
        columns = [column.decode() for column in bytes(line).split()]
        if len(columns) != _TREC_COLUMNS:
            raise RunFormatError(f"{path}: line {number}: expected {_TREC_COLUMNS} columns, got {len(columns)}")
        query_id, _, document, _, score, _ = columns
        paper, mark, index = document.rpartition("#")
        if mark and paper != query_id:
            raise RunFormatError(
                f"{path}: line {number}: expected a sentence of '{query_id}', got docno '{document}'; "
                "each hypothesis is answered from its own paper"
            )
        if not INDEX_DIGITS.fullmatch(index):
            raise RunFormatError(
                f"{path}: line {number}: expected a docno that ends in a sentence index, in the digits 0 to 9, "
                f"got '{document}'"
            )
        if not _SCORE.fullmatch(score) or not math.isfinite(float(score)):
            raise RunFormatError(f"{path}: line {number}: expected a score that is a finite number, got '{score}'")
        scored.setdefault(query_id, []).append((-float(score), int(index)))
    answers: dict[tuple[str, str | None], Answer] = {
        (query, None): ranking_of(pairs) for query, pairs in scored.items()
    }
    return RunFile(path, None, answers, content)
