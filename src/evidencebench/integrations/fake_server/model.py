"""The model behind all endpoints: answers a call in any protocol, and the rows of batches."""

import hashlib
from typing import Any

import msgspec

from evidencebench.integrations.fake_server.batches import Batch, Row
from evidencebench.integrations.fake_server.calls import BadCallError, Call, Counted, counted
from evidencebench.integrations.fake_server.faults import FaultPlan, draw
from evidencebench.integrations.fake_server.logbook import EXPIRED, PAID, REJECTED, Logbook
from evidencebench.integrations.fake_server.personalities import Speaker
from evidencebench.integrations.fake_server.wires import Wire

_SERVER_ERROR = 500


def key_of(body: Any) -> str:
    """Return the SHA-256 of a body's canonical JSON: the same for the same request, however it is spelled.

    Examples
    --------
    >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()


class Model:
    """A language model, with the log of what it is asked.

    Parameters
    ----------
    speaker
        What it says.
    book
        Its log.
    plan
        Which rows of batches fail.
    expire_rate
        Share of rows of batches that expire, 0 to 1.
    """

    def __init__(self, speaker: Speaker, book: Logbook, plan: FaultPlan, *, expire_rate: float) -> None:
        self._speaker, self._book, self._plan, self._expire_rate = speaker, book, plan, expire_rate

    def reply(self, wire: Wire, body: Any, key: str) -> tuple[Counted, Call]:
        """Return the reply to a request's decoded body, and the call that it made.

        Raises
        ------
        BadCallError
            If the real provider would refuse it.
        """
        call = wire.read_call(body)
        spoken = self._speaker.speak(call, key)
        self._book.totals.unknown_papers += not spoken.knows_paper
        return counted(spoken, call), call

    def answer_row(self, wire: Wire, batch: Batch, row: Row, *, request: str) -> None:
        """Set what becomes of a row, and write it into the log as ``request``."""
        key = key_of(row.body)
        attempt = self._book.attempt(key)
        row.request_id = f"req_{key[:16]}{attempt:04x}"
        with self._book.in_flight():
            outcome, tokens = self._become(wire, batch, row, key, attempt)
            self._book.write(outcome, key=key, request=request, attempt=attempt, batch=batch.id, **tokens)

    def _become(self, wire: Wire, batch: Batch, row: Row, key: str, attempt: int) -> tuple[str, dict[str, int]]:
        if draw(self._plan.seed, "expire", key, attempt) < self._expire_rate:
            row.outcome = "expired"
            return EXPIRED, {}
        if fault := self._plan.meets(key, attempt):
            self._err(wire, row, "The server had an error while processing this request.", _SERVER_ERROR)
            return fault, {}
        try:
            reply, call = self._row_reply(wire, row.body, key)
        except BadCallError as error:
            self._err(wire, row, str(error), error.status, param=error.param)
            return REJECTED, {}
        row.outcome, row.status = "succeeded", 200
        serial = f"{key[:16]}{attempt:04x}"
        row.reply = wire.whole(reply, call, serial=serial, created=int(batch.created))
        return PAID, {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}

    def _row_reply(self, wire: Wire, body: Any, key: str) -> tuple[Counted, Call]:
        reply, call = self.reply(wire, body, key)
        if call.streams:
            raise BadCallError("stream: expected false in a batch", param="stream")
        return reply, call

    def _err(self, wire: Wire, row: Row, message: str, status: int, *, param: str | None = None) -> None:
        row.outcome, row.status = "errored", status
        row.reply = wire.error(message, status, param=param, request_id=row.request_id)
