"""Estimate the cost of a run without sending anything: prompts are counted, and stand-ins replace replies."""

from dataclasses import dataclass, replace

from evidencebench.models.llm.chat import ChatReply, ChatRequest, Usage
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.tokens import prompt_tokens_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEstimate:
    """The estimate for one model: the requests that are not stored, their tokens and their cost."""

    model: str
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None  # at these numbers; None where the model's price is not known


class EstimatingSender:
    """Counts requests instead of sending them; a reply has `completion_tokens`, at most the request's `max_tokens`."""

    def __init__(self, prices: PriceTable, *, completion_tokens: int = 400, batch: bool = False) -> None:
        self._prices, self._completion_tokens, self._batch = prices, completion_tokens, batch
        self._sums: dict[str, ModelEstimate] = {}
        self._seen: set[str] = set()

    def estimated(self, request: ChatRequest, stand_in: str) -> ChatReply:
        """Count a request unless the same was counted before, and return the stand-in as its reply."""
        n_prompt, n_reply = prompt_tokens_of(request), min(self._completion_tokens, request.max_tokens)
        if (key := request.key) not in self._seen:
            self._seen.add(key)
            before = self._sums.get(request.model, ModelEstimate(model=request.model))
            self._sums[request.model] = replace(
                before,
                requests=before.requests + 1,
                prompt_tokens=before.prompt_tokens + n_prompt,
                completion_tokens=before.completion_tokens + n_reply,
            )
        return ChatReply(text=stand_in, usage=Usage(prompt_tokens=n_prompt, completion_tokens=n_reply))

    def estimates(self) -> tuple[ModelEstimate, ...]:
        """Return one estimate for each model, in the order of their names."""
        estimates = []
        for _, estimate in sorted(self._sums.items()):
            usage = Usage(prompt_tokens=estimate.prompt_tokens, completion_tokens=estimate.completion_tokens)
            cost_usd = self._prices.cost_usd(estimate.model, usage, batch=self._batch)
            estimates.append(replace(estimate, cost_usd=cost_usd))
        return tuple(estimates)

    def send(self, request: ChatRequest) -> ChatReply:
        """Count a request that has no stand-in."""
        return self.estimated(request, "")
