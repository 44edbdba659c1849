"""The server: takes requests from connections, lets them meet faults, and leads them to their endpoints."""

import asyncio
import hashlib
import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from evidencebench.data.dataset import Dataset
from evidencebench.integrations.fake_server import anthropic_wire, openai_wire
from evidencebench.integrations.fake_server.anthropic_batches import MESSAGES, AnthropicBatches
from evidencebench.integrations.fake_server.calls import BadCallError
from evidencebench.integrations.fake_server.chat import VERSION_HEADER, Chat
from evidencebench.integrations.fake_server.connection import (
    JSON_TYPE,
    Connection,
    Limits,
    RefusedError,
    Reply,
    Request,
)
from evidencebench.integrations.fake_server.failing import fail
from evidencebench.integrations.fake_server.faults import Fault, FaultPlan
from evidencebench.integrations.fake_server.library import Library
from evidencebench.integrations.fake_server.logbook import REJECTED, UNPAID, Logbook, Totals
from evidencebench.integrations.fake_server.model import Model, key_of
from evidencebench.integrations.fake_server.openai_batches import OpenAIBatches
from evidencebench.integrations.fake_server.personalities import Speaker
from evidencebench.integrations.fake_server.routes import Handled, Incoming, Routes, json_reply
from evidencebench.integrations.fake_server.settings import Settings
from evidencebench.integrations.fake_server.wires import Wire
from evidencebench.models.embedding.folder import require_extra

_BACKLOG = 1024  # connections that wait to be taken
_LOG = "/log"


class FakeServer:
    """A language model server whose answers are known.

    Use it within one running loop: `start`, then `stop`.

    Parameters
    ----------
    dataset
        What the prompts are about.
    settings
        How it behaves.
    limits
        What a client may ask of a connection; None: the default ones.
    clock
        Seconds since 1970.
    keeps_entries
        Whether the log is kept in memory, too.

    Raises
    ------
    MissingExtraError
        If h11 is not installed.
    UnreadableError
        If the log cannot be written.
    """

    def __init__(
        self,
        dataset: Dataset,
        settings: Settings,
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
        keeps_entries: bool = False,
    ) -> None:
        require_extra("llm serve-fake", "llm", "h11")
        self.settings = settings
        speaker = Speaker(
            library=Library(dataset),
            personality=settings.personality,
            seed=settings.seed,
            repairable=settings.repairable,
            refuse_rate=settings.refuse_rate,
        )
        self.book = Logbook(path=settings.log, clock=clock, keeps_entries=keeps_entries)
        self._plan = FaultPlan(rate=settings.faults, kinds=settings.fault_kinds, seed=settings.seed)
        self._model = Model(speaker, self.book, self._plan, expire_rate=settings.batch_expire)
        self._openai = OpenAIBatches(self._model, settings, clock)
        self._anthropic = AnthropicBatches(self._model, settings, address=lambda: self.address, clock=clock)
        self._routes = Routes()
        self._routes.add(Chat(self._model, clock).routes() + self._openai.routes() + self._anthropic.routes())
        self._limits = limits or Limits()
        self._serials = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None
        self.address = ""

    @property
    def totals(self) -> Totals:
        """What became of all requests so far."""
        return self.book.totals

    async def start(self, host: str, port: int) -> None:
        """Listen; `address` then says where, as ``http://host:port``.

        Raises
        ------
        OSError
            If the port is taken or may not be used.
        """
        self._listener = await asyncio.start_server(self._take, host, port, backlog=_BACKLOG)
        bound_host, bound_port = self._listener.sockets[0].getsockname()[:2]
        self.address = f"http://{f'[{bound_host}]' if ':' in bound_host else bound_host}:{bound_port}"

    async def stop(self) -> None:
        """Stop listening, cut all connections and batches, and close the log."""
        if self._listener is not None:
            self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._openai.batches.close()
        await self._anthropic.batches.close()
        self.book.close()

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._converse(Connection(reader, writer, self._limits)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, connection: Connection) -> None:
        try:
            with self.book.connected():
                while request := await connection.next_request():
                    await self._exchange(connection, request)
        except RefusedError as error:
            if connection.may_reply:
                body = openai_wire.error(str(error), error.status, param=None, request_id="")
                await connection.send(json_reply(body, error.status))
        finally:
            await connection.close()

    async def _exchange(self, connection: Connection, request: Request) -> None:
        if request.path == _LOG:
            await connection.send(json_reply(self.totals))
            return
        body = _decoded(request)
        key = _name_of(request) if body is None else key_of(body)
        attempt = self.book.attempt(key)
        wire = _wire_of(request)
        incoming = Incoming(request=request, body=body, key=key, serial=f"{next(self._serials):08x}{key[:16]}")
        with self.book.in_flight():
            fault = self._plan.meets(key, attempt)
            handled = Handled(reply=Reply(), outcome=UNPAID)
            if not await connection.stays(self.settings.latency_seconds):
                pass
            elif fault is not None:
                if fault is Fault.LOST_REPLY:
                    self._handle(incoming, wire)
                handled = replace(handled, outcome=str(fault))
                await fail(connection, fault, wire, self.settings, request_id=f"req_{incoming.serial}")
            else:
                handled = self._handle(incoming, wire)
                if not await connection.send(_named(handled.reply, incoming)):
                    handled = replace(handled, outcome=UNPAID)
            self.book.write(
                handled.outcome,
                key=key,
                request=f"{request.method} {request.path}",
                attempt=attempt,
                prompt_tokens=handled.prompt_tokens,
                completion_tokens=handled.completion_tokens,
            )

    def _handle(self, incoming: Incoming, wire: Wire) -> Handled:
        request = incoming.request
        try:
            handler, name = self._routes.find(request.method, request.path)
            _check_headers(wire, request)
            return handler(replace(incoming, name=name) if name else incoming)
        except BadCallError as error:
            request_id = f"req_{incoming.serial}"
            value = wire.error(str(error), error.status, param=error.param, request_id=request_id)
            return Handled(reply=json_reply(value, error.status), outcome=REJECTED)


def _wire_of(request: Request) -> Wire:
    """Return the protocol that a request speaks, by its path or, where both have it, by its headers."""
    is_anthropic = request.path.startswith(MESSAGES) or VERSION_HEADER in request.headers
    return anthropic_wire if is_anthropic else openai_wire


def _check_headers(wire: Wire, request: Request) -> None:
    if wire is anthropic_wire and VERSION_HEADER not in request.headers:
        raise BadCallError(f"{VERSION_HEADER}: header is required")


def _decoded(request: Request) -> Any:
    """Return the JSON of a request's body, None where it has none."""
    if not request.body or request.headers.get("content-type", JSON_TYPE).partition(";")[0].strip() != JSON_TYPE:
        return None
    try:
        return msgspec.json.decode(request.body)
    except (msgspec.DecodeError, RecursionError):
        return None


def _name_of(request: Request) -> str:
    line = f"{request.method} {request.path}\n".encode()
    return hashlib.sha256(line + request.body).hexdigest()


def _named(reply: Reply, incoming: Incoming) -> Reply:
    """Return a reply with its id in the headers, under the names that both providers use."""
    request_id = f"req_{incoming.serial}"
    return replace(reply, headers={"x-request-id": request_id, "request-id": request_id, **reply.headers})
