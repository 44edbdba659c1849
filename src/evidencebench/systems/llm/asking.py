"""Ask a model, read the reply, and ask again where that helps: the turns that every strategy shares."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from evidencebench.errors import EndpointError, PendingError, ReplyError, StopError, UnreadableReplyError
from evidencebench.models.llm.chat import (
    ROOM_TO_THINK,
    ChatModel,
    ChatReply,
    Message,
    estimated_tokens,
    prompt_tokens_of,
)
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.grammar import visible_text
from evidencebench.models.llm.grammar_lists import ShownSentences
from evidencebench.models.llm.providers import asks_json
from evidencebench.models.llm.reading import Reading, ReplyClass
from evidencebench.systems.llm.prompts import budget_words, prompt_named

_MAX_NAME_CHARACTERS = 60
_LONGEST_QUOTED = 2_000  # characters of a reply that `ask_until_read` shows to the model again
_LEAST_READ = 0.5  # of the tokens sent, as estimated; of fewer, the server cut the prompt
_WITHOUT_ANSWER = (ReplyClass.FAILED, ReplyClass.REFUSED, ReplyClass.TRUNCATED, ReplyClass.UNPARSEABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    client: ChatClient
    chat: ChatModel
    repairs: int
    logprobs: bool = False  # whether the model is asked for them


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to a model, and how its reply is read.

    For a selection, an empty list is an answer, and a part of a list is not. For scores or an order it is the other way
    round.
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
    reading: Reading | None  # of the reply with the answer, which may be an empty list; None where no reply has one
    notes: Mapping[str, int]  # counts by name: replies by class and by branch, requests, tokens, cost
    why: str = ""  # there is no answer


def converse(asker: Asker, question: Question) -> Conversation:
    """Ask a model until its reply holds an answer, at most 1 + `Asker.repairs` times; a refusal is final.

    A reply that was cut while the model thought is asked for once more with more room, beside the repairs if any.
    Without a whole reply, the largest part of an order or of scores is the answer; a part of a selection never is. A
    model that names too many sentences is asked once to choose among them; if it then names none, the longer set is
    the answer. Raises `ReplyError`, with the notes of all replies, `StopError` and `PendingError`.
    """
    notes: Counter[str] = Counter()
    messages: tuple[Message, ...] = (Message("user", question.text),)
    longer: Reading | None = None
    part: Reading | None = None
    n_repairs = 0
    while True:
        reply = _ask_once(asker, messages, question, notes)
        reading = question.read(reply)
        notes[f"reply_{reading.reply_class}"] += 1
        if reading.read_by:
            notes[f"read_by {reading.read_by}"] += 1
        if is_answer(reading, question):
            if longer is None and question.budget is not None and len(reading.indices) > question.budget:
                longer = reading
                n_selected = str(len(reading.indices))
                fields = {"n_selected": n_selected, "budget": budget_words(question.budget), "form": question.form}
                messages = _next_messages(asker.chat, messages, reply, prompt_named("over_length").render(**fields))
                continue
            return Conversation(reading=reading if reading.indices or longer is None else longer, notes=notes)
        if not question.selects and len(reading.indices) > (0 if part is None else len(part.indices)):
            part = reading
        if (roomier := _with_more_room(asker, messages, reply)) is not None:
            asker = roomier
            notes["asked_with_more_room"] += 1
            continue
        if n_repairs == asker.repairs or reading.reply_class is ReplyClass.REFUSED:
            return Conversation(reading=longer or part, notes=notes, why=f"{reading.reply_class}: {reading.why}")
        n_repairs += 1
        repair = prompt_named("repair" if reply.text.strip() else "repair_empty").render(form=question.form)
        messages = _next_messages(asker.chat, messages, reply, repair)


def _with_more_room(asker: Asker, messages: tuple[Message, ...], reply: ChatReply) -> Asker | None:
    """Return who asks the same again, where a reply was cut before any answer; None: it was not, or no more fits."""
    if not asker.repairs or reply.finish != "length" or visible_text(reply.text, ShownSentences({})).strip():
        return None
    chat, used = asker.chat, sum(round(1.1 * estimated_tokens(message.text)) for message in messages)
    most = min(ROOM_TO_THINK if chat.max_tokens_if_cut is None else chat.max_tokens_if_cut, chat.context_tokens - used)
    return replace(asker, chat=replace(chat, max_tokens=most)) if most > chat.max_tokens else None


def is_answer(reading: Reading, question: Question) -> bool:
    """Return whether a reply answers a question: not where it must be asked again, or is a refusal."""
    if reading.reply_class in _WITHOUT_ANSWER:
        return False
    return bool(reading.indices) or (question.selects and reading.reply_class is ReplyClass.EMPTY)


def _ask_once(asker: Asker, messages: tuple[Message, ...], question: Question, notes: Counter[str]) -> ChatReply:
    """Return a reply; note its tokens and its cost, the same whether it was sent now or lay in the cache."""
    request = asker.chat.request(messages, question.schema if asks_json(asker.chat) else None)
    try:
        received = asker.client.ask(request, stand_in=question.stand_in)
    except EndpointError as error:
        n_lost = asker.client.totals.maybe_charged.pop(request.key, 0)
        notes.update({"reply_failed": 1, "requests": 1, **({"maybe_charged": n_lost} if n_lost else {})})
        raise ReplyError(str(error), notes=notes) from error
    reply, cost_usd = received.reply, received.cost_usd
    n_read = reply.usage.prompt_tokens or 0
    n_sent = prompt_tokens_of(request) if n_read else 0
    is_cut = 0 < n_read < _LEAST_READ * n_sent
    if is_cut:
        asker.client.totals.count_cut_prompt(n_read, n_sent)
    counts = {
        "requests": 1,
        "prompts_cut_by_server": int(is_cut),
        "prompt_tokens": reply.usage.prompt_tokens or 0,
        "completion_tokens": reply.usage.completion_tokens or 0,
        "reasoning_tokens": reply.usage.reasoning_tokens,
        "cost_microusd": 0 if cost_usd is None else round(cost_usd * 1_000_000),
        "unpriced_replies": int(cost_usd is None),
        "maybe_charged": reply.maybe_charged,
        "milliseconds": round(1000 * (reply.seconds or 0)),
        "replies_without_logprobs": int(asker.logprobs and not reply.expected_scores),
        "timed_replies": int(reply.seconds is not None),
        "milliseconds_to_first_token": round(1000 * (reply.first_token_seconds or 0)),
        "streamed_replies": int(reply.first_token_seconds is not None),
    }
    for what, text in (("served_by", reply.served_by), ("prices_of", reply.priced_as_of)):
        if name := "".join(letter if letter.isprintable() else "?" for letter in text)[:_MAX_NAME_CHARACTERS]:
            counts[f"{what} {name}"] = 1
    notes.update({name: count for name, count in counts.items() if count})
    return reply


def _next_messages(chat: ChatModel, messages: tuple[Message, ...], reply: ChatReply, text: str) -> tuple[Message, ...]:
    """Return the messages of the next turn: a reply, of which the end that fits is quoted, and ``text``."""
    used = sum(estimated_tokens(message.text) for message in (*messages, Message("user", text)))
    quoted = reply.text.strip()
    while quoted and estimated_tokens(quoted) > chat.context_tokens - chat.max_tokens - used:
        quoted = quoted[(len(quoted) + 1) // 2 :]
    quoted = quoted.strip()
    if not quoted:  # servers take no empty message
        return (*messages[:-1], Message("user", f"{messages[-1].text}\n\n{text}"))
    return (*messages, Message("assistant", quoted), Message("user", text))


def error_priority(error: BaseException) -> int:
    """Return an error's priority, the lowest first: unexpected errors, `StopError`, `PendingError`, `ReplyError`."""
    ranks = (StopError, PendingError, ReplyError)
    return next((rank for rank, kind in enumerate(ranks) if isinstance(error, kind)), -1)


Answer = TypeVar("Answer")


def ask_until_read(
    asker: Asker,
    question: str,
    *,
    schema: Mapping[str, Any],
    stand_in: str,
    read: Callable[[ChatReply], tuple[Answer, str]],
    again: Callable[[str], str],
    what: str,
) -> tuple[Answer, str]:
    """Ask a model until ``read`` finds an answer in its reply, at most 1 + `Asker.repairs` times.

    Return the answer, and the key of the request whose reply says so.
    ``read`` returns the answer, and why there is none; ``again`` makes the next question of that reason. Raises
    `UnreadableReplyError` ("no ``what``"), `ReplyError` where a request failed for good, `StopError`, `PendingError`.
    """
    first = Message("user", question)
    messages: tuple[Message, ...] = (first,)
    why = ""
    n_repairs = 0
    while n_repairs <= asker.repairs:
        request = asker.chat.request(messages, schema if asks_json(asker.chat) else None)
        try:
            received = asker.client.ask(request, stand_in=stand_in)
        except EndpointError as error:
            raise ReplyError(str(error)) from error
        answer, why = read(received.reply)
        if not why:
            return answer, request.key
        if (roomier := _with_more_room(asker, messages, received.reply)) is not None:
            asker = roomier
            continue
        n_repairs += 1
        quoted = received.reply.text.strip()[-_LONGEST_QUOTED:]
        messages = (first, *([Message("assistant", quoted)] if quoted else []), Message("user", again(why)))
    raise UnreadableReplyError(f"no {what}: {why}")
