"""Runs that send one by one: what is in an open batch is paid for already, and not sent again."""

from datetime import UTC, datetime

from evidencebench.errors import StopError
from evidencebench.models.llm.batch_queue import BatchQueue
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Sender
from evidencebench.models.llm.reply_cache import ReplyCache


class BatchGuardedSender:
    """Passes requests on to another sender; raises `StopError` for a request that is in an open batch of the cache."""

    def __init__(self, sender: Sender, cache: ReplyCache) -> None:
        self._sender, self._queue = sender, BatchQueue(cache)

    def send(self, request: ChatRequest) -> ChatReply:
        """Return the reply, as the other sender does, unless the request is part of a batch that is not collected."""
        batch = self._queue.batch_of(request.key)
        if batch is not None:
            when = datetime.fromtimestamp(batch.created, UTC)
            raise StopError(
                f"{request.model}: a request is part of batch {batch.name or 'without a known id'}, submitted "
                f"{when:%Y-%m-%d %H:%M} UTC, and would be paid twice; run with --batch to collect it, or give it up "
                "with 'evidencebench cache prune --batches'"
            )
        return self._sender.send(request)
