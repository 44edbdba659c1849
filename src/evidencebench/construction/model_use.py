"""What steps ask of models: requests and tokens, counted while drafts are led through them and nothing is sent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from evidencebench.models.llm.chat import ChatReply, ChatRequest, Usage
from evidencebench.models.llm.estimating import EstimatingSender
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.models.llm.tokens import estimated_tokens, prompt_tokens_of

LEAST_CACHED_TOKENS = 1024
"""The shortest beginning of a prompt that providers cache: OpenAI's, and Anthropic's for most models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """What a step asks of a model; ``cached_tokens`` are those of its prompts that a provider can have in its cache."""

    requests: float = 0
    prompt_tokens: float = 0
    reply_tokens: float = 0
    cached_tokens: float = 0

    def __add__(self, other: "ModelUse") -> "ModelUse":
        """Return both together."""
        return self.times(1, 1, 1, other)

    def times(self, requests: float, prompt: float, reply: float, more: "ModelUse | None" = None) -> "ModelUse":
        """Return it with each count multiplied, and ``more`` added."""
        more = more or NOTHING
        return ModelUse(
            requests=self.requests * requests + more.requests,
            prompt_tokens=self.prompt_tokens * prompt + more.prompt_tokens,
            reply_tokens=self.reply_tokens * reply + more.reply_tokens,
            cached_tokens=self.cached_tokens * prompt + more.cached_tokens,
        )

    def cost_usd(self, model: str, prices: PriceTable, *, batch: bool = False, caching: bool = False) -> float | None:
        """Return its cost; None where the model's price is not known."""
        usage = Usage(
            prompt_tokens=round(self.prompt_tokens),
            completion_tokens=round(self.reply_tokens),
            cached_tokens=round(self.cached_tokens) if caching else 0,
        )
        return prices.cost_usd(model, usage, batch=batch)


NOTHING = ModelUse()

Uses = Mapping[str, ModelUse]
"""Model -> what is asked of it."""


def joined(one: Uses, other: Uses) -> Uses:
    """Return both together."""
    return {model: one.get(model, NOTHING) + other.get(model, NOTHING) for model in {**one, **other}}


def joined_all(uses: Iterable[Uses]) -> Uses:
    """Return all together."""
    return reduce(joined, uses, {})


class RehearsingSender(EstimatingSender):
    """Answers with stored replies where `begin` says so, else with stand-ins, and sums up what was asked."""

    def __init__(self, prices: PriceTable, cache: ReplyCache | None, completion_tokens: int) -> None:
        super().__init__(prices)
        self._cache, self._assumed = cache, completion_tokens
        self._stored = False
        self._before: dict[str, str] = {}
        self.uses: dict[str, ModelUse] = {}
        self.repeated_tokens = self.n_missing = 0

    def begin(self, *, stored: bool = False) -> None:
        """Sum up from nothing; ``stored``: answer with stored replies."""
        self._stored = stored
        self.uses, self.repeated_tokens, self.n_missing = {}, 0, 0

    def estimated(self, request: ChatRequest, stand_in: str) -> ChatReply:
        """Return the stored reply, or the stand-in."""
        reply = self._cache.find(request.key) if self._stored and self._cache is not None else None
        usage = Usage() if reply is None else reply[0].usage
        n_prompt = prompt_tokens_of(request) if usage.prompt_tokens is None else usage.prompt_tokens
        n_reply = usage.completion_tokens
        if n_reply is None:
            n_reply = min(self._assumed, request.max_tokens)
        text = request.messages[0].text
        n_repeated = estimated_tokens(_same_beginning(self._before.get(request.model, ""), text))
        self._before[request.model] = text
        self.repeated_tokens += n_repeated
        self.n_missing += reply is None
        self.uses[request.model] = self.uses.get(request.model, NOTHING) + ModelUse(
            requests=1,
            prompt_tokens=n_prompt,
            reply_tokens=n_reply,
            cached_tokens=n_repeated if n_repeated >= LEAST_CACHED_TOKENS else 0,
        )
        return ChatReply(text=stand_in) if reply is None else reply[0]


def _same_beginning(one: str, other: str) -> str:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return one[:low]
