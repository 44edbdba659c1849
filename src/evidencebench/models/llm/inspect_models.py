"""InspectModels: models of inspect_ai by name."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from evidencebench.errors import EndpointError, EvidenceBenchError, FailingServerError
from evidencebench.models.http import wait_for
from evidencebench.models.llm.chat import ChatModel, ChatReply, ChatRequest, Finish, Usage
from evidencebench.models.llm.providers import without_known_keys
from evidencebench.tables import printable

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput

INSPECT = "inspect"  # the provider
ACTIVE_MODEL = f"{INSPECT}/any"
"""The name of the model that a task of inspect_ai is given."""

_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refused",
    "tool_calls": "tool",
}
_SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort")
_LEFT_OPEN = ChatModel(model=ACTIVE_MODEL)


class InspectModels:
    """A sender. A task's own ``model`` keeps its settings where a request has the defaults, and raises its errors."""

    def __init__(
        self,
        model: "Model | None" = None,  # None: `get_model` of the name behind ``inspect/``
        *,
        call: "Callable[[Callable[[], Any]], ModelOutput]" = lambda work: wait_for(work()),
        metadata: Mapping[str, Any] | None = None,  # of each message
        limits: Mapping[str, Any] | None = None,  # fields of inspect_ai's `GenerateConfig`
    ) -> None:
        self._model, self._call, self._metadata, self._limits = model, call, metadata, limits or {}

    def send(self, request: ChatRequest) -> ChatReply:
        from inspect_ai.model import (  # noqa: PLC0415 - an extra
            ChatMessageAssistant,
            ChatMessageUser,
            GenerateConfig,
            ResponseSchema,
            get_model,
        )

        kinds = {"user": ChatMessageUser, "assistant": ChatMessageAssistant}
        messages = [kinds[turn.role](content=turn.text, metadata=self._metadata) for turn in request.messages]
        sampling = {name: getattr(request, name) for name in _SAMPLING}
        if self._model is not None:
            sampling = {name: value for name, value in sampling.items() if value != getattr(_LEFT_OPEN, name)}
        if request.schema is not None:
            sampling["response_schema"] = ResponseSchema(name="reply", json_schema=request.schema, strict=True)
        kind: type[EvidenceBenchError] = FailingServerError  # an unknown name, a missing key or package
        try:
            model = self._model or get_model(request.model_name)
            config = GenerateConfig(**sampling, **self._limits)
            kind = EndpointError
            output = self._call(partial(model.generate, messages, config=config))
        except Exception as error:  # of any of its providers
            if self._model is not None:
                raise
            message = printable(without_known_keys(str(error) or type(error).__name__)[:300])
            raise kind(f"{request.model}: {message}") from error
        if (reply := reply_of(output)) is None:
            raise EndpointError(f"{request.model}: expected a reply, got {printable(output.error or 'none')}")
        return reply


def reply_of(output: "ModelOutput") -> ChatReply | None:
    if not output.choices:
        return None
    finish, usage = _FINISH.get(output.stop_reason, "other"), Usage()
    if (used := output.usage) is not None:
        cached = used.input_tokens_cache_read or 0
        usage = Usage(
            prompt_tokens=used.input_tokens + cached + (used.input_tokens_cache_write or 0),
            completion_tokens=used.output_tokens,
            cached_tokens=cached,
            reasoning_tokens=used.reasoning_tokens or 0,
        )
    served_by = printable(output.model[:120])
    return ChatReply(text=output.completion, finish=finish, usage=usage, served_by=served_by, seconds=output.time)
