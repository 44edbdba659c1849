"""Money for batches: the worst case of every request is set aside until its batch is collected."""

from evidencebench.errors import CostLimitError
from evidencebench.models.llm.budget import PROMPT_MARGIN
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.tokens import prompt_tokens_of
from evidencebench.models.llm.totals import shown_usd


class BatchBudget:
    """What is set aside and what was spent, against a limit.

    Parameters
    ----------
    prices
        What requests cost in batches.
    max_cost_usd
        The limit; None: there is none, and nothing is counted.
    """

    def __init__(self, prices: PriceTable, max_cost_usd: float | None) -> None:
        self._prices, self._max_cost_usd = prices, max_cost_usd
        self._reserved: dict[str, float] = {}
        self._reserved_usd = self._spent_usd = 0.0

    def reserve(self, key: str, request: ChatRequest) -> None:
        """Set aside the most that a request can cost, once.

        Raises
        ------
        CostLimitError
            If that is more than is left, or its price is not known.
        """
        if self._max_cost_usd is None or key in self._reserved:
            return
        most = self._most_usd(request)
        if self._spent_usd + self._reserved_usd + most > self._max_cost_usd:
            raise CostLimitError(
                f"{request.model}: expected to spend at most {shown_usd(self._max_cost_usd)}; "
                f"{shown_usd(self._spent_usd)} is spent, batches could cost {shown_usd(self._reserved_usd)}, and the "
                f"next request {shown_usd(most)}; raise --max-cost-usd and run again: what is stored is not paid twice"
            )
        self._reserved[key] = most
        self._reserved_usd += most

    def settle(self, key: str, cost_usd: float | None) -> None:
        """Put what was paid in the place of what is set aside, if anything is; None, not known, is the worst case."""
        if key in self._reserved:
            most = self.release(key)
            self._spent_usd += most if cost_usd is None else cost_usd

    def release(self, key: str) -> float:
        """Give back what is set aside for a request, and return it: 0 where nothing is."""
        most = self._reserved.pop(key, 0.0)
        self._reserved_usd = self._reserved_usd - most if self._reserved else 0.0  # no rounding is left over
        return most

    def _most_usd(self, request: ChatRequest) -> float:
        n_prompt = int(PROMPT_MARGIN * prompt_tokens_of(request)) + 1
        most = self._prices.most_usd(request.model, n_prompt, request.max_tokens, batch=True)
        if most is None:
            raise CostLimitError(
                f"{request.model}: expected a known price in batches, since a cost limit is set, got none; give a "
                "table that holds the model with --prices, or leave --max-cost-usd out"
            )
        return most
