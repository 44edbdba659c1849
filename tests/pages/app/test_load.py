"""Many clients at once, and clients that leave, send nothing or read nothing."""

import contextlib
import select
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from doors import ViewerData, server
from evidencebench import load_sample
from kit.asking_app import Running, ended_with, running, timed
from kit.command_line import until
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


def test_connections_on_which_nothing_comes_are_ended(sample_viewed: ViewerData) -> None:
    limits = timed(head_seconds=600.0)
    with running(sample_viewed, connection=limits) as app:
        idle = [app.connected() for _ in range(100)]
        assert app.is_alive()
        limits.head_seconds = 0.1
        late = [app.connected() for _ in range(100)]
        assert [ended_with(connection) for connection in late] == [b""] * 100
        limits.head_seconds = 600.0
        assert app.is_alive()
        for connection in (*idle, *late):
            connection.close()


def test_more_connections_than_there_is_room_for_are_refused_and_the_others_served(sample_viewed: ViewerData) -> None:
    limits = timed(max_connections=20, head_seconds=600.0)
    with running(sample_viewed, connection=limits) as app:
        idle = [app.connected() for _ in range(40)]
        refused = select.select(idle, [], [], 60)[0]
        assert [ended_with(connection) for connection in idle[20:]] == [b""] * 20
        assert set(refused) <= set(idle[20:])
        for connection in idle:
            connection.close()

        def is_served() -> bool:
            with contextlib.suppress(OSError):  # until it has seen that there is room again
                return app.is_alive()
            return False

        until(is_served)


def test_a_client_that_never_reads_is_ended(sample_viewed: ViewerData) -> None:
    is_ended = threading.Event()
    limits = timed(head_seconds=600.0, answer_seconds=0.2)

    class Watched(limits):  # type: ignore[misc, valid-type]  # a class that is made
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            is_ended.set()

    with running(sample_viewed, connection=Watched) as app:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect((app.address.host, app.address.port))
        with contextlib.suppress(OSError):
            connection.sendall(get(app, "/static/app.js") * 200)
        assert is_ended.wait(MOST_SECONDS)
        connection.settimeout(60)
        received = ended_with(connection)
        assert len(received) < 200 * 50_000
        connection.close()
        Watched.answer_seconds = 600.0
        assert app.is_alive()


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
