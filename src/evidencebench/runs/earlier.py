"""Runs of the first form, and lines without a header, as they are written now."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.files.records import RecordFormat, RecordLine, lines_in
from evidencebench.runs.answers import ANSWERS, FailureAnswer, RankingAnswer, check_line, encoded, header_of
from evidencebench.runs.header import QueryControl, RunHeader

_LINE_BEGINS = b'{"answer":'


class _FirstHeader(RunHeader, frozen=True, kw_only=True):
    evidencebench_run: int
    hypothesis: Literal["own", "wrong"] = "own"  # now in `control`


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    task: str | None = None
    epoch: Annotated[int, msgspec.Meta(ge=1)] = 1
    sentences: tuple[int, ...] | None = None
    scores: tuple[float, ...] | None = None
    ordered: bool = True
    notes: dict[str, int] = {}
    error: str | None = None
    answered: str | None = None
    crc: str | None = None


def _check(answer: _Line, line: memoryview | bytes) -> None:
    check_line(answer, line)
    if (answer.sentences is None) == (answer.error is None):
        raise RunFormatError("expected either 'sentences' or 'error'")


EARLIER_RUNS: RecordFormat[_FirstHeader, _Line] = RecordFormat(
    header=_FirstHeader,
    record=_Line,
    begins=b'{"evidencebench_run":',
    what="a run",
    a_record="an answer",
    made_by="evidencebench run",
    version_field="evidencebench_run",
    check=_check,
)


def in_present_form(path: Path, content: bytes) -> bytes:
    """Return the lines of a run as they are written now; raises `RunFormatError`, with the line."""
    first_line = next((bytes(line.content).lstrip() for line in lines_in([content])), b"")
    if first_line.startswith((ANSWERS.begins, _LINE_BEGINS)):
        return content
    if not first_line.startswith(EARLIER_RUNS.begins):
        lines = EARLIER_RUNS.records(path, lines_in([content]))
        return b"".join(_converted(lines, at=1, is_done=False))
    header, lines = EARLIER_RUNS.scan(path, [content])
    fields: dict[str, Any] = msgspec.structs.asdict(header)
    del fields["evidencebench_run"], fields["hypothesis"]
    if header.hypothesis == "wrong":
        fields["control"] = QueryControl(name="wrong_hypothesis")
    present = header_of(RunHeader(**fields))
    answers = _converted(lines, at=2, is_done=present.role == "person")
    return b"".join([msgspec.json.encode(present), b"\n", *answers])


def _converted(lines: Iterable[RecordLine[_Line]], *, at: int, is_done: bool) -> Iterable[bytes]:
    """Yield lines where they stood: blank ones too, so that messages name the same line."""
    for line in lines:
        yield b"\n" * (line.number - at)
        at = line.number + 1
        old = line.record
        of_all: dict[str, Any] = {"id": old.id, "task": old.task, "epoch": old.epoch, "notes": old.notes}
        if old.error is not None:
            answer: RankingAnswer | FailureAnswer = FailureAnswer(**of_all, error=old.error)
        else:
            answer = RankingAnswer(
                **of_all,
                sentences=old.sentences or (),
                scores=old.scores,
                ordered=old.ordered,
                at=old.answered or "",
                is_done=is_done,
            )
        yield encoded(answer) + b"\n"
