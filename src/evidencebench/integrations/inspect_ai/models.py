"""Systems of ours as models of inspect_ai: ``--model evidencebench/bm25 -M k1=1.2``."""

from typing import Any

import anyio.to_thread
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput

from evidencebench.errors import ReplyError, SystemSpecError, TaskError
from evidencebench.execution.answering import answer_instance
from evidencebench.execution.making import make_system
from evidencebench.integrations.inspect_ai.samples import KEY, instance_at
from evidencebench.runs.answer_line import Failure
from evidencebench.specification import write_specification
from evidencebench.systems.strategies.forms import well_formed


class SystemModel(ModelAPI):  # type: ignore[misc, unused-ignore] # untyped where inspect_ai is not installed
    """A system as a model: it is asked the query that a message of our tasks stands for, and replies in words."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the contract's default
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self.system = make_system(write_specification(model_name, model_args))

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - the contract's name
        tools: Any,  # noqa: ARG002 - the contract's signature
        tool_choice: Any,  # noqa: ARG002 - as above
        config: GenerateConfig,  # noqa: ARG002 - as above
    ) -> ModelOutput:
        """Return the system's answer as a reply: the sentences that count."""
        origin = next((turn.metadata[KEY] for turn in input if turn.metadata and KEY in turn.metadata), None)
        if origin is None:
            raise SystemSpecError(
                f"model 'evidencebench/{self.model_name}': expected a question of an evidencebench task, which it can "
                "be asked; other questions need a language model"
            )
        text = await anyio.to_thread.run_sync(self._reply, origin)
        return ModelOutput.from_content(model=self.model_name, content=text)

    def _reply(self, origin: dict[str, str]) -> str:
        instance, task = instance_at(origin)
        budget = task.brief(instance).budget
        if budget is None and not self.system.selects:
            raise TaskError(
                f"system '{self.system.name}' ranks all sentences, and task '{task.name}' has no budget to end it"
            )
        answer = answer_instance(self.system, instance, task)
        if isinstance(answer, Failure):
            raise ReplyError(answer.error)
        return well_formed("answer", answer.sentences[: budget if answer.ordered else None], structured=False)
