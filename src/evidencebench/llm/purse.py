"""Money that may be spent: the worst case of a request is set aside before it is sent, and given back afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evidencebench.errors import CostLimitError
from evidencebench.llm.chat import ChatRequest
from evidencebench.llm.ledger import shown_usd
from evidencebench.llm.prices import PriceTable
from evidencebench.llm.tokens import prompt_tokens_of

PROMPT_MARGIN = 1.5
"""By what an estimate of prompt tokens is multiplied where it must not be too low."""


class Purse:
    """What was spent, what is set aside, and the limit. All but the reading of it happens in one asyncio loop.

    Parameters
    ----------
    prices
        What requests cost.
    max_cost_usd
        The most that may be spent; None: no limit.
    """

    def __init__(self, prices: PriceTable, max_cost_usd: float | None) -> None:
        self._prices, self._max_cost_usd = prices, max_cost_usd
        self.spent_usd = 0.0
        self._reserved_usd = 0.0
        self._n_reserved = 0
        self._settled = asyncio.Event()

    @asynccontextmanager
    async def reserved(self, request: ChatRequest, *, batch: bool = False) -> AsyncIterator[None]:
        """Set the worst case of a request aside while the block runs; `spend` in it what was paid.

        Waits while only what is in flight stands in the way, since that may turn out cheaper.

        Raises
        ------
        CostLimitError
            If the request could cost more than is left, or its price is not known.
        """
        if self._max_cost_usd is None:
            yield
            return
        most = self._most_usd(request, batch=batch)
        while self.spent_usd + self._reserved_usd + most > self._max_cost_usd:
            if self._n_reserved == 0 or self.spent_usd + most > self._max_cost_usd:
                raise CostLimitError(
                    f"{request.model}: expected to spend at most {shown_usd(self._max_cost_usd)}; "
                    f"{shown_usd(self.spent_usd)} is spent and the next request could cost {shown_usd(most)}; raise "
                    "--max-cost-usd and run again: what is stored is not paid twice"
                )
            self._settled.clear()
            await self._settled.wait()
        self._reserved_usd += most
        self._n_reserved += 1
        try:
            yield
        finally:
            self._n_reserved -= 1
            self._reserved_usd = self._reserved_usd - most if self._n_reserved else 0.0  # no rounding is left over
            self._settled.set()

    def spend(self, cost_usd: float | None) -> None:
        """Add what a reply cost; None, where the reply did not say its tokens, adds nothing."""
        self.spent_usd += cost_usd or 0.0

    def forget_reserved(self) -> None:
        """Give back all that is set aside, for another loop than before."""
        self._reserved_usd, self._n_reserved, self._settled = 0.0, 0, asyncio.Event()

    def _most_usd(self, request: ChatRequest, *, batch: bool) -> float:
        n_prompt = int(PROMPT_MARGIN * prompt_tokens_of(request)) + 1
        most = self._prices.most_usd(request.model, n_prompt, request.max_tokens, batch=batch)
        if most is None:
            raise CostLimitError(
                f"{request.model}: expected a known price, since a cost limit is set, got none; give a table that "
                "holds the model with --prices, or leave --max-cost-usd out"
            )
        return most
