"""One answer, or the failure in its place, and the line of a run that holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    """Return the answer in a line of a run that `check_answer` has accepted."""
    answer = _decoder.decode(line)
    if answer.sentences is None:
        return Failure(error=answer.error or "unknown", notes=answer.notes)
    return Ranking(sentences=answer.sentences, scores=answer.scores, ordered=answer.ordered, notes=answer.notes)


def check_answer(answer: AnswerLine, line: memoryview | bytes) -> None:
    """Raise `RunFormatError` where a decoded line holds no valid answer, or was changed since it was written."""
    if answer.crc is not None and not has_checksum(line, answer.crc):
        # Another program may have spelled the line otherwise.
        spelled = with_checksum(msgspec.json.encode(msgspec.structs.replace(answer, crc=None)))
        if not has_checksum(spelled, answer.crc):
            raise RunFormatError(
                f"the answer to '{answer.id}' is not the one that was written: its crc {answer.crc} does not fit; "
                "restore the line, or take the crc out of it to have it read as it stands"
            )
    if (answer.sentences is None) == (answer.error is None):
        raise RunFormatError("expected either 'sentences' or 'error'")
