"""The server of the model for trials: OpenAI's chat completions, and what was paid."""

import asyncio
import hashlib
import re
import time
from collections import Counter
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from evidencebench.decoding import prepared
from evidencebench.integrations.fake_model import Call, FakeModel, Reply, tokens_in

_T = TypeVar("_T")

CHAT_PATH = "/v1/chat/completions"
BROKEN = b'{"id":"chatcmpl-broken","choices":[{"index":0,"message":{"role":"assistant","content":"These sentences'


class BadCallError(Exception):
    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


ERRORS = {
    "rate_limit": BadCallError("Rate limit reached; please try again later.", status=429),
    "server_error": BadCallError("The server had an error while processing your request.", status=500),
}


@dataclass(kw_only=True)
class Served:
    request: Request
    content: bytes
    body: Any  # the decoded content; None where it is no JSON
    key: str  # of what is asked: the same for the same JSON, however it is spelled
    attempt: int  # 1 for the first request of this key
    reply: Reply | None = None


class FakeServer:
    """The app. ``/log`` has its totals: a request is paid if the client is there when the reply is sent."""

    def __init__(self, model: FakeModel) -> None:
        self.model = model
        names = ("requests", "paid", "unpaid", "rejected", "paid_more_than_once", "prompt_tokens", "completion_tokens")
        self.totals: dict[str, Any] = {"faults": {}, **dict.fromkeys((*names, "in_flight", "most_in_flight"), 0)}
        self.attempts: Counter[str] = Counter()
        self._times_paid: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            content = await request.body()
        except ClientDisconnect:
            return
        response = json_response(self.totals) if scope["path"] == "/log" else await self._answer(request, content)
        await response(scope, receive, send)

    async def _answer(self, request: Request, content: bytes) -> ASGIApp:
        try:
            body = msgspec.json.decode(content)
            named = msgspec.json.encode(body, order="sorted")
        except (msgspec.DecodeError, RecursionError):
            body, named = None, f"{request.method} {request.scope['path']}\n".encode() + content
        key, totals = hashlib.sha256(named).hexdigest(), self.totals
        self.attempts[key] += 1
        served = Served(request=request, content=content, body=body, key=key, attempt=self.attempts[key])
        totals["in_flight"] += 1
        totals["most_in_flight"] = max(totals["most_in_flight"], totals["in_flight"])
        try:
            outcome: str | None = self.model.settings.fault_met(key, served.attempt)
            response: ASGIApp = Response()
            if not await self._stays(request):
                outcome = "unpaid"
            elif outcome is not None:
                response = self.fail(outcome, served)
            else:
                try:
                    outcome, response = "paid", self.respond(served)
                except BadCallError as error:
                    outcome, response = "rejected", self.refuse(error, served)
            self.count(outcome, served)
        finally:
            totals["in_flight"] -= 1
        return response

    async def _stays(self, request: Request) -> bool:
        """Wait as long as a reply takes; end early, with False, where the client leaves."""
        try:
            async with asyncio.timeout(self.model.settings.latency_seconds):
                while (await request.receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            return True
        return False

    def respond(self, served: Served) -> ASGIApp:
        if (served.request.method, served.request.scope["path"]) != ("POST", CHAT_PATH):
            raise BadCallError(f"no such path here; expected POST {CHAT_PATH}", status=404)
        return chat_response(served, self.complete(served))

    def complete(self, served: Served) -> dict[str, Any]:
        call = convert(served.body, Call)
        served.reply = reply = self.model.reply(call, served.key)
        n_asked, n_replied = call.prompt_tokens, tokens_in(reply.text)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": reply.text},
            "finish_reason": "length" if reply.is_cut else "stop",
        }
        return {
            "id": f"chatcmpl-{served.key[:16]}{served.attempt:04x}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": call.model,
            "choices": [choice],
            "usage": {"prompt_tokens": n_asked, "completion_tokens": n_replied, "total_tokens": n_asked + n_replied},
        }

    def refuse(self, error: BadCallError, _served: Served) -> Response:
        kind = "server_error" if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
        headers = {"retry-after": "0", "retry-after-ms": "50"} if error is ERRORS["rate_limit"] else {}
        body = {"error": {"message": str(error), "type": kind, "param": None, "code": None}}
        return json_response(body, error.status, headers)

    def fail(self, fault: str, served: Served) -> ASGIApp:
        if fault in ERRORS:
            return self.refuse(ERRORS[fault], served)
        return Response(BROKEN, media_type="application/json")

    def count(self, outcome: str, served: Served) -> None:
        totals = self.totals
        totals["requests"] += 1
        counts = totals if outcome in totals else totals["faults"]
        counts[outcome] = counts.get(outcome, 0) + 1
        if outcome == "paid" and served.reply is not None:
            totals["paid_more_than_once"] += self._times_paid[served.key] == 1
            self._times_paid[served.key] += 1
            totals["prompt_tokens"] += served.reply.call.prompt_tokens
            totals["completion_tokens"] += tokens_in(served.reply.text)


def convert(body: Any, kind: type[_T]) -> _T:
    try:
        return msgspec.convert(body, prepared(kind))
    except msgspec.ValidationError as error:
        raise BadCallError(f"Invalid request: {error}") from error


def chat_response(served: Served, whole: dict[str, Any]) -> Response:
    """Return a completion, word by word where it was asked for so."""
    if not served.body.get("stream"):
        return json_response(whole)
    (choice,), usage = whole["choices"], whole["usage"]
    deltas = [({"content": word}, None) for word in re.findall(r"\s*\S+|\s+$", choice["message"]["content"])]
    chunks = [
        {"index": 0, "delta": delta, "finish_reason": end} for delta, end in [*deltas, ({}, choice["finish_reason"])]
    ]
    shared = {**whole, "object": "chat.completion.chunk", "usage": None}
    events = [*({**shared, "choices": [chunk]} for chunk in chunks), {**shared, "choices": [], "usage": usage}]
    lines = [*map(msgspec.json.encode, events), b"[DONE]"]
    return Response(b"".join(b"data: " + line + b"\n\n" for line in lines), media_type="text/event-stream")


def json_response(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
