"""What a provider's protocol has to do; the modules `openai_wire` and `anthropic_wire` are the two that do."""

from collections.abc import Iterator
from typing import Any, Protocol

from evidencebench.integrations.fake_server.calls import Call, Counted


class Wire(Protocol):
    """One provider's protocol."""

    def read_call(self, body: Any) -> Call:
        """Return the call that a decoded body makes, or raise `BadCallError`."""
        ...

    def whole(self, reply: Counted, call: Call, *, serial: str, created: int) -> dict[str, Any]:
        """Return the body of a reply that is sent in one go."""
        ...

    def events(self, reply: Counted, call: Call, *, serial: str, created: int) -> Iterator[bytes]:
        """Yield the server-sent events of a reply that is sent piece by piece."""
        ...

    def error(self, message: str, status: int, *, param: str | None, request_id: str) -> dict[str, Any]:
        """Return the body of an error."""
        ...
