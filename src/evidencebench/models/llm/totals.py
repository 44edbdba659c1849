"""Counts of requests that were sent, stored, failed and paid; any thread may read them while requests run."""

import math
import threading
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from evidencebench.models.llm.chat import Usage

_LINE_CHARACTERS = 60
_LEAST_SPELLED_OUT_USD = 1e-8
_SIZES = ((10**9, "G"), (10**6, "M"), (10**3, "k"))  # so that no count is longer than four digits


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTotals:
    """All counts up to one moment; `cost_usd` is the sum over the replies whose price is known."""

    sent: int = 0  # requests, whatever became of them; those that reached no server are not counted
    requests: int = 0  # replies received and not in the cache before
    attempts: int = 0  # times that something was sent
    retries: int = 0  # of those: all but the first of a request
    maybe_charged: int = 0  # of those: ended without a usable reply or a refusal, so perhaps charged for; in no sum
    in_batches: int = 0  # requests whose batch is not collected, so that their cost is to come
    stored: int = 0  # requests answered from the cache, or by the same request that was on its way already
    failures: int = 0  # requests that failed for good
    in_flight: int = 0
    prompt_tokens: int = 0  # these four as in `Usage`, of `requests`; a reply that does not say counts 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0  # of `requests`: replies whose price or whose tokens are not known

    @property
    def of_unknown_cost(self) -> int:
        """How many requests were, or may be, charged for at an unknown cost."""
        return self.unpriced + self.maybe_charged + self.in_batches

    @property
    def has_known_cost(self) -> bool:
        """Whether `cost_usd` can be shown: some reply has a price, or nothing was or may yet be charged for."""
        return self.requests > self.unpriced or not (self.of_unknown_cost or self.in_flight)


class RunningTotals:
    """Totals that grow while requests run; any thread may add to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals = RequestTotals()
        self._collected: set[str] = set()
        self._days: set[str] = set()
        self.maybe_charged: Counter[str] = Counter()  # request's key -> attempts that no reply and no failure names yet

    @property
    def now(self) -> RequestTotals:
        """The totals at this moment."""
        return self._totals

    def after_fork(self) -> None:
        """Replace the lock in a forked process: a thread that does not exist there may hold it."""
        self._lock = threading.Lock()

    def count(self, **more: float) -> None:
        """Add numbers to the totals of these names; a number may be negative."""
        with self._lock:
            self._totals = replace(self._totals, **{name: getattr(self._totals, name) + n for name, n in more.items()})

    def count_maybe_charged(self, key: str) -> None:
        """Count an attempt at a request that ended without a usable reply, so that it is perhaps charged for."""
        self.maybe_charged[key] += 1
        self.count(maybe_charged=1)

    def count_collected(self, key: str, usage: Usage, cost_usd: float | None, priced_as_of: str = "") -> None:
        """Add a reply that came in a batch. The next request for it finds it in the cache and is not counted again."""
        self._collected.add(key)
        self.count_reply(usage, cost_usd, priced_as_of)

    def count_stored(self, key: str) -> None:
        """Add a reply that was found in the cache, except at the first request for one of `count_collected`."""
        if key in self._collected:
            self._collected.discard(key)
        else:
            self.count(stored=1)

    def count_reply(self, usage: Usage, cost_usd: float | None, priced_as_of: str = "") -> None:
        """Add a reply to a request that was sent, its cost (None: not known), and the day of its price."""
        self._days |= {priced_as_of} - {""}
        self.count(
            requests=1,
            prompt_tokens=usage.prompt_tokens or 0,
            cached_tokens=usage.cached_tokens,
            completion_tokens=usage.completion_tokens or 0,
            reasoning_tokens=usage.reasoning_tokens,
            cost_usd=cost_usd or 0.0,
            unpriced=int(cost_usd is None),
        )

    def summary(self) -> str:
        """Return the totals in one line of at most 60 characters.

        Examples
        --------
        >>> totals = RunningTotals()
        >>> totals.count(stored=2)
        >>> totals.count_reply(Usage(prompt_tokens=10, completion_tokens=5), 0.25)
        >>> totals.summary()
        '1 sent, 2 stored, 0 failed, $0.25'
        """
        now = self._totals
        n_sent = max(now.sent, now.requests)  # a sender of the user's own does not count what it sends
        counts = f"{_short(n_sent)} sent, {_short(now.stored)} stored, {_short(now.failures)} failed"
        return f"{counts}, {_cost_text(now)}"[:_LINE_CHARACTERS]

    def dated_summary(self) -> str:
        """Return `summary` with the days of the prices that costs were computed with."""
        days = " and ".join(sorted(self._days))
        return f"{self.summary()} at prices of {days}" if days else self.summary()

    def fields(self) -> dict[str, Any]:
        """Return the totals by name; the cost is None where nothing is known of it though something was charged."""
        now = self._totals
        shown = {name: getattr(now, name) for name in RequestTotals.__slots__ if name != "in_flight"}
        return shown | {"cost_usd": now.cost_usd if now.has_known_cost else None}


def _cost_text(totals: RequestTotals) -> str:
    if not totals.has_known_cost:
        return "price unknown" if totals.unpriced else "cost unknown"
    shown, n_unknown = shown_usd(totals.cost_usd), totals.of_unknown_cost
    if not n_unknown:
        return shown
    return f"{shown} + {_short(n_unknown)} {'unpriced' if n_unknown == totals.unpriced else 'unknown'}"


def shown_usd(cost_usd: float) -> str:
    """Return an amount with as many digits as it needs, never a sum above 0 as $0.

    Examples
    --------
    >>> shown_usd(0.0), shown_usd(0.00012), shown_usd(12.345), shown_usd(999.999), shown_usd(12345.6)
    ('$0.00', '$0.00012', '$12.35', '$1,000', '$12,346')
    """
    if round(cost_usd, 2) >= 1000:  # noqa: PLR2004 - where cents no longer matter
        return f"${cost_usd:,.0f}"
    if 0 < cost_usd < _LEAST_SPELLED_OUT_USD:
        return f"${cost_usd:.1e}"
    n_digits = 2 if cost_usd == 0 else max(2, 1 - math.floor(math.log10(cost_usd)))
    return f"${cost_usd:.{n_digits}f}"


def _short(count: int) -> str:
    return next((f"{count // size}{mark}" for size, mark in _SIZES if count >= 10 * size), str(count))
