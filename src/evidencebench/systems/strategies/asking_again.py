"""Ask a model for an answer that selects no sentences, and ask again where its reply cannot be read."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from evidencebench.errors import EndpointError, ReplyError, UnreadableReplyError
from evidencebench.models.llm.chat import ChatReply, Message
from evidencebench.systems.strategies.conversation import Asker

_LONGEST_SAID = 2_000
"""The most characters of a reply that are shown to the model again."""

Answer = TypeVar("Answer")


class ReadReply(NamedTuple, Generic[Answer]):
    """What a model answered, and the key of the request whose reply says so."""

    answer: Answer
    request_key: str


def ask_until_read(
    asker: Asker,
    question: str,
    *,
    schema: Mapping[str, Any],
    stand_in: str,
    read: Callable[[ChatReply], tuple[Answer, str]],
    again: Callable[[str], str],
    what: str,
) -> ReadReply[Answer]:
    """Return what a model answers to a question.

    ``read`` returns the answer of a reply, and why there is none, which is empty where there is one. ``again`` returns,
    of that reason, the words that ask once more, up to `Asker.repairs` times. ``what`` is missing, in messages.

    Raises `UnreadableReplyError` where no reply has the answer, `ReplyError` where a request failed for good, and
    `StopError` and `PendingError` as a client does.
    """
    first = Message("user", question)
    messages: tuple[Message, ...] = (first,)
    why = ""
    for _ in range(1 + asker.repairs):
        request = asker.chat.request(messages, schema)
        try:
            received = asker.client.ask(request, stand_in=stand_in)
        except EndpointError as error:
            raise ReplyError(str(error)) from error
        answer, why = read(received.reply)
        if not why:
            return ReadReply(answer, request.key)
        said = received.reply.text.strip()[-_LONGEST_SAID:]
        messages = (first, *([Message("assistant", said)] if said else []), Message("user", again(why)))
    raise UnreadableReplyError(f"no {what}: {why}")
