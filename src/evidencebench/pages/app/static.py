"""What the pages of the app share: scripts, styles, icon, the page without data, and the responses to errors."""

import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from evidencebench.pages.app.security import BODY_SECONDS, SecuredApp
from evidencebench.pages.app.serving import Address
from evidencebench.pages.markup import replace_forbidden
from evidencebench.pages.responses import RefusedError, json_response
from evidencebench.pages.viewer.page_parts import APP_SCRIPTS, APP_STYLES, script, style

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
    scripts: Sequence[str] = APP_SCRIPTS,
    styles: Sequence[str] = APP_STYLES,
    errors: Mapping[Any, Any] | None = None,
    body_seconds: float = BODY_SECONDS,
    file_paths: frozenset[str] = frozenset(),
) -> ASGIApp:
    """Return an app with one page, its script and style, and the routes that the script asks; with security checks."""

    async def first(request: Request) -> Response:  # noqa: ARG001 - starlette's signature
        return Response(_page_without_data(title, source), media_type="text/html")

    app = Starlette(
        routes=[
            Route("/", first),
            static_route("/static/app.js", script(scripts), "text/javascript"),
            static_route("/static/app.css", style(styles), "text/css"),
            static_route("/favicon.ico", _ICON, "image/svg+xml"),
            *routes,
        ],
        exception_handlers={HTTPException: _answer_error, Exception: _answer_error, **(errors or {})},
    )
    app.router.redirect_slashes = False  # a wrong path gets 404, never a redirect
    return SecuredApp(app, address, body_seconds=body_seconds, file_paths=file_paths)


def _answer_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - as above
    if not isinstance(error, HTTPException):
        return json_response({"error": "the app failed; the terminal that it runs in says how"}, 500)
    known = {404: "there is no such page", 405: "this page cannot be asked in that way"}
    unknown = known.get(error.status_code, "the request cannot be answered")
    words = error.detail if isinstance(error, RefusedError) else unknown
    return json_response({"error": words}, error.status_code, error.headers)


def static_route(path: str, text: str, media_type: str) -> Route:
    """Return a route that answers with a text, or with status 304 where the browser has the same text already."""
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}  # the browser asks each time whether its copy is current

    async def answer(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(text, media_type=media_type, headers=headers)

    return Route(path, answer)


def _page_without_data(title: str, source: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(replace_forbidden(title))}</title>\n"
        '<link rel="icon" href="/favicon.ico" type="image/svg+xml">\n'
        '<link rel="stylesheet" href="/static/app.css">\n<script src="/static/app.js" defer></script>\n</head>\n'
        f'<body data-source="{source}">\n<header class="page-head"></header>\n<main id="viewer"></main>\n'
        "<noscript>This page needs JavaScript, which is off.</noscript>\n</body>\n</html>\n"
    )
