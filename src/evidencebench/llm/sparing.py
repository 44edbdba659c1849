"""What keeps a run that sends one by one from paying for what an open batch is paid for already."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evidencebench.errors import StopError
from evidencebench.llm.chat import ChatReply, ChatRequest
from evidencebench.llm.spool import Spool
from evidencebench.llm.store import Replies

if TYPE_CHECKING:
    from evidencebench.llm.client import Sender


class SparingSender:
    """Sends what is in no open batch.

    Parameters
    ----------
    sender
        What carries the others.
    store
        Where batches are written down.
    """

    def __init__(self, sender: "Sender", store: Replies) -> None:
        self._sender, self._spool = sender, Spool(store)

    async def send(self, request: ChatRequest) -> ChatReply:
        """Return the reply, as the other sender does.

        Raises
        ------
        StopError
            If the request is part of a batch that is not collected.
        """
        batch = self._spool.batch_of(request.key)
        if batch is not None:
            when = datetime.fromtimestamp(batch.created, UTC)
            raise StopError(
                f"{request.model}: a request is part of batch {batch.name or 'without a known id'}, submitted "
                f"{when:%Y-%m-%d %H:%M} UTC, and would be paid twice; run with --batch to collect it, or give it up "
                "with 'evidencebench cache prune --batches'"
            )
        return await self._sender.send(request)

    async def aclose(self) -> None:
        """Free connections."""
        await self._sender.aclose()
