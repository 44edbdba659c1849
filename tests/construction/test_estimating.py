"""The estimate of a construction, beside what was then used."""

from datetime import date
from pathlib import Path

import pytest

from constructing_model import MODEL, PRICES, ConstructingModel, client_with, table_of_summaries
from evidencebench.construction.config import Config, JudgeTable
from evidencebench.construction.draft import open_drafts
from evidencebench.construction.estimate import (
    NOTHING,
    Assumptions,
    ModelUse,
    StepEstimate,
    estimate_construction,
)
from evidencebench.construction.pipeline import run_all
from evidencebench.execution.asking import Waiting
from evidencebench.models.llm.replies import ReplyCache

DAY = date(2026, 11, 22)
CLOSE = 0.05


def ran(
    config: Config,
    model: ConstructingModel,
    cache: ReplyCache,
    *,
    limit: int | None = None,
    until: str = "label-results",
) -> ModelUse:
    """Run the steps that ask a model, and return what was used."""
    before = model.used
    client = client_with(model, cache)
    run_all(config, client=client, waiting=Waiting(client=client), today=DAY, limit=limit, until=until)
    client.close()
    return model.used + before.times(-1, -1, -1)


def left(found: list[StepEstimate]) -> ModelUse:
    return sum((use for step in found for use in step.uses.values()), NOTHING)


def used(found: list[StepEstimate]) -> ModelUse:
    return sum((use for step in found for use in step.used.values()), NOTHING)


@pytest.mark.parametrize("judge", [JudgeTable(), JudgeTable(at_once=True)])
def test_once_the_aspects_are_there_a_pilot_of_20_drafts_tells_the_judge_within_5_percent(
    tmp_path: Path, judge: JudgeTable
) -> None:
    config = table_of_summaries(tmp_path, 50, most_sentences=30, judge=judge)
    model, cache = ConstructingModel(), ReplyCache(tmp_path / "cache")
    before = ran(config, model, cache, limit=20) + ran(config, model, cache, until="aspects")
    found, _ = estimate_construction(config, prices=PRICES, cache=cache)
    guess, actual = left(found), ran(config, model, cache)
    assert guess.requests == pytest.approx(actual.requests, rel=CLOSE)
    assert guess.prompt_tokens == pytest.approx(actual.prompt_tokens, rel=CLOSE)
    assert guess.reply_tokens == pytest.approx(actual.reply_tokens, rel=CLOSE)
    assert guess.cost_usd(MODEL, PRICES) == pytest.approx(actual.cost_usd(MODEL, PRICES), rel=CLOSE)
    assert used(found).times(1, 1, 1) == before


def test_a_pilot_of_all_steps_tells_what_is_left_within_the_margin_that_it_says(tmp_path: Path) -> None:
    config = table_of_summaries(tmp_path, 60, most_sentences=20, judge=JudgeTable(at_once=True))
    model, cache = ConstructingModel(), ReplyCache(tmp_path / "cache")
    ran(config, model, cache, limit=20)
    found, _ = estimate_construction(config, prices=PRICES, cache=cache)
    assert [one.n_pilot for one in found] == [20, 20, 16, 16]  # those that the step was given
    assert found[-1].uses[MODEL].requests == pytest.approx(40 * 16 / 20)  # as many are dropped before it
    guess, actual = left(found), ran(config, model, cache)
    margins = [one.margin for one in found if one.margin is not None]
    assert len(margins) == 4
    assert guess.prompt_tokens == pytest.approx(actual.prompt_tokens, rel=max(margins))
    assert guess.reply_tokens == pytest.approx(actual.reply_tokens, rel=max(margins))


def test_what_a_second_model_is_asked_is_told_by_a_pilot(tmp_path: Path) -> None:
    second = "openai/gpt-4o"
    config = table_of_summaries(tmp_path, 40, most_sentences=24, judge=JudgeTable(at_once=True, second_model=second))
    model, cache = ConstructingModel(finds=0.02), ReplyCache(tmp_path / "cache")
    ran(config, model, cache, limit=20)
    ran(config, model, cache, until="aspects")
    found = next(one for one in estimate_construction(config, prices=PRICES, cache=cache)[0] if one.step == "judge")
    n_before = sum(model_name == second for model_name in model.models)
    ran(config, model, cache)
    n_asked = sum(model_name == second for model_name in model.models) - n_before
    assert n_asked > 20
    assert found.uses[second].requests == pytest.approx(n_asked, rel=0.25)
    assert found.used[second].requests == n_before


def test_more_drafts_than_are_looked_at_are_counted_by_a_sample(tmp_path: Path) -> None:
    config = table_of_summaries(tmp_path, 60, most_sentences=20, judge=JudgeTable(at_once=True))
    ran(config, ConstructingModel(), ReplyCache(tmp_path / "cache"), limit=10)
    cache = ReplyCache(tmp_path / "cache")
    whole = left(estimate_construction(config, prices=PRICES, cache=cache)[0])
    few, _ = estimate_construction(config, prices=PRICES, cache=cache, assumptions=Assumptions(n_sample=25))
    assert left(few).requests == pytest.approx(whole.requests, rel=0.15)
    assert left(few).requests != whole.requests
    margins = [one.margin for one in few]
    assert all(margin is not None and 0 < margin < 0.5 for margin in margins)


def test_papers_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    config = table_of_summaries(tmp_path, 6, judge=JudgeTable(at_once=True))
    cache = ReplyCache(tmp_path / "cache")
    ran(config, ConstructingModel(), cache, limit=2)
    gone = max(open_drafts(config.work / "summaries.jsonl").going_on)
    (config.papers / open_drafts(config.work / "summaries.jsonl")[gone].paper_file).unlink()
    _, unreadable = estimate_construction(config, prices=PRICES, cache=cache)
    assert list(unreadable) == [gone]
    assert "cannot be read" in unreadable[gone]
