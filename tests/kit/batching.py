"""Batches as tests ask for them: one pass of a run, at once and over real HTTP."""

import time
from collections.abc import Callable
from pathlib import Path

from doors import BatchSender, BatchStatus, CallSettings, ChatReply, ChatRequest, Price, PriceTable, ReplyCache
from evidencebench import EvidenceBenchError
from kit.patience import MOST_SECONDS
from kit.replies import numbered

PRICES = PriceTable(
    as_of="2026-11-01",
    models={"openai/gpt-x": Price(input=1.0, output=2.0, batch=0.5), "anthropic/x": Price(input=1.0, output=2.0)},
)
MODELS = ("openai/gpt-x", "anthropic/claude-x")


def at_once(seconds: float) -> None:
    time.sleep(min(seconds, 0.01))


QUICK = CallSettings(sleep=at_once, timeout_seconds=float(MOST_SECONDS), settle_seconds=0.0)


def sender_of(cache: ReplyCache, **options: object) -> BatchSender:
    chosen: dict[str, object] = {"prices": PRICES, "settings": QUICK, "environ": {}, **options}
    return BatchSender(cache, **chosen)  # type: ignore[arg-type]


def requests_to(url: str, model: str, n: int) -> list[ChatRequest]:
    return [numbered(number, model, url) for number in range(n)]


def asked(sender: BatchSender, cache: ReplyCache, requests: list[ChatRequest]) -> list[ChatReply | EvidenceBenchError]:
    """Return the stored reply or the error of each request, as a client would see it in one pass."""

    def ask(request: ChatRequest) -> ChatReply | EvidenceBenchError:
        if (found := cache.find(request.key)) is not None:
            return found[0]
        try:
            return sender.send(request)
        except EvidenceBenchError as error:
            return error

    return [ask(request) for request in requests]


def submitted(cache: ReplyCache, requests: list[ChatRequest], **options: object) -> BatchSender:
    """Return a sender that was asked all requests and has submitted them."""
    sender = sender_of(cache, **options)
    asked(sender, cache, requests)
    sender.submit()
    return sender


def one_pass(
    folder: Path,
    requests: list[ChatRequest],
    on_status: Callable[[BatchStatus], object] = lambda _: None,
    **options: object,
) -> list[ChatReply | EvidenceBenchError]:
    """Collect, ask, submit, wait and ask again, as a run does; return what became of each request."""
    cache = ReplyCache(folder)

    def work() -> list[ChatReply | EvidenceBenchError]:
        sender = sender_of(cache, on_status=on_status, **options)
        sender.collect(wait=False)
        asked(sender, cache, requests)
        sender.submit()
        sender.collect(wait=True)
        return asked(sender, cache, requests)

    try:
        return work()
    finally:
        cache.close()
