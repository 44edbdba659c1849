"""What keeps a run that sends one by one from paying for what an open batch is paid for already."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from evidencebench.errors import StopError
from evidencebench.models.llm.batch_apis.calls import CallSettings
from evidencebench.models.llm.batch_queue import BatchQueue
from evidencebench.models.llm.batch_status import OnStatus, ignore
from evidencebench.models.llm.batches import BatchSender
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.contracts import Sender
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.models.llm.totals import RunningTotals


class BatchGuardedSender:
    """Sends what is in no open batch.

    Parameters
    ----------
    sender
        What carries the others.
    cache
        Where batches are written down.
    """

    def __init__(self, sender: Sender, cache: ReplyCache) -> None:
        self._sender, self._queue = sender, BatchQueue(cache)

    async def send(self, request: ChatRequest) -> ChatReply:
        """Return the reply, as the other sender does.

        Raises
        ------
        StopError
            If the request is part of a batch that is not collected.
        """
        batch = self._queue.batch_of(request.key)
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


async def collect_open_batches(
    cache: ReplyCache,
    *,
    prices: PriceTable,
    totals: RunningTotals | None = None,
    on_status: OnStatus = ignore,
    patience: CallSettings = CallSettings(max_attempts=2),  # noqa: B008 - frozen
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> None:
    """Store the replies of open batches that are done, for a run that sends one by one; wait for none.

    A batch that cannot be looked at is told and passed over. What is still open is kept from being sent by a
    `BatchGuardedSender`.

    Parameters
    ----------
    cache, prices, totals, patience, environ, folder
        As for `BatchSender`.
    on_status
        Called with the state of each batch.

    Raises
    ------
    CacheError
        If the cache cannot be used.
    """
    if cache.path.exists() and BatchQueue(cache).batches():
        sender = BatchSender(cache, prices=prices, totals=totals, patience=patience, environ=environ, folder=folder)
        await sender.collect(wait=False, on_status=on_status)
