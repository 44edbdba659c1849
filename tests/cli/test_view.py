"""``view`` as a user calls it."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from command_line import SAMPLE, Command, start


@contextmanager
def viewing(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command and give it with the line that it prints."""
    process = start("view", "--port", "0", *options)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().rstrip("\n")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_says_where_it_listens_and_ends_well_on_a_signal(number: signal.Signals) -> None:
    with viewing("--data", "sample") as (process, line):
        said, _, address = line.rpartition(" ")
        assert said == "viewing sample.json on"
        with urlopen(f"{address}api/overview") as reply:  # noqa: S310 - loopback
            assert json.load(reply)["n_instances"] == len(SAMPLE)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_with_people_it_ends_well_on_a_signal_with_everything_closed(tmp_path: Path) -> None:
    strict = os.environ | {"PYTHONDEVMODE": "1"}  # which tells what was left open
    process = start("view", "--port", "0", "--data", "sample", "--people", str(tmp_path / "picks"), env=strict)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("people pick in sample.json on http://127.0.0.1:")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.usefixtures("runs")
def test_runs_and_tasks_are_those_that_are_named() -> None:
    words = ("bm25.jsonl", "lead.jsonl", "--data", "sample", "--task", "er_at_10", "--budget", "3")
    with viewing(*words) as (_, line), urlopen(f"{line.split()[-1]}api/overview") as reply:  # noqa: S310 - loopback
        overview = json.load(reply)
    assert [system["label"] for system in overview["systems"]][:2] == ["bm25", "lead"]
    assert [task["name"] for task in overview["tasks"]] == ["er_at_10", "er_at_3"]


def test_others_may_look_where_that_is_meant_and_they_have_the_token() -> None:
    with viewing("--data", "sample", "--host", "0.0.0.0", "--expose") as (_, line):  # noqa: S104 - what is tested
        address = line.split()[-1]
        host, _, token = address.removeprefix("http://").partition("/?token=")
        assert host.partition(":")[0] == socket.gethostname()
        assert len(token) >= 40
        here = f"http://127.0.0.1:{host.rpartition(':')[2]}/"
        with urlopen(f"{here}?token={token}") as reply:  # noqa: S310 - loopback
            assert token in reply.headers["Set-Cookie"]
        with pytest.raises(HTTPError, match="403"):
            urlopen(here)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", "::"])  # noqa: S104 - to be refused
def test_hosts_that_others_reach_are_refused_unless_they_are_meant(command: Command, host: str) -> None:
    refused = command(f"view --data sample --port 0 --host {host}")
    assert refused.code == 2
    assert f"'{host}' may be reached from other machines" in refused.err
    assert "--expose" in refused.err


def test_a_port_that_is_taken_is_named(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = command(f"view --data sample --port {port}")
    assert refused.code == 2
    assert (
        f"cannot listen on port {port} of 127.0.0.1: Address already in use; --port 0 takes a free one" in refused.err
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--data none.json", "none.json: cannot be read"),
        ("--data sample none.jsonl", "none.jsonl: cannot be read"),
        ("--data sample --task none", "none"),
        ("--data sample --port 70000", "70000"),
        ("--data sample --limit 3", "--limit goes with --people"),
        ("--data sample --people P --task er_at_10 --task er_at_5", "--people takes one --task"),
        ("--data sample --people P --task result_er_unconstrained", "has no budget"),
        ("other.jsonl --data sample", "made on"),
    ],
)
@pytest.mark.usefixtures("runs")
def test_what_it_cannot_show_it_says_before_it_listens(command: Command, arguments: str, said: str) -> None:
    text = Path("bm25.jsonl").read_text()
    Path("other.jsonl").write_text(text.replace(SAMPLE.sha256, "0" * 64))
    refused = command(f"view {arguments}" if "--port" in arguments else f"view --port 0 {arguments}")
    assert refused.code == 2
    assert said in refused.err
    assert refused.out == ""


def test_without_the_extra_it_says_what_to_install(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "uvicorn" else object())
    refused = command("view --data sample --port 0")
    assert refused.code == 2
    assert "uvicorn, which is not installed: pip install 'evidencebench[view]'" in refused.err
