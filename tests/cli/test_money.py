"""Every command that asks language models does so under the same guard: estimates, limits, what it says of costs."""

import json
import re
import signal
import time
from pathlib import Path

import pytest

from command_line import KEY, SAMPLE, Command, start
from evidencebench import open_run
from evidencebench.scoring.significance import spent_line
from fake_models import RunningServer, running_fake_server

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(autouse=True)
def _own_paper() -> None:
    Path("paper.txt").write_text("\n".join(SAMPLE[0].query.sentences))


def commands(system: str, *, quick: str = "") -> dict[str, str]:
    """Give each command that asks models: how it is called."""
    return {
        "run": f"run {system} --data sample -t er_at_10 {quick or '-o run.jsonl'}",
        "controls": f"controls {system} --data sample -t er_at_10 --draws 50 {quick}",
        "crossval": f"crossval {system} --data sample -t er_at_10 --seeds 2 --draws 50 {quick}",
        "find": f"find {{{SAMPLE[0].query.hypothesis}}} paper.txt --system {system} {quick}",
    }


REQUESTS = {"run": 10, "controls": 20, "crossval": 40, "find": 1}
"""How many requests each command makes; under another seed a model is asked anew."""


@pytest.mark.parametrize("name", REQUESTS)
def test_every_command_estimates_and_then_asks_that_much(name: str, server: RunningServer, command: Command) -> None:
    estimate = command(commands(server.spec(), quick="--estimate --json --prices prices.json")[name]).json
    assert server.totals()["requests"] == 0
    (model,) = estimate["models"]
    assert (model["requests"], estimate["stored"]) == (REQUESTS[name], 0)
    assert model["cost_usd"] > 0
    asked = command(f"{commands(server.spec())[name]} --prices prices.json")
    assert asked.code == 0, asked.err
    assert server.totals()["requests"] == REQUESTS[name]
    assert f"asked: {REQUESTS[name]} sent, 0 stored, 0 failed, $0." in asked.err
    again = command(commands(server.spec())[name])
    assert again.code == 0, again.err
    assert server.totals()["requests"] == REQUESTS[name]


@pytest.mark.parametrize("name", REQUESTS)
def test_every_estimate_exits_with_1_where_an_answer_would_fail(name: str, command: Command) -> None:
    system = "llm_base:model=local/fake,base_url=http://127.0.0.1:9/v1,context_tokens=970,max_tokens=100"
    found = command(commands(system, quick="--estimate")[name])
    assert (found.code, "leave no room for the paper" in found.err) == (1, True), found.err


@pytest.mark.parametrize("name", REQUESTS)
def test_every_command_stops_before_it_costs_more_than_allowed(
    name: str, server: RunningServer, command: Command
) -> None:
    system = server.spec(more=",max_tokens=300")
    limit = 0.002 if name == "find" else 0.02
    stopped = command(f"{commands(system)[name]} --prices prices.json --max-cost-usd {limit}")
    assert (stopped.code, stopped.out) == (3, ""), stopped.err
    assert "stopped: local/fake: expected to spend at most $0.0" in stopped.err
    assert stopped.err.startswith("asked: ")
    kept = command("cache list --json").json["replies"]["models"]
    assert sum(one["cost_usd"] for one in kept) <= limit
    assert server.totals()["requests"] < REQUESTS[name]
    allowed = command(f"{commands(system)[name]} --prices prices.json --max-cost-usd 5")
    assert allowed.code == 0, allowed.err
    assert server.totals()["paid_more_than_once"] == 0


@pytest.mark.parametrize("name", REQUESTS)
def test_every_command_refuses_a_limit_on_a_price_that_is_not_known(
    name: str, server: RunningServer, command: Command
) -> None:
    refused = command(f"{commands(server.spec())[name]} --max-cost-usd 1")
    assert refused.code == 3
    assert "expected a known price, since a cost limit is set, got none; give a table" in refused.err
    assert server.totals()["requests"] == 0


@pytest.mark.parametrize("name", REQUESTS)
def test_every_command_refuses_options_for_models_where_none_is_asked(name: str, command: Command) -> None:
    for option in ("--estimate", "--batch", "--max-cost-usd 1"):
        found = command(f"{commands('cues')[name]} {option}")
        assert (found.code, found.out) == (2, "")
        assert "are for systems that ask a language model" in found.err


_OWN_WAY = """
from dataclasses import dataclass
from pathlib import Path
from evidencebench import Ranking, Traits

@dataclass(frozen=True)
class OwnWay:
    traits = Traits(selects=True, waits=True)
    def rank(self, query, brief):
        Path("asked").touch()
        return Ranking(sentences=(0,))
"""


@pytest.mark.parametrize("name", REQUESTS)
def test_no_limit_is_promised_for_own_code_that_asks_in_its_own_way(name: str, command: Command) -> None:
    Path("own_way.py").write_text(_OWN_WAY)
    for option in ("--estimate", "--batch", "--max-cost-usd 1"):
        found = command(f"{commands('own_way:OwnWay')[name]} {option}")
        assert (found.code, found.out, Path("asked").exists()) == (2, "", False)
    assert command(commands("own_way:OwnWay")[name]).code == 0


@pytest.mark.parametrize("name", REQUESTS)
def test_every_command_can_ask_in_batches(name: str, server: RunningServer, command: Command) -> None:
    system = server.spec(model="openai/fake", more=",key_env=")
    found = command(f"{commands(system)[name]} --batch")
    assert found.code == 0, found.err
    assert server.totals()["paid_in_batches"] == REQUESTS[name]
    assert f"asked: {REQUESTS[name]} sent, 0 stored, 0 failed, price unknown" in found.err
    batches = [one for one in server.log_entries() if one["request"] == "POST /v1/batches"]
    assert len(batches) == 1, "what is asked together goes in one batch"


@pytest.mark.parametrize("name", REQUESTS)
def test_no_command_shows_or_writes_a_key(
    name: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with running_fake_server(
        SAMPLE, fault_rate=0.4, fault_kinds=["unauthorized", "bad_request", "truncated_body"]
    ) as server:
        system = server.spec(model="openai/fake", more=",key_env=OPENAI_API_KEY")
        found = command(f"{commands(system)[name]} --max-attempts 2")
        as_json = command(f"{commands(system)[name]} --json --max-attempts 2")
        assert server.totals()["requests"] > 0
    assert KEY not in found.out + found.err + as_json.out + as_json.err
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_an_estimate_says_how_many_tasks_are_asked_and_how_to_ask_one(command: Command) -> None:
    arguments = "run llm_base:model=openai/gpt-4o-mini,key_env= --data sample --limit 2 --estimate"
    every = " ".join(command(arguments).out.split())
    assert "2 instances, each asked for 6 tasks (er_at_optimal, er_at_10, " in every
    assert "result_er_unconstrained); -t TASK asks for one. 0 requests are stored" in every
    assert "2 instances, asked for er_at_10. 0 requests" in " ".join(command(f"{arguments} -t er_at_10").out.split())
    assert command(f"{arguments} --json").json["tasks"][:2] == ["er_at_optimal", "er_at_10"]


def test_find_says_in_its_help_what_leaves_the_machine(command: Command) -> None:
    said = " ".join(command("find --help").out.split())
    assert "An llm_... system sends PAPER and HYPOTHESIS, whole, to the provider that its model names" in said


def test_replies_of_a_batch_that_an_earlier_start_submitted_are_sent_once_and_not_stored_too(
    tmp_path: Path, command: Command
) -> None:
    with running_fake_server(SAMPLE, personality="oracle", batch_delay_seconds=1.0) as server:
        system = server.spec(model="openai/fake", more=",key_env=")
        words = commands(system)["run"].split()
        process = start(*words, "--batch", cwd=tmp_path)
        ends_at = time.monotonic() + 60
        while not any(entry["request"] == "POST /v1/batches" for entry in server.log_entries()):
            assert time.monotonic() < ends_at
            time.sleep(0.01)
        time.sleep(0.3)
        process.kill()
        process.communicate(timeout=60)
        found = command(f"{commands(system)['run']} --batch")
    assert "asked: 10 sent, 0 stored, 0 failed, price unknown" in found.err


def test_requests_on_their_way_at_a_second_interrupt_were_sent(tmp_path: Path) -> None:
    with running_fake_server(SAMPLE, personality="oracle", latency_seconds=60.0) as server:
        process = start(*commands(server.spec())["run"].split(), cwd=tmp_path)
        ends_at = time.monotonic() + 60
        while server.totals()["in_flight"] < 10 and time.monotonic() < ends_at:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "finishing what was begun; Ctrl-C again ends at once" in errors
    assert "asked: 10 sent, 0 stored, 0 failed, cost unknown" in errors


def test_what_may_have_been_charged_for_is_in_the_run_and_on_every_page(command: Command) -> None:
    prices = {"as_of": "2026-11-01", "models": {"local/fake": {"input": 1.0, "output": 10.0}}}
    Path("prices.json").write_text(json.dumps(prices))
    n_asked = []
    with running_fake_server(SAMPLE, fault_rate=0.7, fault_kinds=["truncated_body"]) as server:
        run = f"run {server.spec()} --data sample --task er_at_5 --max-attempts 2 --prices prices.json -o run.jsonl"
        for again in ("", " --retry-failed"):
            found = command(f"{run} --json{again}").json
            n_asked.append(found["asked"]["maybe_charged"])
            assert found["notes"]["maybe_charged"] == sum(n_asked)
    assert min(n_asked) > 0
    told = f"{sum(n_asked)} attempts without a reply, perhaps charged for"
    assert told in " ".join(command("score run.jsonl --data sample --task er_at_5").out.split())
    command("report run.jsonl --data sample --task er_at_5 --no-papers -o page.html")
    assert re.search(rf"at least \$0\.\d{{4}} at prices of 2026-11-01; {told}", Path("page.html").read_text())
    answers = [open_run("run.jsonl").answer(one, "er_at_5") for one in SAMPLE.ids]
    of_papers = [spent_line(one.notes) for one in answers if one is not None]  # as the viewer shows each paper's
    assert any("attempt without a reply, perhaps charged for" in spent for spent in of_papers)


def test_the_day_of_a_price_stands_wherever_a_cost_is_printed(command: Command) -> None:
    price = {"input": 1.0, "output": 10.0}
    models = {"local/old": price | {"as_of": "2025-02-03"}, "local/*": price, "local/free": {"input": 0, "output": 0}}
    Path("prices.json").write_text(json.dumps({"as_of": "2026-10-09", "models": models}))
    with running_fake_server(SAMPLE, personality="oracle") as server:
        for model, day in (("old", "2025-02-03"), ("new", "2026-10-09")):
            spec = server.spec().replace("local/fake", f"local/{model}")
            run = f"run {spec} --data sample --task er_at_5 --prices prices.json"
            assert f"Prices as of {day}: check them (--prices)." in " ".join(command(f"{run} --estimate").out.split())
            asked = command(f"{run} -o {model}.jsonl").err
            assert re.search(rf"asked: 10 sent, 0 stored, 0 failed, \$0\.\d+ at prices of {day}\n", asked)
            score = " ".join(command(f"score {model}.jsonl --data sample --task er_at_5").out.split())
            assert re.search(rf"\$0\.\d{{4}} at prices of {day}", score)
            assert f"at prices of {day}" not in command(f"{run} -o again.jsonl --overwrite").err  # nothing was paid
            again = " ".join(command("score again.jsonl --data sample --task er_at_5").out.split())
            assert f" at prices of {day}" in again


def test_an_unset_variable_in_base_url_stops_before_anything_is_sent(command: Command) -> None:
    for options in ("", " --estimate"):
        found = command(f"run llm_base:model=openai/gpt-4o-mini,base_url= --data sample -o x.jsonl{options}")
        assert found.code == 2
        assert (
            "base_url: expected an http or https address such as https://host/v1, got none behind 'base_url='"
            in found.err
        )
    assert not Path("x.jsonl").exists()


def test_answers_that_were_cut_off_are_told_to_raise_max_tokens(command: Command) -> None:
    with running_fake_server(SAMPLE, personality="oracle") as server:
        found = command(f"run {server.spec()},max_tokens=3 --data sample --task er_at_5 -o cut.jsonl")
    told = " ".join(found.err.split())
    assert "ReplyError: truncated: the reply was cut off; raise max_tokens" in told
    assert "for other replies, run with a greater max_tokens into another file" in told


def test_answers_that_failed_are_told_what_retrying_does(command: Command) -> None:
    with running_fake_server(SAMPLE, personality="wrong_format") as server:
        found = command(commands(server.spec())["run"])
    assert found.code == 1
    assert "--retry-failed asks again where no reply came;" in found.err
    assert "what was replied is read again, not bought again: for other replies, run with another --seed" in " ".join(
        found.err.split()
    )
