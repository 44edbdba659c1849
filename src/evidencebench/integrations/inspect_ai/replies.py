"""A model's replies in inspect_ai, asked for by our prompt and read by our reader."""

from collections.abc import Sequence

from inspect_ai.model import ModelOutput

from evidencebench.models.llm.chat import ChatModel, ChatReply, Finish
from evidencebench.models.llm.reading import Reading
from evidencebench.query import Query
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.system import Brief
from evidencebench.systems.strategies.conversation import is_answer
from evidencebench.systems.strategies.excerpt import Excerpt, prompt_line
from evidencebench.systems.strategies.selecting import selected, selection_question, selection_versions

_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refused",
    "tool_calls": "tool",
}


_CHAT = ChatModel(model="inspect/any")  # inspect_ai knows which model; only the form of the reply counts here


def prompt_versions() -> dict[str, str]:
    """Return the checksums of the prompts that decide what a model is asked."""
    return dict(selection_versions(_CHAT, "base"))


class PaperReading:
    """The question of `llm_base` about a whole paper: its ``text``, and how the replies to it are read."""

    def __init__(self, query: Query, brief: Brief) -> None:
        shown = {index: prompt_line(text) for index, text in enumerate(query.sentences)}
        selection = selection_question("base", query, brief, _CHAT)
        self.question = selection.question("answer", Excerpt(shown=shown), _CHAT, brief.budget)
        self.text = self.question.text

    def answer(self, replies: Sequence[ChatReply]) -> tuple[Answer, Reading | None]:
        """Return the answer that the replies of a conversation give, and its reading.

        The last reply that names sentences counts, else the last that says there are none.
        """
        readings = [self.question.read(reply) for reply in replies]
        answers = [reading for reading in readings if is_answer(reading, self.question)]
        if last := ([reading for reading in answers if reading.indices] or answers)[-1:]:
            return selected(last[0].indices, {}), last[0]
        if not readings:
            return Failure(error="ReplyError: failed: there is no reply"), None
        return Failure(error=f"ReplyError: {readings[-1].reply_class}: {readings[-1].why}"), readings[-1]


def reply_of(output: ModelOutput) -> ChatReply | None:
    """Return a model's output as a reply; None where there is none."""
    if not output.choices:
        return None
    return ChatReply(text=output.completion, finish=_FINISH.get(output.stop_reason, "other"))
