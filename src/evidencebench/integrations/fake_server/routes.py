"""Which method and path lead where, and what a route is given and gives back."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from evidencebench.integrations.fake_server.calls import BadCallError
from evidencebench.integrations.fake_server.connection import JSON_TYPE, Reply, Request
from evidencebench.integrations.fake_server.logbook import ANSWERED


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as a route gets it.

    Attributes
    ----------
    request
        As it came.
    body
        Its decoded JSON; None where it has none.
    key
        Names it in the log.
    serial
        Names the reply.
    name
        The id in its path; empty where it has none.
    """

    request: Request
    body: Any
    key: str
    serial: str
    name: str = ""

    def fields(self) -> dict[str, Any]:
        """Return the body's members.

        Raises
        ------
        BadCallError
            If it is no JSON object.
        """
        if not isinstance(self.body, dict):
            raise BadCallError("expected a JSON object as the body")
        return self.body


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What a route gives back: the reply, what the log calls it, and the tokens that it costs."""

    reply: Reply
    outcome: str = ANSWERED
    prompt_tokens: int = 0
    completion_tokens: int = 0


Handler = Callable[[Incoming], Handled]


@dataclass(slots=True)
class Routes:
    """Handlers by method and path; ``{}`` in a path stands for one id."""

    _exact: dict[str, dict[str, Handler]] = field(default_factory=dict)
    _patterns: list[tuple[re.Pattern[str], dict[str, Handler]]] = field(default_factory=list)

    def add(self, table: Iterable[tuple[str, str, Handler]]) -> None:
        """Add routes: method, path, handler."""
        for method, path, handler in table:
            methods = self._exact.setdefault(path, {})
            if "{}" in path and not methods:
                self._patterns.append((re.compile(re.escape(path).replace(r"\{\}", "([^/]{1,200})")), methods))
            methods[method] = handler

    def find(self, method: str, path: str) -> tuple[Handler, str]:
        """Return the handler of a request and the id in its path.

        Raises
        ------
        BadCallError
            404 where no route has the path, 405 where none has the method.
        """
        methods, name = self._exact.get(path, {}), ""
        if not methods:
            found = ((pattern.fullmatch(path), methods) for pattern, methods in self._patterns)
            match, methods = next(((match, methods) for match, methods in found if match), (None, {}))
            name = match[1] if match else ""
        if not methods:
            raise BadCallError("no such path here", status=404)
        if method not in methods:
            raise BadCallError(f"expected {' or '.join(methods)} here", status=405)
        return methods[method], name


def answered(value: Any) -> Handled:
    """Return the outcome of a free request: a JSON value."""
    return Handled(reply=json_reply(value))


def json_reply(value: Any, status: int = 200) -> Reply:
    """Return a reply that holds a JSON value."""
    return Reply(status=status, body=msgspec.json.encode(value), content_type=JSON_TYPE)
