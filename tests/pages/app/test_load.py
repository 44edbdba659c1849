"""Many clients at once, and clients that leave or send slowly."""

import contextlib
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from doors import ViewerData, server
from evidencebench import load_sample
from kit.asking_app import Running, ended_with, running
from kit.patience import MOST_SECONDS

SAMPLE = load_sample()
N_AT_ONCE = 200


def get(app: Running, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {app.host}\r\n\r\n".encode()


def test_two_hundred_are_answered_at_once(app: Running) -> None:
    expected = {
        path: app.ask(path).body for path in ("/api/rows", f"/api/instances?id={SAMPLE.ids[1]}", "/api/rows?q=the")
    }
    paths = list(expected) * N_AT_ONCE
    gate = threading.Barrier(N_AT_ONCE)

    def ask(path: str) -> tuple[int, bool]:
        gate.wait(MOST_SECONDS)
        reply = app.ask(path)
        return reply.status, reply.body == expected[path]

    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        assert set(pool.map(ask, paths[:N_AT_ONCE])) == {(200, True)}


def test_clients_that_leave_in_the_middle_do_no_harm(app: Running) -> None:
    whole = get(app, f"/api/instances?id={SAMPLE.ids[0]}")
    n_threads = threading.active_count()
    for number in range(100):
        connection = app.connected()
        connection.sendall(whole[: len(whole) - number % 40])
        # The connection ends with a reset, not with an orderly close.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    assert app.is_alive()
    assert threading.active_count() < n_threads + 60


def test_requests_one_after_the_other_and_before_the_answer(app: Running) -> None:
    with app.connected() as connection:
        connection.sendall(get(app, "/api/overview") * 5)
        connection.settimeout(60)
        received = b""
        with contextlib.suppress(TimeoutError):
            while received.count(b"HTTP/1.1 200 OK") < 5 or not received.endswith(b"}"):
                received += connection.recv(65536)
    assert received.count(b"HTTP/1.1 200 OK") == 5


def test_a_slow_body_holds_up_nobody(sample_viewed: ViewerData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BODY_SECONDS", 600.0)
    with running(sample_viewed) as app:
        head = (
            f"POST /api/rows HTTP/1.1\r\nHost: {app.host}\r\nOrigin: http://{app.host}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        ).encode()
        slow = [app.connected() for _ in range(60)]
        for connection in slow:
            connection.sendall(head)
        assert app.is_alive()
        monkeypatch.setattr(server, "BODY_SECONDS", 0.1)
        late = [app.connected() for _ in range(60)]
        for connection in late:
            connection.sendall(head)
        assert {ended_with(connection)[:13] for connection in late} == {b"HTTP/1.1 408 "}
        for connection in (*slow, *late):
            connection.close()


def test_it_ends_although_clients_hold_on(sample_viewed: ViewerData) -> None:
    with running(sample_viewed) as app:
        held = [app.connected() for _ in range(10)]
        for connection in held:
            connection.sendall(get(app, "/api/overview"))
        assert app.is_alive()
    with pytest.raises(OSError):  # noqa: PT011 - refused, as the system words it
        app.ask("/")
    for connection in held:
        connection.close()
