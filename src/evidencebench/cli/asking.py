"""Options of commands that ask language models, and the client that they make."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from evidencebench.cache import cache_folder
from evidencebench.llm.batch_apis.calls import Patience
from evidencebench.llm.batch_status import BatchStatus
from evidencebench.llm.batches import BatchSender
from evidencebench.llm.client import ChatClient, make_client
from evidencebench.llm.estimating import EstimatingSender
from evidencebench.llm.ledger import Ledger
from evidencebench.llm.prices import PriceTable
from evidencebench.llm.sparing import collect_open
from evidencebench.llm.store import Replies
from evidencebench.waiting import DEFAULT_MAX_WAITING

_HOUR_SECONDS = 3600.0

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How language models are asked: nothing here decides an answer, so none of it stands in a run's header.

    The fields are the options of `asking_options`.
    """

    estimate: bool
    assumed_tokens: int
    max_cost_usd: float | None
    prices: Path | None
    batch: bool
    max_connections: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
    timeout_seconds: float
    max_attempts: int


def asking_options(command: Command) -> Command:
    """Add how language models are asked; the command gets ``asking``."""

    @functools.wraps(command)
    def bundled(*args: Any, **kwargs: Any) -> Any:
        asking = Asking(**{name: kwargs.pop(name) for name in Asking.__dataclass_fields__})
        if asking.batch and (asking.requests_per_minute or asking.tokens_per_minute):
            raise click.UsageError("--requests-per-minute and --tokens-per-minute do not go with --batch")
        return command(*args, asking=asking, **kwargs)

    for option in reversed(_OPTIONS):
        bundled = option(bundled)
    return cast("Command", bundled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A client, and what a run does where answers wait for a batch."""

    client: ChatClient
    settle: Callable[[], bool] | None = None


@contextmanager
def opened_desk(asking: Asking) -> Iterator[Desk]:
    """Give the client that the options ask for, closed at the end."""
    desk = _batching(asking) if asking.batch else Desk(client=_sending(asking))
    try:
        yield desk
    finally:
        desk.client.close()


@contextmanager
def estimating(asking: Asking, prices: PriceTable) -> Iterator[tuple[ChatClient, EstimatingSender]]:
    """Give a client that sends nothing, and what counts in its place."""
    sender = EstimatingSender(prices, completion_tokens=asking.assumed_tokens, batch=asking.batch)
    store = _store()
    client = ChatClient(
        sender=sender, store=store, prices=prices, on_close=store.close if store is not None else lambda: None
    )
    try:
        yield client, sender
    finally:
        client.close()


def _sending(asking: Asking) -> ChatClient:
    client = make_client(
        max_connections=asking.max_connections,
        requests_per_minute=asking.requests_per_minute,
        tokens_per_minute=asking.tokens_per_minute,
        timeout_seconds=asking.timeout_seconds,
        max_attempts=asking.max_attempts,
        prices=asking.prices,
        max_cost_usd=asking.max_cost_usd,
    )
    if (store := _store()) is not None:  # what an earlier --batch left behind is paid for already
        prices = PriceTable.load(asking.prices)
        try:
            client.run(collect_open(store, prices=prices, ledger=client.ledger, on_status=_tell))
        finally:
            store.close()
    return client


def _batching(asking: Asking) -> Desk:
    prices, ledger, store = PriceTable.load(asking.prices), Ledger(), _store()
    patience = Patience(
        max_attempts=asking.max_attempts,
        timeout_seconds=asking.timeout_seconds,
        total_timeout_seconds=max(_HOUR_SECONDS, asking.timeout_seconds),
    )
    sender = BatchSender(store, prices=prices, ledger=ledger, max_cost_usd=asking.max_cost_usd, patience=patience)
    client = ChatClient(
        sender=sender,
        store=store,
        prices=prices,
        ledger=ledger,
        max_in_flight=asking.max_connections,
        on_close=store.close if store is not None else lambda: None,
    )

    def settle() -> bool:
        made = client.run(sender.submit(_tell))
        client.run(sender.collect(wait=True, on_status=_tell))
        return bool(made)

    client.run(sender.collect(wait=False, on_status=_tell))
    return Desk(client=client, settle=settle)


def _store() -> Replies | None:
    folder = cache_folder(os.environ)
    return None if folder is None else Replies(folder)


def _tell(status: BatchStatus) -> None:
    click.echo(f"batch: {status}", err=True)


class _Finite(click.FloatRange):
    """A number above 0 that is one, which ``nan`` and ``inf`` are not."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


_OPTIONS = (
    click.option("--estimate", is_flag=True, help="Print prompts, tokens and cost; send nothing, write no run."),
    click.option(
        "--assume-tokens",
        "assumed_tokens",
        type=click.IntRange(1),
        default=400,
        show_default=True,
        metavar="N",
        help="How long a reply is, for --estimate.",
    ),
    click.option(
        "--max-cost-usd",
        type=_Finite(),
        metavar="USD",
        help="Stop before this call can cost more.",
    ),
    click.option(
        "--prices",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Your own price table; see docs/llm.md.",
    ),
    click.option("--batch", is_flag=True, help="Use the provider's batches: cheaper, within a day."),
    click.option(
        "--max-connections",
        type=click.IntRange(1),
        default=DEFAULT_MAX_WAITING,
        show_default=True,
        metavar="N",
        help="Requests in flight at once.",
    ),
    click.option("--requests-per-minute", type=_Finite(), metavar="N", help="At most."),
    click.option("--tokens-per-minute", type=_Finite(), metavar="N", help="At most."),
    click.option(
        "--timeout",
        "timeout_seconds",
        type=_Finite(),
        default=600,
        show_default=True,
        metavar="S",
        help="Seconds for one attempt; with --batch: without a byte.",
    ),
    click.option(
        "--max-attempts",
        type=click.IntRange(1),
        default=6,
        show_default=True,
        metavar="N",
        help="For each request, the first included.",
    ),
)
