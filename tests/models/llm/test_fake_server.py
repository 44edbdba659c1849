"""The server for trials over raw sockets: it keeps HTTP's rules, breaks them where it says so, and logs what it did."""

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.data.sample import load_sample
from evidencebench.errors import UnreadableError
from evidencebench.integrations.fake_server.anthropic_api import ANTHROPIC
from evidencebench.integrations.fake_server.calls import BadCallError, Reply, key_of, within_limit
from evidencebench.integrations.fake_server.client import ConnectionLimits
from evidencebench.integrations.fake_server.openai_api import OPENAI
from evidencebench.integrations.fake_server.settings import NAMED_FAULTS, PASSING_FAULTS, Fault, Settings
from examples import examples
from fake_models import RunningServer, running_fake_server
from marked_prompts import anthropic_body, openai_body, prompt

SAMPLE = load_sample()
QUERY = SAMPLE[0].query
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
BODY = openai_body(prompt(QUERY))
VERSION = {"anthropic-version": "2023-06-01"}
SECRET = "sk-do-not-write-me-down"  # noqa: S105 - no secret but for the test


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_fake_server(SAMPLE) as running:
        yield running


def raw(method: str, path: str, body: object = None, **headers: str) -> bytes:
    """Return a request's bytes."""
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content


def received(port: int, *requests: bytes, until: Callable[[bytes], bool] = lambda _: False) -> bytes:
    """Send bytes on one connection, then return all that comes until it is closed, or until there is enough."""
    data = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        for request in requests:
            connection.sendall(request)
        try:
            while not until(data) and (block := connection.recv(65536)):
                data += block
        except ConnectionResetError:
            pass
    return data


def is_whole(data: bytes) -> bool:
    head, gap, body = data.partition(b"\r\n\r\n")
    return bool(gap) and len(body) >= int(headers_of(head).get("content-length", 1 << 30))


def headers_of(head: bytes) -> dict[str, str]:
    lines = head.decode().split("\r\n")[1:]
    return {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines if line}


def ask(server: RunningServer, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    """Ask once, on a connection that is closed then, and return status and decoded body."""
    data = received(server.port, raw(method, path, body, Connection="close", **headers))
    head, _, content = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(content)


def text_of(reply: Any) -> str:
    text: str = reply["choices"][0]["message"]["content"]
    return text


def last_entry(server: RunningServer) -> dict[str, Any]:
    return server.log_entries()[-1]


def test_a_reply_has_the_shape_that_clients_of_openai_expect(server: RunningServer) -> None:
    status, reply = ask(server, "POST", CHAT, BODY)
    assert status == 200
    assert text_of(reply).splitlines()[-1].startswith("ANSWER: [")
    assert reply["object"] == "chat.completion"
    assert reply["model"] == "fake"
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert reply["system_fingerprint"]
    usage = reply["usage"]
    assert usage["prompt_tokens"] == -(-len(prompt(QUERY)) // 4) + 3
    assert usage["completion_tokens"] == -(-len(text_of(reply)) // 4)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    entry = last_entry(server)
    assert entry["outcome"] == "paid"
    assert entry["key"] == key_of(BODY)
    assert (entry["prompt_tokens"], entry["completion_tokens"]) == (usage["prompt_tokens"], usage["completion_tokens"])


def test_a_connection_serves_one_request_after_the_other_also_when_they_are_sent_at_once(server: RunningServer) -> None:
    asked = [raw("POST", CHAT, BODY), raw("GET", "/v1/models"), raw("POST", CHAT, BODY, Connection="close")]
    for requests in (asked, [b"".join(asked)]):
        data = received(server.port, *requests)
        assert data.count(b"HTTP/1.1 200 ") == 3
        assert data.count(b"ANSWER: ") == 2


def test_a_body_may_come_in_chunks_and_after_it_was_asked_for(server: RunningServer) -> None:
    body = json.dumps(BODY).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:100], body[100:])) + b"0\r\n\r\n"
    head = f"POST {CHAT} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    assert b"ANSWER: " in received(server.port, head, chunks)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        head, _, content = raw("POST", CHAT, BODY, Expect="100-continue").partition(b"\r\n\r\n")
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(content)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_keys_are_taken_and_written_nowhere(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with running_fake_server(SAMPLE, log=log, fault_rate=0.5, fault_kinds=("server_error",)) as server:
        for _ in range(6):
            ask(server, "POST", CHAT, BODY, Authorization=f"Bearer {SECRET}")
            ask(server, "POST", MESSAGES, anthropic_body(prompt(QUERY)), x_api_key=SECRET, **VERSION)
            ask(server, "GET", f"/v1/files/{SECRET[:4]}", Authorization=f"Bearer {SECRET}")
        told = ask(server, "GET", "/log", Authorization=f"Bearer {SECRET}")[1]
        kept = json.dumps([server.log_entries(), server.totals(), told])
    assert len(log.read_text().splitlines()) == 18
    assert SECRET not in kept + log.read_text()
    assert QUERY.hypothesis not in kept + log.read_text()


def test_the_log_file_the_entries_and_the_totals_agree(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"from": "before"}\n')
    with running_fake_server(SAMPLE, log=log) as server:
        for _ in range(2):
            ask(server, "POST", CHAT, BODY)
        ask(server, "POST", CHAT, dict(reversed(BODY.items())))
        ask(server, "POST", CHAT, {"model": "fake"})
        ask(server, "GET", "/v1/models")
        before, *lines = log.read_text().splitlines()
        totals = server.totals()
        assert ask(server, "GET", "/log") == (200, {**totals, "connections": 1})
        entries = server.log_entries()
    assert json.loads(before) == {"from": "before"}
    assert [json.loads(line) for line in lines] == entries
    assert [entry["outcome"] for entry in entries] == ["paid", "paid", "paid", "rejected", "answered"]
    assert [entry["attempt"] for entry in entries] == [1, 2, 3, 1, 1]
    assert len({entry["key"] for entry in entries[:3]}) == 1
    assert totals["requests"] == 5
    assert (totals["paid"], totals["rejected"], totals["answered"]) == (3, 1, 1)
    assert totals["paid_more_than_once"] == 1
    assert totals["prompt_tokens"] == sum(entry["prompt_tokens"] for entry in entries)


def test_a_log_that_cannot_be_written_is_said_before_anything_is_served(tmp_path: Path) -> None:
    with (
        pytest.raises(UnreadableError, match=r"cannot be written.*name another file"),
        running_fake_server(SAMPLE, log=tmp_path / "no" / "log"),
    ):
        pass


def test_a_client_that_leaves_first_has_not_paid() -> None:
    with running_fake_server(SAMPLE, latency_seconds=30.0) as server:
        received(server.port, raw("POST", CHAT, BODY), until=lambda _: True)
        deadline = time.monotonic() + 60
        while not (entries := server.log_entries()) and time.monotonic() < deadline:
            time.sleep(0.005)
        assert [entry["outcome"] for entry in entries] == ["unpaid"]
        assert server.totals()["in_flight"] == 0


def test_two_hundred_requests_in_flight_are_held_counted_and_answered() -> None:
    n = 200

    async def one(port: int, at: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(raw("POST", CHAT, {**BODY, "seed": at}, Connection="close"))
        data = await reader.read()
        writer.close()
        await writer.wait_closed()
        return data

    async def all_at_once(port: int) -> list[bytes]:
        return await asyncio.gather(*(one(port, at) for at in range(n)))

    with running_fake_server(SAMPLE, latency_seconds=1.0) as server:
        replies = asyncio.run(all_at_once(server.port))
        totals = server.totals()
    assert sum(b"ANSWER: " in reply for reply in replies) == n
    assert totals["paid"] == n
    assert totals["most_in_flight"] == totals["most_connections"] == n
    assert totals["in_flight"] == 0
    assert totals["paid_more_than_once"] == 0


def met(fault: str, path: str = CHAT, body: object = None, **headers: str) -> bytes:
    """Return what a client gets that meets a fault."""
    options: dict[str, Any] = {"fault_kinds": (fault,), "hang_seconds": 0.05, "retry_after_seconds": 1.25}
    with running_fake_server(SAMPLE, fault_rate=1.0, **options) as server:
        data = received(server.port, raw("POST", path, BODY if body is None else body, Connection="close", **headers))
        assert last_entry(server)["outcome"] == fault
        assert server.totals()["faults"] == {fault: 1}
        assert server.totals()["paid"] == 0
    return data


@pytest.mark.parametrize(
    ("fault", "status", "kind"),
    [
        ("rate_limit", 429, "rate_limit_error"),
        ("server_error", 500, "server_error"),
        ("unavailable", 503, "server_error"),
        ("bad_request", 400, "invalid_request_error"),
        ("unauthorized", 401, "authentication_error"),
    ],
)
def test_a_fault_with_a_status_is_an_error_in_openais_shape(fault: str, status: int, kind: str) -> None:
    head, _, content = met(fault).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert set(json.loads(content)["error"]) == {"message", "type", "param", "code"}
    assert json.loads(content)["error"]["type"] == kind
    assert "x-request-id" in headers_of(head)
    waits = {name: value for name, value in headers_of(head).items() if name.startswith("retry-after")}
    assert waits == ({"retry-after": "1", "retry-after-ms": "1250"} if status in {429, 503} else {})


@pytest.mark.parametrize(
    ("fault", "status", "kind"),
    [
        ("rate_limit", 429, "rate_limit_error"),
        ("server_error", 500, "api_error"),
        ("unavailable", 529, "overloaded_error"),
    ],
)
def test_a_fault_with_a_status_is_an_error_in_anthropics_shape(fault: str, status: int, kind: str) -> None:
    head, _, content = met(fault, MESSAGES, anthropic_body("a"), **VERSION).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(content)["type"] == "error"
    assert json.loads(content)["error"]["type"] == kind


@pytest.mark.parametrize("fault", ["cut", "hang", "lost_reply"])
def test_a_cut_or_hanging_request_gets_no_byte(fault: str) -> None:
    assert met(fault) == b""


def test_with_a_lost_reply_the_work_is_done_all_the_same() -> None:
    with running_fake_server(SAMPLE, fault_rate=0.5, fault_kinds=("lost_reply",)) as server:
        for at in range(12):
            params = {"custom_id": f"row{at}", "params": anthropic_body(prompt(QUERY))}
            received(server.port, raw("POST", f"{MESSAGES}/batches", {"requests": [params]}, **VERSION), until=is_whole)
        n_lost = server.totals()["faults"]["lost_reply"]
        listed: Any = {}
        while "data" not in listed:
            data = received(server.port, raw("GET", f"{MESSAGES}/batches", **VERSION), until=is_whole)
            listed = json.loads(data.partition(b"\r\n\r\n")[2] or b"{}")
    assert 0 < n_lost < 12
    assert len(listed["data"]) == 12


def test_a_truncated_body_is_shorter_than_its_head_says() -> None:
    head, _, content = met("truncated_body").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert 0 < len(content) < int(headers_of(head)["content-length"])


def test_malformed_json_and_a_wrong_content_type_and_an_empty_body_come_whole_with_status_200() -> None:
    for fault, kind in (("malformed_json", "json"), ("wrong_content_type", "html"), ("empty_body", "json")):
        head, _, content = met(fault).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert kind in headers_of(head)["content-type"]
        assert len(content) == int(headers_of(head)["content-length"])
        with pytest.raises(json.JSONDecodeError):
            json.loads(content)
        assert (content == b"") == (fault == "empty_body")


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


def test_faults_come_at_their_rate_in_all_their_kinds_and_a_retry_may_pass() -> None:
    plan = Settings(fault_rate=0.3)
    drawn = [plan.fault_met(f"key {at}", 1) for at in range(5000)]
    assert 1400 < sum(fault is not None for fault in drawn) < 1600
    assert {fault for fault in drawn if fault} == set(PASSING_FAULTS) == set(Fault) - set(NAMED_FAULTS)
    assert Settings(fault_rate=1.0, fault_kinds=(Fault.CUT,)).fault_met("key", 1) is Fault.CUT
    met_first = [at for at, fault in enumerate(drawn) if fault]
    assert 0.2 < sum(plan.fault_met(f"key {at}", 2) is not None for at in met_first) / len(met_first) < 0.4


def test_requests_that_are_tried_until_they_pass_are_paid_once_each() -> None:
    kinds = ("rate_limit", "server_error", "cut", "truncated_body", "malformed_json", "wrong_content_type")
    with running_fake_server(SAMPLE, fault_rate=0.5, fault_kinds=kinds) as server:
        for query in SAMPLE.queries():
            while b"ANSWER: [" not in received(
                server.port, raw("POST", CHAT, openai_body(prompt(query))), until=is_whole
            ):
                pass
        totals, entries = server.totals(), server.log_entries()
    assert totals["paid"] == len(SAMPLE)
    assert totals["paid_more_than_once"] == 0
    assert sum(totals["faults"].values()) == len(entries) - len(SAMPLE) > 0


@pytest.mark.parametrize(
    ("request_line", "body", "status", "said"),
    [
        (("GET", "/v2/nothing"), None, 404, "no such path"),
        (("GET", CHAT), None, 405, "expected POST"),
        (("POST", CHAT), b"{", 400, "expected a JSON object"),
        (("POST", CHAT), [1], 400, "expected a JSON object"),
        (("POST", CHAT), {"model": "fake"}, 400, "messages"),
        (("POST", CHAT), openai_body(), 400, "length >= 1 - at `$.messages`"),
        (("POST", CHAT), {**BODY, "n": 2}, 400, "<= 1 - at `$.n`"),
        (("POST", CHAT), {**BODY, "max_tokens": 0}, 400, ">= 1 - at `$.max_tokens`"),
        (("POST", CHAT), {**BODY, "max_tokens": 9, "max_completion_tokens": 9}, 400, "at most one"),
        (("POST", CHAT), {**BODY, "temperature": 3}, 400, "<= 2.0 - at `$.temperature`"),
        (("POST", CHAT), {**BODY, "response_format": {"type": "json_schema"}}, 400, "a name and a schema"),
        (("GET", "/v1/models/none"), None, 404, "does not exist"),
        (("GET", "/v1/files/none"), None, 404, "No such File"),
        (("GET", "/v1/batches/none"), None, 404, "No such batch"),
        (("GET", "/v1/batches?limit=0"), None, 400, "1 to 100,"),
        (("GET", "/v1/batches?after=none"), None, 400, "no such id"),
        (("POST", "/v1/files"), b"a", 400, "multipart/form-data"),
        (("POST", MESSAGES), {**anthropic_body("a"), "max_tokens": None}, 400, "max_tokens"),
        (("POST", MESSAGES), {**anthropic_body("a"), "temperature": 1.5}, 400, "<= 1.0 - at `$.temperature`"),
        (("POST", MESSAGES), anthropic_body(), 400, "length >= 1 - at `$.messages`"),
        (("POST", MESSAGES), {**anthropic_body("a"), "tool_choice": {"type": "tool", "name": "x"}}, 400, "no tool 'x'"),
        (("POST", f"{MESSAGES}/batches"), {"requests": []}, 400, "length"),
        (("POST", f"{MESSAGES}/batches"), {"requests": [{"custom_id": "a b", "params": {}}]}, 400, "custom_id"),
    ],
)
def test_what_the_real_provider_would_refuse_is_refused_in_its_shape(
    server: RunningServer, request_line: tuple[str, str], body: object, status: int, said: str
) -> None:
    method, path = request_line
    is_anthropic = path.startswith(MESSAGES)
    got, reply = ask(server, method, path, body, **(VERSION if is_anthropic else {}))
    assert got == status
    assert said in reply["error"]["message"]
    assert (reply.get("type") == "error") == is_anthropic
    assert last_entry(server)["outcome"] == "rejected"


def test_anthropics_version_must_be_given_and_roles_must_begin_with_the_user(server: RunningServer) -> None:
    assert ask(server, "POST", MESSAGES, anthropic_body("a"))[0] == 400
    started_by_model = {**anthropic_body("a"), "messages": [{"role": "assistant", "content": "a"}]}
    assert ask(server, "POST", MESSAGES, started_by_model, **VERSION)[0] == 400


def test_a_strict_schema_must_close_its_objects_and_require_all_that_they_declare() -> None:
    closed = {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}
    nested = {"type": "object", "properties": {"a": {"type": "array", "items": closed}}, "required": ["a"]}

    def read(schema: object) -> None:
        wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
        OPENAI.read_call({**BODY, "response_format": wanted})

    read(closed)
    read({**nested, "additionalProperties": False})
    for wrong in (nested, {**closed, "required": []}, {"anyOf": [{**closed, "additionalProperties": True}]}):
        with pytest.raises(BadCallError, match="as strict asks"):
            read(wrong)


def test_max_tokens_cuts_a_reply_and_reasoning_effort_is_counted(server: RunningServer) -> None:
    _, reply = ask(server, "POST", CHAT, {**BODY, "max_completion_tokens": 5})
    assert len(text_of(reply)) == 20
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"]["completion_tokens"] == 5
    _, reply = ask(server, "POST", CHAT, {**BODY, "reasoning_effort": "low"})
    assert reply["usage"]["completion_tokens_details"]["reasoning_tokens"] == 64
    assert reply["usage"]["completion_tokens"] == 64 + -(-len(text_of(reply)) // 4)
    call = OPENAI.read_call({**BODY, "reasoning_effort": "low", "max_tokens": 50})
    cut = within_limit(Reply(call=call, text="never reached"))
    assert (cut.text, cut.finish, cut.reasoning_tokens) == ("", "length", 50)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
known_fields = st.sampled_from(
    sorted({*BODY, "system", "stream", "tools", "tool_choice", "output_config", "response_format", "max_tokens"})
)


@given(st.dictionaries(known_fields, json_values))
def test_any_json_is_a_call_or_a_bad_call(changes: dict[str, object]) -> None:
    for wire, body in ((OPENAI, BODY), (ANTHROPIC, anthropic_body(prompt(QUERY)))):
        try:
            call = wire.read_call({**body, **changes})
        except BadCallError:
            continue
        assert call.prompt_tokens >= 0


@given(st.binary(max_size=200))
@examples(50)
def test_no_bytes_end_the_server(server: RunningServer, data: bytes) -> None:
    for start in (
        b"",
        b"POST /v1/files HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(start + data)
            connection.shutdown(socket.SHUT_WR)
            try:
                while connection.recv(65536):
                    pass
            except ConnectionResetError:
                pass
    assert server.totals()["in_flight"] == 0


def test_lone_surrogates_and_deep_nesting_are_refused_not_fatal(server: RunningServer) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    lone = b'{"model": "fake", "messages": [{"role": "user", "content": "\\ud800"}]}'
    for body in (deep, lone, b"\xff\xfe", b'{"a": NaN}'):
        assert ask(server, "POST", CHAT, body)[0] == 400
    assert ask(server, "POST", CHAT, BODY)[0] == 200


def test_what_is_not_http_or_too_big_or_too_slow_is_refused_and_the_connection_ends() -> None:
    limits = ConnectionLimits(max_head_bytes=2000, max_body_bytes=3000, head_seconds=0.1, body_seconds=0.1)
    with running_fake_server(SAMPLE, limits=limits) as server:
        for request, status in (
            (b"what?\r\n\r\n", 400),
            (b"GET /" + b"a" * 3000, 400),
            (raw("POST", CHAT, b"a" * 3001), 413),
            (raw("POST", CHAT, b"0").replace(b"Host", b"Transfer-Encoding: chunked\r\nHost") + b"\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nslow", 408),
            (b"GET / HTTP/1.1\r\nHo", 408),
        ):
            assert received(server.port, request).startswith(b"HTTP/1.1 %d " % status), request[:20]
        assert received(server.port) == b""
        assert server.totals()["requests"] == 0


def test_a_client_that_never_reads_its_reply_is_cut_and_has_not_paid() -> None:
    with running_fake_server(SAMPLE, limits=ConnectionLimits(write_seconds=0.1)) as server:
        boundary = b"--b\r\n"
        parts = [b'Content-Disposition: form-data; name="purpose"\r\n\r\nbatch', b"a" * (32 << 20)]
        parts[1] = b'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + parts[1]
        body = boundary + (b"\r\n" + boundary).join(parts) + b"\r\n--b--\r\n"
        request = raw("POST", "/v1/files", body).replace(b"application/json", b"multipart/form-data; boundary=b")
        file_id = json.loads(received(server.port, request, until=is_whole).partition(b"\r\n\r\n")[2])["id"]
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(raw("GET", f"/v1/files/{file_id}/content"))
            deadline = time.monotonic() + 60
            while len(server.log_entries()) < 2 and time.monotonic() < deadline:
                time.sleep(0.005)
        assert last_entry(server)["outcome"] == "unpaid"


def test_an_unknown_paper_is_counted(server: RunningServer) -> None:
    n_before = server.totals()["unknown_papers"]
    _, reply = ask(server, "POST", CHAT, openai_body("Hello!"))
    assert text_of(reply).endswith("ANSWER: []")
    assert server.totals()["unknown_papers"] == n_before + 1


def test_a_port_that_is_taken_is_said_and_nothing_is_left_running(server: RunningServer) -> None:
    with pytest.raises(OSError, match="in use"), running_fake_server(SAMPLE, port=server.port):
        pass


def test_a_server_that_ends_cuts_what_is_in_flight() -> None:
    with running_fake_server(SAMPLE, latency_seconds=60.0) as server:
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        connection.sendall(raw("POST", CHAT, BODY))
        while not server.totals()["in_flight"]:
            time.sleep(0.005)
    with connection:
        assert connection.recv(100) == b""


def test_entries_are_lines_of_json_without_text_of_the_prompt(server: RunningServer) -> None:
    ask(server, "POST", CHAT, BODY)
    assert set(last_entry(server)) == {
        "time",
        "key",
        "outcome",
        "request",
        "attempt",
        "in_flight",
        "prompt_tokens",
        "completion_tokens",
        "batch",
    }
    assert msgspec.json.encode(last_entry(server))
