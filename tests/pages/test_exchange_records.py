"""What a language model was asked and replied is shown beside the paper, and nothing else of the machine is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doors import ReplyCache, ViewerData, read_run, requests_can_be_made, stored_exchanges, viewer_data_of
from doors import exchanges as stored
from evidencebench import TASKS, execute, load_sample
from kit.model_runs import HOSTILE, MODEL, ask_models
from kit.report_pages import header_of, run_at

SAMPLE = load_sample()
A, B = SAMPLE.ids[:2]
TWO = (TASKS["er_at_10"], TASKS["result_er_at_5"])


@pytest.fixture
def viewed(tmp_path: Path) -> Iterator[ViewerData]:
    """Give the viewer's data of a run that asked a model about the first paper on two tasks, and of bm25."""
    run = ask_models(tmp_path, tasks=("er_at_10", "result_er_at_5"), limit=1)
    execute("bm25", SAMPLE, tmp_path / "bm25.jsonl")
    with stored_exchanges(SAMPLE, tmp_path) as exchanges:
        yield viewer_data_of([run, tmp_path / "bm25.jsonl"], SAMPLE, TWO, exchanges=exchanges)


def test_every_turn_of_an_answer_is_there_with_its_reply_tokens_and_dollars(viewed: ViewerData) -> None:
    first, second = viewed.asked(A, 0, 0).requests
    assert [first.title, second.title] == [f"Request {turn}: {MODEL}" for turn in (1, 2)]
    prompt, reply = first.texts
    assert prompt["name"] == f"Prompt, user: {len(prompt['text']):,} characters"
    assert SAMPLE[A].query.hypothesis in prompt["text"]
    assert f"[0] {SAMPLE[A].query.sentences[0]}" in prompt["text"]
    assert (reply["name"], reply["text"][: len(HOSTILE)]) == ("Reply", HOSTILE)
    assert first.facts == "100 + 10 tokens; $0.0012; time unknown; ended: stop; served by gpt-<i>"
    assert second.facts == f"{first.facts}; after the messages above and their reply"
    assert [text["name"].partition(":")[0] for text in second.texts] == ["Prompt, user", "Reply"]
    assert viewed.asked(A, 0, 0).note == ""
    assert viewed.asked(A, 0, 1).requests != viewed.asked(A, 0, 0).requests


def test_what_an_answer_took_stands_in_the_papers_record_and_is_left_out_where_nobody_was_asked(
    viewed: ViewerData,
) -> None:
    of_paper = viewed.record(0, SAMPLE[A]).spent
    assert list(of_paper) == [0]
    assert of_paper[0] == ("2 requests; 200 + 20 tokens; $0.0024 at prices of 2026-01-01",) * 2
    assert viewed.record(1, SAMPLE[B]).spent == {0: ("", "")}
    bare = viewer_data_of([], SAMPLE, TWO)
    assert b"spent" not in msgspec.json.encode(bare.record(0, SAMPLE[A]))
    assert [shown.record.asks_model for shown in viewed.systems][:3] == [True, False, False]


def test_what_cannot_be_shown_is_said(viewed: ViewerData, tmp_path: Path) -> None:
    lacking = viewed.asked(B, 0, 0)
    assert [[text["name"][:6] for text in one.texts] for one in lacking.requests] == [["Prompt"]]
    assert lacking.note.startswith("The reply to 1 request is not stored on this machine: it was removed")
    assert viewed.asked(A, 1, 0).note.startswith("This system uses no language model")
    with stored_exchanges(SAMPLE, tmp_path / "elsewhere") as exchanges:
        assert exchanges is None
    assert not (tmp_path / "elsewhere").exists()
    path = tmp_path / "llm_base.jsonl"
    head, *rest = path.read_text().splitlines(keepends=True)
    header = json.loads(head)
    versions = header["run"]["versions"]
    header["run"]["versions"] = {name: "sha256:0" if "prompt" in name else to for name, to in versions.items()}
    (tmp_path / "old.jsonl").write_text("".join([json.dumps(header, separators=(",", ":")) + "\n", *rest]))
    with stored_exchanges(SAMPLE, tmp_path) as exchanges:
        old = viewer_data_of([tmp_path / "old.jsonl"], SAMPLE, TWO, exchanges=exchanges)
        assert "prompts have changed since" in old.asked(B, 0, 0).note


def test_long_texts_are_cut_in_the_middle(viewed: ViewerData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MOST_CHARACTERS", 100)
    text = viewed.asked(A, 0, 0).requests[0].texts[0]["text"]
    assert "characters left out here …]" in text
    assert len(text) < 200


def test_no_key_address_or_path_is_in_a_page(viewed: ViewerData, tmp_path: Path) -> None:
    content = msgspec.json.encode([viewed.overview(), viewed.asked(A, 0, 0), viewed.asked(B, 0, 0)]).decode()
    assert "openai/gpt-secret" in content
    for secret in ("very/private", "127.0.0.1", "SECRET_NAME", str(tmp_path)):
        # the run's own signature, which names its options, is the one place of the address
        assert secret not in content.replace(viewed.systems[0].record.signature, "")


CHAT = {"model": "local/fake", "base_url": "http://127.0.0.1:9/v1"}


@pytest.mark.parametrize(
    ("name", "options", "can_be"),
    [
        ("llm_base", CHAT, True),
        ("llm_rerank", {"system": {"name": "bm25", "options": {}}, **CHAT}, True),
        ("llm_rerank", {"system": {"name": "exec", "options": {"command": "touch owned"}}, **CHAT}, False),
        ("llm_rerank", {"system": {"name": "os:system", "options": {}}, **CHAT}, False),
        ("fuse", {"systems": [{"name": "dense_api", "options": {}}, {"name": "llm_base", "options": CHAT}]}, False),
        ("os:system", {"command": "touch owned"}, False),
        ("exec", {"command": "touch owned"}, False),
        ("bm25", {}, False),
        ("llm_base", {"no_such_option": 1}, True),
        ("nobody", {}, False),
    ],
)
def test_looking_at_a_run_runs_no_code_that_its_header_names(
    name: str,
    options: dict[str, Any],
    can_be: bool,  # noqa: FBT001 - a case
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    line = {"id": A, "task": "er_at_10", "sentences": [1], "notes": {"requests": 1}}
    path = run_at(tmp_path / "made.jsonl", header_of(name, options, tasks=["er_at_10"]), line)
    assert requests_can_be_made(read_run(path)) is can_be
    ReplyCache(tmp_path).change(lambda _: None)  # makes the file
    with stored_exchanges(SAMPLE, tmp_path) as exchanges:
        assert viewer_data_of([path], SAMPLE, TWO[:1], exchanges=exchanges).asked(A, 0, 0).note
    assert not Path("owned").exists()
