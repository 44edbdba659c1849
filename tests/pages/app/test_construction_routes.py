"""The routes of the app of a construction: what does not fit is refused, and nothing of it is kept."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from doors import (
    address_of,
    listening_socket,
    make_construction_app,
    open_construction,
    served_in_thread,
)
from kit.patience import MOST_SECONDS
from kit.shown_constructions import DOUBTFUL, MARKED_AT, make_construction

Ask = Callable[..., tuple[int, Any]]
NOW = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return make_construction(tmp_path)


@pytest.fixture
def ask(work: Path) -> Iterator[Ask]:
    """Give a function that asks for a path, or sends an edit, and returns the status and the reply."""
    bound = listening_socket("127.0.0.1", 0)
    address = address_of(bound, "127.0.0.1")
    opened = partial(open_construction, work, papers=None, replies=None)
    app = make_construction_app(opened, run="run", now=lambda: NOW, address=address)

    def send(path: str, body: object = None) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", address.port, timeout=MOST_SECONDS)
        origin = {"Origin": f"http://127.0.0.1:{address.port}", "Content-Type": "application/json"}
        method, text = ("GET", None) if body is None else ("POST", json.dumps(body))
        connection.request(method, f"/api/construction{path}", body=text, headers=origin)
        reply = connection.getresponse()
        status, content = reply.status, reply.read()
        connection.close()
        return status, json.loads(content)

    with served_in_thread(app, bound):
        yield send


def test_what_does_not_fit_is_refused_and_not_kept(ask: Ask, work: Path) -> None:
    status, record = ask(f"/draft?id={DOUBTFUL}")
    assert (status, record["row"]["state"]) == (200, "doubtful")
    own = {"answer": "edit", "id": DOUBTFUL, "by": "", "at": "", "seen": record["revision"]}
    for status, why, change in (
        (404, "there is no such draft", {"id": "nothing", "step": "aspects"}),
        (400, "step: expected one of summaries, ", {"step": "assemble", "hypothesis": "Tea lowers pressure."}),
        (400, "hypothesis: expected a text, got an empty one", {"step": "hypotheses", "hypothesis": "  "}),
        (400, "aspects: expected a text", {"step": "aspects", "aspects": []}),
        (400, "expected Results aspects in 0..1, got aspect 2", {"step": "label-results", "results": [2]}),
        (400, "expected sources of 2 aspects, got of 1", {"step": MARKED_AT, "sources": [[0]]}),
        (
            400,
            "expected sentences 0..43 as sources of aspect 1, got sentence 44",
            {"step": MARKED_AT, "sources": [[], [44]]},
        ),
        (400, "not what the page sends", {"step": MARKED_AT, "sources": "all"}),
        (400, "not what the page sends", {"step": "judge", "nonsense": 1}),
        (409, "This draft was changed meanwhile", {"step": "aspects", "aspects": ["One."], "seen": "old"}),
    ):
        found, reply = ask("/edit", own | change)
        assert (found, why in reply["error"]) == (status, True), reply["error"]
    assert not (work / "edits.jsonl").exists()
    status, overview = ask("")
    assert (status, overview["next"], overview["is_editable"]) == (200, "", True)


def test_files_that_change_or_break_while_it_runs_are_told(ask: Ask, work: Path) -> None:
    results = work / "results.jsonl"
    before = results.read_bytes()
    results.unlink()
    assert {row["step"] for row in ask("")[1]["rows"]} == {MARKED_AT, "hypotheses"}
    results.write_text("{}\n")
    status, reply = ask("")
    assert (status, "results.jsonl" in reply["error"]) == (503, True)
    results.write_bytes(before)
    assert ask("")[0] == 200
