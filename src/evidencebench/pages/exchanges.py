"""Reads what a language model was asked and what it replied, from the store of this machine; no key, and no address."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.errors import EvidenceBenchError
from evidencebench.execution.exchanges import Exchange, changed_since, exchanges_of, requests_can_be_made
from evidencebench.models.llm.chat import Message
from evidencebench.models.llm.costs import reply_facts
from evidencebench.models.llm.replies import ReplyCache, stored_replies
from evidencebench.pages.viewer import AskedRecord, ExchangeSource, RequestRecord
from evidencebench.runs.run import RunFile
from evidencebench.wording import counted

MOST_CHARACTERS = 200_000
"""Longer prompts and replies are cut in the middle; a whole paper with its instructions has about 30,000."""


@contextmanager
def stored_exchanges(dataset: Dataset, folder: Path | None) -> Iterator[ExchangeSource | None]:
    """Yield a function that reads what was asked about a data set; None where the folder stores no replies."""
    with stored_replies(folder) as replies:
        yield None if replies is None else partial(_asked_record, dataset, replies)


def _asked_record(dataset: Dataset, replies: ReplyCache, run: RunFile, instance_id: str, task: Task) -> AskedRecord:
    if not requests_can_be_made(run):
        return AskedRecord(note="The requests of this system are not rebuilt here; see “evidencebench llm show”.")
    try:
        exchanges = exchanges_of(run, dataset, instance_id, cache=replies, tasks=[task])
        changed = changed_since(run)
    except EvidenceBenchError:  # its message may name files of this machine
        return AskedRecord(note="The requests cannot be rebuilt; “evidencebench llm show” says why.")
    n_lacking = sum(exchange.replayed.reply is None for exchange in exchanges)
    notes = []
    if not exchanges:
        notes.append("No request was sent: the task needs no sentence of this paper.")
    if n_lacking:
        why = "prompts have changed since" if changed else "it was removed, was made elsewhere, or the request failed"
        notes.append(
            f"The reply to {counted(n_lacking, 'request')} is not stored on this machine: {why}. "
            "Later requests are not known."
        )
    return AskedRecord(requests=tuple(_requests(exchanges)), note=" ".join(notes))


def _requests(exchanges: Sequence[Exchange]) -> Iterable[RequestRecord]:
    known: tuple[Message, ...] = ()  # the messages of the request before
    for exchange in exchanges:
        request, reply = exchange.replayed.request, exchange.replayed.reply
        follows = bool(known) and request.messages[: len(known)] == known
        texts = [
            {"name": f"Prompt, {message.role}: {counted(len(message.text), 'character')}", "text": _cut(message.text)}
            for message in request.messages[len(known) + 1 if follows else 0 :]  # the one more is the reply
        ]
        facts = "not stored"
        if reply is not None:
            texts.append({"name": "Reply", "text": _cut(reply.text)})
            served = f"; served by {reply.served_by}" if reply.served_by else ""
            facts = f"{reply_facts(reply, exchange.replayed.cost_usd)}; ended: {reply.finish}{served}"
        facts += "; after the messages above and their reply" if follows else ""
        title = f"Request {exchange.turn}: {request.model}"
        yield RequestRecord(title=title, facts=facts, texts=tuple(texts))
        known = request.messages


def _cut(text: str) -> str:
    half, left_out = MOST_CHARACTERS // 2, counted(len(text) - MOST_CHARACTERS, "character")
    return text if len(text) <= 2 * half else f"{text[:half]}\n[… {left_out} left out here …]\n{text[-half:]}"
