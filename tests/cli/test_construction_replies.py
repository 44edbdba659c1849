"""Models whose replies are malformed, over real HTTP: a construction goes on, and counts what it had to drop."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import Command
from evidencebench import open_dataset
from evidencebench.construction.demo import expected_instances, synthetic_studies
from evidencebench.construction.draft import open_drafts
from evidencebench.construction.step import NO_REPLY
from evidencebench.integrations.fake_server import FakeModel
from malformed_replies import ASKED_AGAIN, SHAPES, Shape
from served_constructions import served_construction


def malform(monkeypatch: pytest.MonkeyPatch, shape_for: Callable[[str, bool], Shape | None]) -> None:
    """Let the trial server's model write a shape, chosen by the text of a prompt and whether it is asked again."""
    answer = FakeModel.answer

    def malformed(self: FakeModel, personality: str, call: Any, content: Any, key: str) -> Any:
        reply = answer(self, personality, call, content, key)
        is_asked_again = any(message.role == "assistant" for message in call.messages)
        shape = shape_for(f"{content.step}\n{content.instructions}", is_asked_again)
        if shape is None or not reply.text.startswith("{"):
            return reply
        return dataclasses.replace(reply, text=shape(reply.text))

    monkeypatch.setattr(FakeModel, "answer", malformed)


@pytest.mark.usefixtures("own_cache")
def test_a_model_whose_first_replies_are_all_malformed_makes_the_same_data_set(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = list(SHAPES.values())
    malform(monkeypatch, lambda text, again: None if again else shapes[sum(text.encode()) % len(shapes)])
    with served_construction(tmp_path):
        made = command(f"construct run {tmp_path / 'construction.toml'}")
    assert made.code == 0, made.err
    assert list(open_dataset(str(tmp_path / "work" / "dataset" / "test.json"))) == expected_instances()


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("step", ["keep summaries of results", "hypothesis", "verify the aspects"])
def test_a_draft_whose_replies_stay_malformed_is_dropped_and_counted_and_the_others_become_a_data_set(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    summary = next(iter(synthetic_studies())).summary
    broken = ASKED_AGAIN["single quotes"]
    malform(monkeypatch, lambda text, _: broken if text.startswith(f"{step}\n") and summary[:60] in text else None)
    with served_construction(tmp_path) as server:
        made = command(f"construct run {tmp_path / 'construction.toml'}")
        n_asked = len(server.log_entries())
        again = command(f"construct run {tmp_path / 'construction.toml'} --overwrite")  # from the stored replies
        assert (made.code, again.code, len(server.log_entries())) == (0, 0, n_asked), made.err + again.err
    assert f"dropped: {NO_REPLY}" in made.out
    found = list(open_dataset(str(tmp_path / "work" / "dataset" / "test.json")))
    assert len(found) == len(expected_instances()) - 1
    file = {"keep": "summaries", "hypo": "hypotheses", "veri": "aspects"}[step[:4]]
    assert open_drafts(tmp_path / "work" / f"{file}.jsonl").dropped[NO_REPLY] == 1
