"""The one way to ask: nothing is sent twice, replies are durable before use, money is guarded, and it ends cleanly."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    NOTHING_USED,
    Budget,
    CacheError,
    ChatClient,
    ChatReply,
    ChatRequest,
    CostLimitError,
    DrainingError,
    EndpointError,
    EstimatingSender,
    FailingCacheError,
    FailingServerError,
    HttpSender,
    PendingError,
    Price,
    PriceTable,
    Received,
    RunningTotals,
    StopError,
    SystemSpecError,
    Usage,
)
from evidencebench import make_client
from kit.command_line import until
from kit.examples import examples
from kit.hostile_server import Behaviour, answer, cut_after, hostile_server
from kit.in_threads import at_once, begun
from kit.llm_servers import USAGE, DictCache, FakeTime, SlowSender, drip, replies, request_to, with_seed
from kit.patience import MOST_SECONDS

REQUEST = request_to("http://127.0.0.1:9/v1", max_tokens=100)
DOLLARS = PriceTable(as_of="2026-01-01", models={"openai/m": Price(input=1e4, output=1e4)})  # a cent a token
NO_PRICES = PriceTable(as_of="2026-01-01", models={})


@contextmanager
def asking(sender: SlowSender | None = None, **more: Any) -> Iterator[tuple[ChatClient, SlowSender, DictCache]]:
    sender, cache = sender or SlowSender(), DictCache()
    options: dict[str, Any] = {"sender": sender, "cache": cache, "prices": DOLLARS}
    client = ChatClient(**options | more)
    try:
        yield client, sender, cache
    finally:
        client.close()


def gathered(client: ChatClient, *seeds: int, request: ChatRequest = REQUEST) -> list[Received | BaseException]:
    return at_once(lambda seed: client.ask(with_seed(request, seed)), seeds)


def interrupt(wait: Callable[[], object]) -> None:
    """Interrupt this thread, as Ctrl-C does, once it is within ``wait``, which may have ended by then."""
    # To this thread, since waiting for a lock does not end with a signal that another thread of the process took; and
    # with the handler that Python begins with, since work of an earlier test may have left its own.
    before, own = signal.signal(signal.SIGINT, signal.default_int_handler), threading.get_ident()
    has_begun = threading.Event()

    def waiting() -> None:
        has_begun.set()
        wait()

    def press() -> None:
        has_begun.wait()
        time.sleep(0.05)
        signal.pthread_kill(own, signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        waiting()
        pressing.join()
        time.sleep(1)
    except KeyboardInterrupt:
        pressing.join()
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_reply_is_stored_before_it_is_used_and_never_asked_for_again() -> None:
    with asking() as (client, sender, cache):
        (first,) = gathered(client, 1)
        assert cache.n_puts == 1
        (second,) = gathered(client, 1)
    assert isinstance(first, Received)
    expected = ChatReply(text="reply to seed 1", usage=USAGE, priced_as_of=DOLLARS.as_of)
    assert first.reply == expected
    assert first.cost_usd == pytest.approx(1.1)
    assert second == first
    assert len(sender.asked) == 1
    assert (client.totals.now.requests, client.totals.now.stored) == (1, 1)


@examples(25)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 4))
def test_no_request_is_sent_twice_however_many_ask_at_once(seeds: list[int], in_flight: int) -> None:
    with asking(max_in_flight=in_flight) as (client, sender, cache):
        found = gathered(client, *seeds)
        again = gathered(client, *seeds)
    assert again == found
    assert [one.reply.text for one in found if isinstance(one, Received)] == [f"reply to seed {n}" for n in seeds]
    assert sorted(request.seed for request in sender.asked) == sorted(set(seeds))
    assert sender.most_at_once <= in_flight
    assert cache.n_puts == len(set(seeds)) == client.totals.now.requests
    assert client.totals.now.stored == 2 * len(seeds) - len(set(seeds))
    assert client.totals.now.in_flight == 0


def test_a_failure_reaches_all_who_wait_for_it_and_the_next_asks_anew() -> None:
    with asking(SlowSender(failures=[EndpointError("no"), None], is_open=False)) as (client, sender, _):
        waiting = begun(gathered, client, 1, 1, 1)
        until(lambda: any(flight.n_waiting == 3 for flight in client._flights.values()))  # noqa: SLF001
        sender.gate.set()
        found = waiting.result()
        (after,) = gathered(client, 1)
    assert [type(one) for one in found] == [EndpointError] * 3
    assert isinstance(after, Received)
    assert len(sender.asked) == 2
    assert client.totals.now.failures == 1


@pytest.mark.parametrize("error", [FailingServerError("bad key"), PendingError("in a batch")])
def test_a_stop_or_a_batch_is_no_failure(error: Exception) -> None:
    with asking(SlowSender(failures=[error])) as (client, _, cache):
        assert gathered(client, 1) == [error]
        assert cache.n_puts == 0
    assert client.totals.now.failures == 0


def test_a_reply_that_cannot_be_stored_stops_everything_but_its_cost_is_counted() -> None:
    with asking() as (client, _, cache):
        cache.failure = CacheError("replies.sqlite: disk full; make room")
        (found,) = gathered(client, 1)
    assert isinstance(found, FailingCacheError)
    assert "replies.sqlite: disk full" in str(found)
    assert client.totals.now.cost_usd == pytest.approx(1.1)


def test_a_store_that_cannot_be_read_stops_everything_before_anything_is_sent() -> None:
    class Unreadable(DictCache):
        def find(self, key: str) -> Received | None:
            raise CacheError(f"replies.sqlite: damaged at {key[:4]}; delete it")

    with asking(cache=Unreadable()) as (client, sender, _):
        (found,) = gathered(client, 1)
    assert isinstance(found, FailingCacheError)
    assert isinstance(found, StopError)
    assert sender.asked == []


def test_a_reply_that_does_not_say_its_tokens_spends_the_worst_case_of_a_limit() -> None:
    with asking(SlowSender(usage=Usage()), budget=Budget(DOLLARS, 2.0)) as (client, sender, _):
        first, second = gathered(client, 1)[0], gathered(client, 2)[0]
    assert isinstance(first, Received)
    assert first.cost_usd is None
    assert isinstance(second, CostLimitError)
    assert len(sender.asked) == 1
    assert client.totals.summary() == "1 sent, 0 stored, 0 failed, price unknown"


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan")])
@pytest.mark.parametrize(
    "name",
    ["max_cost_usd", "requests_per_minute", "tokens_per_minute", "timeout_seconds", "total_timeout_seconds"],
)
def test_limits_that_are_no_numbers_above_0_are_refused_by_name(name: str, value: float) -> None:
    pytest.importorskip("aiohttp", reason="needs the extra 'llm'")
    with pytest.raises(SystemSpecError, match=f"{name}: .*more than 0, got {value}"):
        make_client(cache=False, **{name: value})  # type: ignore[arg-type] # mypy takes the value for any option's


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/"),
        ("https://x.org/d?api-version=1", "https://x.org/d/?api-version=1"),
    ],
)
def test_a_slash_at_the_end_of_an_address_makes_no_other_request(one: str, other: str) -> None:
    assert request_to(one).key == request_to(other).key
    assert request_to(one).key != request_to(one.replace("http", "x")).key


def asked_over_http(*script: Behaviour, limit: float) -> tuple[Received | BaseException, RunningTotals, Budget, int]:
    """Ask one request under a limit; return what came, what was counted and spent, and how often it was sent."""
    budget, totals, fake_time = Budget(DOLLARS, limit), RunningTotals(), FakeTime()
    waits: dict[str, Any] = {"clock": fake_time.clock, "sleep": fake_time.sleep, "jitter": lambda: 0.5}
    sender = HttpSender(totals=totals, budget=budget, environ={}, **waits)
    client = ChatClient(sender=sender, cache=None, prices=DOLLARS, budget=budget, totals=totals)
    with hostile_server(b"{", *script) as server:
        request = request_to(server.address("v1") if script else "http://127.0.0.1:9/v1", max_tokens=100)

        (found,) = gathered(client, 0, request=request)
        client.close()
    return found, totals, budget, len(server.log)


def test_the_cost_limit_says_what_is_spent_and_what_to_do_and_needs_a_known_price() -> None:
    with asking(budget=Budget(DOLLARS, 1.2)) as (client, _, _cache):
        first, second = gathered(client, 1)[0], gathered(client, 2)[0]
    assert isinstance(first, Received)
    assert isinstance(second, CostLimitError)
    for part in ("openai/m: ", "at most $1.20", "$1.10 is spent", "could cost $1.14", "raise --max-cost-usd"):
        assert part in str(second)
    with asking(budget=Budget(NO_PRICES, 10.0), prices=NO_PRICES) as (client, sender, _):
        (found,) = gathered(client, 1)
    assert isinstance(found, CostLimitError)
    assert all(part in str(found) for part in ("openai/m: ", "a known price", "give a table"))
    assert sender.asked == []


WORST = 0.01 * (int(1.5 * (8 + 1)) + 1 + 100)


WITHHELD = b'{"error": {"message": "filtered", "code": "content_filter"}}'
UNKNOWN = "1 sent, 0 stored, 0 failed, $0.12 + 2 unknown"
NOTHING = "1 sent, 0 stored, 0 failed, $0.00"
AFTER_TWO = (Received, 2 * WORST + 0.12, (3, 2, 2), UNKNOWN)


@pytest.mark.parametrize(
    ("script", "kind", "spent", "counts", "summary"),
    [
        ((cut_after(0), answer(200, b"?"), replies()), *AFTER_TWO),
        *(((answer(status), answer(status), replies()), *AFTER_TWO) for status in (408, 504, 524)),
        *(((answer(status, WITHHELD),), Received, 0, (1, 0, 0), NOTHING) for status in (400, 403)),
        ((answer(401),), FailingServerError, 0, (1, 0, 0), NOTHING),
        ((answer(500), answer(429), answer(400)), EndpointError, 0, (3, 2, 0), NOTHING.replace("0 f", "1 f")),
        ((), FailingServerError, 0, (4, 3, 0), "0 sent, 0 stored, 0 failed, $0.00"),
        ((cut_after(0),), CostLimitError, 4 * WORST, (4, 3, 4), "1 sent, 0 stored, 0 failed, cost unknown"),
    ],
)
def test_each_attempt_spends_what_it_may_have_cost(
    script: tuple[Behaviour, ...], kind: type, spent: float, counts: tuple[int, ...], summary: str
) -> None:
    found, totals, budget, n_sent = asked_over_http(*script, limit=4.5 * WORST)
    assert type(found) is kind
    assert budget.spent_usd == pytest.approx(spent)
    assert (totals.now.attempts, totals.now.retries, totals.now.maybe_charged) == counts
    assert totals.summary() == summary
    assert n_sent == (counts[0] if script else 0)


def test_a_prompt_that_is_refused_costs_nothing_at_a_price_that_is_not_known_either() -> None:
    table = PriceTable(as_of="", models={})
    refused = ChatReply(text="", finish="refused", usage=NOTHING_USED)
    assert table.priced("local/m", refused)[1] == 0.0
    assert table.priced("local/m", ChatReply(text="", finish="refused"))[1] is None
    assert table.priced("local/m", ChatReply(text="", usage=NOTHING_USED))[1] is None, "a server that does not count"


def test_what_was_on_its_way_when_everything_ended_counts_as_sent_at_an_unknown_cost() -> None:
    totals, budget = RunningTotals(), Budget(DOLLARS, 5.0)
    sender = HttpSender(totals=totals, budget=budget, environ={})
    client = ChatClient(sender=sender, cache=None, prices=DOLLARS, budget=budget, totals=totals, on_close=sender.close)
    with hostile_server(b"{", drip) as server:
        waiting = begun(gathered, client, 0, request=request_to(server.address("v1"), max_tokens=100))
        until(lambda: bool(server.log))
        client.close()
        waiting.result()
    assert totals.summary() == "1 sent, 0 stored, 0 failed, cost unknown"
    assert totals.fields()["cost_usd"] is None
    assert budget.spent_usd == pytest.approx(WORST)


def test_what_nobody_waits_for_any_more_is_finished_if_sent_and_dropped_if_not() -> None:
    sender = SlowSender(is_open=False)
    with asking(sender, max_in_flight=2) as (client, _, cache):
        for seed in range(6):
            interrupt(partial(client.ask, with_seed(REQUEST, seed)))
        until(lambda: len(sender.asked) == 2)
        sender.gate.set()
        until(lambda: cache.n_puts == 2)
        until(lambda: not client._flights)  # noqa: SLF001
        assert cache.n_puts == 2
        assert all(isinstance(one, Received) for one in gathered(client, *range(6)))
    assert len(sender.asked) == 6


def test_draining_finishes_what_is_in_flight_and_sends_nothing_more() -> None:
    sender = SlowSender(is_open=False)
    drained: list[str] = []
    with asking(sender, max_in_flight=2, on_drain=lambda: drained.append("drained")) as (client, _, cache):
        waiting = begun(gathered, client, *range(6))
        until(lambda: len(sender.asked) == 2)
        client.drain()
        sender.gate.set()
        found = waiting.result()
        assert sum(isinstance(one, Received) for one in found) == 2
        assert sum(isinstance(one, DrainingError) for one in found) == 4
        seeds = [seed for seed, one in enumerate(found) if isinstance(one, Received)]
        assert cache.n_puts == 2
        (stored, refused) = gathered(client, seeds[0], 9)
    assert isinstance(stored, Received)
    assert client.totals.now.stored == 1
    assert isinstance(refused, DrainingError)
    assert len(sender.asked) == 2
    assert drained[0] == "drained"


@examples(25)
@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=30),
    st.floats(0.01, 60),
    st.integers(1, 8),
)
def test_no_more_is_spent_than_allowed_and_nothing_is_kept_back_that_fits(
    tokens: list[tuple[int, int]], limit: float, in_flight: int
) -> None:
    drawn = iter(tokens)

    class Sender(SlowSender):
        def send(self, request: Any) -> ChatReply:
            super().send(request)
            prompt, completion = next(drawn)
            return ChatReply(text="x", usage=Usage(prompt_tokens=prompt % 12, completion_tokens=completion))

    worst = 0.01 * (100 + 1.5 * (8 + 2) + 1)
    with asking(Sender(), budget=Budget(DOLLARS, limit), max_in_flight=in_flight) as (client, sender, _):
        found = gathered(client, *range(len(tokens)))
        spent = client.totals.now.cost_usd
    assert spent <= limit
    refused = [one for one in found if not isinstance(one, Received)]
    assert all(isinstance(one, CostLimitError) for one in refused)
    assert not refused or spent + worst > limit
    assert len(sender.asked) == len(found) - len(refused)


def test_what_was_set_aside_for_a_request_that_fails_is_there_for_the_next_one() -> None:
    sender = SlowSender(failures=[EndpointError("no"), None])
    with asking(sender, budget=Budget(DOLLARS, 1.3)) as (client, _, _cache):
        (failed,) = gathered(client, 1)
        (received,) = gathered(client, 2)
    assert isinstance(failed, EndpointError)
    assert isinstance(received, Received)


def test_closing_ends_what_runs_and_the_thread_and_may_be_done_twice() -> None:
    sender = SlowSender(is_open=False)
    with asking(sender, on_close=sender.close) as (client, _, cache), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(gathered, client, 1)
        until(lambda: bool(sender.asked))
        client.close()
        client.close()
        (error,) = waiting.result()
        assert isinstance(error, DrainingError)
        assert "closed" in str(error)
        with pytest.raises(DrainingError, match="new client"):
            client.ask(with_seed(REQUEST, 2))
    assert sender.is_closed
    assert cache.n_closings > 0


SCRIPT = """
import os, sys, threading, time
from doors import ChatClient
from doors import PriceTable
from kit.in_threads import at_once
from kit.llm_servers import SlowSender, request_to, with_seed
sender = SlowSender(is_open={is_open})
prices = PriceTable(as_of="", models={{}})
client = ChatClient(sender=sender, cache=None, prices=prices, max_in_flight=2, on_close=sender.close)
def work(n):
    return at_once(client.ask, [with_seed(request_to("http://127.0.0.1:9/v1"), seed) for seed in range(n)])
"""


def script(rest: str, *, is_open: bool) -> subprocess.CompletedProcess[str]:
    begin = SCRIPT.format(is_open=is_open)
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", begin + rest],
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )


def test_a_program_ends_though_its_client_is_not_closed_and_requests_are_in_flight() -> None:
    done = script(
        """
def ask():
    try:
        work(3)
    except BaseException as error:
        pass
threading.Thread(target=ask, daemon=True).start()
while len(sender.asked) < 2:
    time.sleep(0.001)
""",
        is_open=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_an_estimate_counts_each_request_once_sends_nothing_and_takes_what_is_stored_for_free() -> None:
    estimating, cache = EstimatingSender(DOLLARS, completion_tokens=40), DictCache()
    cache.kept[with_seed(REQUEST, 3).key] = Received(ChatReply(text="stored"), 0.1)
    client = ChatClient(sender=estimating, cache=cache, prices=DOLLARS)
    other = request_to("http://127.0.0.1:9/v1", model="local/x", max_tokens=7)

    asked = [*(with_seed(REQUEST, seed) for seed in (1, 2, 2, 3)), other]
    found = [client.ask(request, stand_in="like this") for request in asked]
    client.close()
    assert [one.reply.text for one in found] == ["like this"] * 3 + ["stored", "like this"]
    unknown, known = estimating.estimates()
    assert (unknown.model, unknown.requests, unknown.completion_tokens, unknown.cost_usd) == ("local/x", 1, 7, None)
    assert (known.model, known.requests, known.completion_tokens) == ("openai/m", 2, 80)
    assert known.prompt_tokens == 2 * (8 + 1)
    assert known.cost_usd == pytest.approx(0.01 * (known.prompt_tokens + 80))
    assert cache.n_puts == 0
    assert client.totals.now.stored == 1


def test_calls_within_calls_share_the_helping_threads_of_the_client() -> None:
    most, lock, running, are_several = 0, threading.Lock(), set[int](), threading.Event()

    def leaf(client: ChatClient, seed: int) -> str:
        nonlocal most
        with lock:
            running.add(threading.get_ident())
            most = max(most, threading.active_count())
            if len(running) > 1:
                are_several.set()
        are_several.wait(MOST_SECONDS)  # else one thread may be through with all before another begins
        return client.ask(with_seed(REQUEST, seed)).reply.text

    with asking(max_in_flight=4) as (client, _, _):
        before = threading.active_count()

        def inner(first: int) -> list[str | BaseException]:
            return client.together([partial(leaf, client, first + n) for n in range(8)])

        outcomes = client.together([partial(inner, 8 * n) for n in range(8)])
    assert outcomes == [[f"reply to seed {8 * n + m}" for m in range(8)] for n in range(8)]
    assert len(running) > 1
    assert most - before <= 4 + 1  # the helpers, and the thread that sends for the main one
