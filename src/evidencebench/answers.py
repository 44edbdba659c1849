"""Answers made elsewhere: a plain ``{id: [indices]}`` JSON, or a TREC run. Both become a `RunFile` without a header."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.runs import RUN_BEGINS, Answer, Failure, RunFile, read_content, read_run
from evidencebench.system import Ranking

_TREC_COLUMNS = 6


def open_run(path: Path) -> RunFile:
    """Read the answers in a file, whichever of the three forms it has.

    Parameters
    ----------
    path
        A run of this package (JSON Lines); a JSON object ``{instance id: [indices]}``, where null marks a failed
        answer; or a TREC run, ``qid Q0 docno rank score tag``, whose docno ends in the sentence's index
        (``any_id#00042`` or ``42``).

    Raises
    ------
    RunFormatError
        If it has none of these forms; the message says where.
    """
    content = read_content(path)
    head = bytes(content[: 1 << 16])
    if not head.strip():
        raise RunFormatError(f"{path}: the file is empty; expected a run or answers")
    first_line = head.lstrip().split(b"\n", 1)[0]
    if first_line.startswith(b"{"):
        return read_run(path) if first_line.startswith(RUN_BEGINS) else _read_plain(path, bytes(content))
    if len(first_line.split()) == _TREC_COLUMNS:
        return _read_trec(path, bytes(content))
    raise RunFormatError(
        f"{path}: line 1: expected a run of evidencebench, a JSON object {{id: [indices]}}, or a TREC run "
        "with 6 columns (qid Q0 docno rank score tag)"
    )


def _read_plain(path: Path, content: bytes) -> RunFile:
    try:
        answers = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunFormatError(f"{path}: expected a JSON object {{id: [indices]}}: {error}") from error
    lines: dict[tuple[str, str | None], Answer] = {}
    for instance_id, value in answers.items():
        if value is None:
            lines[instance_id, None] = Failure(error="null in the answers file")
            continue
        try:
            sentences = msgspec.convert(value, type=tuple[int, ...])
        except msgspec.ValidationError as error:
            raise RunFormatError(f"{path}: {instance_id}: expected a list of sentence indices: {error}") from error
        lines[instance_id, None] = Ranking(sentences=sentences, ordered=False)
    return RunFile(path, None, lines)


def _read_trec(path: Path, content: bytes) -> RunFile:
    scored: dict[str, list[tuple[float, int]]] = {}
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise RunFormatError(f"{path}: not UTF-8: byte {content[error.start]:#04x} at offset {error.start}") from error
    for number, line in enumerate(text.splitlines(), 1):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != _TREC_COLUMNS:
            raise RunFormatError(f"{path}: line {number}: expected {_TREC_COLUMNS} columns, got {len(columns)}")
        query_id, _, document, _, score, _ = columns
        try:
            scored.setdefault(query_id, []).append((-float(score), int(document.rpartition("#")[2])))
        except ValueError as error:
            raise RunFormatError(
                f"{path}: line {number}: expected a docno that ends in a sentence index and a numeric score: {error}"
            ) from error
    return RunFile(path, None, _ranked(path, scored))


def _ranked(path: Path, scored: Mapping[str, list[tuple[float, int]]]) -> dict[tuple[str, str | None], Answer]:
    """Order each query's sentences by score, ties by index, as the columns of a TREC run mean it."""
    answers: dict[tuple[str, str | None], Answer] = {}
    for query_id, pairs in scored.items():
        if any(score != score for score, _ in pairs):  # noqa: PLR0124 - NaN is the number that differs from itself
            raise RunFormatError(f"{path}: {query_id}: expected numeric scores, got NaN")
        pairs.sort()
        answers[query_id, None] = Ranking(
            sentences=tuple(index for _, index in pairs), scores=tuple(-score for score, _ in pairs)
        )
    return answers
