"""The cost limit: before a request is sent, its highest possible cost is set aside; its true cost replaces it later."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from evidencebench.errors import CostLimitError, SystemSpecError
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.tokens import prompt_tokens_of
from evidencebench.models.llm.totals import shown_usd

_PROMPT_MARGIN = 1.5  # factor that makes an estimate of prompt tokens high enough


class Budget:
    """The US dollars that were spent and those set aside, against a limit (None: no limit, nothing is counted).

    A request that does not fit waits while requests in flight may turn out cheaper than set aside. A request of a batch
    does not wait, since a batch takes hours. Any thread may call all methods.
    """

    def __init__(self, prices: PriceTable, max_cost_usd: float | None, *, in_batches: bool = False) -> None:
        if max_cost_usd is not None and not (math.isfinite(max_cost_usd) and max_cost_usd > 0):
            raise SystemSpecError(f"language models: max_cost_usd: expected more than 0, got {max_cost_usd}")
        self._prices, self._max_cost_usd, self._in_batches = prices, max_cost_usd, in_batches
        self.spent_usd = self._reserved_usd = 0.0
        self._reserved: dict[str, float] = {}
        self._changed = threading.Condition(threading.RLock())

    @contextmanager
    def reserved(self, request: ChatRequest) -> Iterator[None]:
        """Set aside the highest possible cost of a request until it is settled, at most while the block runs."""
        self.reserve(request)
        try:
            yield
        finally:
            self.release(request.key)

    def reserve(self, request: ChatRequest) -> None:
        """Set aside the highest possible cost of a request, unless that was done before."""
        if self._max_cost_usd is None:
            return
        most = self._most_usd(request)
        with self._changed:
            if request.key in self._reserved:
                return
            while self.spent_usd + self._reserved_usd + most > self._max_cost_usd:
                if self._in_batches or not self._reserved or self.spent_usd + most > self._max_cost_usd:
                    raise self._limit_error(request, most, self._max_cost_usd)
                self._changed.wait()
            self._reserved[request.key] = most
            self._reserved_usd += most

    def settle(self, key: str, cost_usd: float | None) -> None:
        """Count a request's cost in place of the sum set aside, if there is one; None: count the whole sum."""
        with self._changed:
            if key in self._reserved:
                most = self.release(key)
                self.spent_usd += most if cost_usd is None else cost_usd

    def release(self, key: str) -> float:
        """Free the sum set aside for a request, and return it; 0 if there is none."""
        with self._changed:
            most = self._reserved.pop(key, 0.0)
            self._reserved_usd = self._reserved_usd - most if self._reserved else 0.0  # 0 drops rounding errors
            self._changed.notify_all()
            return most

    def after_fork(self) -> None:
        """Free all sums set aside, in a forked process."""
        self._reserved, self._reserved_usd = {}, 0.0
        self._changed = threading.Condition(threading.RLock())

    def _limit_error(self, request: ChatRequest, most: float, limit: float) -> CostLimitError:
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
