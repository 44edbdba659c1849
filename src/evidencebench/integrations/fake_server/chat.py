"""The endpoints of both protocols that answer at once: chat completions, messages and models."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from evidencebench.integrations.fake_server import anthropic_wire, openai_wire
from evidencebench.integrations.fake_server.anthropic_batches import MESSAGES
from evidencebench.integrations.fake_server.calls import BadCallError
from evidencebench.integrations.fake_server.connection import Reply
from evidencebench.integrations.fake_server.logbook import PAID
from evidencebench.integrations.fake_server.model import Model
from evidencebench.integrations.fake_server.openai_batches import CHAT
from evidencebench.integrations.fake_server.personalities import Personality
from evidencebench.integrations.fake_server.routes import Handled, Handler, Incoming, answered, json_reply
from evidencebench.integrations.fake_server.wires import Wire

VERSION_HEADER = "anthropic-version"
_EVENT_STREAM = "text/event-stream"
_MODELS_SINCE = 1_735_689_600  # the first day of 2025


class Chat:
    """The endpoints that answer at once.

    Parameters
    ----------
    model
        Answers.
    clock
        Seconds since 1970.
    """

    def __init__(self, model: Model, clock: Callable[[], float]) -> None:
        self._model, self._clock = model, clock

    def routes(self) -> list[tuple[str, str, Handler]]:
        """Return the routes of both protocols."""
        return [
            ("POST", CHAT, lambda incoming: self._reply(openai_wire, incoming)),
            ("POST", MESSAGES, lambda incoming: self._reply(anthropic_wire, incoming)),
            ("GET", "/v1/models", _list_models),
            ("GET", "/v1/models/{}", _one_model),
        ]

    def _reply(self, wire: Wire, incoming: Incoming) -> Handled:
        reply, call = self._model.reply(wire, incoming.fields(), incoming.key)
        stamp: dict[str, Any] = {"serial": incoming.serial, "created": int(self._clock())}
        if call.streams:
            pieces = list(wire.events(reply, call, **stamp))
            sent = Reply(content_type=_EVENT_STREAM, pieces=pieces, headers={"cache-control": "no-cache"})
        else:
            sent = json_reply(wire.whole(reply, call, **stamp))
        return Handled(
            reply=sent, outcome=PAID, prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens
        )


def _list_models(incoming: Incoming) -> Handled:
    """List the models: one a personality, though any other name is answered, too."""
    models = [_model(str(personality), incoming) for personality in Personality]
    if VERSION_HEADER in incoming.request.headers:
        return answered({"data": models, "has_more": False, "first_id": models[0]["id"], "last_id": models[-1]["id"]})
    return answered({"object": "list", "data": models})


def _one_model(incoming: Incoming) -> Handled:
    if incoming.name not in set(map(str, Personality)):
        raise BadCallError(f"The model '{incoming.name}' does not exist", param="model", status=404)
    return answered(_model(incoming.name, incoming))


def _model(name: str, incoming: Incoming) -> dict[str, Any]:
    if VERSION_HEADER in incoming.request.headers:
        since = datetime.fromtimestamp(_MODELS_SINCE, UTC).isoformat().replace("+00:00", "Z")
        return {"type": "model", "id": name, "display_name": name, "created_at": since, "lifecycle": "active"}
    return {"id": name, "object": "model", "created": _MODELS_SINCE, "owned_by": "evidencebench"}
