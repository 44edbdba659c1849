"""Money that may be spent: the worst case of a request is set aside before it is sent, and given back afterwards."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evidencebench.errors import CostLimitError, SystemSpecError
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.tokens import prompt_tokens_of
from evidencebench.models.llm.totals import shown_usd

PROMPT_MARGIN = 1.5
"""By what an estimate of prompt tokens is multiplied where it must not be too low."""


class Budget:
    """What was spent, what is set aside, and the limit. All but the reading of it happens in one asyncio loop.

    Parameters
    ----------
    prices
        What requests cost.
    max_cost_usd
        The most that may be spent; None: no limit, and nothing is counted.

    Raises
    ------
    SystemSpecError
        If the limit is no number above 0.
    """

    def __init__(self, prices: PriceTable, max_cost_usd: float | None) -> None:
        if max_cost_usd is not None and not (math.isfinite(max_cost_usd) and max_cost_usd > 0):
            raise SystemSpecError(f"language models: max_cost_usd: expected more than 0, got {max_cost_usd}")
        self._prices, self._max_cost_usd = prices, max_cost_usd
        self.spent_usd = 0.0
        self._reserved: dict[str, float] = {}
        self._settled = asyncio.Event()

    @asynccontextmanager
    async def reserved(self, request: ChatRequest) -> AsyncIterator[None]:
        """Set the worst case of a request aside while the block runs, or until it is settled.

        Raises
        ------
        CostLimitError
            As `reserve`.
        """
        await self.reserve(request)
        try:
            yield
        finally:
            self._release(request)

    async def reserve(self, request: ChatRequest) -> None:
        """Set the worst case of a request aside, unless it is.

        Waits while only what is in flight stands in the way, since that may turn out cheaper.

        Raises
        ------
        CostLimitError
            If the request could cost more than is left, or its price is not known.
        """
        if self._max_cost_usd is None or (key := request.key) in self._reserved:
            return
        most = self._most_usd(request)
        while self.spent_usd + sum(self._reserved.values()) + most > self._max_cost_usd:
            if not self._reserved or self.spent_usd + most > self._max_cost_usd:
                raise CostLimitError(
                    f"{request.model}: expected to spend at most {shown_usd(self._max_cost_usd)}; "
                    f"{shown_usd(self.spent_usd)} is spent and the next request could cost {shown_usd(most)}; raise "
                    "--max-cost-usd and run again: what is stored is not paid twice"
                )
            self._settled.clear()
            await self._settled.wait()
        self._reserved[key] = most

    def settle(self, request: ChatRequest, cost_usd: float | None) -> None:
        """Put what was paid in the place of what is set aside; None, where that is not known, is the worst case."""
        if self._max_cost_usd is not None:
            most = self._release(request)
            self.spent_usd += most if cost_usd is None else cost_usd

    def forget_reserved(self) -> None:
        """Give back all that is set aside, for another loop than before."""
        self._reserved, self._settled = {}, asyncio.Event()

    def _release(self, request: ChatRequest) -> float:
        self._settled.set()
        return self._reserved.pop(request.key, 0.0) if self._reserved else 0.0

    def _most_usd(self, request: ChatRequest) -> float:
        n_prompt = int(PROMPT_MARGIN * prompt_tokens_of(request)) + 1
        most = self._prices.most_usd(request.model, n_prompt, request.max_tokens)
        if most is None:
            raise CostLimitError(
                f"{request.model}: expected a known price, since a cost limit is set, got none; give a table that "
                "holds the model with --prices, or leave --max-cost-usd out"
            )
        return most
