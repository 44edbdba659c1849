"""Batches over real HTTP: nothing is paid twice and nothing paid is lost, whatever is cut, killed or expires."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doors import (
    BatchQueue,
    BatchSender,
    BatchStatus,
    CacheError,
    CallSettings,
    ChatClient,
    ChatReply,
    ChatRequest,
    CostLimitError,
    EndpointError,
    FailingServerError,
    PendingError,
    ReplyCache,
    RunningTotals,
    StopError,
    Usage,
    n_waiting,
)
from evidencebench import EvidenceBenchError, load_sample
from kit.batching import MODELS, PRICES, QUICK, asked, at_once, one_pass, requests_to, sender_of, submitted
from kit.examples import IS_THOROUGH
from kit.fake_models import RunningServer, running_fake_server
from kit.mutations import mutations
from kit.patience import MOST_SECONDS
from kit.proxy import Passing, proxied
from kit.replies import numbered
from kit.unwritable import no_file_longer_than

SAMPLE = load_sample()


def n_replies(found: list[ChatReply | EvidenceBenchError]) -> int:
    return sum(isinstance(one, ChatReply) for one in found)


def paid_keys(server: RunningServer) -> list[str]:
    return [entry["key"] for entry in server.log_entries() if entry["outcome"] == "paid"]


def most_usd(request: ChatRequest) -> float:
    """Return the most that a request may cost."""
    cost = PRICES.cost_usd("openai/gpt-x", Usage(prompt_tokens=30, completion_tokens=request.max_tokens), batch=True)
    assert cost is not None
    return cost


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with running_fake_server(SAMPLE) as running:
        yield running


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("limits", "sizes"), [({"most_requests": 4}, [4, 4, 2]), ({"most_bytes": 1000}, None)])
def test_all_that_is_asked_comes_back_in_batches_of_the_size_allowed(
    tmp_path: Path, server: RunningServer, model: str, limits: dict[str, int], sizes: list[int] | None
) -> None:
    told: list[BatchStatus] = []
    found = one_pass(tmp_path, requests_to(server.base_url, model, 10), told.append, **limits)
    assert n_replies(found) == 10
    submitted_sizes = [status.batch.n_requests for status in told if status.state == "submitted"]
    assert submitted_sizes == sizes or (sizes is None and len(submitted_sizes) > 1)
    assert len(paid_keys(server)) == len(set(paid_keys(server))) == 10
    assert BatchQueue(ReplyCache(tmp_path)).batches() == []


def test_a_reply_is_kept_at_the_price_of_batches_of_one_model(tmp_path: Path, server: RunningServer) -> None:
    totals = RunningTotals()
    (reply,) = one_pass(tmp_path, requests_to(server.base_url, "openai/gpt-x", 1), totals=totals)
    assert isinstance(reply, ChatReply)
    cost_usd = PRICES.cost_usd("openai/gpt-x", reply.usage, batch=True)
    assert cost_usd is not None
    assert ReplyCache(tmp_path).find(numbered(0, "openai/gpt-x", server.base_url).key) == (reply, cost_usd)
    assert (totals.now.requests, totals.now.cost_usd, totals.now.unpriced) == (1, cost_usd, 0)
    told: list[BatchStatus] = []
    requests = [numbered(0, model, server.base_url) for model in ("openai/gpt-x", "openai/b", "anthropic/x")]
    assert n_replies(one_pass(tmp_path, requests, told.append, totals=totals)) == 3
    assert (totals.now.requests, totals.now.cost_usd, totals.now.unpriced) == (3, cost_usd, 2)
    groups = sorted(status.batch.group.model for status in told if status.state == "submitted")
    assert groups == ["anthropic/x", "openai/b"]  # the price of the one is not known, of the other not in batches


def test_without_a_store_batches_are_refused_with_the_reason() -> None:
    with pytest.raises(CacheError, match="EVIDENCEBENCH_CACHE is 'off'"):
        BatchSender(None, prices=PRICES)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (numbered(0, "vllm/x"), "openai and anthropic"),
        (numbered(0, "nobody/x"), "no provider 'nobody'"),
        (numbered(0, "openai/x"), "OPENAI_API_KEY"),
        (numbered(0, "openai/x", "ftp://host"), "http or https"),
    ],
)
def test_what_cannot_be_batched_stops_the_run(tmp_path: Path, request_: ChatRequest, message: str) -> None:
    def send() -> None:
        sender_of(ReplyCache(tmp_path)).send(request_)

    with pytest.raises(FailingServerError, match=message):
        send()


@pytest.mark.parametrize("model", MODELS)
def test_a_row_that_fails_is_a_failure_of_this_run_and_asked_again_in_the_next(tmp_path: Path, model: str) -> None:
    with running_fake_server(SAMPLE, fault_rate=0.3, fault_kinds=["server_error"], seed=3) as server:
        requests = requests_to(server.base_url, model, 20)
        patience = CallSettings(sleep=at_once, timeout_seconds=10, max_attempts=30)
        found = one_pass(tmp_path, requests, settings=patience)
        failures = [str(one) for one in found if isinstance(one, EndpointError)]
        assert 0 < len(failures) == 20 - n_replies(found)
        assert all("batch" in failure and "server had an error" in failure for failure in failures)
        while n_replies(found) < 20:
            found = one_pass(tmp_path, requests, settings=patience)
        assert len(paid_keys(server)) == len(set(paid_keys(server))) == 20


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(2))
def test_with_a_third_of_all_calls_failing_everything_is_answered_and_paid_once(
    tmp_path: Path, model: str, seed: int
) -> None:
    with running_fake_server(SAMPLE, fault_rate=0.3, seed=seed, hang_seconds=0.05, retry_after_seconds=0.01) as server:
        requests = requests_to(server.base_url, model, 30)
        patience = CallSettings(sleep=at_once, timeout_seconds=10, max_attempts=30)
        found = one_pass(tmp_path, requests, most_requests=7, settings=patience)
        while n_replies(found) < 30:
            found = one_pass(tmp_path, requests, most_requests=7, settings=patience)
        assert len(paid_keys(server)) == len(set(paid_keys(server))) == 30


def cut_first(method: str, path: str, status: int | None = None) -> Callable[[Passing], None]:
    """Drop the first answer to such a request, or change its status: it was done, and nobody hears of it."""
    left = [1]

    def change(passing: Passing) -> None:
        if (passing.method, passing.path) == (method, path) and left[0]:
            left[0] -= 1
            passing.is_cut, passing.status = status is None, status or passing.status

    return change


@pytest.mark.parametrize("status", [None, 408, 502])
def test_a_batch_whose_answer_is_lost_is_found_by_our_name_for_it(
    tmp_path: Path, server: RunningServer, status: int | None
) -> None:
    with proxied(server.root_url, cut_first("POST", "/v1/batches", status)) as proxy:
        found = one_pass(tmp_path, requests_to(proxy.url, "openai/gpt-x", 5))
    assert n_replies(found) == 5
    assert len(paid_keys(server)) == 5
    assert proxy.asked.count(("POST", "/v1/batches")) == 1


def key_in(line: bytes) -> bytes:
    return line[line.index(b'"custom_id"') :].split(b'"')[3]


def results_changed(change: Callable[[bytes], bytes]) -> Callable[[Passing], None]:
    def changed(passing: Passing) -> None:
        if passing.path.endswith(("/content", "/results")):
            passing.body = change(passing.body)

    return changed


def _damaged_in_its_reply(body: bytes) -> bytes:
    return body.replace(b'"usage"', b'"usa', 1)


@pytest.mark.parametrize("change", [bytes, _damaged_in_its_reply, lambda body: body + body])
def test_a_batch_without_a_name_of_ours_is_found_by_its_results(
    tmp_path: Path, server: RunningServer, change: Callable[[bytes], bytes]
) -> None:
    path = "/v1/messages/batches"
    cut, changed = cut_first("POST", path), results_changed(change)
    with proxied(server.root_url, lambda passing: (cut(passing), changed(passing))) as proxy:
        requests = requests_to(proxy.url, "anthropic/claude-x", 5)
        found = one_pass_after_doubt(tmp_path, requests)
    assert n_replies(found) == (4 if change is _damaged_in_its_reply else 5)
    assert len(paid_keys(server)) == 5
    assert proxy.asked.count(("POST", path)) == 1


def test_an_older_batch_of_the_same_requests_is_not_taken_for_one_that_never_arrived(tmp_path: Path) -> None:
    names: list[str | None] = []

    def note(status: BatchStatus) -> None:
        if status.state == "submitted":
            names.append(status.batch.name)

    with running_fake_server(SAMPLE, expire_rate=1.0) as server, proxied(server.root_url) as proxy:
        requests = requests_to(proxy.url, "anthropic/claude-x", 3)
        one_pass(tmp_path, requests, note)
        proxy.n_blocked = 1
        one_pass(tmp_path, requests, note)
    assert len(names) == len(set(names)) == 2


def test_results_that_come_in_part_do_not_make_a_batch_in_doubt_one_that_never_arrived(
    tmp_path: Path, server: RunningServer
) -> None:
    path = "/v1/messages/batches"
    cut = cut_first("POST", path)

    def change(passing: Passing) -> None:
        cut(passing)
        if passing.path.endswith("/results"):
            passing.body = b""

    with proxied(server.root_url, change) as proxy:
        requests = requests_to(proxy.url, "anthropic/claude-x", 4)
        with pytest.raises(FailingServerError, match="submitted"):
            one_pass(tmp_path, requests)
        proxy.change = lambda _: None
        assert n_replies(one_pass_after_doubt(tmp_path, requests)) == 4
        assert proxy.asked.count(("POST", path)) == 1


def one_pass_after_doubt(folder: Path, requests: list[ChatRequest]) -> list[ChatReply | EvidenceBenchError]:
    """Make passes until no batch is in doubt: while one runs, nobody can tell whose it is."""
    ends_at = time.monotonic() + MOST_SECONDS
    while time.monotonic() < ends_at:
        try:
            return one_pass(folder, requests)
        except FailingServerError as error:
            assert "submitted" in str(error)  # noqa: PT017 - in most passes there is no error
            time.sleep(0.02)
    pytest.fail("always in doubt")


def test_a_batch_in_doubt_is_named_and_nothing_of_it_is_submitted_again(tmp_path: Path) -> None:
    path, told = "/v1/messages/batches", list[BatchStatus]()
    with running_fake_server(SAMPLE, batch_delay_seconds=600) as server:
        with proxied(server.root_url, cut_first("POST", path)) as proxy:
            requests = requests_to(proxy.url, "anthropic/claude-x", 5)
            with pytest.raises(FailingServerError, match=r"may have been submitted.*msgbatch_.*run again"):
                one_pass(tmp_path, requests)
            cache = ReplyCache(tmp_path)

            sender = sender_of(cache, on_status=told.append)
            sender.collect(wait=False)
            assert {type(one) for one in asked(sender, cache, requests)} == {PendingError}
            assert sender.submit() == []
            assert proxy.asked.count(("POST", path)) == 1
        assert told[0].state == "unresolved"
        assert "its id may be msgbatch_" in str(told[0])


_RUN = """
import os, signal, sys
from pathlib import Path
from kit.batching import one_pass, requests_to
from doors import batches
from doors import BatchQueue

def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)

moment = sys.argv[4]
if moment == "before POST":
    batches.submit = die
if moment == "after POST":
    BatchQueue.name = die
one_pass(Path(sys.argv[1]), requests_to(sys.argv[2], sys.argv[3], 12), most_requests=5)
"""


def running(folder: Path, url: str, model: str, moment: str = "") -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", _RUN, str(folder), url, model, moment]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("moment", "state"), [("before POST", "forgotten"), ("after POST", "found")])
def test_a_submission_killed_around_the_post_is_cleared_up_at_the_next_start(
    tmp_path: Path, server: RunningServer, model: str, moment: str, state: str
) -> None:
    with running(tmp_path, server.base_url, model, moment) as process:
        assert process.wait(timeout=MOST_SECONDS) == -signal.SIGKILL
    told: list[BatchStatus] = []
    found = one_pass(tmp_path, requests_to(server.base_url, model, 12), told.append)
    assert told[0].state == state
    assert n_replies(found) == 12
    assert len(paid_keys(server)) == len(set(paid_keys(server))) == 12


@pytest.mark.parametrize("model", MODELS)
def test_kill_9_at_random_moments_pays_nothing_twice_and_loses_nothing(tmp_path: Path, model: str) -> None:
    drawn = random.Random(model)
    with running_fake_server(SAMPLE, batch_delay_seconds=0.1) as server:
        for _ in range(4 if IS_THOROUGH else 2):
            n_before, n_more = server.totals()["requests"], drawn.randrange(16)
            with running(tmp_path, server.base_url, model) as process:
                while server.totals()["requests"] < n_before + n_more and process.poll() is None:
                    time.sleep(0.001)
                process.send_signal(signal.SIGKILL)
        requests = requests_to(server.base_url, model, 12)
        found = one_pass_after_doubt(tmp_path, requests)
        assert n_replies(found) == 12
        assert len(paid_keys(server)) == len(set(paid_keys(server))) == 12


def test_two_processes_with_the_same_requests_share_their_batches(tmp_path: Path) -> None:
    with running_fake_server(SAMPLE, batch_delay_seconds=0.1) as server:
        url = server.base_url
        with running(tmp_path, url, "openai/gpt-x") as one, running(tmp_path, url, "openai/gpt-x") as other:
            assert (one.wait(timeout=MOST_SECONDS), other.wait(timeout=MOST_SECONDS)) == (0, 0)
        assert len(paid_keys(server)) == len(set(paid_keys(server))) == 12


def test_a_reply_that_another_process_collected_meanwhile_is_not_asked_for_again(
    tmp_path: Path,
) -> None:
    cache, request = ReplyCache(tmp_path), numbered(0, "openai/gpt-x", "http://127.0.0.1:9/v1")
    cache.put(request, ChatReply(text="collected"), None)
    sender = sender_of(cache)
    with pytest.raises(PendingError):
        sender.send(request)
    assert sender.submit() == []
    assert n_waiting(cache) == 0


def test_requests_of_a_run_that_was_never_submitted_are_not_submitted_by_another(
    tmp_path: Path, server: RunningServer
) -> None:
    cache = ReplyCache(tmp_path)
    asked(sender_of(cache), cache, requests_to(server.base_url, "openai/gpt-x", 6))
    cache.close()
    assert n_replies(one_pass(tmp_path, requests_to(server.base_url, "openai/gpt-x", 2))) == 2
    assert len(paid_keys(server)) == 2


def _status(status: int, text: str) -> Callable[[Passing], None]:
    def change(passing: Passing) -> None:
        passing.status, passing.body = status, b'{"error": {"message": "%b"}}' % text.encode()

    return change


def test_a_batch_whose_body_the_provider_refuses_is_a_failure_of_all_its_requests(
    tmp_path: Path, server: RunningServer
) -> None:
    with proxied(server.root_url, _status(400, "no such field")) as proxy:
        found = one_pass(tmp_path, requests_to(proxy.url, "openai/gpt-x", 3))
    assert {type(one) for one in found} == {EndpointError}
    assert "no such field" in str(found[0])


def failed(*faults: str) -> Callable[[Passing], None]:
    def change(passing: Passing) -> None:
        if passing.method == "GET" and passing.path.startswith("/v1/batches/"):
            data = ", ".join(faults)
            passing.body = b'{"id": "batch_1", "status": "failed", "errors": {"data": [%b]}}' % data.encode()

    return change


def cut_off(passing: Passing) -> None:
    passing.is_cut = True


STOPPING: list[tuple[Callable[[Passing], None], str]] = [
    (_status(401, "go away"), "correct the key"),
    *((_status(status, "busy"), f"status {status}: busy") for status in (429, 503)),
    (cut_off, "2 attempts|submitted"),
    (results_changed(lambda body: body[:-60]), "1 row of batch .* cannot be read"),
    (results_changed(lambda body: b"".join(body.splitlines(keepends=True)[:-2])), "expected 5 .*got 3"),
    (results_changed(lambda body: body.split(b"\n", 2)[2][:-60]), "1 row"),
    (results_changed(lambda _: b"<html>\n" * 9), "9 rows"),
    (results_changed(lambda _: b"<html>"), "1 row"),
]
REFUSING = [
    (failed('{"code": "token_limit_exceeded", "message": "Enqueued", "line": null}'), r"batch_.*Enqueued.*--limit"),
    (failed('{"code": "x", "message": "Enqueued", "line": 7}'), "Enqueued"),
    (failed('{"code": "model_not_found", "message": "No such model", "line": 1}'), "No such model"),
    (failed(), "no reason"),
]


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        *((model, *stopping) for model in MODELS for stopping in STOPPING),
        *(("openai/gpt-x", *refusing) for refusing in REFUSING),
    ],
)
def test_what_stops_a_run_is_said_and_all_is_asked_again_or_collected_by_the_next(
    tmp_path: Path, server: RunningServer, model: str, change: Callable[[Passing], None], message: str
) -> None:
    quick = CallSettings(sleep=at_once, settle_seconds=0.0, max_attempts=2, max_misses=2)
    with proxied(server.root_url, change) as proxy:
        requests = requests_to(proxy.url, model, 5)
        with pytest.raises(FailingServerError, match=message):
            one_pass(tmp_path, requests, settings=quick)
        proxy.change = lambda _: None
        assert n_replies(one_pass_after_doubt(tmp_path, requests)) == 5
    if message.startswith(("1 row", "9 rows", "expected")):  # else the server answered what the proxy says it refused
        assert len(paid_keys(server)) == 5
    assert BatchQueue(ReplyCache(tmp_path)).batches() == []


def test_a_batch_that_is_refused_for_one_row_fails_that_row_alone(tmp_path: Path, server: RunningServer) -> None:
    with proxied(server.root_url) as proxy:
        requests, cache = requests_to(proxy.url, "openai/gpt-x", 3), ReplyCache(tmp_path)

        sender = sender_of(cache)
        for change in (failed('{"code": "bad_row", "message": "No such parameter", "line": 2}'), lambda _: None):
            proxy.change = change
            asked(sender, cache, requests)
            sender.submit()
            sender.collect(wait=True)
        found = asked(sender, cache, requests)
    assert [type(one) for one in found] == [ChatReply, EndpointError, ChatReply]
    assert "No such parameter" in str(found[1])


@pytest.mark.parametrize("model", MODELS)
def test_a_reply_that_cannot_be_read_fails_alone_and_its_batch_is_collected(
    tmp_path: Path, server: RunningServer, model: str
) -> None:
    def spoiled(body: bytes) -> bytes:
        return body.replace(b'"choices"', b'"chances"', 1).replace(b'"content"', b'"contents"', 1)

    with proxied(server.root_url, results_changed(spoiled)) as proxy:
        found = one_pass(tmp_path, requests_to(proxy.url, model, 5))
    assert sorted(type(one).__name__ for one in found) == ["ChatReply"] * 4 + ["EndpointError"]
    assert BatchQueue(ReplyCache(tmp_path)).batches() == []


@pytest.mark.parametrize("model", MODELS)
def test_rows_that_stay_away_are_not_looked_for_for_half_an_hour_at_every_start(
    tmp_path: Path, server: RunningServer, model: str
) -> None:
    with proxied(server.root_url, results_changed(lambda body: b"".join(body.splitlines(keepends=True)[1:]))) as proxy:
        requests = requests_to(proxy.url, model, 3)
        with pytest.raises(FailingServerError, match=r"3 .*got 2"):
            one_pass(tmp_path, requests)
        assert sum(path.endswith(("/content", "/results")) for _, path in proxy.asked) <= 3 * QUICK.max_attempts
        assert len(BatchQueue(ReplyCache(tmp_path)).batches()) == 1
        proxy.change = lambda _: None
        assert n_replies(one_pass(tmp_path, requests)) == 3


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "change",
    [
        _damaged_in_its_reply,
        lambda body: body.replace(b"custom_id", b"name", 1),
        lambda body: b"<html>" + body,
        lambda body: body.replace(b'{"', b"{\x00\n", 1),
        lambda body: body.replace(b'"custom_id":"', b'"custom_id":7,"x":"', 1).replace(b'"custom_id": "', b'"x":"', 1),
    ],
)
def test_a_row_that_stays_damaged_is_one_failure_and_all_others_are_collected(
    tmp_path: Path, server: RunningServer, model: str, change: Callable[[bytes], bytes]
) -> None:
    told: list[BatchStatus] = []
    with proxied(server.root_url, results_changed(change)) as proxy:
        requests = requests_to(proxy.url, model, 5)
        found = one_pass(tmp_path, requests, told.append, settings=CallSettings(sleep=at_once, max_attempts=3))
        assert sorted(type(one).__name__ for one in found) == ["ChatReply"] * 4 + ["EndpointError"]
        assert "its row of the results cannot be read" in str(found)
        assert BatchQueue(ReplyCache(tmp_path)).batches() == []
        assert "not reached" not in {status.state for status in told}
        proxy.change = lambda _: None
        assert n_replies(one_pass(tmp_path, requests)) == 5
    assert len(paid_keys(server)) == 6


@pytest.mark.parametrize(
    ("change", "n_maybe_charged"), [(_damaged_in_its_reply, 1), (lambda body: body.replace(b'"usage"', b'"used"'), 0)]
)
def test_a_row_that_stays_damaged_or_a_reply_without_its_tokens_spends_its_worst_case_of_a_limit(
    tmp_path: Path, server: RunningServer, change: Callable[[bytes], bytes], n_maybe_charged: int
) -> None:
    totals = RunningTotals()
    with proxied(server.root_url, results_changed(change)) as proxy:
        requests = requests_to(proxy.url, "openai/gpt-x", 4)
        cache = ReplyCache(tmp_path)
        sender = submitted(cache, requests[:2], totals=totals, max_cost_usd=2.5 * most_usd(requests[0]))
        sender.collect(wait=True)
        found = asked(sender, cache, requests[2:])
        cache.close()
    assert totals.now.maybe_charged == n_maybe_charged
    assert [type(one) for one in found] == ([PendingError, CostLimitError] if n_maybe_charged else [CostLimitError] * 2)


def spelled(line: bytes, shape: Callable[[bytes], bytes]) -> bytes:
    return line.replace(key_in(line), shape(key_in(line)))


STRANGER = numbered(99)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "beside",
    [
        None,  # all rows under another spelling
        *(bytes, bytes.upper, lambda key: b" " + key, lambda key: key[:2] + b" " + key[2:]),
        *(lambda _: STRANGER.key.encode(), lambda _: b"no key"),
    ],
)
def test_rows_in_another_spelling_that_come_twice_or_that_nobody_asked_for_count_once_or_not_at_all(
    tmp_path: Path, server: RunningServer, model: str, beside: Callable[[bytes], bytes] | None
) -> None:
    def change(body: bytes) -> bytes:
        lines = body.splitlines(keepends=True)
        return (
            b"".join(spelled(line, bytes.upper) for line in lines)
            if beside is None
            else body + spelled(lines[0], beside)
        )

    totals = RunningTotals()
    with proxied(server.root_url, results_changed(change)) as proxy:
        assert n_replies(one_pass(tmp_path, requests_to(proxy.url, model, 3), totals=totals)) == 3
    assert totals.now.requests == 3
    assert ReplyCache(tmp_path).find(STRANGER.key) is None


@pytest.mark.parametrize("name", ["../../x", "a/b", "a?b", "..", "", "é"])
def test_an_id_that_would_change_the_address_is_not_used(tmp_path: Path, server: RunningServer, name: str) -> None:
    def change(passing: Passing) -> None:
        if (passing.method, passing.path) == ("POST", "/v1/files"):
            passing.body = b'{"id": "%b"}' % name.encode()

    with proxied(server.root_url, change) as proxy, pytest.raises(FailingServerError, match="an id of letters"):
        one_pass(tmp_path, requests_to(proxy.url, "openai/gpt-x", 1))
    assert proxy.asked[-1] == ("POST", "/v1/files")


def test_a_key_is_sent_and_stands_in_no_file_and_no_message(tmp_path: Path, server: RunningServer) -> None:
    key = "sk-very-secret-0123456789"

    def change(passing: Passing) -> None:
        if passing.path.endswith("/content"):
            passing.body = passing.body.replace(b"No paper", key.encode())

    told: list[BatchStatus] = []
    with proxied(server.root_url, change) as proxy:
        requests = [
            ChatRequest(model="openai/gpt-x", base_url=proxy.url, messages=numbered(n).messages, key_env="MY_KEY")
            for n in range(3)
        ]
        found = one_pass(tmp_path, requests, told.append, environ={"MY_KEY": key})
        assert all(headers["Authorization"] == f"Bearer {key}" for headers in proxy.headers)
        proxy.change = _status(400, f"bad key {key}")
        more = [ChatRequest(model="openai/y", base_url=proxy.url, messages=requests[0].messages, key_env="MY_KEY")]
        failed = one_pass(tmp_path, more, told.append, environ={"MY_KEY": key})
    assert n_replies(found) == 3
    said = " ".join(map(str, [*found, *failed, *told]))
    assert "bad key ***" in said
    assert key not in said
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.iterdir())


def test_a_batch_that_is_not_needed_and_cannot_be_reached_does_not_stop_a_run(
    tmp_path: Path, server: RunningServer
) -> None:
    with proxied(server.root_url) as proxy:
        cache = ReplyCache(tmp_path)
        requests = requests_to(proxy.url, "openai/gpt-x", 2)
        submitted(cache, requests)
        cache.close()
    told: list[BatchStatus] = []
    assert n_replies(one_pass(tmp_path, requests_to(server.base_url, "openai/gpt-x", 2), told.append)) == 2
    assert "not reached" in {status.state for status in told}
    assert len(BatchQueue(ReplyCache(tmp_path)).batches()) == 1


def test_polling_outlives_an_outage(tmp_path: Path) -> None:
    n_looks = [0]

    def change(passing: Passing) -> None:
        if passing.method == "GET" and passing.path.startswith("/v1/batches/"):
            n_looks[0] += 1
            passing.is_cut = n_looks[0] < 12

    with running_fake_server(SAMPLE) as server, proxied(server.root_url, change) as proxy:
        assert n_replies(one_pass(tmp_path, requests_to(proxy.url, "openai/gpt-x", 2))) == 2


def test_a_cost_limit_counts_all_that_is_queued(tmp_path: Path, server: RunningServer) -> None:
    requests = requests_to(server.base_url, "openai/gpt-x", 5)
    most = most_usd(requests[0])
    found = one_pass(tmp_path, requests, max_cost_usd=3.5 * most)
    assert [type(one) for one in found[:3]] == [ChatReply] * 3
    found = one_pass(tmp_path, requests, max_cost_usd=0.5 * most)
    assert [type(one) for one in found] == [ChatReply] * 3 + [CostLimitError] * 2
    (unknown,) = one_pass(tmp_path, [numbered(0, "openai/unheard-of", server.base_url)], max_cost_usd=1.0)
    assert "known price" in str(unknown)


def test_what_batches_did_not_cost_pays_for_more_until_nothing_fits(tmp_path: Path, server: RunningServer) -> None:
    requests, cache = requests_to(server.base_url, "openai/gpt-x", 6), ReplyCache(tmp_path)
    most = most_usd(requests[0])

    def work() -> list[int]:
        sender, n_found = sender_of(cache, max_cost_usd=1.5 * most), list[int]()
        while True:
            n_found.append(n_replies(asked(sender, cache, requests)))
            if not sender.submit():
                return n_found
            sender.collect(wait=True)

    assert work() == list(range(7))


def test_what_an_open_batch_holds_is_not_sent_one_by_one_and_is_collected_when_done(
    tmp_path: Path, server: RunningServer
) -> None:
    class Counting:
        n_sent = 0

        def send(self, request: ChatRequest) -> ChatReply:
            self.n_sent += 1
            return ChatReply(text=request.model)

    cache, counting = ReplyCache(tmp_path), Counting()
    in_batch, other = requests_to(server.base_url, "openai/gpt-x", 2)

    client = ChatClient(sender=counting, cache=cache, prices=PRICES, in_batches=BatchQueue(cache))
    sender_of(cache).collect(wait=False)
    assert not cache.path.exists()
    submitted(cache, [in_batch])
    with pytest.raises(StopError, match=r"batch_\w+.*20\d\d-.*UTC.*--batch"):
        client.ask(in_batch)
    client.ask(other)
    totals = RunningTotals()
    while BatchQueue(cache).batches():
        sender_of(cache, totals=totals).collect(wait=False)
    assert totals.now.requests == 1
    assert cache.find(in_batch.key) is not None
    assert counting.n_sent == 1


def test_a_damaged_waiting_request_is_refused_with_what_to_do(tmp_path: Path, server: RunningServer) -> None:
    cache = ReplyCache(tmp_path)

    def damage_and_submit() -> None:
        sender = sender_of(cache)
        asked(sender, cache, requests_to(server.base_url, "openai/gpt-x", 2))
        cache.change(lambda connection: connection.execute("UPDATE waiting SET request = x'00'"))
        sender.submit()

    with pytest.raises(CacheError, match=r"damaged.*prune --batches"):
        damage_and_submit()


@pytest.mark.parametrize("model", MODELS)
def test_a_waiting_request_that_is_damaged_loses_its_own_reply_and_no_other(
    tmp_path: Path, server: RunningServer, model: str
) -> None:
    cache, requests = ReplyCache(tmp_path), requests_to(server.base_url, model, 4)
    sender = submitted(cache, requests)
    damage = "UPDATE waiting SET request = x'00' WHERE id = (SELECT min(id) FROM waiting)"
    cache.change(lambda connection: connection.execute(damage))
    sender.collect(wait=True)
    found = asked(sender, cache, requests)
    assert [type(one) for one in found] == [EndpointError] + [ChatReply] * 3
    assert "the waiting request" in str(found[0])
    assert BatchQueue(cache).batches() == []
    cache.close()
    assert n_replies(one_pass(tmp_path, requests)) == 4


def test_on_a_full_disk_a_batch_stays_open_and_is_collected_when_there_is_room(
    tmp_path: Path, server: RunningServer
) -> None:
    cache, requests = ReplyCache(tmp_path), requests_to(server.base_url, "openai/gpt-x", 4)
    sender = submitted(cache, requests)
    with no_file_longer_than(500), pytest.raises(CacheError, match="File too large"):
        sender.collect(wait=True)
    sender.collect(wait=True)
    cache.close()
    assert n_replies(one_pass(tmp_path, requests)) == 4
    assert len(paid_keys(server)) == 4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_answers_about_batches_that_are_damaged_anyhow_end_in_errors_of_ours_and_in_the_end_all_is_answered(
    tmp_path: Path, server: RunningServer, model: str, seed: int
) -> None:
    rng = random.Random(seed)

    def change(passing: Passing) -> None:
        if rng.random() < 0.3:
            passing.body = rng.choice(list(mutations(rng, passing.body)))

    with proxied(server.root_url, change) as proxy:
        requests = requests_to(proxy.url, model, 4)
        for number in range(8):
            if number == 4:
                proxy.change = lambda _: None
            try:
                found = one_pass(tmp_path, requests, settings=CallSettings(sleep=at_once, max_attempts=2, max_misses=2))
            except EvidenceBenchError:
                continue
        assert n_replies(found) == 4
