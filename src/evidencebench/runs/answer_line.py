"""One answer, or the failure in its place, and the line of a run that holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.storage.json_lines import has_checksum, with_checksum
from evidencebench.system import Ranking


class AnswerLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer: sentences, or the error that stands in their place.

    ``answered`` says when, of people only; ``crc`` is the checksum of the line, as `storage.json_lines` makes it.
    """

    id: str
    task: str | None = None
    sentences: tuple[int, ...] | None = None
    scores: tuple[float, ...] | None = None
    ordered: bool = True
    notes: dict[str, int] = {}
    error: str | None = None
    answered: str | None = None
    crc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The system gave no answer, and why: not the same as an empty answer, nor as a missing one.

    ``notes`` counts what was done in vain, as in `Ranking`. ``trace`` is where in the system's code it failed, as
    Python shows a traceback; no run file holds it.
    """

    error: str
    notes: Mapping[str, int] = field(default_factory=dict, compare=False)
    trace: str | None = field(default=None, compare=False, repr=False)


Answer = Ranking | Failure

_decoder = msgspec.json.Decoder(AnswerLine)


def encode_answer(instance_id: str, task: str | None, answer: Answer, *, answered: str | None = None) -> bytes:
    """Return one line of a run, without its line end; ``answered`` says when, ISO 8601, UTC, if it is kept."""
    if isinstance(answer, Failure):
        line = AnswerLine(id=instance_id, task=task, error=answer.error, notes=dict(answer.notes))
    else:
        line = AnswerLine(
            id=instance_id,
            task=task,
            sentences=answer.sentences,
            scores=answer.scores,
            ordered=answer.ordered,
            notes=dict(answer.notes),
            answered=answered,
        )
    return with_checksum(msgspec.json.encode(line))


def decode_answer(line: memoryview) -> Answer:
    """Return the answer in a line of a run that was checked."""
    found = _decoder.decode(line)
    if found.sentences is None:
        return Failure(error=found.error or "unknown", notes=found.notes)
    return Ranking(sentences=found.sentences, scores=found.scores, ordered=found.ordered, notes=found.notes)


def checked_line(path: Path, number: int, line: memoryview) -> AnswerLine:
    """Return a line of a run decoded; raise `RunFormatError` or a decoder's error where it holds no sound answer."""
    found = _decoder.decode(line)
    if found.crc is not None and not has_checksum(line, found.crc):
        _require_same_answer(path, number, found, found.crc)
    if (found.sentences is None) == (found.error is None):
        raise RunFormatError(f"{path}: line {number}: expected either 'sentences' or 'error'")
    return found


def _require_same_answer(path: Path, number: int, line: AnswerLine, crc: str) -> None:
    """Raise unless a line differs from what was sealed in its spelling only, as another program writes it again."""
    if not has_checksum(with_checksum(msgspec.json.encode(msgspec.structs.replace(line, crc=None))), crc):
        raise RunFormatError(
            f"{path}: line {number}: the answer to '{line.id}' is not the one that was written: its crc {crc} does not "
            "fit; restore the line, or take the crc out of it to have it read as it stands"
        )
