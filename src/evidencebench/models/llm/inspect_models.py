"""InspectModels: models of inspect_ai by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from evidencebench.errors import EndpointError, EvidenceBenchError, FailingServerError
from evidencebench.models.llm.chat import ChatModel, ChatReply, ChatRequest
from evidencebench.models.llm.providers import without_known_keys
from evidencebench.models.llm.wire import reply_in
from evidencebench.tables import printable
from evidencebench.web.http import wait_for

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput

INSPECT = "inspect"  # the provider
ACTIVE_MODEL = f"{INSPECT}/any"
"""The name of the model that a task of inspect_ai is given."""

_SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort", "extra_body")
_LEFT_OPEN = ChatModel(model=ACTIVE_MODEL)


@dataclass(frozen=True, kw_only=True)
class InspectModels:
    """A sender. A task's own ``model`` keeps its settings where a request has the defaults, and raises its errors."""

    model: "Model | None" = None  # None: `get_model` of the name behind ``inspect/``
    call: "Callable[[Callable[[], Any]], ModelOutput]" = lambda work: wait_for(work())
    metadata: Mapping[str, Any] | None = None  # of each message
    limits: Mapping[str, Any] = field(default_factory=dict)  # fields of inspect_ai's `GenerateConfig`

    def send(self, request: ChatRequest) -> ChatReply:
        from inspect_ai import model as inspect  # noqa: PLC0415 - an extra

        kinds = {"user": inspect.ChatMessageUser, "assistant": inspect.ChatMessageAssistant}
        messages = [kinds[turn.role](content=turn.text, metadata=self.metadata) for turn in request.messages]
        sampling = {name: getattr(request, name) for name in _SAMPLING}
        if self.model is not None:
            sampling = {name: value for name, value in sampling.items() if value != getattr(_LEFT_OPEN, name)}
        if request.schema is not None:
            schema = inspect.ResponseSchema(name="reply", json_schema=request.schema, strict=True)
            sampling["response_schema"] = schema
        kind: type[EvidenceBenchError] = FailingServerError  # an unknown name, a missing key or package
        try:
            model = self.model or inspect.get_model(request.model_name)
            config = inspect.GenerateConfig(**sampling, **self.limits)
            kind = EndpointError
            output = self.call(partial(model.generate, messages, config=config))
        except Exception as error:  # of any of its providers
            if self.model is not None:
                raise
            message = printable(without_known_keys(str(error) or type(error).__name__)[:300])
            raise kind(f"{request.model}: {message}") from error
        if (reply := reply_of(output)) is None:
            raise EndpointError(f"{request.model}: expected a reply, got {printable(output.error or 'none')}")
        return reply


def reply_of(output: "ModelOutput") -> ChatReply | None:
    if not output.choices:
        return None
    calls = [{"arguments": call.arguments} for call in output.message.tool_calls or ()]
    message = {"content": output.completion, "tool_calls": calls}
    body = {"choices": [{"message": message, "finish_reason": output.stop_reason}], "model": output.model}
    if (used := output.usage) is not None:
        read, written = used.input_tokens_cache_read or 0, used.input_tokens_cache_write or 0
        body["usage"] = {
            "prompt_tokens": used.input_tokens + read + written,
            "completion_tokens": used.output_tokens,
            "prompt_tokens_details": {"cached_tokens": read},
            "completion_tokens_details": {"reasoning_tokens": used.reasoning_tokens},
        }
    return msgspec.structs.replace(reply_in("openai", body), seconds=output.time)
