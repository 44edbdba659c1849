"""Options of commands that ask language models, the client that they make, and the estimate of their cost."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import Finite, WholeNumber, option, setting
from evidencebench.cli.output import ProgressReporter, print_cautions, print_json, print_prose, print_table, progress
from evidencebench.errors import CacheError, EvidenceBenchError, StopError
from evidencebench.execution.asking import DEFAULT_MAX_WAITING, Rehearsal, Waiting
from evidencebench.models.llm.batch_apis import CallSettings
from evidencebench.models.llm.batch_queue import BatchStatus
from evidencebench.models.llm.batches import BatchSender
from evidencebench.models.llm.client import ESTIMATE_COLUMNS, ChatClient, EstimatingSender, make_client
from evidencebench.models.llm.costs import PriceTable, RequestTotals, RunningTotals
from evidencebench.models.llm.replies import open_cache
from evidencebench.tables import printable, table_for_readers
from evidencebench.wording import counted

_ABOVE_0 = Finite(0, min_open=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The options of commands that ask language models. None of them changes an answer, so no run header holds them."""

    estimate: Annotated[
        bool, option("--estimate", "Print the number of prompts and tokens, and the cost; send nothing.")
    ]
    assumed_tokens: Annotated[
        int, setting("assume-tokens", "Assumed tokens per reply, for --estimate.", WholeNumber(1))
    ] = 400
    max_cost_usd: Annotated[
        float | None, option("--max-cost-usd USD", "Stop before this command costs more.", _ABOVE_0)
    ]
    prices: options.Prices
    batch: Annotated[bool, option("--batch", "Use the provider's batch API: cheaper, takes up to a day.")]
    max_connections: Annotated[int, setting("max-connections", "Most requests in flight at once.", WholeNumber(1))] = (
        DEFAULT_MAX_WAITING
    )
    requests_per_minute: Annotated[float | None, setting("requests-per-minute", "Most requests per minute.", _ABOVE_0)]
    tokens_per_minute: Annotated[float | None, setting("tokens-per-minute", "Most tokens per minute.", _ABOVE_0)]
    timeout_seconds: Annotated[
        float,
        setting("timeout", "Seconds until a request times out; with --batch, seconds without any data.", _ABOVE_0),
    ] = 600
    max_attempts: Annotated[
        int, setting("max-attempts", "Attempts per request, including the first.", WholeNumber(1))
    ] = 6
    as_json: options.AsJson
    progress_style: options.ProgressStyle

    def __post_init__(self) -> None:
        if self.batch and (self.requests_per_minute or self.tokens_per_minute):
            raise click.UsageError(
                "the settings requests-per-minute and tokens-per-minute cannot be combined with --batch"
            )


def require_model(asking: Asking, *, asks: bool) -> None:
    if not asks and (asking.estimate or asking.batch or asking.max_cost_usd is not None):
        raise click.UsageError("--estimate, --batch and --max-cost-usd are for systems that ask a language model")


@contextmanager
def opened_client(
    asking: Asking, what: str, *, asks: bool
) -> Iterator[tuple[ChatClient | None, Waiting, ProgressReporter]]:
    """Yield the client (None where no model is asked), how to wait for its replies, and the progress of ``what``."""
    client, settle = _open_client(asking) if asks else (None, None)
    status = None if client is None else client.totals.summary
    try:
        with (
            closing(client) if client is not None else nullcontext(),  # so that requests in flight are counted
            progress(what, asking.progress_style, status) as shown,
        ):
            if client is not None:
                client.totals.tell = lambda text: shown.tell(printable(text))
            waiting = Waiting(
                client=client,
                max_waiting=asking.max_connections,
                settle=settle,
                on_interrupt=lambda: shown.tell("finishing what was begun; Ctrl-C again ends at once"),
            )
            yield client, waiting, shown
    except (EvidenceBenchError, KeyboardInterrupt) as error:
        is_told = isinstance(error, StopError | KeyboardInterrupt)
        if client is not None and (is_told or client.totals.now != RequestTotals()):
            tell_asked(client)
        raise


def tell_asked(client: ChatClient | None) -> None:
    if client is not None:
        click.echo(f"asked: {client.totals.dated_summary()}", err=True)
        if client.totals.warning:
            print_prose(f"warning: {client.totals.warning}", err=True)


def totals_fields(client: ChatClient | None) -> dict[str, Any]:
    return {} if client is None else {"asked": client.totals.fields()}


@contextmanager
def closing(client: ChatClient) -> Iterator[None]:
    """Close a client when the block ends. After an interrupt, an error in closing the cache is only a warning."""
    try:
        yield
    except KeyboardInterrupt:
        try:
            client.close()
        except CacheError as error:
            print_cautions([error])
        raise
    finally:
        client.close()  # a second time does nothing


def print_estimate(
    asking: Asking, rehearse: Callable[[ChatClient, ProgressReporter], Rehearsal], *, how: str = ""
) -> int:
    """Print what a command would send, ``how`` often, and its cost; return 1 where an answer would fail."""
    prices = PriceTable.load(asking.prices)
    sender = EstimatingSender(prices, completion_tokens=asking.assumed_tokens, batch=asking.batch)
    client = ChatClient(sender=sender, cache=open_cache(), prices=prices)
    with closing(client), progress("estimating", asking.progress_style) as shown:
        rehearsal = rehearse(client, shown)
    if rehearsal.first_error:
        n_failed = counted(rehearsal.n_failed, "answer")
        click.echo(f"{n_failed} would fail; the first: {printable(rehearsal.first_error)}", err=True)
    estimates = sender.estimates()
    n_stored, as_of = client.totals.now.stored, prices.dated(estimate.model for estimate in estimates)
    if asking.as_json:
        models = list(map(asdict, estimates))
        assumed = {"assumed_completion_tokens": asking.assumed_tokens, "batch": asking.batch}
        print_json({**asdict(rehearsal), "stored": n_stored, **assumed, "prices_as_of": as_of, "models": models})
        return 1 if rehearsal.n_failed else 0
    print_table(table_for_readers(ESTIMATE_COLUMNS, estimates))
    are_stored = f"{counted(n_stored, 'request')} {'is' if n_stored == 1 else 'are'} stored and cost nothing"
    print_prose(
        f"{counted(rehearsal.n_instances, 'instance')}{how}{_tasks_text(rehearsal.tasks)}. {are_stored}. Tokens are "
        f"estimated; replies are assumed to be well-formed and {asking.assumed_tokens} tokens long "
        f"(--set assume-tokens=N). Prices as of {as_of}: check them (--set prices=FILE). Nothing was sent."
    )
    return 1 if rehearsal.n_failed else 0


def _tasks_text(tasks: Sequence[str]) -> str:
    if len(tasks) > 1:
        return f", each asked for {len(tasks)} tasks ({', '.join(tasks)}); -t TASK asks for one"
    return "".join(f", asked for {task}" for task in tasks)


def _open_client(asking: Asking) -> tuple[ChatClient, Callable[[], bool] | None]:
    """Return the client, and with ``--batch`` a function that submits a batch and waits. Collect what is done first."""
    prices, cache, totals = PriceTable.load(asking.prices), open_cache(), RunningTotals()
    make_sender = partial(BatchSender, cache, prices=prices, on_status=_tell_status)
    if asking.batch:
        settings = CallSettings(
            max_attempts=asking.max_attempts,
            timeout_seconds=asking.timeout_seconds,
            total_timeout_seconds=max(3600.0, asking.timeout_seconds),
        )
        sender = make_sender(totals=totals, max_cost_usd=asking.max_cost_usd, settings=settings)
        client = ChatClient(
            sender=sender, cache=cache, prices=prices, totals=totals, max_in_flight=asking.max_connections
        )
    else:
        client = make_client(
            max_connections=asking.max_connections,
            requests_per_minute=asking.requests_per_minute,
            tokens_per_minute=asking.tokens_per_minute,
            timeout_seconds=asking.timeout_seconds,
            max_attempts=asking.max_attempts,
            prices=asking.prices,
            max_cost_usd=asking.max_cost_usd,
        )
        if cache is None:
            return client, None
        sender = make_sender(totals=client.totals, settings=CallSettings(max_attempts=2))

    def settle() -> bool:
        made = sender.submit()
        sender.collect(wait=True)
        return bool(made)

    try:
        sender.collect(wait=False)
    except BaseException:
        client.close()
        raise
    finally:
        if not asking.batch and cache is not None:  # with --batch, the client closes it
            cache.close()
    return client, settle if asking.batch else None


def _tell_status(status: BatchStatus) -> None:
    click.echo(f"batch: {status}", err=True)
