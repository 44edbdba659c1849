"""``llm serve-fake`` and ``llm providers`` as a user calls them."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import msgspec
import pytest

from command_line import SAMPLE, Command, start
from evidencebench.construction.demo import synthetic_studies
from evidencebench.models.llm.providers import PROVIDERS
from marked_prompts import openai_body, prompt

SECRET = "sk-do-not-show-me"  # noqa: S105 - no secret but for the test


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command and give it with its address."""
    process = start("llm", "serve-fake", "--data", "sample", "--port", "0", *options)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().rstrip("\n").rpartition(" ")[2]
    finally:
        process.kill()
        process.communicate()


def asked(address: str) -> str:
    return sent(address, prompt(SAMPLE[0].query, budget=2))


def sent(address: str, text: str) -> str:
    body = json.dumps(openai_body(text)).encode()
    headers = {"Content-Type": "application/json"}
    request = Request(f"{address}/chat/completions", data=body, headers=headers)  # noqa: S310 - loopback
    with urlopen(request) as reply:  # noqa: S310 - as above
        content: str = json.load(reply)["choices"][0]["message"]["content"]
    return content


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_says_where_it_serves_and_ends_well_on_a_signal(number: signal.Signals) -> None:
    with serving("--personality", "lead") as (process, address):
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/v1")
        assert asked(address).endswith("ANSWER: [0, 1]")
        with urlopen(f"{address.removesuffix('/v1')}/log") as totals:  # noqa: S310 - loopback
            assert json.load(totals)["paid"] == 1
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_faults_and_steps_of_construction_are_answered_as_asked() -> None:
    with serving("--faults", "1", "--seed", "3") as (_, address), pytest.raises((OSError, ValueError)):
        asked(address)
    Path("gold.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, synthetic_studies())))
    study = next(iter(synthetic_studies()))
    step = f"Building step: hypothesis\nSummary: {study.summary}\n"
    with serving("--construction", "gold.jsonl", "--latency", "0.01") as (_, address):
        reply = json.loads(sent(address, step))
    assert reply["hypothesis"] == study.hypothesis


def test_without_starlette_it_says_what_to_install(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert (
        "needs starlette, which is not installed: pip install 'evidencebench[serve]'"
        in command("llm serve-fake --data sample --port 0").refusal
    )


def test_providers_are_listed_with_whether_their_key_is_set_and_never_the_key(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    Path(".env").write_text(f"MISTRAL_API_KEY={SECRET}\nOPENAI_API_KEY={SECRET}\n")
    shown = command("llm providers")
    listed = {row["name"]: row for row in command("llm providers --json").json}
    assert shown.code == 0
    assert SECRET not in shown.out + json.dumps(listed)
    assert list(listed) == list(PROVIDERS)
    assert listed["openai"]["key_is_set"]
    assert listed["openai"]["has_batches"]
    assert not listed["anthropic"]["key_is_set"]
    assert [listed[name]["key_in"] for name in ("openai", "mistral", "anthropic", "vllm")] == [
        "environment",
        ".env",
        None,
        None,
    ]
    assert re.search(r"mistral +MISTRAL_API_KEY +in \.env +no", shown.out)
    assert all(name in shown.out for name in PROVIDERS)
