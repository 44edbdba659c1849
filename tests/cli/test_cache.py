"""The commands that list, prune and export what is kept between runs."""

import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doors import BatchGroup, BatchQueue, ChatRequest, EncodedText, ReplyCache, VectorCache
from kit.command_line import FORMATS, Command
from kit.replies import numbered, reply_to

DAY = 86_400.0
MODELS = ("openai/a", "openai/a", "openai/a", "anthropic/b", "local/c")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep everything in an empty folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(folder))
    return folder


@pytest.fixture
def filled(folder: Path) -> Path:
    """Keep five replies, one of each age in days from 0, two of them unpriced; three vectors; one open batch."""
    now = 4_000_000_000.0
    for n, model in enumerate(MODELS):
        cache = ReplyCache(folder, clock=lambda n=n: now - n * DAY)  # type: ignore[misc]
        cache.put(numbered(n, model), reply_to(n), None if n in {1, 4} else 0.25)
        cache.close()
    cache = ReplyCache(folder, clock=lambda: now)
    _open_batch(BatchQueue(cache), numbered(9, "openai/a"))
    cache.close()
    vectors = VectorCache(folder, "minilm")
    vectors.put([EncodedText(text) for text in "abc"], np.ones((3, 4), np.float32), [False] * 3)
    vectors.close()
    return folder


def _open_batch(queue: BatchQueue, request: ChatRequest) -> None:
    queue.record(request, sender="me", n_bytes=100)
    batch = queue.intend(
        BatchGroup(request.model, request.base_url, request.key_env),
        sender="me",
        intent="ours",
        most_requests=10,
        most_bytes=1000,
    )
    assert batch is not None
    queue.name(batch, "batch_77")
    queue.record(numbered(10, "openai/a"), sender="me", n_bytes=100)


def listed(command: Command) -> Any:
    return command("cache list --json").json


def n_replies(command: Command) -> int:
    return sum(model["n_replies"] for model in listed(command)["replies"]["models"])


def test_an_empty_cache_and_none_are_listed_as_such(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listed(command) == {"folder": str(folder), "replies": None, "embeddings": None}
    assert ("replies: none yet" in command("cache list").out, folder.exists()) == (True, False)
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", "off")
    assert listed(command) == {"folder": None}
    assert "nothing is stored" in command("cache list").out
    assert "EVIDENCEBENCH_CACHE is 'off'" in command("cache prune --all --yes").refusal


def test_the_list_counts_by_model_and_never_shows_an_unknown_cost_as_0(command: Command, filled: Path) -> None:
    found = listed(command)
    models = {model["model"]: model for model in found["replies"]["models"]}
    assert models["openai/a"] == {
        "model": "openai/a",
        "n_replies": 3,
        "prompt_tokens": 5 + 6 + 7,
        "completion_tokens": 6,
        "cost_usd": 0.5,
        "n_unpriced": 1,
        "oldest": "2096-09-30T07:06:40Z",
        "newest": "2096-10-02T07:06:40Z",
    }
    assert (models["local/c"]["cost_usd"], models["local/c"]["n_unpriced"]) == (None, 1)
    assert found["replies"]["size_bytes"] > 0
    assert found["replies"]["n_waiting"] == 1
    (batch,) = found["replies"]["batches"]
    assert (batch["name"], batch["state"], batch["n_requests"]) == ("batch_77", "open", 1)
    assert found["embeddings"]["encoders"] == [{"identity": "minilm", "dimension": 4, "n_vectors": 3}]
    assert found["embeddings"]["path"] == str(filled / "embeddings.sqlite")
    text = command("cache list").out
    for shown in ("$0.50 + 1 unpriced", "unknown", "batch_77", "minilm", "1 request waiting for a batch"):
        assert shown in text
    assert all("anthropic/b" in command(f"cache list --format {one}").out for one in FORMATS)


@pytest.mark.usefixtures("filled")
def test_without_yes_nothing_is_removed(command: Command) -> None:
    before = listed(command)
    outcome = command("cache prune --all --batches")
    for line in ("3 replies of openai/a, cost $0.50 + 1 unpriced", "3 embeddings", "batch batch_77", "add --yes"):
        assert line in outcome.out
    pruned = {"removed": False, "replies": 5, "batches": 2, "embeddings": 3}
    assert command("cache prune --all --batches --json").json == pruned
    assert listed(command) == before


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("options", "n_left", "has_batch", "has_vectors"),
    [
        ("--model openai/a", 2, True, True),
        ("--embeddings", 5, True, False),
        ("--all --batches", 0, False, False),
        ("--batches", 5, False, True),
        ("--older-than 0", 5, True, True),  # the fixture's clock is ahead of this machine's
        ("--damaged", 5, True, True),
    ],
)
def test_what_is_named_is_pruned(
    command: Command, options: str, n_left: int, *, has_batch: bool, has_vectors: bool
) -> None:
    assert command(f"cache prune {options} --yes").code == 0
    found = listed(command)
    assert n_replies(command) == n_left
    assert bool(found["replies"]["batches"]) is has_batch
    assert bool(found["replies"]["n_waiting"]) is has_batch
    assert bool(found["embeddings"]["encoders"]) is has_vectors


def test_older_replies_go_and_younger_stay(command: Command, folder: Path) -> None:
    for n, days in enumerate((0.0, 9.5, 10.5)):
        cache = ReplyCache(folder, clock=lambda days=days: time.time() - days * DAY)  # type: ignore[misc]
        cache.put(numbered(n), reply_to(n), None)
        cache.close()
    assert command("cache prune --older-than 10 --json --yes").json == {"removed": True, "replies": 1}
    cache = ReplyCache(folder)
    assert [cache.find(numbered(n).key) is not None for n in range(3)] == [True, True, False]
    cache.close()


def test_pruning_gives_the_space_back(command: Command, folder: Path) -> None:
    cache = ReplyCache(folder)
    for n in range(200):
        cache.put(numbered(n), reply_to(n), None)
    cache.close()
    before = listed(command)["replies"]["size_bytes"]
    assert command("cache prune --replies --yes").code == 0
    assert listed(command)["replies"]["size_bytes"] < before / 2


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("cache prune", "say what"),
        ("cache prune --embeddings --older-than 3", "select replies"),
        ("cache prune --all --model openai/a", "select replies"),
        ("cache prune --damaged --replies", "selects replies"),
        ("cache prune --older-than nan --yes", "not a finite number"),
        ("cache prune --older-than -1 --yes", "--older-than"),
    ],
)
def test_what_cannot_be_meant_is_refused(command: Command, arguments: str, message: str) -> None:
    assert message in command(arguments).refusal
    assert n_replies(command) == 5


def test_damaged_replies_are_pruned(command: Command, filled: Path) -> None:
    with sqlite3.connect(filled / "replies.sqlite") as connection:
        connection.execute("UPDATE reply SET reply = x'00' WHERE id = 2")
        connection.execute("UPDATE reply SET request = x'00' WHERE id = 3")
    connection.close()
    assert command("cache prune --damaged --json --yes").json == {"removed": True, "damaged": 2}
    assert n_replies(command) == 3


@pytest.mark.parametrize("arguments", ["cache list", "cache prune --all", "cache prune --all --yes"])
def test_a_file_that_is_something_else_is_named_and_left_alone(command: Command, folder: Path, arguments: str) -> None:
    folder.mkdir()
    (folder / "replies.sqlite").write_text("Dear Ada,")
    assert "replies.sqlite" in command(arguments).refusal
    assert (folder / "replies.sqlite").read_text() == "Dear Ada,"
    assert not Path("r.jsonl").exists()
