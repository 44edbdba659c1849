"""Hypotheses negated and paraphrased by a language model."""

import pytest

from doors import (
    LONGEST,
    Asker,
    ChatReply,
    EndpointError,
    ReplyError,
    SystemSpecError,
    asker_from,
    rewrite,
)
from kit.scripted_models import CHAT, Reply, ScriptedSender, client_of

OWN = "Tea lowers blood pressure."


def rewritten(*replies: Reply, repairs: int = 1) -> tuple[str, ScriptedSender]:
    left = list(replies)
    sender = ScriptedSender(lambda _: left.pop(0))
    asker = Asker(client=client_of(sender), chat=CHAT, repairs=repairs)
    return rewrite(asker, OWN, "negated"), sender


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("HYPOTHESIS: Tea does not lower it.", "Tea does not lower it."),
        ("**Hypothesis:** Tea does not lower it.", "Tea does not lower it."),
        ('{"hypothesis": "Tea does  not\\nlower it."}', "Tea does not lower it."),
        ("Hypothesis: Tea lowers it.\nIts negation:\n\nHypothesis: Tea does not lower it.\n", "Tea does not lower it."),
        ("<think>\nHYPOTHESIS: no\n</think>\nHYPOTHESIS: Tea does not lower it.", "Tea does not lower it."),
    ],
)
def test_the_last_hypothesis_of_a_reply_is_read(text: str, found: str) -> None:
    assert rewritten(text)[0] == found


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (ChatReply(text="Tea does not lower it."), "the reply holds none"),
        (ChatReply(text=""), "the reply holds none"),
        (ChatReply(text="HYPOTHESIS: the rewritten hypothesis"), "the reply holds none"),
        (ChatReply(text='{"hypothesis": 3}'), "the reply holds none"),
        (ChatReply(text="[" * 100_000), "the reply holds none"),
        (ChatReply(text=f"HYPOTHESIS: {OWN.upper()}"), "it is the hypothesis itself"),
        (ChatReply(text="HYPOTHESIS: " + "x" * (LONGEST + 1)), "it has 2,001 characters, more than 2,000"),
        (ChatReply(text="HYPOTHESIS: Tea", finish="length"), "was cut off; raise max_tokens"),
    ],
)
def test_a_reply_without_another_hypothesis_says_why(reply: ChatReply, why: str) -> None:
    with pytest.raises(ReplyError, match=why):
        rewritten(*[reply] * 2, repairs=0)


def test_a_reply_without_one_is_asked_for_again() -> None:
    found, sender = rewritten("I will.", "HYPOTHESIS: Tea does not lower it.")
    assert found == "Tea does not lower it."
    first, second = (request.messages for request in sender.asked)
    assert f"Hypothesis: {OWN}" in first[0].text
    assert [message.role for message in second] == ["user", "assistant", "user"]
    assert second[:1] == first
    assert "give the rewritten hypothesis alone" in second[2].text


def test_one_in_the_call_of_a_tool_is_read_and_a_reply_cut_in_its_thinking_gets_more_room() -> None:
    cut = ChatReply(text="", finish="length")
    called = ChatReply(text='{"hypothesis": "Tea does not lower it."}', finish="tool")
    found, sender = rewritten(cut, "I will.", called)
    assert found == "Tea does not lower it."
    assert [request.max_tokens for request in sender.asked] == [4096, 25_000, 25_000]
    assert sender.asked[1].messages == sender.asked[0].messages


def test_where_no_reply_has_one_or_a_request_fails_the_reason_is_raised() -> None:
    with pytest.raises(ReplyError, match="no rewritten hypothesis"):
        rewritten("", "No.")
    with pytest.raises(ReplyError, match="it broke"):
        rewritten(EndpointError("it broke"))


def test_the_model_takes_the_options_of_llm_base_and_no_others() -> None:
    asker = asker_from("local/fake,base_url=http://127.0.0.1:9/v1,temperature=0.5,repairs=2", seed=4)
    assert (asker.chat.temperature, asker.repairs, asker.chat.seed) == (0.5, 2, 4)
    with pytest.raises(SystemSpecError, match="warmth"):
        asker_from("local/fake,base_url=http://127.0.0.1:9/v1,warmth=1")
