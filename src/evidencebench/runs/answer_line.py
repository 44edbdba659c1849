"""One answer, or the failure in its place, and the line of a run that holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.storage.json_lines import has_checksum, with_checksum
from evidencebench.system import Ranking


class AnswerLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a run: the sentences of an answer, or the error in their place.

    ``answered`` is the time, of people's answers only; ``crc`` is the line's checksum (see `storage.json_lines`).
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
    """A failed answer, with its error; it is neither an empty answer nor a missing one.

    ``notes`` counts the work that was done, as in `Ranking`. ``trace`` is where in the system's code it failed, as
    Python shows a traceback, and ``cause`` the error; no run file holds them.
    """

    error: str
    notes: Mapping[str, int] = field(default_factory=dict, compare=False)
    trace: str | None = field(default=None, compare=False, repr=False)
    cause: BaseException | None = field(default=None, compare=False, repr=False)


Answer = Ranking | Failure

_decoder = msgspec.json.Decoder(AnswerLine)


def encode_answer(instance_id: str, task: str | None, answer: Answer, *, answered: str | None = None) -> bytes:
    """Return one line of a run, without its line end; ``answered`` is the time of the answer, ISO 8601 in UTC."""
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
    """Return the answer in a line of a run that `checked_line` has accepted."""
    found = _decoder.decode(line)
    if found.sentences is None:
        return Failure(error=found.error or "unknown", notes=found.notes)
    return Ranking(sentences=found.sentences, scores=found.scores, ordered=found.ordered, notes=found.notes)


def checked_line(path: Path, number: int, line: memoryview) -> AnswerLine:
    """Return a decoded line of a run; raise `RunFormatError` or a decoder's error where it holds no valid answer."""
    found = _decoder.decode(line)
    if found.crc is not None and not has_checksum(line, found.crc):
        _require_same_answer(path, number, found, found.crc)
    if (found.sentences is None) == (found.error is None):
        raise RunFormatError(f"{path}: line {number}: expected either 'sentences' or 'error'")
    return found


def _require_same_answer(path: Path, number: int, line: AnswerLine, crc: str) -> None:
    """Raise unless the checksum fits the line as we would write it; another program may have written it otherwise."""
    if not has_checksum(with_checksum(msgspec.json.encode(msgspec.structs.replace(line, crc=None))), crc):
        raise RunFormatError(
            f"{path}: line {number}: the answer to '{line.id}' is not the one that was written: its crc {crc} does not "
            "fit; restore the line, or take the crc out of it to have it read as it stands"
        )
