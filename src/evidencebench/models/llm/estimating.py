"""What a run would cost, found without sending anything: prompts are counted, and stand-ins replace replies."""

from dataclasses import dataclass

from evidencebench.models.llm.chat import ChatReply, ChatRequest, Usage
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.tokens import prompt_tokens_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEstimate:
    """What would be sent to one model.

    Attributes
    ----------
    model
        ``provider/name``.
    requests
        Prompts that are not stored.
    prompt_tokens
        Of all of them, by `estimated_tokens`.
    completion_tokens
        Of all replies, as assumed.
    cost_usd
        At these numbers; None where the model's price is not known.
    """

    model: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


class EstimatingSender:
    """Counts requests in the place of sending them.

    Parameters
    ----------
    prices
        What requests cost.
    completion_tokens
        How long a reply is assumed to be, where `max_tokens` allows it.
    batch
        Whether they would go in a batch.
    """

    def __init__(self, prices: PriceTable, *, completion_tokens: int = 400, batch: bool = False) -> None:
        self._prices, self._completion_tokens, self._batch = prices, completion_tokens, batch
        self._by_model: dict[str, ModelEstimate] = {}
        self._seen: set[str] = set()

    def estimated(self, request: ChatRequest, stand_in: str) -> ChatReply:
        """Count a request unless the same was counted before, and return the stand-in as its reply."""
        usage = Usage(
            prompt_tokens=prompt_tokens_of(request),
            completion_tokens=min(self._completion_tokens, request.max_tokens),
        )
        if (key := request.key) not in self._seen:
            self._seen.add(key)
            self._count(request.model, usage)
        return ChatReply(text=stand_in, usage=usage)

    def estimates(self) -> tuple[ModelEstimate, ...]:
        """Return what was counted, a model each, in the order of their names."""
        return tuple(sorted(self._by_model.values(), key=lambda estimate: estimate.model))

    async def send(self, request: ChatRequest) -> ChatReply:
        """Count a request that has no stand-in."""
        return self.estimated(request, "")

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _count(self, model: str, usage: Usage) -> None:
        old = self._by_model.get(model)
        n_requests, n_prompt, n_reply = (old.requests, old.prompt_tokens, old.completion_tokens) if old else (0, 0, 0)
        n_prompt += usage.prompt_tokens or 0
        n_reply += usage.completion_tokens or 0
        everything = Usage(prompt_tokens=n_prompt, completion_tokens=n_reply)
        self._by_model[model] = ModelEstimate(
            model=model,
            requests=n_requests + 1,
            prompt_tokens=n_prompt,
            completion_tokens=n_reply,
            cost_usd=self._prices.cost_usd(model, everything, batch=self._batch),
        )
