"""What keeps a run that sends one by one from paying for what an open batch is paid for already."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from evidencebench.errors import StopError
from evidencebench.models.llm.batch_apis.calls import Patience
from evidencebench.models.llm.batch_status import OnStatus, ignore
from evidencebench.models.llm.batches import BatchSender
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.ledger import Ledger
from evidencebench.models.llm.parts import Sender
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.spool import Spool
from evidencebench.models.llm.store import Replies


class SparingSender:
    """Sends what is in no open batch.

    Parameters
    ----------
    sender
        What carries the others.
    store
        Where batches are written down.
    """

    def __init__(self, sender: Sender, store: Replies) -> None:
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


async def collect_open(
    store: Replies,
    *,
    prices: PriceTable,
    ledger: Ledger | None = None,
    on_status: OnStatus = ignore,
    patience: Patience = Patience(max_attempts=2),  # noqa: B008 - frozen
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> None:
    """Store the replies of open batches that are done, for a run that sends one by one; wait for none.

    A batch that cannot be looked at is told and passed over. What is still open is kept from being sent by a
    `SparingSender`.

    Parameters
    ----------
    store, prices, ledger, patience, environ, folder
        As for `BatchSender`.
    on_status
        Called with the state of each batch.

    Raises
    ------
    CacheError
        If the store cannot be used.
    """
    if store.path.exists() and Spool(store).batches():
        sender = BatchSender(store, prices=prices, ledger=ledger, patience=patience, environ=environ, folder=folder)
        await sender.collect(wait=False, on_status=on_status)
