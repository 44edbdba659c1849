"""``evidencebench find --split-model``: a language model reads what the sentences report."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kit.command_line import Command
from kit.hostile_server import Behaviour, HostileServer, hostile_server
from kit.llm_servers import replies

pytestmark = pytest.mark.usefixtures("own_cache")

_TEXT = """\
# Results
Tea lowered systolic blood pressure by 3.1 mmHg compared with water (p = 0.004).
Nurses who drank water had a higher heart rate.
# Acknowledgements
We thank the nurses.
"""


def _reply(**reports: str) -> str:
    entries = [{"sentence": int(name[1:]), "reports": said} for name, said in reports.items()]
    return json.dumps({"sentences": entries})


_WHOLE = _reply(_2="not said", _1="decrease")
_CUT = replies(choices=[{"message": {"content": _WHOLE}, "finish_reason": "length"}])


@contextmanager
def _asked(*said: str | Behaviour) -> Iterator[tuple[HostileServer, str]]:
    Path("tea.txt").write_text(_TEXT, encoding="utf-8")
    script = [replies(one) if isinstance(one, str) else one for one in said]
    with hostile_server(b"", *script) as server:
        model = f"local/fake,base_url={server.address('v1')}"
        yield server, f"find {{Tea lowers blood pressure.}} tea.txt -k 2 --split-by direction --split-model {model}"


def test_a_model_is_sent_the_hypothesis_and_the_sentences_found_and_nothing_else(command: Command) -> None:
    with _asked(f"Here it is:\n```json\n{_WHOLE}\n```") as (server, call):
        found = command(f"{call} --json")
        assert found.code == 0, found.err
        (finding,) = found.json["findings"]
        assert {row["sentence"]: row["direction"] for row in finding["evidence"]} == {1: "decrease", 2: "not said"}
        assert found.json["split_model"].startswith("local/fake,")
        assert found.json["asked"]["requests"] == 1
        again = command(call)
        assert len(server.log) == 1, "the reply is kept"
    (message,) = json.loads(server.log[0].body)["messages"]
    assert all(part in message["content"] for part in ("Tea lowers blood pressure.", "1: Tea lowered", "2: Nurses who"))
    assert "We thank" not in message["content"]
    assert "\n\nReports a decrease:\n1  Tea lowered" in again.out
    assert "\n\nDoes not say:\n2  Nurses" in again.out


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("increase", "expected JSON of the form asked for"),
        (_reply(_1="decrease"), "sentence 2 has no entry"),
        (_reply(_1="lower", _2="not said"), "expected JSON of the form asked for: Invalid enum value 'lower'"),
        (_reply(_1="decrease", _2="not said", _4="increase"), "sentence 4 was not shown"),
        (_reply(_1="decrease", _2="not said", _01="increase"), "a sentence has two entries"),
        ("", "expected JSON of the form asked for"),
        (_CUT, "the reply was cut off"),
    ],
)
def test_a_reply_that_does_not_say_it_is_asked_for_again_and_then_told(
    said: str | Behaviour, why: str, command: Command
) -> None:
    with _asked(said) as (server, call):
        assert f"error: tea.txt: no directions: {why}" in command(call).refusal
        assert len(server.log) == 2
    with _asked(said, _WHOLE) as (server, call):
        assert command(call).code == 0
        assert len(server.log) == 2


def test_nothing_is_sent_for_an_estimate_no_question_of_an_effect_or_where_nothing_is_found(command: Command) -> None:
    with _asked(_WHOLE) as (server, call):
        assert [model["requests"] for model in command(f"{call} --estimate --json").json["models"]] == [1]
        assert command(call.replace("Tea lowers blood pressure", "How was tea brewed?")).code == 0
        assert "'xyzzy' is not in the" in command(call.replace("Tea lowers blood pressure", "Xyzzy")).out
        assert server.log == []
