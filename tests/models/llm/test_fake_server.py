"""The trial server over raw sockets: what it answers, refuses and counts; and how it fails."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import FAULTS, FakeModel, FakeServer, Settings, listening_socket, served_in_thread
from evidencebench import load_sample
from kit.command_line import until
from kit.examples import examples
from kit.marked_prompts import openai_body, prompt
from kit.patience import MOST_SECONDS

SAMPLE = load_sample()
QUERY = SAMPLE[0].query
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
BODY = openai_body(prompt(QUERY))
VERSION = {"anthropic-version": "2023-06-01"}


@contextmanager
def serving(**settings: Any) -> Iterator[int]:
    """Run the server that the package has, and yield its port."""
    bound = listening_socket("127.0.0.1", 0)
    with served_in_thread(FakeServer(FakeModel(SAMPLE, Settings(**settings))), bound):
        yield bound.getsockname()[1]


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with serving() as port:
        yield port


def ask(port: int, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], Any]:
    """Ask once, and return status, headers and decoded body."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = HTTPConnection("127.0.0.1", port, timeout=MOST_SECONDS)
    try:
        connection.request(method, path, content, {"Content-Type": "application/json", **headers})
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, json.loads(reply.read())
    finally:
        connection.close()


def totals(port: int) -> dict[str, Any]:
    told: dict[str, Any] = ask(port, "GET", "/log")[2]
    return told


def raw(path: str, body: object, **headers: str) -> bytes:
    """Return a request's bytes."""
    content = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: a", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content


def received(port: int, request: bytes, until: Callable[[bytes], bool] = lambda _: False) -> bytes:
    """Send bytes on one connection, then return all that comes until it is closed, or until there is enough."""
    data = b""
    with socket.create_connection(("127.0.0.1", port), timeout=MOST_SECONDS) as connection:
        connection.sendall(request)
        try:
            while not until(data) and (block := connection.recv(65536)):
                data += block
        except ConnectionResetError:
            pass
    return data


def text_of(reply: Any) -> str:
    text: str = reply["choices"][0]["message"]["content"]
    return text


def test_a_reply_has_the_shape_that_clients_of_openai_expect(server: int) -> None:
    status, _, reply = ask(server, "POST", CHAT, BODY)
    assert status == 200
    assert text_of(reply).splitlines()[-1].startswith("ANSWER: [")
    assert (reply["object"], reply["model"]) == ("chat.completion", "fake")
    assert reply["choices"][0]["finish_reason"] == "stop"
    usage = reply["usage"]
    assert usage["prompt_tokens"] == -(-len(prompt(QUERY)) // 4) + 3
    assert usage["completion_tokens"] == -(-len(text_of(reply)) // 4)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    for field in ("max_tokens", "max_completion_tokens"):
        reply = ask(server, "POST", CHAT, {**BODY, field: 5})[2]
        assert len(text_of(reply)) == 20
        assert (reply["choices"][0]["finish_reason"], reply["usage"]["completion_tokens"]) == ("length", 5)


def test_the_totals_say_what_was_asked_and_paid_and_hold_no_text() -> None:
    with serving() as port:
        for body in (BODY, BODY, dict(reversed(BODY.items())), {"model": "fake"}):
            ask(port, "POST", CHAT, body, Authorization="Bearer sk-do-not-write-me-down")
        reply = ask(port, "POST", CHAT, openai_body("Hello!"))[2]
        told = totals(port)
    assert text_of(reply).endswith("ANSWER: []")
    assert "No paper that this server was started with is shown" in text_of(reply)
    assert (told["requests"], told["paid"], told["rejected"], told["paid_more_than_once"]) == (5, 4, 1, 1)
    n_asked = -(-len(prompt(QUERY)) // 4) + 3
    assert told["prompt_tokens"] == 3 * n_asked + reply["usage"]["prompt_tokens"]
    assert all(isinstance(value, int) or value == {} for value in told.values())


def test_a_client_that_leaves_first_has_not_paid() -> None:
    with serving(latency_seconds=30.0) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=MOST_SECONDS) as connection:
            connection.sendall(raw(CHAT, BODY))
            until(lambda: totals(port)["in_flight"])
        until(lambda: not totals(port)["in_flight"])
        assert (totals(port)["unpaid"], totals(port)["paid"]) == (1, 0)


def test_requests_that_are_tried_until_they_pass_are_paid_once_each() -> None:
    statuses = []
    with serving(fault_rate=0.8) as port:
        for query in SAMPLE.queries():
            text = ""
            while "ANSWER: [" not in text:
                data = received(port, raw(CHAT, openai_body(prompt(query)), Connection="close"))
                head, _, body = data.partition(b"\r\n\r\n")
                statuses.append(head.split()[1])
                if statuses[-1] == b"429":
                    assert b"retry-after: 0\r\n" in head + b"\r\n"
                text = body.decode()
        told = totals(port)
    assert set(statuses) == {b"200", b"429", b"500"}
    assert (told["paid"], told["paid_more_than_once"]) == (len(SAMPLE), 0)
    assert set(told["faults"]) == set(FAULTS)
    assert sum(told["faults"].values()) == told["requests"] - len(SAMPLE) == len(statuses) - len(SAMPLE)


@pytest.mark.parametrize(
    ("line", "body", "status", "said"),
    [
        (("GET", "/v2/nothing"), None, 404, "no such path"),
        (("GET", CHAT), None, 404, "expected POST /v1/chat/completions"),
        (("POST", CHAT), b"{", 400, "Expected `object`"),
        (("POST", CHAT), [1], 400, "Expected `object`"),
        (("POST", CHAT), {"model": "fake"}, 400, "messages"),
        (("POST", CHAT), openai_body(), 400, "length >= 1 - at `$.messages`"),
        (("POST", CHAT), {**BODY, "n": 2}, 400, "at `$.n`"),
        (("POST", CHAT), {**BODY, "stream": "no"}, 400, "at `$.stream`"),
        (("POST", CHAT), {**BODY, "max_tokens": 0}, 400, ">= 1 - at `$.max_tokens`"),
        (("POST", CHAT), b"[" * 100_000 + b"]" * 100_000, 400, "Expected `object`"),
        (("POST", CHAT), b'{"model": "m", "messages": [{"role": "user", "content": "\\ud800"}]}', 400, "Expected"),
        (("POST", CHAT), b"\xff\xfe", 400, "Expected `object`"),
    ],
)
def test_what_the_provider_would_refuse_is_refused_in_its_shape(
    server: int, line: tuple[str, str], body: object, status: int, said: str
) -> None:
    got, _, reply = ask(server, *line, body)
    assert (got, reply["error"]["type"]) == (status, "invalid_request_error")
    assert said in reply["error"]["message"]


@given(st.binary(max_size=200))
@examples(50)
def test_no_bytes_end_the_server(server: int, data: bytes) -> None:
    for start in (b"", f"POST {CHAT} HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n".encode()):
        with socket.create_connection(("127.0.0.1", server), timeout=MOST_SECONDS) as connection:
            connection.sendall(start + data)
            connection.shutdown(socket.SHUT_WR)
            try:
                while connection.recv(65536):
                    pass
            except ConnectionResetError:
                pass
    assert totals(server)["in_flight"] == 0


@given(st.floats(0, 1), st.integers(0, 99), st.lists(st.text(max_size=3), max_size=20), st.randoms())
def test_whether_a_request_meets_a_fault_does_not_depend_on_the_others(
    rate: float, seed: int, keys: list[str], chance: Any
) -> None:
    plan = Settings(fault_rate=rate, seed=seed)
    expected = {key: [plan.fault_met(key, attempt) for attempt in (1, 2, 3)] for key in keys}
    shuffled = list(expected)
    chance.shuffle(shuffled)
    assert {key: [plan.fault_met(key, attempt) for attempt in (1, 2, 3)] for key in shuffled} == expected
    if rate == 0:
        assert not any(fault for faults in expected.values() for fault in faults)
