"""Prices, Budget, RequestTotals."""

import asyncio
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import CostLimitError, FormatError, SystemSpecError, UnreadableError
from evidencebench.files.disk import PathText, read_bytes
from evidencebench.files.records import repeated_keys
from evidencebench.models.llm.chat import NOTHING_USED, ChatReply, ChatRequest, Usage, prompt_tokens_of
from evidencebench.models.llm.providers import PROVIDERS
from evidencebench.wording import counted, shown_seconds

# The end of gpt-4o-2024-08-06, claude-sonnet-4-5-20250929, mistral-large-2411, gpt-4-0613; never another model's
_DATE = re.compile(r"[-@](?:20\d\d-[01]\d-[0-3]\d|20\d{6}|[012]\d[0-3]\d|latest)")


_WRITING = 0.25  # of the price, for the part of a prompt that is kept for five minutes (Anthropic, "Prompt caching")
_Usd = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prices of a model, in USD for a million tokens."""

    input: _Usd
    output: _Usd  # hidden reasoning included
    cached_input: _Usd | None = None  # of the prompt's part that the provider had in its cache; None: as `input`
    batch: _Usd | None = None  # factor on the other prices in a batch; None: not known
    as_of: str = ""  # the day it was written down; empty: that of the table


class _File(msgspec.Struct, frozen=True):
    as_of: str
    models: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """Prices by ``provider/name``, also with a date behind it, or ``*`` for all that begin so; the longest decides."""

    as_of: str  # the day that prices without one were written down
    models: Mapping[str, Price]

    @classmethod
    def load(cls, path: PathText | None = None) -> "PriceTable":
        if path is None:
            return _parse_table(Path(__file__).with_name("prices.json").read_bytes(), "prices.json")
        return _parse_table(read_bytes(Path(path), at_most=16 << 20, advice="give a table of prices"), str(path))

    def price_of(self, model: str) -> Price | None:
        model = model.removeprefix("inspect/")  # whose names have the provider in them
        provider, _, name = model.partition("/")
        if (row := PROVIDERS.get(provider)) is not None and row.prices_of:
            model = f"{row.prices_of}/{name}"
        if model in self.models:
            return self.models[model]
        fitting = [
            name
            for name in self.models
            if model.startswith(name.removesuffix("*")) and (name[-1:] == "*" or _DATE.fullmatch(model, len(name)))
        ]
        return self.models[max(fitting, key=len)] if fitting else None

    def cost_usd(self, model: str, usage: Usage, *, batch: bool = False) -> float | None:
        price = self.price_of(model)
        if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        factor = price.batch if batch else 1.0
        if factor is None:
            return None
        n_cached = min(usage.cached_tokens, usage.prompt_tokens)
        cached = price.input if price.cached_input is None else price.cached_input
        n_new = usage.prompt_tokens - n_cached
        sum_usd = (n_new + _WRITING * min(usage.written_tokens, n_new)) * price.input + n_cached * cached
        return factor * (sum_usd + usage.completion_tokens * price.output) / 1_000_000

    def dated(self, models: Iterable[str]) -> str:
        days = {price.as_of or self.as_of for model in models if (price := self.price_of(model)) is not None}
        return " and ".join(sorted(days)) or self.as_of

    def priced(self, model: str, reply: ChatReply, *, batch: bool = False) -> tuple[ChatReply, float | None]:
        """Return a reply with the day of its price, and its cost; 0 where it was refused before the model ran."""
        if reply.finish == "refused" and reply.usage == NOTHING_USED:
            return reply, 0.0
        provider = PROVIDERS.get(model.partition("/")[0])
        if provider is not None and provider.states_cost and reply.usage.stated_usd is not None:
            return reply, reply.usage.stated_usd
        cost_usd = self.cost_usd(model, reply.usage, batch=batch)
        day = "" if cost_usd is None else self.dated([model])
        return msgspec.structs.replace(reply, priced_as_of=day), cost_usd


def _parse_table(content: bytes, where: str) -> PriceTable:
    def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if repeated := repeated_keys(pairs):
            raise ValueError(f"'{repeated[0]}' occurs twice")
        return dict(pairs)

    try:
        raw = json.loads(content, object_pairs_hook=refuse_repeats)
    except (ValueError, RecursionError) as error:  # broken UTF-8 is a ValueError too
        raise UnreadableError(f"{where}: expected JSON: {error}; correct it") from error
    try:
        file = msgspec.convert(raw, prepared(_File))
    except msgspec.ValidationError as error:
        raise FormatError(f"{where}: {error}; give as_of and models, as in the package's own prices.json") from error
    models: dict[str, Price] = {}
    for name, value in file.models.items():
        try:
            models[name] = msgspec.convert(value, prepared(Price))
        except msgspec.ValidationError as error:
            raise FormatError(f"{where}: models: {name}: {error}; give USD per million tokens") from error
        if "/" not in name:
            raise FormatError(
                f"{where}: models: {name}: expected a name such as openai/gpt-4o; put the provider before it"
            )
    return PriceTable(as_of=file.as_of, models=models)


_LEAST_SPELLED_OUT_USD = 1e-8
_SIZES = ((10**9, "G"), (10**6, "M"), (10**3, "k"))  # so that no count is longer than four digits


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTotals:
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
    timed: int = 0  # of `requests`: replies whose seconds are known, summed in `seconds`
    seconds: float = 0.0

    @property
    def of_unknown_cost(self) -> int:
        return self.unpriced + self.maybe_charged + self.in_batches

    @property
    def has_known_cost(self) -> bool:
        """Whether `cost_usd` can be shown: some reply has a price, or nothing was or may yet be charged for."""
        return self.requests > self.unpriced or not (self.of_unknown_cost or self.in_flight)


class RunningTotals:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals = RequestTotals()
        self._collected: set[str] = set()
        self._days: set[str] = set()
        self.maybe_charged: Counter[str] = Counter()  # request's key -> attempts that no reply and no failure names yet
        self.tell: Callable[[str], object] = lambda _: None  # shows a line to who waits
        self._cut_prompts: list[tuple[int, int]] = []

    @property
    def now(self) -> RequestTotals:
        return self._totals

    def count(self, **more: float) -> None:
        with self._lock:
            self._totals = replace(self._totals, **{name: getattr(self._totals, name) + n for name, n in more.items()})

    def count_maybe_charged(self, key: str) -> None:
        self.maybe_charged[key] += 1
        self.count(maybe_charged=1)

    def count_cut_prompt(self, n_read: int, n_sent: int) -> None:
        """Note a prompt of which a server says that it read far fewer tokens than were sent."""
        self._cut_prompts.append((n_read, n_sent))

    @property
    def warning(self) -> str:
        """What to tell a reader of prompts that servers cut; empty where none was."""
        if not self._cut_prompts:
            return ""
        n_read, n_sent = max(self._cut_prompts, key=lambda cut: cut[1] - cut[0])
        n_prompts = counted(len(self._cut_prompts), "prompt")
        return (
            f"the server read {n_prompts} in part, such as {n_read:,} of about {n_sent:,} tokens; raise the context "
            "that it gives the model (num_ctx of Ollama), or lower context_tokens"
        )

    def count_collected(self, key: str, reply: ChatReply, cost_usd: float | None) -> None:
        """Add a reply that came in a batch. The next request for it finds it in the cache and is not counted again."""
        self._collected.add(key)
        self.count_reply(reply, cost_usd)

    def count_stored(self, key: str) -> None:
        """Add a reply that was found in the cache, except at the first request for one of `count_collected`."""
        if key in self._collected:
            self._collected.discard(key)
        else:
            self.count(stored=1)

    def count_reply(self, reply: ChatReply, cost_usd: float | None) -> None:
        usage = reply.usage
        self._days |= {reply.priced_as_of} - {""}
        self.count(
            requests=1,
            prompt_tokens=usage.prompt_tokens or 0,
            cached_tokens=usage.cached_tokens,
            completion_tokens=usage.completion_tokens or 0,
            reasoning_tokens=usage.reasoning_tokens,
            cost_usd=cost_usd or 0.0,
            unpriced=int(cost_usd is None),
            timed=int(reply.seconds is not None),
            seconds=reply.seconds or 0.0,
        )

    def summary(self) -> str:
        now = self._totals
        n_sent = max(now.sent, now.requests)  # a sender of the user's own does not count what it sends
        cost, n_unknown = shown_usd(now.cost_usd), now.of_unknown_cost
        if not now.has_known_cost:
            cost = "price unknown" if now.unpriced else "cost unknown"
        elif n_unknown:
            cost = f"{cost} + {_short(n_unknown)} {'unpriced' if n_unknown == now.unpriced else 'unknown'}"
        counts = f"{_short(n_sent)} sent, {_short(now.stored)} stored, {_short(now.failures)} failed"
        return f"{counts}, {cost}"[:60]

    def dated_summary(self) -> str:
        days, now = " and ".join(sorted(self._days)), self._totals
        took = f", {shown_seconds(now.seconds / now.timed)} a reply" if now.timed else ""
        return f"{self.summary()}{f' at prices of {days}' if days else ''}{took}"

    def fields(self) -> dict[str, Any]:
        """Return the totals by name; the cost is None where nothing is known of it though something was charged."""
        now = self._totals
        shown = {name: getattr(now, name) for name in RequestTotals.__slots__ if name != "in_flight"}
        return shown | {"cost_usd": now.cost_usd if now.has_known_cost else None}


def shown_usd(cost_usd: float) -> str:
    """Return an amount with as many digits as it needs, never a sum above 0 as $0.

    >>> shown_usd(0.0), shown_usd(0.00012), shown_usd(12.345), shown_usd(999.999), shown_usd(12345.6)
    ('$0.00', '$0.00012', '$12.35', '$1,000', '$12,346')
    """
    if round(cost_usd, 2) >= 1000:  # noqa: PLR2004 - where cents no longer matter
        return f"${cost_usd:,.0f}"
    if 0 < cost_usd < _LEAST_SPELLED_OUT_USD:
        return f"${cost_usd:.1e}"
    n_digits = 2 if cost_usd == 0 else max(2, 1 - math.floor(math.log10(cost_usd)))
    return f"${cost_usd:.{n_digits}f}"


def reply_facts(reply: ChatReply, cost_usd: float | None) -> str:
    """Return what a reply took, such as ``812 + 30 tokens; $0.00014; 1.5 s``."""
    counts = (reply.usage.prompt_tokens, reply.usage.completion_tokens)
    tokens = " + ".join("unknown" if n is None else f"{n:,}" for n in counts)
    cost = "price unknown" if cost_usd is None else shown_usd(cost_usd)
    first = reply.first_token_seconds
    streamed = "" if first is None else f", {shown_seconds(first)} to its first token"
    return f"{tokens} tokens; {cost}; {shown_seconds(reply.seconds)}{streamed}"


def _short(count: int) -> str:
    return next((f"{count // size}{mark}" for size, mark in _SIZES if count >= 10 * size), str(count))


# The cost limit: before a request is sent, its highest possible cost is set aside; its true cost replaces it later.


class Budget:
    """Dollars spent and set aside; None: no limit, nothing is counted. Any thread may call all methods."""

    def __init__(self, prices: PriceTable, max_cost_usd: float | None, *, in_batches: bool = False) -> None:
        if max_cost_usd is not None and not (math.isfinite(max_cost_usd) and max_cost_usd > 0):
            raise SystemSpecError(f"language models: max_cost_usd: expected more than 0, got {max_cost_usd}")
        self._prices, self._max_cost_usd, self._in_batches = prices, max_cost_usd, in_batches
        self.spent_usd: float = 0.0
        self._reserved_usd: float = 0.0
        self._reserved: dict[str, float] = {}
        self._lock, self._released = threading.RLock(), asyncio.Event()

    def reserve(self, request: ChatRequest) -> bool:
        """Set the most aside that a request may cost; False: it must wait until others are settled."""
        if self._max_cost_usd is None:
            return True
        most = self._most_usd(request)
        with self._lock:
            if request.key in self._reserved:
                return True
            if self.spent_usd + self._reserved_usd + most > self._max_cost_usd:
                if self._in_batches or not self._reserved or self.spent_usd + most > self._max_cost_usd:
                    queued = f", batches could cost {shown_usd(self._reserved_usd)}," if self._in_batches else ""
                    raise CostLimitError(
                        f"{request.model}: expected to spend at most {shown_usd(self._max_cost_usd)}; "
                        f"{shown_usd(self.spent_usd)} is spent{queued} and the next request "
                        f"could cost {shown_usd(most)}; raise --max-cost-usd and run again: what is stored is not paid "
                        "twice"
                    )
                return False
            self._reserved[request.key] = most
            self._reserved_usd += most
            return True

    async def reserving(self, request: ChatRequest) -> None:
        while not self.reserve(request):
            self._released.clear()
            await self._released.wait()

    def settle(self, key: str, cost_usd: float | None) -> None:
        """Count a request's cost in place of the sum set aside, if there is one; None: count the whole sum."""
        with self._lock:
            if key in self._reserved:
                most = self.release(key)
                self.spent_usd += most if cost_usd is None else cost_usd

    def release(self, key: str) -> float:
        with self._lock:
            most = self._reserved.pop(key, 0.0)
            self._reserved_usd = self._reserved_usd - most if self._reserved else 0.0  # 0 drops rounding errors
            self._released.set()  # those who wait run on the loop, and so does what they wait for
            return most

    def _most_usd(self, request: ChatRequest) -> float:
        # With nothing cached, the longest reply, and a margin that makes the estimate of the prompt high enough.
        n_prompt = int(1.5 * prompt_tokens_of(request)) + 1
        usage = Usage(prompt_tokens=n_prompt, completion_tokens=request.max_tokens)
        most = self._prices.cost_usd(request.model, usage, batch=self._in_batches)
        if most is None:
            raise CostLimitError(
                f"{request.model}: expected a known price{' in batches' if self._in_batches else ''}, since a cost "
                "limit is set, got none; give a table that holds the model with --set prices=FILE, "
                "or leave --max-cost-usd out"
            )
        return most
