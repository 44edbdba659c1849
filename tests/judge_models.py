"""A model of the tests' own that judges: it knows which sentences hold which aspects."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evidencebench.construction.draft import Draft
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import JudgeSettings, judge_step
from evidencebench.models.llm.chat import ChatModel, ChatRequest
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.costs import PriceTable
from evidencebench.models.llm.replies import ReplyCache
from evidencebench.systems.llm.asking import Asker
from scripted_models import CHAT, ScriptedSender, shown_in

Gold = Mapping[str, frozenset[int]]
"""Aspect -> the sentences that hold it."""


def judged_aspects(request: ChatRequest) -> list[str]:
    """Return the aspects that a prompt asks about, one or all of a summary."""
    text = request.messages[0].text
    one = re.search(r"^Aspect: (.*)$", text, re.MULTILINE)
    if one is not None:
        return [one[1]]
    listed = text.partition("\nAspects:\n")[2].partition("\n\n")[0]
    return [line.partition(". ")[2] for line in listed.splitlines()]


@dataclass(frozen=True)
class GoldJudge:
    gold: Gold

    def __call__(self, request: ChatRequest) -> str:
        shown = shown_in(request)
        found = [[index for index in shown if index in self.gold[aspect]] for aspect in judged_aspects(request)]
        if "judge all aspects" in request.messages[0].text:
            return json.dumps({"aspects": [{"aspect": n, "sentences": one} for n, one in enumerate(found, 1)]})
        return f"Let me compare.\n\nANSWER: {found[0]}"


@dataclass
class Bench:
    """A folder with one paper of so many sentences, and who is asked about it."""

    folder: Path
    n_sentences: int
    sender: ScriptedSender
    cache: ReplyCache | None = None

    def __post_init__(self) -> None:
        write_paper(self.folder / "paper.txt", self.n_sentences)

    def asker(self) -> Asker:
        client = ChatClient(sender=self.sender, cache=self.cache, prices=PriceTable(as_of="2026-01-01", models={}))
        return Asker(client=client, chat=CHAT, repairs=0)

    def judge(self, draft: Draft, settings: JudgeSettings, *, second: str | None = None) -> Draft:
        """Return a draft as the step makes it."""
        asker = self.asker()
        other = None if second is None else Asker(client=asker.client, chat=ChatModel(model=second), repairs=0)
        step = judge_step(settings, PaperFolder(self.folder), second=other)
        return step.work(asker, draft)


def write_paper(path: Path, n_sentences: int) -> None:
    path.write_text("".join(f"Sentence number {n} says a little.\n" for n in range(n_sentences)), encoding="utf-8")


def draft_of(gold: Gold, *, draft_id: str = "d", paper_file: str = "paper.txt") -> Draft:
    return Draft(
        id=draft_id,
        review_id="r",
        paper_id="p",
        paper_file=paper_file,
        summary=f"The trial of {draft_id} says this and that.",
        hypothesis="Tea lowers blood pressure.",
        aspects=tuple(gold),
    )
