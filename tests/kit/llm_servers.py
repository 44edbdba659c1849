"""What a right chat server answers, a clock that runs without waiting, and requests to ask with."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from doors import (
    CacheError,
    ChatModel,
    ChatReply,
    ChatRequest,
    DrainingError,
    HttpSender,
    Message,
    Received,
    ReplyCache,
    Usage,
)
from kit.hostile_server import Behaviour, Exchange, answer

KEY = "sk-very/secret+0123456789&'\\"
"""A key with everything in it that is written otherwise in some form."""


def completion(text: str | None = "ANSWER: [1]", **more: Any) -> dict[str, Any]:
    """Return the body of a reply as OpenAI writes it."""
    return {
        "model": "m-2026",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    } | more


def replies(text: str = "ANSWER: [1]", **more: Any) -> Behaviour:
    return answer(200, json.dumps(completion(text, **more)).encode(), Content_Type="application/json")


def drip(exchange: Exchange) -> None:
    """Send the reply so slowly that no single wait is long."""
    exchange.head(200, {"Content-Length": 1_000_000})
    while not exchange.server.closing.wait(0.05):
        exchange.send(b" ")
        exchange.handler.wfile.flush()


def request_to(base_url: str, *, seed: int = 0, text: str = "Hello", **more: Any) -> ChatRequest:
    """Return a request to a server on loopback, a different one for each seed."""
    options: dict[str, Any] = {"model": "openai/m", "base_url": base_url, "seed": seed}
    chat = ChatModel(**options | more)
    return chat.request((Message(role="user", text=text),))


@dataclass(kw_only=True)
class FakeTime:
    """A clock that only sleeping moves, and all that was slept."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)
    n_read: int = 0

    def clock(self) -> float:
        self.n_read += 1
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now = max(self.now, self.now + seconds)


def sent(sender: HttpSender, *requests: ChatRequest) -> list[ChatReply | BaseException]:
    """Send requests one after the other, and close the sender."""

    found: list[ChatReply | BaseException] = []
    try:
        for request in requests:
            try:
                found.append(sender.send(request))
            except Exception as error:  # noqa: BLE001 - returned
                found.append(error)
    finally:
        sender.close()
    return found


USAGE = Usage(prompt_tokens=100, completion_tokens=10)


@dataclass(kw_only=True)
class SlowSender:
    """Replies when it is let, and remembers what it was asked and how many asked at once."""

    usage: Usage = USAGE
    failures: Sequence[BaseException | None] = ()
    asked: list[ChatRequest] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_open: bool = True
    is_closed: bool = False

    def send(self, request: ChatRequest) -> ChatReply:
        with self.lock:
            self.asked.append(request)
            number = len(self.asked)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if not self.is_open:
                self.gate.wait()
            if self.is_closed:
                raise DrainingError("the client was closed before all replies came")
            if number <= len(self.failures) and (failure := self.failures[number - 1]) is not None:
                raise failure
            return ChatReply(text=f"reply to seed {request.seed}", usage=self.usage)
        finally:
            with self.lock:
                self.at_once -= 1

    def close(self) -> None:
        self.is_closed = True
        self.gate.set()


class DictCache(ReplyCache):
    """A cache in memory that takes a moment to write."""

    def __init__(self, *, is_read_only: bool = False, claimed_elsewhere: set[str] | None = None) -> None:
        super().__init__(Path())  # no file is opened before it is needed
        self.kept: dict[str, Received] = {}
        self.n_puts = self.n_closings = 0
        self.failure: Exception | None = None
        self.is_read_only, self.claimed_elsewhere = is_read_only, claimed_elsewhere or set()
        self.was_looked_at = threading.Event()  # for what another process asks

    def close(self, seconds: float = 5.0) -> None:  # noqa: ARG002 - as of the real one
        self.n_closings += 1

    @contextmanager
    def claimed(self, key: str) -> Iterator[bool]:
        is_free = key not in self.claimed_elsewhere
        if not is_free:
            self.was_looked_at.set()
        yield is_free

    def require_writable(self) -> None:
        if self.is_read_only:
            raise CacheError("replies.sqlite: attempt to write a readonly database")

    def find(self, key: str) -> Received | None:
        return self.kept.get(key)

    async def putting(self, request: ChatRequest, reply: ChatReply, cost_usd: float | None) -> None:
        self.put(request, reply, cost_usd)

    def put(self, request: ChatRequest, reply: ChatReply, cost_usd: float | None) -> None:
        if self.failure is not None:
            raise self.failure
        self.n_puts += 1
        self.kept[request.key] = Received(reply, cost_usd)


def with_seed(request: ChatRequest, seed: int) -> ChatRequest:
    return msgspec.structs.replace(request, seed=seed)
