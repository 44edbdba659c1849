"""The server of the pages: its address, who may ask it, its page with script and style, its JSON."""

import asyncio
import ipaddress
import logging
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evidencebench.decoding import prepared
from evidencebench.errors import StaleError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.pages.html import APP_STYLES, encode_json, replace_forbidden, script, style

_HTTP_PORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    host: str = "127.0.0.1"  # an IPv6 address without brackets
    port: int = 8642
    token: str | None = None  # a secret that every request must bring, for an app that other machines can reach

    @property
    def url(self) -> str:
        query = "" if self.token is None else f"?token={self.token}"
        return f"http://{_bracket_ipv6(self.host)}:{self.port}/{query}"

    @property
    def cookie(self) -> str:
        """Name of the cookie that holds the token. It holds the port, since all ports of a host share their cookies."""
        return f"evidencebench_token_{self.port}"

    def hosts(self) -> frozenset[str]:
        names = {_bracket_ipv6(self.host).lower(), "127.0.0.1", "localhost", "[::1]"}
        with_port = {f"{name}:{self.port}" for name in names}
        return frozenset(with_port | names if self.port == _HTTP_PORT else with_port)


def address_of(bound: socket.socket, host: str, token: str | None = None) -> Address:
    """Return the address of a bound socket; where it listens at all addresses, the host is this machine's name."""
    with suppress(ValueError):  # the host is a name, not an IP address
        host = socket.gethostname() if ipaddress.ip_address(host).is_unspecified else host
    return Address(host=host, port=bound.getsockname()[1], token=token)


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host


# The responses of the app: JSON records, and the error that refuses a request.

DATA_CHANGED = "the data file has changed since the app was started; start it again"
"""The reason that is sent where the data file is not the file that was opened."""


class RefusedError(HTTPException):
    """Refuses a request: the response has this HTTP status, and the text of the error as its reason."""


_Shape = TypeVar("_Shape")


def decode(content: bytes | msgspec.Raw, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(content, type=prepared(shape))
    except BROKEN_JSON as error:
        raise RefusedError(400, f"not what the page sends: {error}; load the page again") from error


def json_response(record: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode_json(record), status, headers, "application/json")


def saved_response(save: Callable[[], object], now: Callable[[], Mapping[str, object]]) -> Response:
    """Return what ``save`` returns; where something newer stands there, why it is not saved, and ``now``, with 409."""
    try:
        return json_response(save())
    except StaleError as error:
        return json_response({"error": str(error), **now()}, 409)


# The checks before every response of the app: who may ask, how large a request may be, what the browser may do.

MAX_BODY_BYTES = 64 << 10
MAX_FILE_BYTES = 64 << 20
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
"""The headers of every response."""

_SAFE_METHODS = ("GET", "HEAD")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SecuredApp:
    """Passes a request on to ``app`` only if its own page sent it, and its whole body, ``state.body``, came in time."""

    app: ASGIApp
    address: Address
    file_paths: frozenset[str]  # below these a body is a file, up to `MAX_FILE_BYTES`; else it is JSON

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        address, request = self.address, Request(scope, receive)
        cookies: list[str] = []

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, text in {**SECURITY_HEADERS, "cache-control": "no-store"}.items():
                    headers.setdefault(name, text)
                for cookie in cookies:
                    headers.append("set-cookie", cookie)
            await send(message)

        try:
            _check_sender(address, request)
            if _check_token(address, request):
                cookies.append(f"{address.cookie}={address.token}; Path=/; HttpOnly; SameSite=Strict")
            request.state.body = await self._body(request)
        except RefusedError as refused:
            # The connection is closed, since what follows on it cannot be trusted.
            response = json_response({"error": refused.detail}, refused.status_code, {"connection": "close"})
            await response(scope, receive, send_secured)
            return
        except ClientDisconnect:
            return
        try:
            await self.app(scope, receive, send_secured)
        except Exception:  # noqa: BLE001 - an error in one request must not end the app
            _log.exception("the app failed to answer %s", scope["path"])

    async def _body(self, request: Request) -> bytes:
        is_file = request.scope["path"] in self.file_paths
        expected, most = (
            ("application/octet-stream", MAX_FILE_BYTES) if is_file else ("application/json", MAX_BODY_BYTES)
        )
        length = _single_header(request, "content-length") or "0"
        if length == "0" and _single_header(request, "transfer-encoding") is None:
            return b""
        if request.method in _SAFE_METHODS:
            raise RefusedError(400, f"a {request.method} request has no body")
        if not length.isdecimal() or int(length) > most:
            raise RefusedError(413, f"expected at most {most:,} bytes")
        if (_single_header(request, "content-type") or "").partition(";")[0].strip().lower() != expected:
            raise RefusedError(415, "expected a file" if is_file else "expected JSON")
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise RefusedError(413, f"expected at most {most:,} bytes")
        except TimeoutError:
            raise RefusedError(408, f"the request did not end within {BODY_SECONDS:g} seconds") from None
        return bytes(body)


def _single_header(request: Request, name: str) -> str | None:
    """Return the value of a header, or None; refuse a request that has the header more than once."""
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise RefusedError(400, f"the header {name} stands more than once")
    return values[0].strip() if values else None


def _check_sender(address: Address, request: Request) -> None:
    """Refuse a request to another host, or from another site's page, unless it follows a link to the first page."""
    if len(request.scope.get("raw_path") or b"") + len(request.scope["query_string"]) > MAX_TARGET_BYTES:
        raise RefusedError(414, f"the address is longer than {MAX_TARGET_BYTES} bytes")
    host = (_single_header(request, "host") or "").lower()
    # With a token any host name is allowed: a page under a foreign name has neither the token nor our cookie.
    if address.token is None and host not in address.hosts():
        raise RefusedError(421, "this app answers only to its own address")
    origin, site = _single_header(request, "origin"), _single_header(request, "sec-fetch-site")
    is_foreign = (origin is not None and origin.lower() != f"http://{host}") or site in ("cross-site", "same-site")
    if request.method in _SAFE_METHODS:
        is_link = _single_header(request, "sec-fetch-mode") == "navigate" and request.scope["path"] == "/"
        is_refused = is_foreign and not is_link
    else:
        is_refused = is_foreign or (origin is None and site is None)
    if is_refused:
        raise RefusedError(403, "only pages of this app may ask this")


def _check_token(address: Address, request: Request) -> bool:
    """Refuse a request without the token; return whether the token was in the address, so that a cookie must be set."""
    if address.token is None:
        return False
    if request.scope["path"] == "/" and _is_token(request.query_params.get("token", ""), address.token):
        return True
    if not _is_token(request.cookies.get(address.cookie, ""), address.token):
        raise RefusedError(403, "open the whole address that the app printed when it started, with its token")
    return False


def _is_token(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), token.encode())


# What the pages of the app share: scripts, styles, icon, the page without data, and the responses to errors.

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0b5394"/>'
    '<path d="M3 4h10M3 8h6M3 12h10" stroke="#fff" stroke-width="2"/></svg>'
)


def page_app(
    title: str,
    routes: Sequence[BaseRoute],
    *,
    source: str,
    address: Address,
    module: str = "app",
    styles: Sequence[str] = APP_STYLES,
    errors: Mapping[Any, Any] | None = None,
    file_paths: frozenset[str] = frozenset(),
) -> ASGIApp:
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(replace_forbidden(title))}</title>\n"
        '<link rel="icon" href="/favicon.ico" type="image/svg+xml">\n'
        '<link rel="stylesheet" href="/static/app.css">\n<script src="/static/app.js" defer></script>\n</head>\n'
        f'<body data-source="{source}">\n<header class="page-head"></header>\n<main id="viewer"></main>\n'
        "<noscript>This page needs JavaScript, which is off.</noscript>\n</body>\n</html>\n"
    )
    app = Starlette(
        routes=[
            static_route("/", page, "text/html"),
            static_route("/static/app.js", script(module), "text/javascript"),
            static_route("/static/app.css", style(styles), "text/css"),
            static_route("/favicon.ico", _ICON, "image/svg+xml"),
            *routes,
        ],
        exception_handlers={HTTPException: _answer_error, Exception: _answer_error, **(errors or {})},
    )
    app.router.redirect_slashes = False  # a wrong path gets 404, never a redirect
    return SecuredApp(app, address, file_paths)


def _answer_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - as above
    if not isinstance(error, HTTPException):
        return json_response({"error": "the app failed; the terminal that it runs in says how"}, 500)
    known = {404: "there is no such page", 405: "this page cannot be asked in that way"}
    unknown = known.get(error.status_code, "the request cannot be answered")
    words = error.detail if isinstance(error, RefusedError) else unknown
    return json_response({"error": words}, error.status_code, error.headers)


def static_route(path: str, text: str, media_type: str) -> Route:
    async def answer(request: Request) -> Response:  # noqa: ARG001 - as above
        return Response(text, media_type=media_type)

    return Route(path, answer)
