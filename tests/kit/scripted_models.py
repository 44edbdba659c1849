"""Models of the tests' own: their replies come from a function of the prompt, and nothing goes over a network."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doors import ChatClient, ChatModel, ChatReply, ChatRequest, PriceTable, Usage
from evidencebench import EvidenceBenchError, Kind, Query

CHAT = ChatModel(model="local/fake", base_url="http://127.0.0.1:9/v1")

Reply = str | ChatReply | EvidenceBenchError
Answering = Callable[[ChatRequest], Reply]


@dataclass
class ScriptedSender:
    """Replies as a function says, and remembers what it was asked."""

    answer: Answering
    asked: list[ChatRequest] = field(default_factory=list)

    def send(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        reply = self.answer(request)
        if isinstance(reply, EvidenceBenchError):
            raise reply
        return ChatReply(text=reply, usage=USAGE) if isinstance(reply, str) else reply


USAGE = Usage(prompt_tokens=100, completion_tokens=10)


def client_of(sender: ScriptedSender, prices: Mapping[str, Any] | None = None) -> ChatClient:
    """Return a client without a cache."""
    return ChatClient(sender=sender, cache=None, prices=PriceTable(as_of="2026-01-01", models=prices or {}))


def shown_in(request: ChatRequest) -> dict[int, str]:
    """Return the sentences that a conversation shows, by the marks alone."""
    block = re.search(r"^<paper>\n(.*?)^</paper>$", request.messages[0].text, re.MULTILINE | re.DOTALL)
    assert block is not None
    lines = (re.fullmatch(r"\[(\d+)\] (.*)", line) for line in block[1].splitlines())
    return {int(line[1]): line[2] for line in lines if line is not None}


def judged_aspects(request: ChatRequest) -> list[str]:
    """Return the aspects that a prompt asks about, one or all of a summary."""
    text = request.messages[0].text
    one = re.search(r"^Aspect: (.*)$", text, re.MULTILINE)
    if one is not None:
        return [one[1]]
    listed = text.partition("\nAspects:\n")[2].partition("\n\n")[0]
    return [line.partition(". ")[2] for line in listed.splitlines()]


def budget_in(request: ChatRequest) -> int | None:
    """Return the budget that a conversation states behind the paper."""
    found = re.search(r"at most (\d+) sentences?", request.messages[0].text.partition("\n</paper>\n")[2])
    return None if found is None else int(found[1])


def oracle(gold: Iterable[int]) -> Answering:
    """Return a model that knows the answer."""
    wanted = set(gold)

    def answer(request: ChatRequest) -> str:
        text, shown = request.messages[0].text, shown_in(request)
        if "score every sentence" in text:
            return "SCORES:\n" + "\n".join(f"{index}: {10 if index in wanted else 0}" for index in shown)
        best = sorted(shown, key=lambda index: (index not in wanted, index))
        named = best if "order every sentence" in text else [index for index in best if index in wanted]
        return f"It bears on the hypothesis.\n\nANSWER: {named[: budget_in(request)]}"

    return answer


def lead(request: ChatRequest) -> str:
    """Answer with what is shown first."""
    shown = list(shown_in(request))
    if "score every sentence" in request.messages[0].text:
        return "SCORES:\n" + "\n".join(f"{index}: 5" for index in shown)
    return f"ANSWER: {shown[: budget_in(request)]}"


def paper(n_sections: int = 4, n_each: int = 6, *, instance_id: str = "i1", paper_id: str = "p1") -> Query:
    """Make a paper: an abstract, then sections with headings, each sentence some 20 tokens long."""
    sentences = [
        f"Abstract sentence {number} says that tea lowered the pressure of {number} men." for number in range(5)
    ]
    kinds = [Kind.ABSTRACT] * 5
    for section in range(n_sections):
        sentences.append(f"Section {section}")
        kinds.append(Kind.HEADING)
        sentences += [
            f"Sentence {number} of section {section} says how tea was drunk there." for number in range(n_each)
        ]
        kinds += [Kind.BODY] * n_each
    return Query(
        instance_id=instance_id,
        paper_id=paper_id,
        hypothesis="Tea lowers blood pressure.",
        sentences=tuple(sentences),
        kinds=tuple(kinds),
    )


def write_paper(path: Path, n_sentences: int) -> None:
    """Write a paper of plain text."""
    path.write_text("".join(f"Sentence number {n} says a little.\n" for n in range(n_sentences)), encoding="utf-8")
