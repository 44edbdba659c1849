"""The estimate of a construction, beside what was then used."""

import json
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

import pytest

from doors import (
    NOTHING,
    Assumptions,
    ChatClient,
    ChatReply,
    ChatRequest,
    Config,
    JudgeSettings,
    ModelUse,
    ReplyCache,
    StepEstimate,
    Usage,
    Waiting,
    estimate_construction,
    prompt_tokens_of,
)
from evidencebench import construct, open_drafts
from kit.examples import IS_THOROUGH
from kit.scripted_models import judged_aspects, shown_in
from measure_estimates import MODEL, PRICES, WORDS, table_of_summaries

_ASPECT = "in {} it fell over {} weeks of the {} trial"


@dataclass
class ConstructingModel:
    """Answers by chance, which its conversation alone decides, so that any order gives the same replies."""

    finds: float = 0.0  # the share of pairs of aspect and shown sentence that it takes for sources
    used: ModelUse = NOTHING
    asked: set[str] = field(default_factory=set)
    models: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)  # it is asked by several threads

    def send(self, request: ChatRequest) -> ChatReply:
        text = request.messages[0].text
        chance = Random(f"{request.seed} {request.messages}")
        step = text.partition("\n")[0].removeprefix("Building step: ")
        reply = self._reply(step, request, chance)
        n_prompt = round(0.8 * prompt_tokens_of(request) * chance.uniform(0.95, 1.05))
        n_reply = round(chance.lognormvariate(4, 0.25)) + (200 if step == "hypothesis" else 0)
        with self.lock:
            assert request.key not in self.asked
            self.asked.add(request.key)
            self.models.append(request.model)
            self.used += ModelUse(1, n_prompt, n_reply)
        return ChatReply(text=reply, usage=Usage(prompt_tokens=n_prompt, completion_tokens=n_reply))

    def _reply(self, step: str, request: ChatRequest, chance: Random) -> str:
        if step == "judge one aspect":
            return "I cannot say." if chance.random() < 0.05 else "ANSWER: []"  # one in twenty is asked again
        summary = request.messages[0].text.partition("\nSummary: ")[2].partition("\n")[0]
        numbers = range(1, len(judged_aspects(request)) + 1)
        shown = shown_in(request) if step == "judge all aspects" else ()
        found = [{"aspect": n, "sentences": [one for one in shown if chance.random() < self.finds]} for n in numbers]
        verdicts = [
            {"aspect": n, "faithful": chance.random() > 0.02, "single": True, "self_contained": True} for n in numbers
        ]
        answers: dict[str, dict[str, Any]] = {
            "purpose of the evidence": {"purpose": "To learn whether tea in adults changes pressure."},
            "hypothesis": {"hypothesis": "Drinking tea lowers the blood pressure in adults."},
            "aspects": {
                "aspects": summary.removeprefix("The study found that ").rstrip(".").split(", ")
            },  # its clauses
            "can the paper answer": {"can_answer": chance.random() > 0.15},
            "verify the aspects": {"verdicts": verdicts},
            "correct the aspects": {"corrections": []},
            "judge all aspects": {"aspects": found},
            "label results": {"results": []},
        }
        return json.dumps(answers[step])


def summaries(folder: Path, n: int, *, most_sentences: int = 45, judge: JudgeSettings | None = None) -> Config:
    """Write papers and a table of their summaries, of three to ten clauses, which are the aspects."""
    chance = Random(0)

    def summary() -> str:
        n_clauses = chance.randint(3, 10)
        clauses = {_ASPECT.format(*(chance.choice(WORDS) for _ in range(3))) for _ in range(n_clauses)}
        return f"The study found that {', '.join(sorted(clauses))}."

    drafts = ((chance.randint(most_sentences // 3, most_sentences), summary) for _ in range(n))
    return table_of_summaries(folder, drafts, chance, n_words=12, judge=judge or JudgeSettings())


CLOSE = 0.05


def ran(config: Config, model: ConstructingModel, cache: ReplyCache, **how: Any) -> ModelUse:
    """Run the steps that ask a model, and return what was used."""
    before = model.used
    client = ChatClient(sender=model, cache=cache, prices=PRICES)
    how = {"until": "label-results", **how}
    construct(config, client=client, waiting=Waiting(client=client), today=date(2026, 11, 22), **how)
    client.close()
    return model.used + before.times(-1, -1, -1)


def left(found: list[StepEstimate]) -> ModelUse:
    return sum((use for step in found for use in step.uses.values()), NOTHING)


def used(found: list[StepEstimate]) -> ModelUse:
    return sum((use for step in found for use in step.used.values()), NOTHING)


@pytest.mark.parametrize("judge", [JudgeSettings(), JudgeSettings(at_once=True)])
def test_once_the_aspects_are_there_a_pilot_of_20_drafts_tells_the_judge_within_5_percent(
    tmp_path: Path, judge: JudgeSettings
) -> None:
    config = summaries(tmp_path, 50, most_sentences=30 if IS_THOROUGH else 18, judge=judge)
    model, cache = ConstructingModel(), ReplyCache(tmp_path / "cache")
    before = ran(config, model, cache, limit=20) + ran(config, model, cache, until="aspects")
    found, _ = estimate_construction(config, prices=PRICES, cache=cache)
    guess, actual = left(found), ran(config, model, cache)
    assert guess.requests == pytest.approx(actual.requests, rel=CLOSE)
    assert guess.prompt_tokens == pytest.approx(actual.prompt_tokens, rel=CLOSE)
    assert guess.reply_tokens == pytest.approx(actual.reply_tokens, rel=CLOSE)
    assert guess.cost_usd(MODEL, PRICES) == pytest.approx(actual.cost_usd(MODEL, PRICES), rel=CLOSE)
    assert used(found).times(1, 1, 1) == before


def test_a_pilot_of_all_steps_tells_what_is_left_within_the_interval_that_it_says(tmp_path: Path) -> None:
    config = summaries(tmp_path, 60, most_sentences=20 if IS_THOROUGH else 9, judge=JudgeSettings(at_once=True))
    model, cache = ConstructingModel(), ReplyCache(tmp_path / "cache")
    ran(config, model, cache, limit=20)
    found, _ = estimate_construction(config, prices=PRICES, cache=cache)
    assert [one.n_pilot for one in found] == [20, 17, 17, 17, 17]  # those that the step was given
    assert found[-1].uses[MODEL].requests == pytest.approx(40 * 17 / 20)  # as many are dropped before it
    actual = ran(config, model, cache).cost_usd(MODEL, PRICES)
    asking = [one for one in found if one.uses]  # recheck asks nothing: no vote of this model is in doubt
    costs = [(one.uses[MODEL].cost_usd(MODEL, PRICES) or 0.0, one.factor or 0.0) for one in asking]
    assert actual is not None
    assert all(1 < factor < 2 for _, factor in costs)
    assert sum(cost / factor for cost, factor in costs) < actual < sum(cost * factor for cost, factor in costs)


def test_what_a_second_model_is_asked_is_told_by_a_pilot(tmp_path: Path) -> None:
    second = "openai/gpt-4o"
    judge = JudgeSettings(at_once=True, second_model=second, precision=0, check=0.5)
    config = summaries(tmp_path, 40, most_sentences=24 if IS_THOROUGH else 15, judge=judge)
    model, cache = ConstructingModel(finds=0.02), ReplyCache(tmp_path / "cache")
    ran(config, model, cache, limit=20)
    ran(config, model, cache, until="aspects")
    found = next(one for one in estimate_construction(config, prices=PRICES, cache=cache)[0] if one.step == "recheck")
    n_before = sum(model_name == second for model_name in model.models)
    ran(config, model, cache)
    n_asked = sum(model_name == second for model_name in model.models) - n_before
    assert n_asked > 20
    assert found.uses[second].requests == pytest.approx(n_asked, rel=0.25)
    assert found.used[second].requests == n_before


def test_more_drafts_than_are_looked_at_are_counted_by_a_sample(tmp_path: Path) -> None:
    config = summaries(tmp_path, 60, most_sentences=20 if IS_THOROUGH else 9, judge=JudgeSettings(at_once=True))
    ran(config, ConstructingModel(), ReplyCache(tmp_path / "cache"), limit=10)
    cache = ReplyCache(tmp_path / "cache")
    whole = left(estimate_construction(config, prices=PRICES, cache=cache)[0])
    few, _ = estimate_construction(config, prices=PRICES, cache=cache, assumptions=Assumptions(n_sample=25))
    assert left(few).requests == pytest.approx(whole.requests, rel=0.15)
    assert left(few).requests != whole.requests
    factors = [one.factor for one in few if one.step != "recheck"]  # where nothing is in doubt
    assert all(factor is not None and 1 < factor < 2 for factor in factors)


def test_papers_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    config = summaries(tmp_path, 6, judge=JudgeSettings(at_once=True))
    cache = ReplyCache(tmp_path / "cache")
    ran(config, ConstructingModel(), cache, limit=2)
    gone = max(open_drafts(config.work / "summaries.jsonl").going_on)
    (config.papers / open_drafts(config.work / "summaries.jsonl")[gone].paper_file).unlink()
    _, unreadable = estimate_construction(config, prices=PRICES, cache=cache)
    assert list(unreadable) == [gone]
    assert "no such file" in unreadable[gone]
