"""The requests that the app refuses, over real connections, and how these end."""

import socket
from collections.abc import Mapping
from http.cookies import SimpleCookie

import pytest

from doors import (
    MAX_BODY_BYTES,
    SECURITY_HEADERS,
    Address,
    ViewerData,
)
from kit.asking_app import Running, ended_with, running


@pytest.mark.parametrize(
    "path", ["/", "/static/app.css", "/favicon.ico", "/api/overview", "/api/rows", "/none", "/api/rows?n=x"]
)
def test_every_reply_says_what_a_browser_may_do_with_it(app: Running, path: str) -> None:
    reply = app.ask(path)
    assert SECURITY_HEADERS.items() <= reply.headers.items()
    assert "server" not in reply.headers
    assert reply.headers["cache-control"] == "no-store"
    policy = reply.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_it_answers_to_its_own_names(app: Running, name: str) -> None:
    assert app.ask("/", headers={"Host": f"{name}:{app.address.port}"}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", ""]
)
def test_a_name_that_was_made_to_mean_this_machine_is_refused(app: Running, host: str) -> None:
    reply = app.ask("/api/rows", headers={"Host": host.format(port=app.address.port)})
    assert reply.status == 421
    assert reply.error == "this app answers only to its own address"


def test_on_the_usual_port_a_host_need_not_name_it() -> None:
    assert {"127.0.0.1", "127.0.0.1:80", "localhost"} <= Address(port=80).hosts()
    assert "127.0.0.1" not in Address(port=8642).hosts()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://{host}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_pages_of_other_sites_get_nothing(app: Running, headers: Mapping[str, str], method: str) -> None:
    sent = {name: value.format(host=app.host) for name, value in headers.items()}
    reply = app.ask("/api/overview", method=method, headers=sent)
    assert (reply.status, reply.error) == (403, "only pages of this app may ask this")
    assert "access-control-allow-origin" not in reply.headers


def test_a_link_from_another_site_leads_to_the_first_page_and_nowhere_else(app: Running) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert app.ask("/", headers=link).status == 200
    assert app.ask("/api/rows", headers=link).status == 403


def test_what_changes_something_must_say_where_it_comes_from(app: Running) -> None:
    assert app.ask("/api/overview", method="POST").status == 403
    for headers in ({"Origin": f"http://{app.host}"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert app.ask("/api/overview", method="DELETE", headers=headers).status == 405


def test_a_body_is_json_and_not_too_long(app: Running) -> None:
    assert app.post("/api/overview", {}).status == 405
    assert app.post("/api/overview", {}, **{"Content-Type": "text/plain"}).status == 415
    assert app.post("/api/overview", "x" * (MAX_BODY_BYTES - 2)).status == 405
    assert app.ask("/api/overview", body=b"{}", headers={"Content-Type": "application/json"}).status == 400


def head_of(app: Running, *lines: str) -> bytes:
    own = (f"Host: {app.host}", f"Origin: http://{app.host}", "Content-Type: application/json")
    return "\r\n".join(("POST /api/overview HTTP/1.1", *own, *lines, "", "")).encode()


def test_a_body_that_is_announced_as_too_long_is_refused_before_it_comes(app: Running) -> None:
    with app.connected() as connection:
        connection.sendall(head_of(app, f"Content-Length: {MAX_BODY_BYTES + 1}"))
        assert ended_with(connection).startswith(b"HTTP/1.1 413 ")


def test_a_body_in_chunks_without_an_end_is_refused(app: Running) -> None:
    with app.connected() as connection:
        connection.sendall(head_of(app, "Transfer-Encoding: chunked"))
        chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
        for _ in range(MAX_BODY_BYTES // 4096):
            connection.sendall(chunk)
        connection.sendall(b"1\r\nx\r\n")
        assert ended_with(connection).startswith(b"HTTP/1.1 413 ")
    assert app.is_alive()


def test_headers_that_may_stand_once_do(app: Running) -> None:
    with app.connected() as connection:
        connection.sendall(head_of(app, f"Origin: http://{app.host}", "Content-Length: 0"))
        assert ended_with(connection).startswith(b"HTTP/1.1 400 ")


def test_addresses_have_a_length(app: Running) -> None:
    assert app.ask(f"/api/rows?q={'a' * 9000}").status == 414
    with app.connected() as connection:
        connection.sendall(b"GET /" + b"a" * 60_000)
        assert ended_with(connection)[:13] in (b"HTTP/1.1 400 ", b"")  # nothing where a reset came first
    assert app.is_alive()


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\x01", b"HELO me\r\n\r\n", b"GET / HTTP/1.1\r\nHost:\x00\r\n\r\n"]
)
def test_what_is_no_http_is_refused_without_a_word_about_the_server(app: Running, sent: bytes) -> None:
    with app.connected() as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answered = ended_with(connection)
    assert answered == b"" or answered.startswith(b"HTTP/1.1 400 ")
    assert b"uvicorn" not in answered.lower()


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static",
        "/static/../server.py",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/static//etc/passwd",
        "/static/app.js%00.css",
        "/static/app.js/",
        "//etc/passwd",
        "/api/instances/..%2f..%2fetc%2fpasswd",
        "/.git/config",
    ],
)
def test_no_path_leads_to_a_file(app: Running, path: str) -> None:
    reply = app.ask(path)
    assert (reply.status, reply.error) == (404, "there is no such page")


def test_an_app_that_others_reach_asks_for_its_token(sample_viewed: ViewerData) -> None:
    with running(sample_viewed, token="s3cret-token") as app:  # noqa: S106 - a test's
        assert app.url.endswith("/?token=s3cret-token")
        for path in ("/", "/api/rows", "/static/app.js", "/?token=wrong", "/?token=", "/api/rows?token=s3cret-token"):
            reply = app.ask(path)
            assert reply.status == 403, path
            assert "with its token" in reply.error
        opened = app.ask("/?token=s3cret-token")
        assert opened.status == 200
        morsel = SimpleCookie(opened.headers["set-cookie"])[app.address.cookie]
        assert (morsel["httponly"], morsel["samesite"], morsel["path"]) == (True, "Strict", "/")
        signed_in = {"Cookie": f"other=1; {app.address.cookie}={morsel.value}"}
        assert app.ask("/api/rows", headers=signed_in).status == 200
        assert app.ask("/api/rows", headers=signed_in | {"Host": "desk.example:8642"}).status == 200
        assert app.ask("/api/rows", headers={"Cookie": f"{app.address.cookie}=s3cret"}).status == 403
        assert app.ask("/api/rows", headers={"Cookie": "\x80;=;;"}).status == 403
        assert "s3cret" not in opened.body.decode()
