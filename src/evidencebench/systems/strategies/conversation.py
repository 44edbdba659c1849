"""Ask a model, read the reply, and ask again where that helps: the turns that every strategy shares."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evidencebench.errors import EndpointError, PendingError, ReplyError, StopError
from evidencebench.models.llm.chat import ChatModel, ChatReply, Message, Received
from evidencebench.models.llm.client import ChatClient, default_client
from evidencebench.models.llm.reading import Reading, ReplyClass
from evidencebench.models.llm.tokens import estimated_tokens
from evidencebench.system import merged_notes
from evidencebench.systems.strategies.forms import budget_words
from evidencebench.systems.strategies.prompts import prompt_named

_MICROUSD = 1_000_000
_MAX_NAME_CHARACTERS = 60
_WITHOUT_ANSWER = (ReplyClass.FAILED, ReplyClass.REFUSED, ReplyClass.TRUNCATED, ReplyClass.UNPARSEABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Which model is asked through which client, and how often a reply without an answer is asked for again."""

    client: ChatClient
    chat: ChatModel
    repairs: int


def asker_of(client: ChatClient | None, chat: ChatModel, repairs: int) -> Asker:
    """Return how a strategy asks: through the client that all share, where it has none of its own."""
    return Asker(client=default_client() if client is None else client, chat=chat, repairs=repairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and how its answer is read.

    Where sentences are selected, naming none is an answer, and a part of a list is not. What is scored or put in order
    is the other way round.
    """

    text: str  # the first message
    stand_in: str  # what a well-formed reply would look like, for estimates
    schema: Mapping[str, Any]  # of the reply, for models whose replies are structured
    read: Callable[[ChatReply], Reading]  # never raises
    form: str  # how the answer is asked for again, without its reasoning
    selects: bool = False
    budget: int | None = None  # how many sentences count where they are selected; None: any number


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The outcome of the turns with a model.

    `reading` is of the reply that holds the answer, which may be an empty list; None: no reply does, and `why` says the
    reason. `notes` count what happened, by name: replies by class and by what read them, requests, tokens, cost.
    """

    reading: Reading | None
    notes: Mapping[str, int]
    why: str = ""


async def converse(asker: Asker, question: Question) -> Conversation:
    """Return what a model answers, in as many turns as it needs and is allowed.

    A reply without an answer (unparseable, cut off, or naming only sentences that were not shown) is asked for again,
    `Asker.repairs` times. Where none is whole, the largest part of the scores or of the order that one holds stands; a
    part of a selection never does. A refusal is final.

    A reply that names too many sentences is asked once to choose among them. Where the reply to that is still too long
    it stands as a set, and where it holds no answer, or an empty one, the longer set stands.

    Raises
    ------
    ReplyError
        If a request failed for good; its notes count the replies before it too.
    StopError
        If no more requests may be sent.
    PendingError
        If a reply waits for a batch.
    """
    notes: Counter[str] = Counter()
    messages: tuple[Message, ...] = (Message("user", question.text),)
    longer: Reading | None = None
    part: Reading | None = None
    n_repairs = 0
    while True:
        reply = await _reply(asker, messages, question, notes)
        reading = question.read(reply)
        notes[f"reply_{reading.reply_class}"] += 1
        if reading.read_by:
            notes[f"read_by {reading.read_by}"] += 1
        if _is_answer(reading, question):
            if longer is None and question.budget is not None and len(reading.indices) > question.budget:
                longer = reading
                messages = _continued(asker.chat, messages, reply, _too_many(reading, question))
                continue
            return Conversation(reading=reading if reading.indices or longer is None else longer, notes=notes)
        if not question.selects and len(reading.indices) > (0 if part is None else len(part.indices)):
            part = reading
        if n_repairs == asker.repairs or reading.reply_class is ReplyClass.REFUSED:
            return Conversation(reading=longer or part, notes=notes, why=f"{reading.reply_class}: {reading.why}")
        n_repairs += 1
        again = "repair" if reply.text.strip() else "repair_empty"
        messages = _continued(asker.chat, messages, reply, prompt_named(again).render(form=question.form))


def _too_many(reading: Reading, question: Question) -> str:
    return prompt_named("over_length").render(
        n_selected=str(len(reading.indices)), budget=budget_words(question.budget), form=question.form
    )


def _is_answer(reading: Reading, question: Question) -> bool:
    if reading.reply_class in _WITHOUT_ANSWER:
        return False
    return bool(reading.indices) or (question.selects and reading.reply_class is ReplyClass.EMPTY)


async def _reply(asker: Asker, messages: tuple[Message, ...], question: Question, notes: Counter[str]) -> ChatReply:
    request = asker.chat.request(messages, question.schema)
    try:
        received = await asker.client.ask(request, stand_in=question.stand_in)
    except EndpointError as error:
        failed = {**notes, "reply_failed": notes["reply_failed"] + 1, "requests": notes["requests"] + 1}
        raise ReplyError(str(error), notes=failed) from error
    notes.update(_notes_of(received))
    return received.reply


def _notes_of(received: Received) -> dict[str, int]:
    """Return what a reply used and cost. It cost that much whether it was sent now or lay in the cache."""
    usage, cost_usd = received.reply.usage, received.cost_usd
    notes = {
        "requests": 1,
        "prompt_tokens": usage.prompt_tokens or 0,
        "completion_tokens": usage.completion_tokens or 0,
        "reasoning_tokens": usage.reasoning_tokens,
        "cost_microusd": 0 if cost_usd is None else round(cost_usd * _MICROUSD),
        "unpriced_replies": int(cost_usd is None),
    }
    if name := _printable(received.reply.served_by):
        notes[f"served_by {name}"] = 1
    return {name: count for name, count in notes.items() if count}


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name)[:_MAX_NAME_CHARACTERS]


def _continued(chat: ChatModel, messages: tuple[Message, ...], reply: ChatReply, text: str) -> tuple[Message, ...]:
    """Return the conversation with a reply and what is said to it.

    Of a reply that is too long for the window only the end stands there, where the answer is looked for. One of which
    nothing can stand is left out, since servers take no empty message, and what is said to it goes on the last one.
    """
    used = sum(estimated_tokens(message.text) for message in (*messages, Message("user", text)))
    quoted = _end_of(reply.text.strip(), chat.context_tokens - chat.max_tokens - used)
    if not quoted:
        return (*messages[:-1], Message("user", f"{messages[-1].text}\n\n{text}"))
    return (*messages, Message("assistant", quoted), Message("user", text))


def _end_of(text: str, max_tokens: int) -> str:
    """Return the longest end of a text that fits, by halves of what is too much."""
    while text and estimated_tokens(text) > max_tokens:
        text = text[(len(text) + 1) // 2 :]
    return text.strip()


async def run_together(work: Iterable[Coroutine[Any, Any, Conversation]]) -> list[Conversation]:
    """Return the outcomes of conversations that go on at once, all of which end before an error is raised.

    So one that waits for a batch does not keep the others' requests from being recorded, nor one that fails their
    replies from being stored. The notes of a `ReplyError` are those of all conversations; a `StopError` comes first.
    """
    ended = await asyncio.gather(*work, return_exceptions=True)
    errors = [one for one in ended if isinstance(one, BaseException)]
    outcomes = [one for one in ended if not isinstance(one, BaseException)]
    for error in sorted(errors, key=error_priority):
        if isinstance(error, ReplyError):
            notes = merged_notes(
                *(one.notes for one in (*outcomes, *errors) if isinstance(one, (Conversation, ReplyError)))
            )
            raise ReplyError(str(error), notes=notes) from error
        raise error
    return outcomes


def error_priority(error: BaseException) -> int:
    """Return an error's priority, the lowest first: unexpected errors, `StopError`, `PendingError`, then failures."""
    ranks = (StopError, PendingError, ReplyError)
    return next((place for place, kind in enumerate(ranks) if isinstance(error, kind)), -1)
