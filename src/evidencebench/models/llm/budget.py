"""The cost limit: the most that a request can cost is set aside before it is sent, and replaced by its cost later."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evidencebench.errors import CostLimitError, SystemSpecError
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.tokens import prompt_tokens_of
from evidencebench.models.llm.totals import shown_usd

_PROMPT_MARGIN = 1.5  # an estimate of prompt tokens times this is not too low


class Budget:
    """What was spent and what is set aside, against a limit (None: no limit, and nothing is counted).

    Requests that are sent one by one wait where what is in flight may still turn out cheaper; those of batches do not,
    since a batch takes hours. All of it happens in one asyncio loop.
    """

    def __init__(self, prices: PriceTable, max_cost_usd: float | None, *, in_batches: bool = False) -> None:
        if max_cost_usd is not None and not (math.isfinite(max_cost_usd) and max_cost_usd > 0):
            raise SystemSpecError(f"language models: max_cost_usd: expected more than 0, got {max_cost_usd}")
        self._prices, self._max_cost_usd, self._in_batches = prices, max_cost_usd, in_batches
        self.spent_usd = self._reserved_usd = 0.0
        self._reserved: dict[str, float] = {}
        self._released = asyncio.Event()

    @asynccontextmanager
    async def reserved(self, request: ChatRequest) -> AsyncIterator[None]:
        """Set the most that a request can cost aside while the block runs, or until it is settled."""
        await self.reserve(request)
        try:
            yield
        finally:
            self.release(request.key)

    async def reserve(self, request: ChatRequest) -> None:
        """Set the most that a request can cost aside, unless it is.

        Raises `CostLimitError` if that is more than is left, or its price is not known.
        """
        if self._max_cost_usd is None or (key := request.key) in self._reserved:
            return
        most = self._most_usd(request)
        while self.spent_usd + self._reserved_usd + most > self._max_cost_usd:
            if self._in_batches or not self._reserved or self.spent_usd + most > self._max_cost_usd:
                raise self._exceeded(request, most, self._max_cost_usd)
            self._released.clear()
            await self._released.wait()
        self._reserved[key] = most
        self._reserved_usd += most

    def settle(self, key: str, cost_usd: float | None) -> None:
        """Put what was paid in the place of what is set aside, if anything is; None, not known, is the most."""
        if key in self._reserved:
            most = self.release(key)
            self.spent_usd += most if cost_usd is None else cost_usd

    def release(self, key: str) -> float:
        """Give back what is set aside for a request, and return it: 0 where nothing is."""
        self._released.set()
        most = self._reserved.pop(key, 0.0)
        self._reserved_usd = self._reserved_usd - most if self._reserved else 0.0  # no rounding is left over
        return most

    def release_all(self) -> None:
        """Give back all that is set aside, for another loop than before."""
        self._reserved, self._reserved_usd, self._released = {}, 0.0, asyncio.Event()

    def _exceeded(self, request: ChatRequest, most: float, limit: float) -> CostLimitError:
        spent, following = f"{shown_usd(self.spent_usd)} is spent", f"the next request could cost {shown_usd(most)}"
        counted = f"{spent} and {following}"
        if self._in_batches:
            counted = f"{spent}, batches could cost {shown_usd(self._reserved_usd)}, and {following}"
        return CostLimitError(
            f"{request.model}: expected to spend at most {shown_usd(limit)}; {counted}; raise --max-cost-usd and run "
            "again: what is stored is not paid twice"
        )

    def _most_usd(self, request: ChatRequest) -> float:
        n_prompt = int(_PROMPT_MARGIN * prompt_tokens_of(request)) + 1
        most = self._prices.most_usd(request.model, n_prompt, request.max_tokens, batch=self._in_batches)
        if most is None:
            raise CostLimitError(
                f"{request.model}: expected a known price{' in batches' if self._in_batches else ''}, since a cost "
                "limit is set, got none; give a table that holds the model with --prices, or leave --max-cost-usd out"
            )
        return most
