"""What a run would cost, found without sending anything: prompts are counted, and stand-ins replace replies."""

from collections import Counter
from dataclasses import dataclass

from evidencebench.models.llm.chat import ChatReply, ChatRequest, Usage
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.tokens import prompt_tokens_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEstimate:
    """What would be sent to one model: prompts that are not stored, and tokens as estimated and assumed."""

    model: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None  # at these numbers; None where the model's price is not known


class EstimatingSender:
    """Counts requests in the place of sending them; a reply is taken to be of `completion_tokens`, or `max_tokens`."""

    def __init__(self, prices: PriceTable, *, completion_tokens: int = 400, batch: bool = False) -> None:
        self._prices, self._completion_tokens, self._batch = prices, completion_tokens, batch
        self._requests, self._prompt, self._reply = Counter[str](), Counter[str](), Counter[str]()
        self._seen: set[str] = set()

    def estimated(self, request: ChatRequest, stand_in: str) -> ChatReply:
        """Count a request unless the same was counted before, and return the stand-in as its reply."""
        n_prompt, n_reply = prompt_tokens_of(request), min(self._completion_tokens, request.max_tokens)
        if (key := request.key) not in self._seen:
            self._seen.add(key)
            self._requests[request.model] += 1
            self._prompt[request.model] += n_prompt
            self._reply[request.model] += n_reply
        return ChatReply(text=stand_in, usage=Usage(prompt_tokens=n_prompt, completion_tokens=n_reply))

    def estimates(self) -> tuple[ModelEstimate, ...]:
        """Return what was counted, a model each, in the order of their names."""
        return tuple(self._estimate(model) for model in sorted(self._requests))

    async def send(self, request: ChatRequest) -> ChatReply:
        """Count a request that has no stand-in."""
        return self.estimated(request, "")

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _estimate(self, model: str) -> ModelEstimate:
        n_prompt, n_reply = self._prompt[model], self._reply[model]
        usage = Usage(prompt_tokens=n_prompt, completion_tokens=n_reply)
        return ModelEstimate(
            model=model,
            requests=self._requests[model],
            prompt_tokens=n_prompt,
            completion_tokens=n_reply,
            cost_usd=self._prices.cost_usd(model, usage, batch=self._batch),
        )
