"""A hostile server in whole constructions: at every question of every step, nothing raises, and nothing is lost."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
import pytest

from doors import (
    DATASET_FOLDER,
    REFUSED,
    Call,
    Constructed,
    FakeModel,
    Settings,
    StopError,
    read_prompt,
    synthetic_studies,
    write_synthetic_review,
)
from evidencebench import construct, load_sample, make_client
from kit.examples import IS_THOROUGH
from kit.trial_constructions import files_in

httpx = pytest.importorskip("httpx", reason="needs the extra 'llm'")

FIRST, SECOND = "noisy-0.2-0.02", "noisy-0.1-0.01"
CONFIG = f"""
[judge]
at_once = true
precision = 0.99
check = 0.3
second_model = "local/{SECOND},base_url=http://server/v1"
"""
QUESTIONS = {  # what a prompt asks -> the step
    "delimit the passage": "summaries",
    "keep summaries of results": "summaries",
    "purpose of the evidence": "hypotheses",
    "hypothesis": "hypotheses",
    "can the paper answer": "hypotheses",
    "aspects": "aspects",
    "verify the aspects": "aspects",
    "judge all aspects": "judge",
    "recheck all aspects": "recheck",
    "label results": "label-results",
}


def choice(content: str | None, finish: str = "stop", **message: Any) -> bytes:
    message = {"role": "assistant", "content": content, **message}
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}], "usage": usage}).encode()


def error(status: int, **said: str) -> tuple[int, bytes]:
    return status, json.dumps({"error": said}).encode()


Answer = Callable[[str], Any]
"""What the server answers in place of a right text: a body, a status with it, or an error of the line."""

REPLIES: dict[str, Answer] = {
    "content_filter": lambda _: choice(None, "content_filter"),
    "content_filter in the middle": lambda text: choice(text[: len(text) // 2], "content_filter"),
    "the prompt is filtered": lambda _: error(400, message="filtered", code="content_filter"),
    "a refusal": lambda _: choice(None, refusal="I will not."),
    "no content": lambda _: choice(None),
    "cut": lambda text: choice(text[: len(text) // 2], "length"),
    "what it cannot read itself": lambda _: error(
        500, message="The model produced output that does not match the expected"
    ),
}
FAILURES: dict[str, Answer] = {
    "no choices": lambda _: b'{"choices": []}',
    "nothing": lambda _: b"",
    "silence": lambda _: httpx.ReadTimeout("silence"),
    "HTML": lambda _: b"<html>busy</html>",
    "500": lambda _: error(500, message="down"),
    "400": lambda _: error(400, message="bad request"),
}


MODEL = FakeModel(load_sample(), Settings(), synthetic_studies())


@dataclass
class HostileServer:
    """Answers right, but to one question as the shapes say, each in its turn."""

    question: str = ""
    shapes: Sequence[Answer] = ()
    asked: Counter[bytes] = field(default_factory=Counter)
    n_hostile: int = 0
    lock: Lock = field(default_factory=Lock)  # requests come from several threads

    def question_in(self, body: bytes) -> str:
        call = msgspec.json.decode(body, type=Call)
        step = read_prompt(call.messages).step
        return step.replace("judge", "recheck") if call.model == SECOND else step

    def __call__(self, request: Any) -> Any:
        shape: Answer = choice
        with self.lock:
            self.asked[request.content] += 1
            if self.question_in(request.content) == self.question:
                shape = self.shapes[self.n_hostile % len(self.shapes)]
                self.n_hostile += 1
        found = shape(MODEL.reply(msgspec.json.decode(request.content, type=Call), "").text)
        if isinstance(found, Exception):
            raise found
        status, body = found if isinstance(found, tuple) else (200, found)
        return httpx.Response(status, stream=httpx.ByteStream(body))


def write_review(folder: Path) -> None:
    """Write the synthetic review with two of its papers at hand, of which three passages are told."""
    write_synthetic_review(folder, model=f"local/{FIRST},base_url=http://server/v1")
    for number in (2, 3, 5):
        (folder / "papers" / f"paper_{number}.xml").unlink()
    path = folder / "construction.toml"
    path.write_text(path.read_text() + CONFIG)


def constructed(folder: Path, server: HostileServer) -> Constructed | StopError:
    """Return what one run makes of it."""
    environ = {"EVIDENCEBENCH_CACHE": str(folder / "cache")}
    client = make_client(max_attempts=1, environ=environ, transport=httpx.MockTransport(server))
    try:
        return construct(folder / "construction.toml", client=client)
    except StopError as error:  # too many failures in a row
        return error
    finally:
        client.close()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the data set that a server makes which is never hostile."""
    folder = tmp_path_factory.mktemp("sound")
    write_review(folder)
    server = HostileServer()
    made = constructed(folder, server)
    assert isinstance(made, Constructed)
    assert {step.step for step in made.steps if step.n_kept} == {*QUESTIONS.values()}
    assert {server.question_in(body) for body in server.asked} >= {*QUESTIONS}, "each question is asked"
    return files_in(folder / "work" / DATASET_FOLDER)


def tried(folder: Path, server: HostileServer) -> Constructed | StopError:
    """Return what a run makes of it, in which no draft may be lost."""
    write_review(folder)
    made = constructed(folder, server)
    for step in made.steps if isinstance(made, Constructed) else ():
        assert step.n_drafts == step.n_kept + step.dropped.total() + len(step.failures)
        assert {*step.dropped} <= {
            "no usable reply",
            REFUSED,
            "too many sentences without a readable judgment",
            "reports no results",
        }
    return made


by_question = pytest.mark.parametrize("question", QUESTIONS if IS_THOROUGH else ["recheck all aspects"])


def by_shape(shapes: Mapping[str, Answer]) -> pytest.MarkDecorator:
    """Let a test have one shape after the other; by default all by turns, in one construction."""
    each = {name: [shape] for name, shape in shapes.items()} if IS_THOROUGH else {"by turns": [*shapes.values()]}
    return pytest.mark.parametrize("shapes", each.values(), ids=each)


@by_question
@by_shape(REPLIES)
def test_a_reply_without_an_answer_is_counted_and_not_asked_for_again(
    tmp_path: Path, question: str, shapes: Sequence[Answer]
) -> None:
    server = HostileServer(question, shapes)
    made = tried(tmp_path, server)
    assert server.n_hostile >= len(shapes), "each was answered"
    assert isinstance(made, Constructed)
    assert made.n_failures == 0
    constructed(tmp_path, server)
    assert {*server.asked.values()} == {1}


@by_question
@by_shape(FAILURES)
def test_after_failures_the_next_run_asks_for_what_failed_alone_and_makes_the_same_data(
    tmp_path: Path, question: str, shapes: Sequence[Answer], sound: dict[str, bytes]
) -> None:
    server = HostileServer(question, shapes)
    made = tried(tmp_path, server)
    assert server.n_hostile >= len(shapes), "each was answered"
    assert isinstance(made, StopError) or (made.n_failures and made.steps[-1].step == QUESTIONS[question])
    server.question = ""
    constructed(tmp_path, server)
    assert files_in(tmp_path / "work" / DATASET_FOLDER) == sound
    assert {server.question_in(body) for body, n in server.asked.items() if n > 1} == {question}
