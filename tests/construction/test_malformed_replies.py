"""Replies that are nearly JSON: each is repaired where that is certain, else asked again, else its draft is dropped."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evidencebench.construction.draft import Draft
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import JudgeSettings, judge_step
from evidencebench.construction.step import NO_REPLY, ModelStep, read_object
from evidencebench.construction.writing import ASPECTS, HYPOTHESES, LABEL_RESULTS, SUMMARIES
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from examples import examples
from judge_models import write_paper
from malformed_replies import ASKED_AGAIN, REPAIRED, SHAPES
from stepped_drafts import GOOD, draft, run

PROMPTS = {
    "delimit the passage": SUMMARIES,
    "keep summaries of results": SUMMARIES,
    "purpose of the evidence": HYPOTHESES,
    "hypothesis": HYPOTHESES,
    "aspects": ASPECTS,
    "verify the aspects": ASPECTS,
    "label results": LABEL_RESULTS,
    "judge one aspect": None,
    "judge all aspects": None,
}
ANSWERS: dict[str, Any] = GOOD | {
    "judge one aspect": {"sentences": [2]},
    "judge all aspects": {"aspects": [{"aspect": 1, "sentences": [2]}, {"aspect": 2, "sentences": [2]}]},
}
UNREAD = {"judge one aspect": "sentences without a readable judgment"}
UNREAD |= {"judge all aspects": UNREAD["judge one aspect"]}


def step_of(prompt: str, folder: Path) -> ModelStep:
    write_paper(folder / "paper.txt", 5)
    settings = JudgeSettings(at_once=prompt == "judge all aspects")
    return PROMPTS[prompt] or judge_step(settings, PaperFolder(folder))


def written(prompt: str) -> str:
    return json.dumps({"reasoning": "I thought", **ANSWERS[prompt]})


def given_to(step: ModelStep) -> Draft:
    aspects = () if step.name in ("summaries", "hypotheses", "aspects") else ("A trial of 40 adults", "tea lowered it")
    return draft(hypothesis="Tea lowers pressure.", aspects=aspects, paper_file="paper.txt")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_reply_that_is_nearly_json_is_repaired_or_asked_again_or_its_draft_is_dropped(
    tmp_path: Path, prompt: str, shape: str
) -> None:
    reply, step = SHAPES[shape](written(prompt)), step_of(prompt, tmp_path)
    good, _, _ = run(tmp_path, step, given_to(step), ANSWERS, name="good")

    def at_first(request: ChatRequest) -> Any:
        return reply if len(request.messages) == 1 else ANSWERS[prompt]

    mended, _, sender = run(tmp_path, step, given_to(step), ANSWERS | {prompt: at_first}, name="mended")
    always, report, _ = run(tmp_path, step, given_to(step), ANSWERS | {prompt: reply}, name="always")
    assert good is not None
    assert mended is not None
    assert always is not None
    if prompt == "judge one aspect":  # read as the replies of strategies are: "{}" names no sentence
        assert (mended.dropped, always.dropped in ("", UNREAD[prompt])) == ("", True)
        return
    assert told(mended) == told(good)
    n_again = sum(len(request.messages) > 1 for request in sender.asked)
    assert bool(n_again) is (shape in ASKED_AGAIN)
    reason = UNREAD.get(prompt, NO_REPLY)
    assert (told(always), report.dropped) == (told(good), {}) if shape in REPAIRED else report.dropped == {reason: 1}


def told(made: Draft) -> tuple[object, ...]:
    sources = None if made.judging is None else made.judging.sources
    return made.summary, made.purpose, made.hypothesis, made.aspects, sources, made.results, made.dropped


class Kept(msgspec.Struct):
    reports_results: bool


class Told(msgspec.Struct):
    hypothesis: str
    places: list[int] = []


PIECES = [
    *"{}[]\",:'/#\\ \n",
    *('{"', '"}', "```json\n", "<think>", "</think>", "//", r"\ud800", "\ud800", r"\u00", "\x00", "\uff5b"),
    *("hypothesis", '"reports_results"', ": true", '"hypothesis": "tea', '", "places": [1', "NaN", "-1e999"),
    *(written("keep summaries of results"), written("hypothesis"), '{"a":' * 3000, "[" * 9000, "9" * 5000),
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=40))
@example(r'{"hypothesis": "tea \ud800"}')  # half of a character
@examples(500)
def test_no_reply_whatever_makes_the_reader_raise(text: str) -> None:
    for kind in (Kept, Told):
        found = read_object(ChatReply(text=text), kind)
        assert isinstance(found, kind) or found
        msgspec.json.encode(found)  # it can be written into a draft, or into the question that asks again


@pytest.mark.parametrize("prompt", PROMPTS)
@given(data=st.data())
@examples(40)
def test_no_reply_whatever_makes_a_step_raise(
    tmp_path_factory: pytest.TempPathFactory, prompt: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    step, whole = step_of(prompt, folder), written(prompt)
    first, last = sorted(data.draw(st.lists(st.integers(0, len(whole)), min_size=2, max_size=2)))
    between = data.draw(st.lists(st.sampled_from(PIECES), max_size=3).map("".join))
    reply = whole[:first] + between + whole[last:]
    made, report, _ = run(folder, step, given_to(step), ANSWERS | {prompt: reply})
    assert made is not None
    assert report.is_finished


def test_a_reply_that_was_cut_off_says_to_raise_max_tokens() -> None:
    told = read_object(ChatReply(text='{"keeps": tr', finish="length"), msgspec.defstruct("Kept", [("keeps", bool)]))
    assert told == "the reply was cut off; raise max_tokens"
