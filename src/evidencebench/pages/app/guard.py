"""What stands before every page of the app: who may ask, how much may be sent, and what a browser may do with it.

A server on loopback is open to every page that a browser shows: one that posts to it, or whose name is made to mean
127.0.0.1 (DNS rebinding). So the Host must be the app's own, and whatever changes something must come from its pages.

Source
------
OWASP cheat sheets on cross-site request forgery (origin and fetch metadata) and on content-security policy.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 64 << 10
MAX_TARGET_BYTES = 8 << 10
BODY_SECONDS = 10.0

SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""What every reply says to the browser."""

_SAFE_METHODS = ("GET", "HEAD")
_HTTP_PORT = 80

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the app listens.

    Attributes
    ----------
    host, port
        An address or a name, without brackets; a number.
    token
        What whoever asks must know, if other machines reach the app; None: only this machine does.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    token: str | None = None

    @property
    def url(self) -> str:
        """The address of the first page, with the token."""
        query = "" if self.token is None else f"?token={self.token}"
        return f"http://{_bracketed(self.host)}:{self.port}/{query}"

    @property
    def cookie(self) -> str:
        """Name of the cookie that holds the token; browsers share cookies between the ports of a machine."""
        return f"evidencebench_token_{self.port}"

    def hosts(self) -> frozenset[str]:
        """Return what the Host of a request may be."""
        names = {_bracketed(self.host), "127.0.0.1", "localhost", "[::1]"}
        with_port = {f"{name}:{self.port}" for name in names}
        return frozenset(name.lower() for name in (with_port | names if self.port == _HTTP_PORT else with_port))


class _RefusedError(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Guard:
    """Refuses what no page of the app would ask, before the app sees it.

    Parameters
    ----------
    app
        What is guarded. It is only handed requests whose body is here already, whole.
    address
        Where it listens; asked at each request, since a free port is known only then.
    body_seconds
        How long a body may take.
    """

    def __init__(self, app: ASGIApp, address: Callable[[], Address], *, body_seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._address = address
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        address, headers = self._address(), _Headers(scope)
        reply = _Reply(send)
        try:
            _check_target(scope)
            _check_host(address, headers)
            _check_origin(scope, headers)
            if _knows_token(address, scope, headers):
                reply.cookies.append(f"{address.cookie}={address.token}; Path=/; HttpOnly; SameSite=Strict")
            body = await self._body(scope, headers, receive)
        except _RefusedError as refused:
            await reply.refuse(refused.status, str(refused))
            return
        except _GoneError:
            return
        try:
            await self._app(scope, _replayed(body, receive), reply.send)
        except Exception:  # noqa: BLE001 - whatever one request does wrong, the others are answered
            _log.exception("the app failed to answer %s", scope["path"])
            if not reply.is_begun:
                await reply.refuse(500, "the app failed; the terminal that it runs in says how")

    async def _body(self, scope: Scope, headers: "_Headers", receive: Receive) -> bytes:
        """Return the body of a request that may have one, read to its end."""
        length = headers.one("content-length") or "0"
        has_body = headers.one("transfer-encoding") is not None or length != "0"
        if not has_body:
            return b""
        if scope["method"] in _SAFE_METHODS:
            raise _RefusedError(400, f"a {scope['method']} request has no body")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            raise _RefusedError(413, f"expected at most {MAX_BODY_BYTES} bytes")
        media_type = (headers.one("content-type") or "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise _RefusedError(415, "expected JSON")
        try:
            async with asyncio.timeout(self._body_seconds):
                return await _read(receive)
        except TimeoutError:
            raise _RefusedError(408, f"the request did not end within {self._body_seconds:g} seconds") from None


class _GoneError(Exception):
    """The client has left."""


async def _read(receive: Receive) -> bytes:
    parts, n_bytes, is_over = [], 0, False
    while not is_over:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        part = message.get("body", b"")
        n_bytes += len(part)
        if n_bytes > MAX_BODY_BYTES:
            raise _RefusedError(413, f"expected at most {MAX_BODY_BYTES} bytes")
        parts.append(part)
        is_over = not message.get("more_body", False)
    return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what hands over a body that was read, and then what else comes: the client's leaving."""
    is_handed = False

    async def next_message() -> Message:
        nonlocal is_handed
        if is_handed:
            return await receive()
        is_handed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message


class _Headers:
    """The headers of a request, by their names in lower case."""

    def __init__(self, scope: Scope) -> None:
        self._items: Iterable[tuple[bytes, bytes]] = scope["headers"]

    def one(self, name: str) -> str | None:
        """Return the value of a header that stands at most once."""
        found = [value for key, value in self._items if key == name.encode()]
        if len(found) > 1:
            raise _RefusedError(400, f"the header {name} stands more than once")
        return found[0].decode("latin-1").strip() if found else None


def _check_target(scope: Scope) -> None:
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
        raise _RefusedError(414, f"the address is longer than {MAX_TARGET_BYTES} bytes")


def _check_host(address: Address, headers: _Headers) -> None:
    host = (headers.one("host") or "").lower()
    # With a token any name will do: a page with a borrowed name does not know it, nor has it our cookie.
    if address.token is None and host not in address.hosts():
        raise _RefusedError(421, "this app answers only to its own address")


def _check_origin(scope: Scope, headers: _Headers) -> None:
    """Refuse what another site's page asks for, but for following a link to the first page."""
    origin, site = headers.one("origin"), headers.one("sec-fetch-site")
    own = f"http://{headers.one('host') or ''}".lower()
    is_foreign = (origin is not None and origin.lower() != own) or site in ("cross-site", "same-site")
    if scope["method"] in _SAFE_METHODS:
        is_link = headers.one("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        if is_foreign and not is_link:
            raise _RefusedError(403, "only pages of this app may ask this")
    elif is_foreign or (origin is None and site is None):
        raise _RefusedError(403, "only pages of this app may ask this")


def _knows_token(address: Address, scope: Scope, headers: _Headers) -> bool:
    """Refuse whoever does not know the token; say whether it came in the address, so that a cookie is to be set."""
    if address.token is None:
        return False
    named = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
    if scope["path"] == "/" and _is_same(named, address.token):
        return True
    if not _is_same(_cookie(headers, address.cookie), address.token):
        raise _RefusedError(403, "open the whole address that the app printed when it started, with its token")
    return False


def _cookie(headers: _Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.one("cookie") or "").get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _is_same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), token.encode())


class _Reply:
    """Sends a reply with what every reply says."""

    def __init__(self, send: Send) -> None:
        self.is_begun = False
        self.cookies: list[str] = []
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            names = {name.lower() for name, _ in message.get("headers", ())}
            added = {**SECURITY_HEADERS, "cache-control": "no-store"}
            headers = [(name.encode(), text.encode()) for name, text in added.items() if name.encode() not in names]
            headers += [(b"set-cookie", cookie.encode()) for cookie in self.cookies]
            message = {**message, "headers": [*message.get("headers", ()), *headers]}
        await self._send(message)

    async def refuse(self, status: int, reason: str) -> None:
        """Answer with an error in words, and end the connection: what else comes on it is not to be trusted."""
        body = msgspec.json.encode({"error": reason})
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
