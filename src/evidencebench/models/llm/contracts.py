"""The two parts of a client, as protocols: a sender of requests and a cache of replies."""

from typing import Protocol

from evidencebench.models.llm.chat import ChatReply, ChatRequest


class Sender(Protocol):
    """What carries a request to a model."""

    async def send(self, request: ChatRequest) -> ChatReply:
        """Return the reply.

        Raises
        ------
        EndpointError
            If this request failed for good.
        StopError
            If no more requests may be sent.
        PendingError
            If the reply is part of a batch that is not done.
        """
        ...

    async def aclose(self) -> None:
        """Free connections."""
        ...


class KeepsReplies(Protocol):
    """A cache of replies; see `ReplyCache`."""

    async def get(self, key: str) -> tuple[ChatReply, float | None] | None:
        """Return the reply kept under a request's key and what it cost in USD (None: not known), or None."""
        ...

    async def put(self, request: ChatRequest, reply: ChatReply, cost_usd: float | None) -> None:
        """Keep a reply; it is durable when this returns."""
        ...

    def claim(self, key: str) -> bool:
        """Say whether a request may be sent by this process; where it may, keep others from it until `give_back`."""
        ...

    def give_back(self, key: str) -> None:
        """Let others send a request."""
        ...

    async def require_writable(self) -> None:
        """Raise `CacheError` unless replies can be kept, by writing something."""
        ...
