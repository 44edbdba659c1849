"""Runs that send one by one: what an open batch is paid for already is collected from it, and not sent again."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from evidencebench.errors import StopError
from evidencebench.models.llm.batch_apis.calls import CallSettings
from evidencebench.models.llm.batch_queue import BatchQueue
from evidencebench.models.llm.batch_status import OnStatus, ignore
from evidencebench.models.llm.batches import BatchSender
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Sender
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.models.llm.totals import RunningTotals


class BatchGuardedSender:
    """Passes requests on to another sender; raises `StopError` for a request that is in an open batch of the cache."""

    def __init__(self, sender: Sender, cache: ReplyCache) -> None:
        self._sender, self._queue = sender, BatchQueue(cache)

    async def send(self, request: ChatRequest) -> ChatReply:
        """Return the reply, as the other sender does, unless the request is part of a batch that is not collected."""
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
    settings: CallSettings = CallSettings(max_attempts=2),  # noqa: B008 - frozen
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> None:
    """Store the replies of open batches that are done, and wait for none; a batch that cannot be reached is told."""
    if cache.path.exists() and BatchQueue(cache).batches():
        sender = BatchSender(cache, prices=prices, totals=totals, settings=settings, environ=environ, folder=folder)
        await sender.collect(wait=False, on_status=on_status)
