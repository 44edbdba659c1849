"""What a server is spared: laws over random arrivals, by a clock that only sleeping moves."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import Bounds, RateLimiter, Retry, finished
from kit.llm_servers import FakeTime

ARRIVALS = st.lists(
    st.tuples(st.floats(0, 40, allow_nan=False), st.integers(0, 60)), min_size=1, max_size=40
)  # the wait before each, and its tokens


def turn(gate: RateLimiter, sleep: Callable[[float], object], n_tokens: int) -> Callable[[float], None]:
    """Take a turn at a gate, whose waits are no real ones."""

    async def pause(seconds: float) -> None:
        sleep(seconds)

    return finished(gate.turn(partial(int, n_tokens), pause))


def passed(limits: Bounds, arrivals: list[tuple[float, int]], after: Callable[[int], int] = int) -> list[float]:
    """Return when each of the arrivals was let through, one at a time; each turns out to have `after` tokens."""
    time = FakeTime(now=0.0)
    gate = RateLimiter(limits, Retry(clock=time.clock, sleep=time.sleep))
    starts: list[float] = []

    for wait, n_tokens in arrivals:
        time.now += wait
        correct = turn(gate, time.sleep, n_tokens)
        starts.append(time.now)
        correct(after(n_tokens))
    return starts


@given(ARRIVALS, st.integers(1, 7))
def test_no_minute_holds_more_requests_than_allowed(arrivals: list[tuple[float, int]], most: int) -> None:
    starts = passed(Bounds(requests_per_minute=most), arrivals)
    minute = 60 - 1e-6  # naps are added up
    assert all(sum(start <= other < start + minute for other in starts) <= most for start in starts)


@given(ARRIVALS, st.integers(1, 120))
def test_no_minute_holds_more_tokens_than_allowed_unless_in_a_single_request(
    arrivals: list[tuple[float, int]], most: int
) -> None:
    starts = passed(Bounds(tokens_per_minute=most), arrivals)
    sizes = [n_tokens for _, n_tokens in arrivals]
    for start in starts:
        inside = [n for other, n in zip(starts, sizes, strict=True) if start <= other < start + 60 - 1e-6]
        assert sum(inside) <= most or sum(n > 0 for n in inside) == 1 or inside[0] == 0


@given(ARRIVALS)
def test_what_comes_slowly_enough_never_waits(arrivals: list[tuple[float, int]]) -> None:
    slow = [(60 + wait, n_tokens) for wait, n_tokens in arrivals]
    starts = passed(Bounds(requests_per_minute=1, tokens_per_minute=1), slow)
    assert starts == pytest.approx([sum(wait for wait, _ in slow[: n + 1]) for n in range(len(slow))])


def test_tokens_are_corrected_to_what_was_used() -> None:
    arrivals = [(0.0, 100)] * 10
    assert passed(Bounds(tokens_per_minute=200), arrivals, after=lambda _: 10) == [0.0] * 10
    assert passed(Bounds(tokens_per_minute=100), arrivals[:3]) == pytest.approx([0.0, 60.0, 120.0])


def test_less_than_one_request_a_minute_is_one_in_several() -> None:
    assert passed(Bounds(requests_per_minute=0.5), [(0.0, 0)] * 3) == pytest.approx([0.0, 120.0, 240.0])


@pytest.mark.parametrize("limits", [Bounds(), Bounds(requests_per_minute=1000)])
def test_a_pause_holds_all_and_the_longest_one_counts(limits: Bounds) -> None:
    time = FakeTime(now=0.0)
    gate = RateLimiter(limits, Retry(clock=time.clock, sleep=time.sleep))
    starts: list[float] = []

    gate.pause(30)
    gate.pause(10)
    for _ in range(3):
        turn(gate, time.sleep, 0)
        starts.append(time.now)
    assert min(starts) >= 30


def test_those_who_sat_out_a_pause_do_not_all_go_at_once() -> None:
    slept: list[float] = []
    drawn = iter((0.0, 0.5, 1.0))

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time.now = 100.0

    time = FakeTime(now=0.0)
    gate = RateLimiter(Bounds(), Retry(clock=time.clock, sleep=sleep, jitter=lambda: next(drawn)))

    gate.pause(40)
    for _ in range(3):
        time.now = 0.0
        turn(gate, sleep, 0)
    assert slept == [40.0, 45.0, 50.0]
