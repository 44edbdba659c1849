"""The checks before every response of the app: who may ask, how large a request may be, what the browser may do.

Every web page in the user's browser can send requests to a server on 127.0.0.1: by a form that posts to it, or under a
host name that resolves to 127.0.0.1 (DNS rebinding). So the Host header must be the app's own, and a request that
changes something must come from the app's pages.

Source
------
OWASP cheat sheets on cross-site request forgery (origin and fetch metadata) and on content-security policy.
"""

import asyncio
import logging
import secrets

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evidencebench.pages.app.serving import Address
from evidencebench.pages.responses import RefusedError, json_response

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


class SecuredApp:
    """Passes a request on to ``app`` only if its own page sent it, and its whole body came within ``body_seconds``.

    A body is JSON; below ``file_paths`` it is a file, up to `MAX_FILE_BYTES`.
    """

    def __init__(
        self,
        app: ASGIApp,
        address: Address,
        *,
        body_seconds: float = BODY_SECONDS,
        file_paths: frozenset[str] = frozenset(),
    ) -> None:
        self._app = app
        self._address = address
        self._body_seconds = body_seconds
        self._file_paths = file_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        address, request = self._address, Request(scope, receive)
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
            _check_target(scope)
            _check_host(address, request)
            _check_origin(request)
            if _check_token(address, request):
                cookies.append(f"{address.cookie}={address.token}; Path=/; HttpOnly; SameSite=Strict")
            body = await self._body(request)
        except RefusedError as refused:
            # The connection is closed, since what follows on it cannot be trusted.
            response = json_response({"error": refused.detail}, refused.status_code, {"connection": "close"})
            await response(scope, receive, send_secured)
            return
        except ClientDisconnect:
            return
        try:
            await self._app(scope, _replay_body(body, receive), send_secured)
        except Exception:  # noqa: BLE001 - an error in one request must not end the app
            _log.exception("the app failed to answer %s", scope["path"])

    async def _body(self, request: Request) -> bytes:
        """Return the whole body of a request; refuse one that is too long, too slow, or of the wrong type."""
        is_file = request.scope["path"] in self._file_paths
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
            async with asyncio.timeout(self._body_seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise RefusedError(413, f"expected at most {most:,} bytes")
        except TimeoutError:
            raise RefusedError(408, f"the request did not end within {self._body_seconds:g} seconds") from None
        return bytes(body)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that gives a body that was read already, then the messages of ``receive``."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return read.pop() if read else await receive()

    return next_message


def _single_header(request: Request, name: str) -> str | None:
    """Return the value of a header, or None; refuse a request that has the header more than once."""
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise RefusedError(400, f"the header {name} stands more than once")
    return values[0].strip() if values else None


def _check_target(scope: Scope) -> None:
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
        raise RefusedError(414, f"the address is longer than {MAX_TARGET_BYTES} bytes")


def _check_host(address: Address, request: Request) -> None:
    host = (_single_header(request, "host") or "").lower()
    # With a token any host name is allowed: a page under a foreign name has neither the token nor our cookie.
    if address.token is None and host not in address.hosts():
        raise RefusedError(421, "this app answers only to its own address")


def _check_origin(request: Request) -> None:
    """Refuse a request from another site's page, unless it follows a link to the first page."""
    origin, site = _single_header(request, "origin"), _single_header(request, "sec-fetch-site")
    own = f"http://{_single_header(request, 'host') or ''}".lower()
    is_foreign = (origin is not None and origin.lower() != own) or site in ("cross-site", "same-site")
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
