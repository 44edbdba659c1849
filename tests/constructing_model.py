"""A model of the tests' own that answers every step of a construction, and whose tokens are not those of estimates."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from evidencebench.construction.config import Config, ConfigFile, JudgeTable
from evidencebench.construction.estimate import NOTHING, ModelUse
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Usage, prompt_tokens_of
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.costs import PriceTable
from evidencebench.models.llm.replies import ReplyCache
from judge_models import judged_aspects
from scripted_models import shown_in

PRICES = PriceTable.load()
MODEL = "openai/gpt-4o-mini"

_PARTS = "adults women men children tea water coffee pressure weight sleep pulse mood".split()  # noqa: SIM905
_ASPECT = "in {} it fell over {} weeks of the {} trial"


@dataclass
class ConstructingModel:
    """Answers by chance, which its conversation alone decides, so that any order gives the same replies."""

    tokens_of_estimate: float = 0.8
    finds: float = 0.0  # the share of pairs of aspect and shown sentence that it takes for sources
    used: ModelUse = NOTHING
    asked: set[str] = field(default_factory=set)
    models: list[str] = field(default_factory=list)

    def send(self, request: ChatRequest) -> ChatReply:
        text = request.messages[0].text
        chance = Random(f"{request.seed} {request.messages}")
        step = text.partition("\n")[0].removeprefix("Building step: ")
        reply = self._reply(step, request, chance)
        usage = Usage(
            prompt_tokens=round(self.tokens_of_estimate * prompt_tokens_of(request) * chance.uniform(0.95, 1.05)),
            completion_tokens=round(chance.lognormvariate(4, 0.25)) + (200 if step == "hypothesis" else 0),
        )
        assert request.key not in self.asked
        self.asked.add(request.key)
        self.models.append(request.model)
        self.used += ModelUse(
            requests=1, prompt_tokens=usage.prompt_tokens or 0, reply_tokens=usage.completion_tokens or 0
        )
        return ChatReply(text=reply, usage=usage)

    def _reply(self, step: str, request: ChatRequest, chance: Random) -> str:
        if step == "judge one aspect":
            return "I cannot say." if chance.random() < 0.05 else "ANSWER: []"  # one in twenty is asked again
        answers: dict[str, Callable[[], dict[str, Any]]] = {
            "purpose of the evidence": lambda: {"purpose": "To learn whether tea in adults changes pressure."},
            "hypothesis": lambda: {"hypothesis": "Drinking tea lowers the blood pressure in adults."},
            "aspects": lambda: {"aspects": aspects_in(request)},
            "verify the aspects": lambda: {
                "verdicts": [
                    {"aspect": n, "faithful": chance.random() > 0.02, "single": True}
                    for n, _ in enumerate(judged_aspects(request), 1)
                ]
            },
            "judge all aspects": lambda: {
                "aspects": [
                    {"aspect": n, "sentences": [one for one in shown_in(request) if chance.random() < self.finds]}
                    for n, _ in enumerate(judged_aspects(request), 1)
                ]
            },
            "label results": lambda: {"results": []},
        }
        return json.dumps(answers[step]())


def aspects_in(request: ChatRequest) -> list[str]:
    """Return the aspects of a summary of `summary_of`: its clauses."""
    summary = request.messages[0].text.partition("\nSummary: ")[2].partition("\n")[0]
    return summary.removeprefix("The study found that ").rstrip(".").split(", ")


def summary_of(chance: Random) -> str:
    """Return a summary of three to ten clauses, which are its aspects."""
    n = chance.randint(3, 10)
    clauses = {_ASPECT.format(*(chance.choice(_PARTS) for _ in range(3))) for _ in range(n)}
    return f"The study found that {', '.join(sorted(clauses))}."


def table_of_summaries(folder: Path, n: int, *, most_sentences: int = 45, judge: JudgeTable | None = None) -> Config:
    """Write papers and a table of summaries, one a paper, and return the configuration."""
    chance = Random(0)
    (folder / "papers").mkdir()
    rows = []
    for number in range(n):
        n_sentences = chance.randint(most_sentences // 3, most_sentences)
        lines = (f"Sentence {one} says {' '.join(chance.choices(_PARTS, k=12))}.\n" for one in range(n_sentences))
        (folder / "papers" / f"{number}.txt").write_text("".join(lines), encoding="utf-8")
        rows.append({"summary": summary_of(chance), "paper": f"{number}.txt", "review_id": f"review {number % 9}"})
    (folder / "table.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    file = ConfigFile(
        name="tea", papers="papers", table="table.jsonl", model=MODEL, licences=["unknown"], judge=judge or JudgeTable()
    )
    return Config(file=file, folder=folder)


def client_with(model: ConstructingModel, cache: ReplyCache) -> ChatClient:
    return ChatClient(sender=model, cache=cache, prices=PRICES)
