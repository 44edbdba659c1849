"""A hostile model against every prompt of construction: nothing raises, nothing is lost, each outcome has a reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from construction.test_writing import ANSWERS, PROMPTS, given_to, run, step_of, told, written
from doors import REFUSED, ChatReply, EndpointError, brought, numbered_sentences, read_object
from kit.examples import IS_THOROUGH, SHORTER, pairs_of
from kit.malformed_replies import REFUSALS_ELSEWHERE

Hostile = Callable[[str], Any]
"""What the model replies, of the reply that it should have given."""

N_DEEP = 10_000 if IS_THOROUGH else 2_000  # deeper than any reader goes

HOSTILE: dict[str, Hostile] = {
    "empty": lambda _: "",
    "white space": lambda _: " \n\t ",
    "refusal in words": lambda _: "I'm sorry, but I can't help with that request.",
    "refusal in German": lambda _: REFUSALS_ELSEWHERE[0],
    "refusal in Chinese": lambda _: REFUSALS_ELSEWHERE[6],
    "the provider's refusal": lambda _: ChatReply(text="", finish="refused"),
    "the provider's refusal in the middle": lambda text: ChatReply(text=text[: len(text) // 2], finish="refused"),
    "cut in the middle": lambda text: ChatReply(text=text[: len(text) // 2], finish="length"),
    "prose": lambda _: "The trial was about tea, and it seems well done.",
    "single quotes": lambda text: repr(json.loads(text)),
    "unclosed": lambda text: text[:-1],
    "nonsense types": lambda _: '{"a": [null, {"b": 1.5}], "c": [[true]]}',
    "10^30": lambda text: text.replace("2", "1" + "0" * 30).replace("true", "10e30"),
    "negative": lambda _: '{"sentences": [-1], "results": [-1], "aspects": [{"aspect": -1, "sentences": [-1]}]}',
    "another language": lambda _: "\u7eff\u8336\u964d\u4f4e\u8840\u538b\u3002",
    "emoji, NUL and halves": lambda _: "\U0001f600\x00\ud800",
    "far too long": lambda _: "tea " * (250_000 // SHORTER**2),
    "far too many braces": lambda _: '{"a' * (350_000 // SHORTER**2),
    "far too deep": lambda _: '{"a":' * N_DEEP,
    "lists, far too deep": lambda _: "[" * N_DEEP,
    "HTML": lambda _: "<html><body><h1>502 Bad Gateway</h1></body></html>",
    "an error object": lambda _: '{"error": {"message": "overloaded", "code": 529}}',
    "HTTP 400": lambda _: EndpointError("status 400: bad request"),
    "HTTP 500": lambda _: EndpointError("status 500: gave up after 6 attempts"),
    "a time-out": lambda _: EndpointError("timed out"),
}


@pytest.mark.parametrize(("prompt", "shape"), pairs_of(PROMPTS, HOSTILE))
def test_no_reply_breaks_a_step_or_loses_a_draft(tmp_path: Path, prompt: str, shape: str) -> None:
    step, reply = step_of(prompt, tmp_path), HOSTILE[shape](written(prompt))
    made, report, _ = run(tmp_path, step, given_to(step, tmp_path), ANSWERS | {prompt: reply})
    if isinstance(reply, EndpointError):  # asked again next time
        assert (made, list(report.failures)) == (None, ["d"])
    else:
        assert made is not None
        assert report.dropped.total() + report.n_kept == 1
        assert made.dropped in {"no usable reply", REFUSED, ""}
        assert made.dropped != REFUSED or "refusal" in shape


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_prompt_itself_as_the_reply_is_no_answer(tmp_path: Path, prompt: str) -> None:
    step = step_of(prompt, tmp_path)
    made, _, _ = run(
        tmp_path, step, given_to(step, tmp_path), ANSWERS | {prompt: lambda request: request.messages[-1].text}
    )
    rounds = made.judging.rounds if made.judging is not None else ()
    votes = [vote for judged in rounds[step.name == "recheck" :] for vote in judged.votes[0]]
    assert all(vote.sentences is None for vote in votes)
    assert made.dropped == ("" if votes or prompt == "can the paper answer" else "no usable reply")


def each_number(value: Any, change: Callable[[int], object]) -> Any:
    if isinstance(value, dict):
        return {key: each_number(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [each_number(inner, change) for inner in value]
    return change(value) if isinstance(value, int) and not isinstance(value, bool) else value


READ: dict[str, Hostile] = {
    "prose around it": lambda text: f"Well, let me think. It is clear.\n\n{text}\n\nI hope that this helps!",
    "in a fence": lambda text: f"```json\n{text}\n```",
    "no reason to end": lambda text: ChatReply(text=text, finish="other"),
    "numbers as texts": lambda text: json.dumps(each_number(json.loads(text), str)),
    "numbers in brackets": lambda text: json.dumps(each_number(json.loads(text), lambda number: f"[{number}]")),
    "yes for true": lambda text: text.replace("true", '"Yes."'),
    "capitals": lambda text: json.dumps({key.title(): value for key, value in json.loads(text).items()}),
    "one level down": lambda text: json.dumps({"answer": json.loads(text)}),
    "another key beside it": lambda text: f'{{"confidence": 0.9, {text[1:]}',
    "thoughts in tags": lambda text: f'<think>{{"sentences": [1]}}</think>{text}',
    "twice": lambda text: f"{text}\nOnce more:\n{text}",
}


@pytest.mark.parametrize(("prompt", "shape"), pairs_of(PROMPTS, READ))
def test_a_reply_that_means_one_thing_is_read_as_it(tmp_path: Path, prompt: str, shape: str) -> None:
    step = step_of(prompt, tmp_path)
    good, _, _ = run(tmp_path, step, given_to(step, tmp_path), ANSWERS, name="good")
    made, _, sender = run(
        tmp_path, step, given_to(step, tmp_path), ANSWERS | {prompt: READ[shape](written(prompt))}, name="made"
    )
    assert told(made) == told(good)
    assert all(len(request.messages) == 1 for request in sender.asked), "nothing is asked again"


class Pair(msgspec.Struct):
    aspect: int
    sentences: list[int]


class Pairs(msgspec.Struct):
    aspects: list[Pair]


class Texts(msgspec.Struct):
    aspects: list[str]


class Kept(msgspec.Struct):
    reports_results: bool


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"aspects": {"1": [3, "4"]}}', Pairs([Pair(1, [3, 4])])),
        ('{"aspects": [{"aspect": "aspect 1", "sentences": "[3]"}]}', Pairs([Pair(1, [3])])),
        ('{"aspects": {"aspect": 1, "sentences": null}}', Pairs([Pair(1, [])])),
        ('{"aspect_list": [{"text": "Tea"}, {"aspect": "Milk"}]}', Texts(["Tea", "Milk"])),
        ('{"answer": {"aspects": "Tea"}}', Texts(["Tea"])),
        ('["Tea", "Milk"]', Texts(["Tea", "Milk"])),
        ('{"Reports_Results": "Yes."}', Kept(reports_results=True)),
        ('{"verdict": "false", "why": "a protocol"}', Kept(reports_results=False)),
        ('{"reports_results": "perhaps"}', None),
        ('{"not_reported_results": true}', None),
        ('{"reports_results": true, "reports_results": false}', None),
        ('{"aspects": [{"aspect": 1, "sentences": [{"from": 3, "to": 9}]}]}', None),
    ],
)
def test_another_form_is_read_where_it_means_one_thing(text: str, expected: msgspec.Struct | None) -> None:
    kind = type(expected) if expected is not None else Pairs if "aspects" in text else Kept
    for reply in (ChatReply(text=text), ChatReply(text=text, finish="other")):
        found = read_object(reply, kind)
        assert isinstance(found, str) if expected is None else found == expected


def test_an_object_behind_which_more_stands_may_be_cut_where_no_reason_is_given() -> None:
    found = read_object(ChatReply(text='{"reports_results": true} Or rather', finish="other"), Kept)
    assert found == "the reply ended otherwise than by itself (other)"


def test_numbers_are_no_guess() -> None:
    assert brought(["-3", "3 or 4", "10" * 30], list[int]) == [-3, "3 or 4", "10" * 30]


def test_a_mark_of_a_reference_is_no_number_of_a_sentence() -> None:
    assert "[4] As shown {16}, {2, 5-7} [tea].\n" in numbered_sentences({4: "As shown [16], [2, 5-7] [tea]."}).block
