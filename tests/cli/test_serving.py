"""Commands that serve until they are ended: ``view`` and ``llm serve-fake``; and ``llm providers``."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec
import pytest

from doors import PROVIDERS, synthetic_studies
from kit.command_line import SAMPLE, Command, start
from kit.examples import IS_THOROUGH
from kit.marked_prompts import openai_body, prompt
from kit.patience import MOST_SECONDS

SECRET = "sk-do-not-show-me"  # noqa: S105 - no secret but for the test
FAKE = "llm serve-fake --data sample"
VIEW = "view --data sample"


@contextmanager
def serving(command: str, **options: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a command on a free port and give it with the line that it prints, which ends with its address."""
    process = start(*command.split(), "--port", "0", **options)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().rstrip("\n")
    finally:
        process.kill()
        process.communicate()


def got(address: str) -> object:
    with urlopen(address) as reply:  # noqa: S310 - loopback
        return json.load(reply)


def replied(address: str, text: str) -> str:
    """Send a prompt to the server for trials, and return its reply."""
    body = json.dumps(openai_body(text)).encode()
    request = Request(f"{address}/chat/completions", data=body, headers={"Content-Type": "application/json"})  # noqa: S310
    with urlopen(request) as reply:  # noqa: S310 - loopback
        content: str = json.load(reply)["choices"][0]["message"]["content"]
    return content


SERVERS = [(VIEW, signal.SIGINT), (f"{VIEW} --people picks", signal.SIGTERM)]
SERVERS += [(f"{FAKE} --behaviour lead", one) for one in (signal.SIGHUP, signal.SIGINT)[: 2 if IS_THOROUGH else 1]]


@pytest.mark.parametrize(("command", "number"), SERVERS)
def test_it_says_where_it_serves_and_ends_well_on_a_signal(command: str, number: signal.Signals) -> None:
    tells_what_is_left_open = {"PYTHONWARNINGS": "default"}
    strict = os.environ | tells_what_is_left_open if "--people" in command else None
    with serving(command, env=strict) as (process, line):
        said, _, address = line.rpartition(" ")
        assert address.startswith("http://127.0.0.1:")
        if command == VIEW:
            assert said == "viewing sample.json on"
            assert got(f"{address}api/overview")["n_instances"] == len(SAMPLE)  # type: ignore[index]
        elif "--people" in command:
            assert said == "people select sentences in sample.json on"
        else:
            assert address.endswith("/v1")
            assert replied(address, prompt(SAMPLE[0].query, budget=2)).endswith("ANSWER: [0, 1]")
            assert got(f"{address.removesuffix('/v1')}/log")["paid"] == 1  # type: ignore[index]
        process.send_signal(number)
        out, err = process.communicate(timeout=MOST_SECONDS)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.usefixtures("runs")
def test_runs_and_tasks_are_those_that_are_named() -> None:
    with serving(f"{VIEW} bm25.jsonl lead.jsonl --task er_at_10 --budget 3") as (_, line):
        overview: dict[str, list[dict[str, str]]] = got(f"{line.split()[-1]}api/overview")  # type: ignore[assignment]
    assert [system["label"] for system in overview["systems"]][:2] == ["bm25", "lead"]
    assert [task["name"] for task in overview["tasks"]] == ["er_at_10", "er_at_3"]


def test_others_may_look_where_that_is_meant_and_they_have_the_token() -> None:
    with serving(f"{VIEW} --host 0.0.0.0 --expose") as (_, line):
        host, _, token = line.split()[-1].removeprefix("http://").partition("/?token=")
        assert host.partition(":")[0] == socket.gethostname()
        assert len(token) >= 40
        here = f"http://127.0.0.1:{host.rpartition(':')[2]}/"
        with urlopen(f"{here}?token={token}") as reply:  # noqa: S310 - loopback
            assert token in reply.headers["Set-Cookie"]
        with pytest.raises(HTTPError, match="403"):
            urlopen(here)


def test_a_port_that_is_taken_is_named(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refusal = command(f"{VIEW} --port {port}").refusal
    assert f"port {port} of 127.0.0.1: Address already in use; --port 0 takes a free one" in refusal


@pytest.mark.parametrize(("call", "package", "extra"), [(VIEW, "uvicorn", "view"), (FAKE, "starlette", "serve")])
def test_without_the_extra_it_says_what_to_install(
    call: str, package: str, extra: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    if call == VIEW:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == package else object())
    else:
        monkeypatch.setitem(sys.modules, package, None)
    said = f"{package}, which is not installed: pip install 'evidencebench[{extra}]'"
    assert said in command(f"{call} --port 0").refusal


def test_faults_and_steps_of_construction_are_answered_as_asked() -> None:
    with serving(f"{FAKE} --faults 1 --seed 3") as (_, line), pytest.raises((OSError, ValueError)):
        replied(line.split()[-1], prompt(SAMPLE[0].query, budget=2))
    Path("gold.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, synthetic_studies())))
    study = next(iter(synthetic_studies()))
    with serving(f"{FAKE} --construction gold.jsonl --latency 0.01") as (_, line):
        reply = replied(line.split()[-1], f"Building step: hypothesis\nSummary: {study.summary}\n")
    assert json.loads(reply)["hypothesis"] == study.hypothesis


def test_providers_are_listed_with_where_their_key_is(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    Path(".env").write_text(f"MISTRAL_API_KEY={SECRET}\nOPENAI_API_KEY={SECRET}\n")
    shown = command("llm providers").done
    listed = {row["name"]: row for row in command("llm providers --json").json}
    assert SECRET not in shown + json.dumps(listed)
    assert list(listed) == list(PROVIDERS)
    keys = {name: listed[name]["key_in"] for name in ("openai", "mistral", "anthropic", "vllm")}
    assert keys == {"openai": "environment", "mistral": ".env", "anthropic": None, "vllm": None}
    assert [listed[name]["key_is_set"] for name in ("openai", "anthropic")] == [True, False]
    assert listed["openai"]["has_batches"]
    assert re.search(r"mistral +MISTRAL_API_KEY +in \.env +no", shown)
    assert all(name in shown for name in PROVIDERS)
