"""The trial server with what only tests ask of it: Anthropic's protocol, and more ways to answer and to fail."""

import asyncio
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from doors import (
    BEHAVIOURS,
    BEST_SCORE,
    BROKEN,
    CHAT_PATH,
    ERRORS,
    BadCallError,
    Call,
    FakeModel,
    FakeServer,
    KnownPaper,
    Named,
    Served,
    ServedMessage,
    ServedPrompt,
    Settings,
    chat_response,
    convert,
    json_response,
    read_prompt,
    tokens_in,
)

MESSAGES_PATH = "/v1/messages"
EVERY_BEHAVIOUR = {*BEHAVIOURS, "verbose", "quotes", "over_length"}
_SURPLUS = 3  # sentences over the budget

_ERRORS = {
    **ERRORS,
    "unavailable": BadCallError("The engine is currently overloaded; please try again later.", status=503),
    "bad_request": BadCallError("This model's maximum context length is shorter than your messages."),
    "unauthorized": BadCallError("Incorrect API key provided.", status=401),
}
_PAGE = b"<!doctype html>\n<html><head><title>Welcome</title></head><body>Please sign in.</body></html>\n"
PASSING_FAULTS = (
    *("rate_limit", "server_error", "hang", "cut", "truncated_body"),
    *("malformed_json", "wrong_content_type", "unavailable", "empty_body"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSettings(Settings):
    fault_kinds: tuple[str, ...] = PASSING_FAULTS
    hang_seconds: float = 30.0
    retry_after_seconds: float = 0.05
    batch_delay_seconds: float = 0.0  # the least time of each batch
    expire_rate: float = 0.0  # the share of the rows of batches that expire
    may_answer: Callable[["TrialServer"], bool] = lambda _: True  # no request is answered before it says so


class TrialModel(FakeModel):
    """A model that also answers as real ones sometimes do."""

    def behaviour(self, call: Call, _prompt: ServedPrompt, _key: str) -> str:
        chosen = call.model if call.model in EVERY_BEHAVIOUR else self.settings.behaviour
        is_asked_again = any(message.role == "assistant" for message in call.messages[:-1])
        return "oracle" if chosen == "over_length" and is_asked_again else chosen

    def select(self, behaviour: str, prompt: ServedPrompt, paper: KnownPaper | None, _key: str) -> tuple[str, Named]:
        reasoning, named = super().select(behaviour, prompt, paper, _key)
        if behaviour == "over_length" and prompt.budget is not None and prompt.mode == "select":
            unused = [(number, 0) for number in prompt.numbers if (number, 0) not in named]
            named += unused[: prompt.budget + _SURPLUS - len(named)]
        if behaviour == "verbose":
            reasoning = _with_false_lists(reasoning, prompt)
        return reasoning, named

    def best_sentences(self, call: Call) -> list[int]:
        """Return the shown sentences that a model which knows the labels would give the highest score."""
        prompt = read_prompt(call.messages)
        paper = self._papers.find(prompt)
        shown = [number for number, _ in prompt.shown]
        return [] if paper is None else [n for n, score in paper.scores("all", shown).items() if score == BEST_SCORE]

    def in_words(self, behaviour: str, named: Named, prompt: ServedPrompt) -> str:
        if prompt.mode != "score" and behaviour == "quotes":
            texts = dict(prompt.shown)
            return "\n".join(["ANSWER:", *(f'- "{texts[number]}"' for number, _ in named)])
        return super().in_words(behaviour, named, prompt)


def _tokens(text: str, best: Collection[int], n_alternatives: int) -> list[dict[str, Any]]:
    """Return a reply's tokens; where a score stands, 10 might stand with a third, but 0 of sentences not the best."""
    parts = re.findall(r" ?\d+|[^\d ]+| ", text)
    tokens: list[dict[str, Any]] = []
    for before, colon, part in zip(["", "", *parts], ["", *parts], parts, strict=False):
        other = ""
        if colon == ":" and re.fullmatch(r" \d+", part):
            other = " 10" if int(before) in best else " 0"
        alternatives = [(part, math.log(2 / 3)), (other, math.log(1 / 3)), (" and", -9.0)][:n_alternatives]
        top = [{"token": name, "logprob": logprob} for name, logprob in alternatives if name]
        tokens.append({**top[0], "bytes": list(part.encode()), "top_logprobs": top})
    return tokens


def _with_false_lists(reasoning: str, prompt: ServedPrompt) -> str:
    """Return long reasoning with numbers and lists that are not the answer."""
    numbers = prompt.numbers or (0,)
    first, last = numbers[0], numbers[-1]
    return "\n".join(
        [
            f"Let me go through the paper. Sentence [{first}] sets the scene, as do [{first}, {last}].",
            f"1. A first list could be [{', '.join(map(str, numbers[:5]))}], but most of it is background.",
            f"2. If I had to answer now I would write ANSWER: [{last}], which would be wrong.",
            f"3. The interval (95% CI 1.2-3.4, p = 0.03) is reported later [see ref. {last + 7}].",
            reasoning,
        ]
    )


class _Tool(msgspec.Struct):
    name: str
    input_schema: dict[str, Any] = {}


class _TextBlock(msgspec.Struct):
    type: Literal["text"]
    text: Annotated[str, msgspec.Meta(pattern=r"\S")]
    cache_control: dict[str, str] | None = None


class _MessagesTurn(msgspec.Struct):
    role: Literal["user", "assistant"]
    content: str | list[_TextBlock]

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(block.text for block in self.content)

    @property
    def kept(self) -> str:
        """The text up to the last block that is to be kept."""
        blocks = [] if isinstance(self.content, str) else self.content
        n_kept = max((n for n, block in enumerate(blocks, 1) if block.cache_control), default=0)
        return "".join(block.text for block in blocks[:n_kept])


class _MessagesBody(msgspec.Struct):
    """What Anthropic's Messages take; the API refuses what these types refuse."""

    model: str
    messages: Annotated[list[_MessagesTurn], msgspec.Meta(min_length=1)]
    max_tokens: Annotated[int, msgspec.Meta(ge=1)]
    temperature: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    tools: list[_Tool] = []
    tool_choice: dict[str, str] = {}


def _check_strict(schema: Any) -> None:
    """Raise unless each object in a strict schema forbids other properties and requires all that it declares."""
    if isinstance(schema, list):
        for member in schema:
            _check_strict(member)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False
        or set(schema.get("required", ())) != set(schema.get("properties", ()))
    ):
        raise BadCallError("response_format: expected additionalProperties: false and all properties in required")
    _check_strict(list(schema.values()))


Endpoint = Callable[[Served], Any]
"""Returns a response, or the JSON object to respond with; raises `BadCallError`."""


class CutConnection(H11Protocol):
    """A connection that the app finds in the scope's state, to cut it."""

    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any], **more: Any
    ) -> None:
        super().__init__(config, server_state, {**app_state, "connection": self}, **more)


class _Truncated(Response):
    """A response whose head announces more bytes than are sent; uvicorn then closes the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": bytes(self.body)[:-9], "more_body": True})


class TrialServer(FakeServer):
    """The app; ``entries`` has a line for each request and each row of a batch."""

    model: TrialModel

    def __init__(self, model: TrialModel, settings: TrialSettings) -> None:
        super().__init__(model)
        self.settings = settings
        self.entries: list[dict[str, Any]] = []
        self._kept: set[str] = set()
        self.totals |= dict.fromkeys(("answered", "expired", "paid_in_batches"), 0)
        self._endpoints: list[tuple[str, re.Pattern[str], Endpoint]] = []
        self.add({("POST", CHAT_PATH): self.complete, ("POST", MESSAGES_PATH): self.write_message})
        self.add({("POST", "/v1/responses"): self.respond_with_items})

    async def _stays(self, request: Request) -> bool:
        while not self.settings.may_answer(self):  # noqa: ASYNC110 - what it waits for may be any state
            await asyncio.sleep(0.005)
        return await super()._stays(request)

    def add(self, endpoints: dict[tuple[str, str], Endpoint]) -> None:
        """Answer more methods and paths."""
        self._endpoints += [(method, compile_path(path)[0], one) for (method, path), one in endpoints.items()]

    def respond(self, served: Served) -> ASGIApp:
        request = served.request
        if is_anthropic(served) and "anthropic-version" not in request.headers:
            raise BadCallError("anthropic-version: header is required")
        for method, path, endpoint in self._endpoints:
            if method == request.method and (match := path.match(request.scope["path"])):
                request.scope["path_params"] = match.groupdict()
                response = endpoint(served)
                if isinstance(response, Response):
                    return response
                return chat_response(served, response) if endpoint == self.complete else json_response(response)
        raise BadCallError("no such path here", status=404)

    def complete(self, served: Served) -> dict[str, Any]:
        body = served.body if isinstance(served.body, dict) else {}
        if "max_tokens" in body and "max_completion_tokens" in body:
            raise BadCallError("max_tokens and max_completion_tokens: expected at most one of them")
        wanted = body.get("response_format", {})
        _check_strict(wanted["json_schema"]["schema"] if "json_schema" in wanted else None)
        completion = super().complete(served)
        if body.get("logprobs"):
            (choice,) = completion["choices"]
            best = self.model.best_sentences(convert(body, Call))
            choice["logprobs"] = {"content": _tokens(choice["message"]["content"], best, body["top_logprobs"])}
        return completion

    def respond_with_items(self, served: Served) -> dict[str, Any]:
        """Return what OpenAI's Responses API would, without the hidden reasoning, which has an item of its own."""
        body = dict(served.body)
        wanted = body.pop("text", {}).get("format")
        fields = {"model": body["model"], "messages": body["input"], "max_tokens": body["max_output_tokens"]}
        if wanted is not None:
            _check_strict(wanted["schema"])
            fields["response_format"] = {"json_schema": wanted}
        served.reply = reply = self.model.reply(convert(fields, Call), served.key)
        return {
            "id": f"resp_{served.key[:16]}",
            "object": "response",
            "model": body["model"],
            "status": "incomplete" if reply.is_cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if reply.is_cut else None,
            "error": None,
            "output": [
                {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "ANSWER: [0]"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": reply.text}]},
            ],
            "usage": {"input_tokens": reply.call.prompt_tokens, "output_tokens": tokens_in(reply.text)},
        }

    def write_message(self, served: Served) -> dict[str, Any]:
        """Return the message that a request of Anthropic's asks for; a tool that must be used is."""
        body = convert(served.body, _MessagesBody)
        name = body.tool_choice.get("name")
        tool = next((tool for tool in body.tools if tool.name == name), None)
        if name is not None and tool is None:
            raise BadCallError(f"tool_choice: no tool '{name}' among the tools")
        wanted = None if tool is None else {"json_schema": {"schema": tool.input_schema}}
        messages = [ServedMessage(message.role, message.text) for message in body.messages]
        fields = {"model": body.model, "messages": messages, "max_tokens": body.max_tokens, "response_format": wanted}
        served.reply = reply = self.model.reply(msgspec.convert(fields, Call), served.key)
        serial = f"{served.key[:16]}{served.attempt:04x}"
        uses_tool = tool is not None and not reply.is_cut and reply.text.startswith("{")
        content: dict[str, Any] = {"type": "text", "text": reply.text}
        if uses_tool:
            value = msgspec.Raw(reply.text.encode())
            content = {"type": "tool_use", "id": f"toolu_{serial}", "name": name, "input": value}
        kept = body.messages[0].kept
        n_kept, is_known = tokens_in(kept), kept in self._kept
        self._kept.add(kept)
        return {
            "id": f"msg_{serial}",
            "type": "message",
            "role": "assistant",
            "model": body.model,
            "content": [content],
            "stop_reason": "tool_use" if uses_tool else "max_tokens" if reply.is_cut else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": reply.call.prompt_tokens - n_kept,
                "cache_read_input_tokens": n_kept if is_known else 0,
                "cache_creation_input_tokens": 0 if is_known else n_kept,
                "output_tokens": tokens_in(reply.text),
            },
        }

    def error_body(self, error: BadCallError, served: Served) -> dict[str, Any]:
        kinds = {401: "authentication_error", 429: "rate_limit_error"}
        if is_anthropic(served):
            kinds |= {404: "not_found_error", 529: "overloaded_error"}
            kind = kinds.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")
            return {"type": "error", "error": {"type": kind, "message": str(error)}}
        kind = kinds.get(error.status, "server_error" if error.status >= 500 else "invalid_request_error")
        return {"error": {"message": str(error), "type": kind, "param": None, "code": None}}

    def refuse(self, error: BadCallError, served: Served) -> Response:
        return json_response(self.error_body(error, served), error.status)

    def fail(self, fault: str, served: Served) -> ASGIApp:
        if fault in _ERRORS:
            error, seconds = _ERRORS[fault], self.settings.retry_after_seconds
            if fault == "unavailable" and is_anthropic(served):
                error = BadCallError(str(error), status=529)
            response = self.refuse(error, served)
            if fault in {"rate_limit", "unavailable"}:
                response.headers.update({"retry-after": f"{int(seconds)}", "retry-after-ms": f"{seconds * 1000:.0f}"})
            return response
        responses = {
            "malformed_json": Response(BROKEN, media_type="application/json"),
            "empty_body": Response(b"", media_type="application/json"),
            "wrong_content_type": Response(_PAGE, media_type="text/html"),
            "truncated_body": _Truncated(BROKEN, media_type="application/json"),
        }
        return self._hang if fault == "hang" else responses.get(fault, _cut)

    async def _hang(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self.settings.hang_seconds):
                await _wait_until_left(receive)
        except TimeoutError:
            await _cut(scope, receive, send)

    def count(self, outcome: str, served: Served, batch: str | None = None) -> None:
        outcome = "answered" if outcome == "paid" and served.reply is None else outcome
        super().count(outcome, served)
        path = served.request.scope["path"]
        if batch is not None:
            path = MESSAGES_PATH if is_anthropic(served) else CHAT_PATH
            self.totals["paid_in_batches"] += outcome == "paid"
        entry = {"key": served.key, "outcome": outcome, "attempt": served.attempt, "batch": batch}
        self.entries.append({**entry, "request": f"{served.request.method} {path}"})


async def _cut(scope: Scope, receive: Receive, _send: Send) -> None:
    """End the connection without a byte; in tests without a server there is none."""
    connection = scope.get("state", {}).get("connection")
    if connection is None:
        raise ConnectionResetError("a fault that was drawn")
    connection.transport.abort()
    await _wait_until_left(receive)  # so that uvicorn does not ask where the response is


async def _wait_until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def is_anthropic(served: Served) -> bool:
    path: str = served.request.scope["path"]
    return path.startswith(MESSAGES_PATH)
