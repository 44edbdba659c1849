"""Requests over HTTP to a server on loopback that breaks the rules in every way on demand; no test waits for real."""

import asyncio
import json
import sys
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from gzip import compress
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import pytest

import doors
from doors import (
    NOTHING_USED,
    Bounds,
    ChatModel,
    ChatReply,
    DrainingError,
    EncodedText,
    Endpoint,
    EndpointEncoder,
    EndpointError,
    FailingServerError,
    HttpSender,
    Message,
    RunningTotals,
    Usage,
)
from kit.command_line import until
from kit.hostile_server import (
    Behaviour,
    Exchange,
    HostileServer,
    announce,
    answer,
    chunked,
    cut_after,
    hang,
    hang_after,
    hostile_server,
    redirect,
    reset_at_once,
    serve,
)
from kit.in_threads import begun
from kit.llm_servers import KEY, FakeTime, completion, drip, replies, request_to, sent
from kit.patience import MOST_SECONDS

pytest.importorskip("aiohttp", reason="needs the extra 'llm'")

PAST = format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)
BODY = json.dumps(completion()).encode()


@contextmanager
def served(
    *script: Behaviour,
    environ: dict[str, str] | None = None,
    totals: RunningTotals | None = None,
    **bounds: Any,
) -> Iterator[tuple[HostileServer, HttpSender, FakeTime]]:
    """Give the server, a sender, and the time that it waits by."""
    time = FakeTime()
    with hostile_server(BODY, *script) as server:
        yield (
            server,
            HttpSender(
                bounds=Bounds(**{"timeout_seconds": float(MOST_SECONDS)} | bounds),
                clock=time.clock,
                sleep=time.sleep,
                jitter=lambda: 0.5,
                environ=environ or {},
                totals=totals,
            ),
            time,
        )


def outcome(server: HostileServer, sender: HttpSender, **more: Any) -> ChatReply | BaseException:
    return sent(sender, request_to(**{"base_url": server.address("v1")} | more))[0]


@pytest.mark.parametrize(
    "fault",
    [
        *map(answer, (408, 409, 425, 500, 502, 503, 504, 529)),
        reset_at_once,
        cut_after(40),
        announce(len(BODY) + 5),
        chunked(BODY[:40], is_ended=False),
        answer(200, BODY[:40]),
        answer(200, b"<html>busy</html>", Content_Type="text/html"),
        answer(204),
        answer(200, b"\xff\xfe"),
        answer(200, b"[" * 100_000),
        answer(200, b'{"choices": []}'),
        answer(200, b'{"error": {"message": "no worker"}}'),
        answer(200, compress(BODY)[:40], Content_Encoding="gzip"),
    ],
)
def test_a_failure_that_passes_is_asked_again(fault: Behaviour) -> None:
    with served(fault, replies()) as (server, sender, time):
        found = outcome(server, sender)
    usage = Usage(prompt_tokens=10, completion_tokens=2)
    assert found == ChatReply(text="ANSWER: [1]", usage=usage, served_by="m-2026", seconds=0.0)
    assert [asked.path for asked in server.log] == ["/v1/chat/completions"] * 2
    assert time.slept == [0.5]


def refusing(message: str, status: int = 400, **more: Any) -> Behaviour:
    return answer(status, json.dumps({"error": {"message": message} | more}).encode())


@pytest.mark.parametrize(
    ("model", "refusal", "sent_first", "sent_then"),
    [
        (
            "vllm/m",
            refusing("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
            "max_tokens",
            "max_completion_tokens",
        ),
        (
            "openai/m",
            refusing("Unrecognized request argument supplied: max_completion_tokens"),
            "max_completion_tokens",
            "max_tokens",
        ),
        (
            "openai/m",
            answer(422, b'{"detail": [{"type": "missing", "loc": ["body", "max_tokens"], "msg": "Field required"}]}'),
            "max_completion_tokens",
            "max_tokens",
        ),
    ],
)
def test_a_field_that_a_server_refuses_is_understood_once_and_nothing_is_paid_twice(
    model: str, refusal: Behaviour, sent_first: str, sent_then: str
) -> None:
    with served(refusal, replies()) as (server, sender, time):
        asked = [request_to(server.address("v1"), model=model, key_env="", seed=seed) for seed in (0, 1)]
        found = sent(sender, *asked)
    assert [reply.text for reply in found if isinstance(reply, ChatReply)] == ["ANSWER: [1]"] * 2
    bodies = [json.loads(exchange.body) for exchange in server.log]
    assert [sent_first in body for body in bodies] == [True, False, False]
    assert all(body[sent_then] == 4096 for body in bodies[1:])
    assert time.slept == []


def test_a_server_that_takes_no_temperature_is_asked_without_0_and_with_another_says_so() -> None:
    refusal = refusing("Unsupported value: 'temperature' does not support 0 with this model.")
    with served(refusal, replies()) as (server, sender, _):
        address = server.address("v1")
        asked = [request_to(address, model="openai/m", key_env="", temperature=0.0, seed=seed) for seed in (0, 1)]
        found = sent(sender, *asked)
    assert [reply.text for reply in found if isinstance(reply, ChatReply)] == ["ANSWER: [1]"] * 2
    assert ["temperature" in json.loads(exchange.body) for exchange in server.log] == [True, False, False]
    with served(refusal, refusal) as (server, sender, _):
        (error,) = sent(sender, request_to(server.address("v1"), model="openai/m", key_env="", temperature=0.7))
    assert "temperature" in str(error)


# As llama-cpp-python 0.3.36 says it, with status 500.
LLAMA_CPP_PYTHON = (
    "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input "
    "should be 'text' or 'json_object'\", 'input': 'json_schema', 'ctx': {'expected': \"'text' or 'json_object'\"}}"
)


@pytest.mark.parametrize(
    ("model", "refusal"),
    [
        ("openai/m", refusing("Invalid parameter: 'response_format' of type 'json_schema' is not supported.")),
        ("vllm/m", answer(422, b'{"detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs"}]}')),
        ("vllm/m", refusing("This response_format type is unavailable now", type="invalid_request_error")),
        ("llamacpp/m", refusing(LLAMA_CPP_PYTHON, 500, type="internal_server_error")),
    ],
)
def test_a_server_without_structured_replies_is_told_once_and_asked_in_words(model: str, refusal: Behaviour) -> None:
    with served(refusal, replies()) as (server, sender, _):
        chat = ChatModel(model=model, base_url=server.address("v1"), key_env="")
        asked = [chat.request((Message("user", text),), {"type": "object"}) for text in ("Hello", "Bye")]
        found = sent(sender, *asked)
    assert [reply.text for reply in found if isinstance(reply, ChatReply)] == ["ANSWER: [1]"] * 2
    assert ["response_format" in json.loads(exchange.body) for exchange in server.log] == [True, False, False]


@pytest.mark.parametrize(("n_tokens", "finish"), [(8, "stop"), (9, "length")])
def test_a_response_as_long_as_it_may_be_was_cut_though_the_server_says_completed(n_tokens: int, finish: str) -> None:
    """So do the servers of llama.cpp and transformers."""
    part = {"type": "output_text", "text": "ANSWER: [1", "annotations": []}
    item = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
    usage = {"input_tokens": 14, "output_tokens": n_tokens}
    body = {"model": "tiny", "status": "completed", "output": [item], "usage": usage}
    with served(answer(200, json.dumps(body).encode())) as (server, sender, _):
        found = sent(sender, request_to(server.address("v1"), model="openai-responses/m", key_env="", max_tokens=9))
    assert [reply.finish for reply in found if isinstance(reply, ChatReply)] == [finish]


@pytest.mark.parametrize(
    "message",
    [
        "'max_tokens' is too large: 99999. This model supports at most 4096 completion tokens.",
        "Unsupported value: 'temperature' does not support 0.5 with this model.",
        "This model's maximum context length is 10 tokens; max_tokens are 4096.",
    ],
)
def test_a_refusal_of_a_value_fails_and_is_not_sent_in_another_form(message: str) -> None:
    with served(refusing(message)) as (server, sender, _):
        found = outcome(server, sender, model="vllm/m", key_env="")
    assert isinstance(found, EndpointError)
    assert message in str(found)
    assert len(server.log) == 1


def test_a_server_that_refuses_every_form_of_a_field_is_asked_no_more() -> None:
    refusals = [refusing(f"unsupported: {name}") for name in ("max_tokens", "max_completion_tokens")]
    with served(*refusals) as (server, sender, _):
        found = outcome(server, sender, model="vllm/m", key_env="")
    assert isinstance(found, EndpointError)
    assert len(server.log) == 2


def test_a_reply_has_the_seconds_of_its_own_attempt() -> None:
    def slow(behaviour: Behaviour, seconds: float) -> Behaviour:
        def behave(exchange: Exchange) -> None:
            moment.now += seconds
            behaviour(exchange)

        return behave

    with served(slow(answer(500), 7.0), slow(replies(), 2.5)) as (server, sender, moment):
        reply = outcome(server, sender)
    assert isinstance(reply, ChatReply)
    assert (reply.seconds, reply.first_token_seconds) == (2.5, None)


def test_a_streamed_reply_has_the_seconds_to_its_first_token_whatever_the_server_refuses() -> None:
    chunks = [
        {"choices": [{"delta": {"content": text}, "finish_reason": end}]} for text, end in (("A", None), ("B", "stop"))
    ]
    first, last = (f"data: {json.dumps(one)}\n\n".encode() for one in chunks)

    def stream(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Length": len(first + last)})
        moment.now += 1.5
        n_read = moment.n_read
        exchange.send(first)
        while moment.n_read == n_read and not exchange.server.closing.wait(0.01):
            pass
        moment.now += 2.0
        exchange.send(last)

    refusal = refusing("Unknown parameter: 'stream_options'")
    with served(refusal, stream, replies()) as (server, sender, moment):
        asked = [request_to(server.address("v1"), model="vllm/m", key_env="", seed=n, stream=True) for n in range(2)]
        streamed, whole = sent(sender, *asked)
    assert isinstance(streamed, ChatReply)
    assert isinstance(whole, ChatReply)
    assert (streamed.text, streamed.seconds, streamed.first_token_seconds) == ("AB", 3.5, 1.5)
    assert (whole.text, whole.first_token_seconds) == ("ANSWER: [1]", None)  # of a server that does not stream
    bodies = [json.loads(exchange.body) for exchange in server.log]
    assert [body["stream"] for body in bodies] == [True] * 3
    assert ["stream_options" in body for body in bodies] == [True, False, False]


@pytest.mark.parametrize("fault", [hang, hang_after(40), drip])
def test_a_server_that_hangs_or_drips_is_left_after_the_time_of_an_attempt(fault: Behaviour) -> None:
    with served(fault, timeout_seconds=0.2, max_attempts=2) as (server, sender, time):
        found = outcome(server, sender)
    assert all(part in str(found) for part in ("2 attempts", "0.2 s", "try again"))
    # A busy server may not have read the second one when its time is over.
    assert time.slept == [0.5]
    assert server.log


def test_all_attempts_together_end_at_the_total_time() -> None:
    with served(answer(500), total_timeout_seconds=10.0, max_attempts=100) as (server, sender, time):
        found = outcome(server, sender)
    assert isinstance(found, EndpointError)
    assert time.slept == [0.5, 1.0, 2.0, 4.0]  # 8 more would be too late
    assert len(server.log) == 5


def test_a_request_that_another_thread_begins_while_all_is_closed_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = asyncio.run_coroutine_threadsafe
    with served(hang) as (server, sender, _):

        def begun_and_closed(*work: Any) -> Any:
            monkeypatch.undo()
            future = begin(*work)
            until(lambda: server.log)
            sender.close()
            return future

        monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", begun_and_closed)
        assert isinstance(outcome(server, sender), DrainingError)


def test_a_server_that_another_thread_is_the_first_to_ask_while_all_is_closed_is_not_asked() -> None:
    class Closing(dict[str, str]):
        def get(self, *_: Any) -> Any:  # the key is looked up just before there is a connection
            sender.close()
            return KEY

    with served(replies(), environ=Closing(ITS_KEY=KEY)) as (server, sender, _):
        assert isinstance(outcome(server, sender, key_env="ITS_KEY"), DrainingError)
    assert not server.log


def test_a_connection_is_used_again_and_one_that_broke_is_not() -> None:
    ports: list[int] = []

    def noting(behaviour: Behaviour) -> Behaviour:
        def behave(exchange: Exchange) -> None:
            exchange.handler.protocol_version = "HTTP/1.1"
            exchange.handler.close_connection = False
            ports.append(exchange.handler.client_address[1])
            behaviour(exchange)

        return behave

    with served(noting(replies()), noting(replies()), noting(answer(200, b"x")), noting(replies())) as (
        server,
        sender,
        _,
    ):
        requests = [request_to(server.address("v1"), seed=seed) for seed in range(3)]
        assert all(isinstance(found, ChatReply) for found in sent(sender, *requests))
    assert len(ports) == 4
    assert len(set(ports)) == 1


def refused(status: int, message: str, code: str = "", **headers: str) -> Behaviour:
    return answer(status, json.dumps({"error": {"message": message, "code": code}}).encode(), **headers)


@pytest.mark.parametrize(
    ("behaviour", "error", "message"),
    [
        *(
            (refused(status, "bad heat", "invalid"), EndpointError, f"model 'm': status {status}: bad heat")
            for status in (400, 422)
        ),
        *(
            (refused(400, text, code), EndpointError, "set context_tokens")
            for text, code in (("It has 8193 tokens", "context_length_exceeded"), ("prompt is too long: 210000", ""))
        ),
        (answer(401, b"wrong key"), FailingServerError, "correct the key"),
        (answer(403, b"no"), FailingServerError, "see what the key may do"),
        (answer(403, b"your account was flagged"), FailingServerError, "see what the key may do"),
        (answer(404, b"no such model"), FailingServerError, "the model's name"),
        (refused(429, "You exceeded", "insufficient_quota"), FailingServerError, "see to the account"),
        (answer(301), FailingServerError, "redirect"),
        (answer(429, b"quota", Retry_After="86400"), FailingServerError, "86400 s"),
    ],
)
def test_a_refusal_says_what_to_do_and_is_not_asked_again(
    behaviour: Behaviour, error: type[Exception], message: str
) -> None:
    with served(behaviour) as (server, sender, time):
        found = outcome(server, sender)
    assert type(found) is error
    assert message in str(found)
    assert (len(server.log), time.slept) == (1, [])


@pytest.mark.parametrize(
    ("status", "error", "model", "usage"),
    [
        (400, {"message": "filtered", "code": "content_filter"}, "openai/m", NOTHING_USED),
        (400, {"message": "filtered", "code": "content_filter"}, "azure/m", Usage()),  # which may charge for it
        (403, {"message": "This model requires moderation and your input was flagged"}, "openai/m", NOTHING_USED),
        (403, {"message": "No", "metadata": {"flagged_input": "..."}}, "openai/m", NOTHING_USED),
        (400, {"message": "Rejected", "code": "moderation_blocked"}, "openai/m", NOTHING_USED),
    ],
)
def test_a_prompt_that_the_provider_filters_is_a_refusal_and_no_failure(
    status: int, error: dict[str, Any], model: str, usage: Usage
) -> None:
    with served(answer(status, json.dumps({"error": error}).encode())) as (server, sender, _):
        found = outcome(server, sender, model=model, key_env="")
    assert found == ChatReply(text="", finish="refused", usage=usage)


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (500, {"message": "The model produced output that does not match the expected peg-native format"}, ""),
        (400, {"message": "No JSON", "code": "json_validate_failed", "failed_generation": '{"a": 1'}, '{"a": 1'),
        (400, {"message": "No JSON", "code": "json_validate_failed", "failed_generation": [1]}, ""),
    ],
)
def test_a_reply_that_the_server_itself_cannot_read_is_a_reply_and_is_not_asked_the_same_again(
    status: int, error: dict[str, Any], text: str
) -> None:
    with served(answer(status, json.dumps({"error": error}).encode())) as (server, sender, time):
        found = outcome(server, sender)
    assert (found, len(server.log), time.slept) == (ChatReply(text=text, finish="other"), 1, [])


def told(error: Any, **more: Any) -> Behaviour:
    """Answer with status 200 and an error where a reply belongs."""
    return answer(200, json.dumps({"id": None, "choices": None, "error": error} | more).encode())


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        ({"message": "No credentials", "code": 401}, FailingServerError, "status 401: No credentials; correct the key"),
        ({"message": "Insufficient credits", "code": "402"}, FailingServerError, "see to the account"),
        ({"message": "No such model", "type": "not_found_error"}, FailingServerError, "the model's name"),
        ({"message": "Bad heat", "type": "invalid_request_error"}, EndpointError, "status 400: Bad heat"),
        ({"message": "You exceeded", "code": "insufficient_quota"}, FailingServerError, "see to the account"),
    ],
)
def test_an_error_in_a_body_of_status_200_is_one_of_its_code_and_is_not_charged(
    error: dict[str, Any], kind: type, message: str
) -> None:
    totals = RunningTotals()
    with served(told(error), totals=totals) as (server, sender, time):
        found = outcome(server, sender)
    assert type(found) is kind
    assert message in str(found)
    assert (len(server.log), time.slept, totals.now.maybe_charged) == (1, [], 0)


@pytest.mark.parametrize(
    "behaviour",
    [
        told({"message": "Rate limit exceeded", "code": 429}),
        told({"message": "slow down", "type": "rate_limit_error"}),
        told("busy", status=429),
        answer(200, b'data: {"error": {"message": "Too many", "code": "429"}}\n\n'),
    ],
)
def test_too_many_requests_are_waited_out_also_where_the_status_is_200(behaviour: Behaviour) -> None:
    totals = RunningTotals()
    with served(behaviour, replies(), totals=totals, max_attempts=1) as (server, sender, time):
        assert isinstance(outcome(server, sender), ChatReply)
    assert time.slept == [10 * 1.125]
    assert totals.now.maybe_charged == 0


def test_a_prompt_that_is_flagged_in_a_body_of_status_200_is_a_refusal() -> None:
    flagged = told({"message": "No", "code": 403, "metadata": {"flagged_input": "x", "reasons": ["violence"]}})
    with served(flagged) as (server, sender, _):
        assert outcome(server, sender) == ChatReply(text="", finish="refused", usage=NOTHING_USED)


@pytest.mark.parametrize(
    "message",
    [
        "Request too large for m on tokens per minute (TPM): Limit 6000, Requested 7500. Reduce it.",
        "Rate limit reached: limit: 6,000 tokens, requested: 7,500",
    ],
)
def test_a_request_that_no_wait_lets_through_fails_at_once(message: str) -> None:
    with served(refused(429, message, "rate_limit_exceeded")) as (server, sender, time):
        found = outcome(server, sender)
    assert type(found) is EndpointError
    assert "set context_tokens to what the limit lets through" in str(found)
    assert (len(server.log), time.slept) == (1, [])
    with served(refused(429, "Limit 6000, Used 5900, Requested 500"), replies()) as (server, sender, _):
        assert isinstance(outcome(server, sender), ChatReply)


@pytest.mark.parametrize(
    ("field", "model", "refusal"),
    [
        ("seed", "local/m", refusing("Extra inputs are not permitted: seed", 422)),
        ("seed", "openai/m", refusing("Unrecognized request argument supplied: seed")),
        ("random_seed", "mistral/m", refusing("Unknown parameter: 'random_seed'", 422)),
        (
            "seed",
            "local/m",
            answer(422, b'{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs"}]}'),
        ),
    ],
)
def test_a_server_that_takes_no_seed_is_asked_without_one_and_that_is_remembered(
    field: str, model: str, refusal: Behaviour
) -> None:
    with served(refusal, replies()) as (server, sender, time):
        asked = [request_to(server.address("v1"), model=model, key_env="", temperature=t) for t in (None, 0.5)]
        assert [type(found) for found in sent(sender, *asked)] == [ChatReply] * 2
    assert [field in json.loads(exchange.body) for exchange in server.log] == [True, False, False]
    assert time.slept == []


def test_a_wait_of_some_seconds_is_told_with_its_reason_once_for_all_that_wait() -> None:
    lines: list[str] = []
    totals = RunningTotals()
    totals.tell = lines.append
    busy = refused(429, "Slow down", Retry_After="20")
    with served(busy, busy, answer(500), replies(), totals=totals) as (server, sender, _):
        assert isinstance(outcome(server, sender), ChatReply)
    assert [line.partition("waiting ")[2] for line in lines] == ["22 s: status 429: Slow down"] * 2


def test_a_server_of_this_machine_that_is_not_there_is_told_within_seconds() -> None:
    with served() as (server, sender, time):
        address = server.address("v1")
    (found,) = sent(sender, request_to(address))
    assert isinstance(found, FailingServerError)
    assert "start the server, as with 'ollama serve'" in str(found)
    assert sum(time.slept) < 5


def test_retry_after_is_honoured_in_all_its_forms_and_spread() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    asked = [{"Retry_After": value} for value in ("7", "600", "soon", "-3", soon, "0.9")]
    finer = {"Retry_After_Ms": "1500", "Retry_After": "99"}
    script = [answer(503, b"", **headers) for headers in (*asked, finer)]
    with served(*script, replies(), max_attempts=9, longest_wait_seconds=60.0) as (server, sender, time):
        assert isinstance(outcome(server, sender), ChatReply)
    assert time.slept == [7 * 1.125, 600 * 1.125, 2.0, 4.0, pytest.approx(30 * 1.125, abs=5), 16.0, 32.0]


@pytest.mark.parametrize("headers", [{"Retry_After": "0"}, {"Retry_After_Ms": "0"}, {"Retry_After": PAST}])
def test_a_server_that_asks_for_no_wait_is_asked_again_at_once_and_pauses_nobody(headers: dict[str, str]) -> None:
    with served(*[answer(429, b"", **headers)] * 3, replies()) as (server, sender, time):
        assert isinstance(outcome(server, sender), ChatReply)
    assert time.slept == [0.5, 1.0, 2.0]


def test_the_next_request_too_waits_where_a_server_asks_one_to() -> None:
    with served(answer(503, Retry_After="50"), replies(), max_attempts=1) as (server, sender, time):
        first, second = sent(sender, *(request_to(server.address("v1"), seed=seed) for seed in range(2)))
    assert isinstance(first, EndpointError)
    assert isinstance(second, ChatReply)
    assert time.slept == [50 * 1.125]


def test_too_many_requests_are_waited_out_for_longer_each_time_and_only_the_total_time_ends_that() -> None:
    with served(*[answer(429)] * 9, replies(), max_attempts=2, max_failures_in_a_row=2, max_connections=1) as (
        server,
        sender,
        time,
    ):
        assert isinstance(outcome(server, sender), ChatReply)
    assert time.slept[:4] == [10 * 1.125, 20 * 1.125, 40 * 1.125, 60 * 1.125]
    with served(answer(429), max_attempts=2, total_timeout_seconds=100.0) as (server, sender, time):
        assert isinstance(outcome(server, sender), EndpointError)
    assert sum(time.slept) < 100
    assert len(server.log) == 4


def test_waiting_for_our_own_limits_takes_nothing_of_the_time_of_a_request() -> None:
    with served(replies(), requests_per_minute=1, total_timeout_seconds=30.0) as (server, sender, time):
        found = sent(sender, *(request_to(server.address("v1"), seed=seed) for seed in range(3)))
    assert all(isinstance(one, ChatReply) for one in found)
    assert sum(time.slept) == pytest.approx(120)


def test_a_server_that_never_replies_stops_everything_after_so_many_attempts_and_one_that_did_does_not() -> None:
    bounds: dict[str, Any] = {"max_failures_in_a_row": 5, "max_attempts": 4, "max_connections": 2}
    with served(answer(500), **bounds) as (server, sender, _):
        first, second = sent(sender, *(request_to(server.address("v1"), seed=seed) for seed in range(2)))
    assert isinstance(first, EndpointError)
    assert isinstance(second, FailingServerError)
    assert "in 6 attempts" in str(second)
    with served(replies(), answer(500), **bounds) as (server, sender, _):
        found = sent(sender, *(request_to(server.address("v1"), seed=seed) for seed in range(3)))
    assert [type(one) for one in found] == [ChatReply, EndpointError, EndpointError]


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", compress(BODY)),
        ("deflate", zlib.compress(BODY)),
        ("deflate", zlib.compress(BODY)[2:-4]),
        ("gzip", BODY),  # a wrong label: what was paid for is read all the same
        ("zstd", BODY),
    ],
)
def test_a_reply_is_taken_out_of_its_coding_whatever_its_media_type(coding: str, body: bytes) -> None:
    with served(answer(200, body, Content_Encoding=coding, Content_Type="text/plain")) as (server, sender, _):
        assert isinstance(outcome(server, sender), ChatReply)
    assert len(server.log) == 1


@pytest.mark.parametrize("said", ["proxy", "socks5"])
def test_a_proxy_that_cannot_be_used_stops_everything_and_is_not_shown(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", f"{said}://me:secret@127.0.0.1:1")
    if said == "socks5":
        monkeypatch.setitem(sys.modules, "socksio", None)
    with served() as (_, sender, _time):
        (found,) = sent(sender, request_to("https://example.org/v1", key_env=""))
    assert isinstance(found, FailingServerError)
    assert str(found).startswith("servers of models: the environment: ")
    assert "ALL_PROXY" in str(found)
    assert "secret" not in f"{found!r} {found.__context__!r} {found.__cause__!r}"


def test_so_many_failures_in_a_row_stop_everything_and_a_success_begins_the_count_anew() -> None:
    bad, good = answer(422), replies()
    with served(bad, bad, good, bad, bad, bad, max_failures_in_a_row=3) as (server, sender, _):
        found = sent(sender, *(request_to(server.address("v1"), seed=seed) for seed in range(6)))
    assert [type(one) for one in found] == [EndpointError, EndpointError, ChatReply] + [EndpointError] * 2 + [
        FailingServerError
    ]
    assert all(part in str(found[-1]) for part in ("422", "(3 failed in a row)"))


def chatted(server: HostileServer, sender: HttpSender) -> BaseException:
    found = outcome(server, sender)
    assert isinstance(found, BaseException)
    return found


def encoded(server: HostileServer, _: HttpSender) -> BaseException:
    """Ask for vectors, as `dense_api` does."""
    of = Endpoint(base_url=server.address("v1"), model="m", key_env="OPENAI_API_KEY")
    with patch.object(doors.embedding_server, "MOST_REPLY_BYTES", 100), pytest.raises(EndpointError) as caught:
        list(EndpointEncoder(of).batches([EncodedText("tea")]))
    return caught.value


Asker = Callable[[HostileServer, HttpSender], BaseException]
ASKERS = pytest.mark.parametrize("asked", [chatted, encoded])


@ASKERS
@pytest.mark.parametrize(
    "behaviour",
    [
        chunked(*[b" " * 4096] * 50),
        answer(500, b" " * 200_000),
        serve,
        answer(200, compress(b" " * 20_000), Content_Encoding="gzip"),
    ],
)
def test_a_huge_reply_is_not_read_to_its_end(behaviour: Behaviour, asked: Asker) -> None:
    with served(behaviour, max_reply_bytes=100) as (server, sender, _):
        found = asked(server, sender)
    assert type(found) is EndpointError
    assert "at most 100 bytes" in str(found)
    assert len(server.log) == 1


@ASKERS
def test_a_redirect_is_not_followed_and_takes_no_key_along(asked: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with (
        hostile_server(b"") as elsewhere,
        served(redirect(elsewhere.address()), environ={"OPENAI_API_KEY": KEY}) as (server, sender, _),
    ):
        found = str(asked(server, sender))
        assert all(part in found for part in ("redirect", "not followed", "correct base_url"))
        assert elsewhere.log == []


def test_cookies_are_not_kept() -> None:
    with served(answer(200, BODY, Set_Cookie="id=1; Path=/", Content_Type="application/json")) as (server, sender, _):
        sent(sender, *(request_to(server.address("v1"), seed=seed) for seed in range(2)))
    assert all("Cookie" not in asked.headers for asked in server.log)


def _told_back(key: str) -> list[bytes]:
    forms = [key, repr(key)[1:-1], json.dumps(key)[1:-1], quote(key, safe=""), b64encode(key.encode()).decode()]
    return [f"wrong key: {form}".encode() for form in forms]


@pytest.mark.parametrize("body", _told_back(KEY), ids=["bare", "repr", "json", "url", "base64"])
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_a_key_that_the_server_tells_back_is_shown_nowhere(status: int, body: bytes) -> None:
    with served(answer(status, body), environ={"OPENAI_API_KEY": KEY}, max_attempts=1) as (server, sender, _):
        found = outcome(server, sender)
    assert server.log[0].headers["Authorization"] == f"Bearer {KEY}"
    shown = f"{found} {found!r}"
    error: BaseException | None = found if isinstance(found, BaseException) else None
    while error is not None:
        shown += f"{error} {error!r} {error.__dict__}"
        error = error.__cause__ or error.__context__
    assert not any(form.decode().removeprefix("wrong key: ") in shown for form in _told_back(KEY))
    assert KEY not in repr(sender)


@pytest.mark.parametrize("text", [f"The key is {KEY}", f"It is {json.dumps(KEY)}"], ids=["bare", "json"])
def test_a_key_in_a_reply_is_taken_out_before_it_is_stored(text: str) -> None:
    with served(replies(text, model=f"m {KEY}"), environ={"OPENAI_API_KEY": KEY}) as (server, sender, _):
        found = outcome(server, sender)
    assert isinstance(found, ChatReply)
    assert "***" in found.text
    assert found.served_by == "m ***"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "https://example.org/v1"}, "give key_env=OPENAI_API_KEY"),
        ({"base_url": "http://example.org/v1", "key_env": "OPENAI_API_KEY"}, "expected https"),
    ],
)
def test_what_cannot_be_sent_at_all_stops_everything(options: dict[str, str], message: str) -> None:
    with served(environ={"OPENAI_API_KEY": KEY}) as (server, sender, _):
        found = outcome(server, sender, **options)
    assert isinstance(found, FailingServerError)
    assert message in str(found)
    assert KEY not in repr(found)
    assert server.log == []


def test_whoever_waits_to_try_again_is_let_go_when_retrying_ends() -> None:
    with hostile_server(b"", answer(503, Retry_After="1000")) as server:
        sender = HttpSender(environ={})
        waiting = begun(sent, sender, request_to(server.address("v1")))
        until(lambda: server.log)
        time.sleep(0.1)
        sender.stop_retrying()
        (found,) = waiting.result()
    assert isinstance(found, DrainingError)
    assert "run again to resume" in str(found)
