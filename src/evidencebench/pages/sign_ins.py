"""Signing in by name: anybody may, and a cookie keeps the token in the browser."""

from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from evidencebench.pages.responses import RefusedError, json_response
from evidencebench.pages.sessions import Sessions
from evidencebench.storage.reading import BROKEN_JSON

_Shape = TypeVar("_Shape")


class NameBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the page sends to sign a person in."""

    name: Annotated[str, msgspec.Meta(max_length=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIns:
    """Who is signed in, in which browser."""

    sessions: Sessions = field(default_factory=Sessions)

    def begin(self, request: Request, name: str, *, is_new: bool) -> Response:
        """Return the response that signs a person in, in place of whoever was signed in."""
        self._end(request)
        response = json_response({"person": name, "is_new": is_new})
        token = self.sessions.begin(name)
        response.set_cookie(_cookie_name(request), token, path="/api", httponly=True, samesite="strict")
        return response

    def end(self, request: Request) -> Response:
        """Return the response that signs the person of this browser out; what they did is kept."""
        self._end(request)
        response = json_response({})
        response.delete_cookie(_cookie_name(request), path="/api", httponly=True, samesite="strict")
        return response

    def name(self, request: Request) -> str | None:
        """Return the name of the person who is signed in, or None."""
        return self.sessions.name_of(request.cookies.get(_cookie_name(request), ""))

    def required_name(self, request: Request, shown: str | None) -> str:
        """Return the name of the person who is signed in; refuse where the page shows another: tabs share a session."""
        name = self.name(request)
        if name is None:
            raise RefusedError(401, "sign in first")
        if shown != name:
            raise RefusedError(401, f"{name} has signed in in another tab of this browser; sign in again")
        return name

    def _end(self, request: Request) -> None:
        self.sessions.end(request.cookies.get(_cookie_name(request), ""))


def _cookie_name(request: Request) -> str:
    """Return the cookie's name. It holds the port, since all ports of a host share their cookies."""
    return f"evidencebench_person_{request.url.port or 80}"


async def read_body(request: Request, shape: type[_Shape]) -> _Shape:
    """Return the body of a request that a page of ours sends; refuse another one."""
    try:
        return msgspec.json.decode(await request.body(), type=shape)
    except BROKEN_JSON as error:
        raise RefusedError(400, f"not what the page sends: {error}; load the page again") from error


def read_id(request: Request) -> str:
    """Return the id that a request names."""
    found = request.query_params.get("id")
    if found is None:
        raise RefusedError(400, "the request names no instance")
    return found
