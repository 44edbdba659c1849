"""Find out which requests a strategy makes, without sending any: replies come from the cache, or are missing."""

from dataclasses import dataclass, field

from evidencebench.errors import CacheError, PendingError
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.reply_cache import ReplyCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One request with its stored reply (None: there is none) and the reply's cost (None: not known)."""

    request: ChatRequest
    reply: ChatReply | None = None
    cost_usd: float | None = None


@dataclass(slots=True, kw_only=True)
class ReplayingSender:
    """Notes every request instead of sending it; without a cache, a strategy makes only its first requests."""

    cache: ReplyCache | None = None
    noted: list[Replayed] = field(default_factory=list)  # all requests, in order

    def send(self, request: ChatRequest) -> ChatReply:
        """Return the stored reply; raise `PendingError` if there is none, so that further requests are noted too."""
        try:
            found = None if self.cache is None else self.cache.find(request.key)
        except CacheError:  # a damaged reply counts as missing
            found = None
        if found is None:
            self.noted.append(Replayed(request=request))
            raise PendingError(f"{request.model}: the reply to request {request.key[:12]} is not stored")
        self.noted.append(Replayed(request=request, reply=found[0], cost_usd=found[1]))
        return found[0]
