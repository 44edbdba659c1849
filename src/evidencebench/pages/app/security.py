"""The checks before every page of the app: who may ask, how much may be sent, what a browser may do with it.

A server on loopback is open to every page that a browser shows: one that posts to it, or whose name is made to mean
127.0.0.1 (DNS rebinding). So the Host must be the app's own, and whatever changes something must come from its pages.

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

_log = logging.getLogger(__name__)


class SecuredApp:
    """An app that is asked only by its own pages, and with a whole body, which may take ``body_seconds`` to come."""

    def __init__(self, app: ASGIApp, address: Address, *, body_seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._address = address
        self._body_seconds = body_seconds

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
            if _brings_token(address, request):
                cookies.append(f"{address.cookie}={address.token}; Path=/; HttpOnly; SameSite=Strict")
            body = await self._body(request)
        except RefusedError as refused:
            # The connection ends: what else comes on it is not to be trusted.
            response = json_response({"error": refused.detail}, refused.status_code, {"connection": "close"})
            await response(scope, receive, send_secured)
            return
        except ClientDisconnect:
            return
        try:
            await self._app(scope, _replayed(body, receive), send_secured)
        except Exception:  # noqa: BLE001 - whatever one request does wrong, the others are answered
            _log.exception("the app failed to answer %s", scope["path"])

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request that may have one, read to its end."""
        length = _one(request, "content-length") or "0"
        if length == "0" and _one(request, "transfer-encoding") is None:
            return b""
        if request.method in _SAFE_METHODS:
            raise RefusedError(400, f"a {request.method} request has no body")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            raise RefusedError(413, f"expected at most {MAX_BODY_BYTES} bytes")
        if (_one(request, "content-type") or "").partition(";")[0].strip().lower() != "application/json":
            raise RefusedError(415, "expected JSON")
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > MAX_BODY_BYTES:
                        raise RefusedError(413, f"expected at most {MAX_BODY_BYTES} bytes")
        except TimeoutError:
            raise RefusedError(408, f"the request did not end within {self._body_seconds:g} seconds") from None
        return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what hands over a body that was read, and then what else comes: the client's leaving."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return read.pop() if read else await receive()

    return next_message


def _one(request: Request, name: str) -> str | None:
    """Return the value of a header that may stand at most once."""
    found = request.headers.getlist(name)
    if len(found) > 1:
        raise RefusedError(400, f"the header {name} stands more than once")
    return found[0].strip() if found else None


def _check_target(scope: Scope) -> None:
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
        raise RefusedError(414, f"the address is longer than {MAX_TARGET_BYTES} bytes")


def _check_host(address: Address, request: Request) -> None:
    host = (_one(request, "host") or "").lower()
    # With a token any name will do: a page with a borrowed name does not know it, nor has it our cookie.
    if address.token is None and host not in address.hosts():
        raise RefusedError(421, "this app answers only to its own address")


def _check_origin(request: Request) -> None:
    """Refuse what another site's page asks for, but for following a link to the first page."""
    origin, site = _one(request, "origin"), _one(request, "sec-fetch-site")
    own = f"http://{_one(request, 'host') or ''}".lower()
    is_foreign = (origin is not None and origin.lower() != own) or site in ("cross-site", "same-site")
    if request.method in _SAFE_METHODS:
        is_link = _one(request, "sec-fetch-mode") == "navigate" and request.scope["path"] == "/"
        is_refused = is_foreign and not is_link
    else:
        is_refused = is_foreign or (origin is None and site is None)
    if is_refused:
        raise RefusedError(403, "only pages of this app may ask this")


def _brings_token(address: Address, request: Request) -> bool:
    """Refuse a request without the token; return whether it came in the address, so that a cookie is to be set."""
    if address.token is None:
        return False
    if request.scope["path"] == "/" and _is_same(request.query_params.get("token", ""), address.token):
        return True
    if not _is_same(request.cookies.get(address.cookie, ""), address.token):
        raise RefusedError(403, "open the whole address that the app printed when it started, with its token")
    return False


def _is_same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), token.encode())
