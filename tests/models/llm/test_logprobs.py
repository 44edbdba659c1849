"""Probabilities of scores order sentences whose written scores are equal, where a server gives any."""

import json
from collections.abc import Iterator
from math import exp
from pathlib import Path

import pytest

from doors import (
    ChatClient,
    ChatReply,
    ChatRequest,
    LlmRank,
    SystemSpecError,
    TransientError,
    read_reply,
    weighed_scores,
)
from evidencebench import Ranking, answer_instance, evaluate, make_client, make_system
from kit.command_line import SAMPLE
from kit.fake_models import RunningServer, running_fake_server
from kit.scripted_models import CHAT, ScriptedSender, client_of, lead


@pytest.fixture
def client(tmp_path: Path) -> Iterator[ChatClient]:
    made = make_client(environ={"EVIDENCEBENCH_CACHE": str(tmp_path), "no_proxy": "*"})
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[RunningServer]:
    """Run a model that writes the same score for every sentence, and another one with the probability of a third."""
    with running_fake_server(SAMPLE, behaviour="lead") as running:
        yield running


def test_equal_scores_are_ordered_by_what_else_they_might_have_been(server: RunningServer, client: ChatClient) -> None:
    as_written, weighed = (
        make_system(server.spec("llm_rank", more=more), client=client) for more in ("", ",logprobs=true")
    )
    written = answer_instance(as_written, SAMPLE[0], "er_at_10")
    assert isinstance(written, Ranking)
    assert list(written.sentences) == sorted(written.sentences)
    answer = answer_instance(weighed, SAMPLE[0], "er_at_10")
    assert isinstance(answer, Ranking)
    assert answer.scores is not None
    assert "replies_without_logprobs" not in answer.notes
    (low, high), (first, *_) = sorted(set(answer.scores)), set(written.scores or ())
    assert (low, high) == pytest.approx((first * 2 / 3, first * 2 / 3 + 10 / 3))
    recalls = evaluate({"written": as_written, "weighed": weighed}, SAMPLE, "er_at_optimal")
    assert recalls["weighed"]["er_at_optimal"].mean_recall > recalls["written"]["er_at_optimal"].mean_recall + 0.3
    assert client.totals.now.failures == 0
    n_sent = client.totals.now.sent
    assert answer_instance(weighed, SAMPLE[0], "er_at_10") == answer  # from the store, which keeps the probabilities
    assert client.totals.now.sent == n_sent


def test_replies_without_probabilities_keep_their_scores_and_are_counted(
    server: RunningServer, client: ChatClient
) -> None:
    spec = server.spec("llm_rank", model="anthropic/lead", more=",key_env=,logprobs=true")
    answer = answer_instance(make_system(spec, client=client), SAMPLE[0], "er_at_10")
    assert isinstance(answer, Ranking)
    assert answer.notes["replies_without_logprobs"] == answer.notes["requests"]
    with pytest.raises(SystemSpecError, match="method=pointwise"):
        make_system(server.spec("llm_rank", more=",logprobs=true,method=listwise"))


@pytest.mark.parametrize(
    ("text", "weighed"),
    [
        ("SCORES:\n4: 7\n5: 2", {4: 6.5, 5: 2.0}),
        ("[4] - 7\n[5] - 2", {4: 6.5, 5: 2.0}),
        ('{"scores":[{"sentence":4,"score":7},{"sentence":5,"score":2}]}', {4: 6.5, 5: 2.0}),
        ("It is 4: 7, I think: 5 has 2", {4: 7.0, 5: 2.0}),
    ],
)
def test_a_score_is_weighed_where_it_is_written(text: str, weighed: dict[int, float]) -> None:
    place = text.index("7")
    reply = ChatReply(text=text, expected_scores=((place, 6.5), (text.index("4"), 8.5)))
    assert weighed_scores({4: 7.0, 5: 2.0}, reply) == pytest.approx(weighed)
    assert weighed_scores({4: 7.0}, ChatReply(text=text)) == {4: 7.0}


def body(logprobs: object, text: str = "x: 4") -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}, "logprobs": logprobs}]}).encode()


FOUR = {
    "token": " 4",
    "logprob": -0.1,
    "top_logprobs": [{"token": " 10", "logprob": -2}, {"token": "b", "logprob": 0}],
}
COLON = {"token": "x:", "logprob": 0.0}


def test_a_token_is_read_with_what_else_might_stand_there() -> None:
    weights = (exp(-0.1), exp(-2.0))
    expected = {3: (4 * weights[0] + 10 * weights[1]) / sum(weights)}
    reply = read_reply("openai", body({"content": [COLON, FOUR]}))
    assert dict(reply.expected_scores) == pytest.approx(expected)
    assert hash(reply)


@pytest.mark.parametrize(
    "logprobs",
    [
        {"content": [COLON]},
        {"content": [COLON, {"token": " 4"}]},
        {"content": [COLON, FOUR | {"logprob": "high"}]},
        {"content": [COLON, FOUR | {"top_logprobs": "many"}]},
        {"content": [COLON, FOUR, FOUR]},
        {"content": []},
        {"content": None},
        {"content": 7},
        {},
        [],
        None,
        "none",
        7,
    ],
    ids=str,
)
def test_probabilities_that_cannot_be_used_leave_the_answer_as_it_was(logprobs: object) -> None:
    def served(request: ChatRequest) -> ChatReply:
        return read_reply("openai", body(logprobs, lead(request)))

    client = client_of(ScriptedSender(served))
    as_written, weighed = (
        answer_instance(LlmRank(chat=CHAT, logprobs=asked, client=client), SAMPLE[0], "er_at_10")
        for asked in (False, True)
    )
    assert isinstance(as_written, Ranking)
    assert isinstance(weighed, Ranking)
    assert (weighed.sentences, weighed.scores) == (as_written.sentences, as_written.scores)
    assert weighed.notes == {**as_written.notes, "replies_without_logprobs": weighed.notes["requests"]}
    assert read_reply("openai", body(logprobs)) == read_reply("openai", body(None))


@pytest.mark.parametrize("content", [b"no JSON", b"", b'{"choices": []}', b'{"choices": [{"logprobs": {}}]}'])
def test_a_reply_without_a_text_is_asked_for_again_as_ever(content: bytes) -> None:
    with pytest.raises(TransientError):
        read_reply("openai", content)
