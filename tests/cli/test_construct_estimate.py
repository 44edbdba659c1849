"""``construct estimate``, over real HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from doors import read_gold, write_synthetic_review
from evidencebench import load_sample
from kit.command_line import Command
from kit.fake_models import RunningServer, running_fake_server

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    """Serve what the synthetic review in the folder asks."""
    write_synthetic_review(tmp_path, model="local/any")
    with running_fake_server(load_sample(), studies=read_gold(tmp_path / "gold.jsonl")) as running:
        write_synthetic_review(tmp_path, model=f"local/any,base_url={running.base_url}")
        yield running


def test_an_estimate_sends_nothing_and_harvests_first(tmp_path: Path, server: RunningServer, command: Command) -> None:
    call = f"construct estimate {tmp_path / 'construction.toml'}"
    found = command(f"{call} --assume-aspects 5 --set assume-tokens=90 --set prices=prices.json --json").json
    steps = {one["step"]: one for one in found["steps"]}
    assert server.totals()["requests"] == 0
    assert (tmp_path / "work" / "passages.jsonl").is_file()
    assert [one["n_drafts"] for one in found["steps"]] == [6] * 6
    judge = steps["judge"]["left"]
    assert judge["requests"] % 5 == 0
    assert judge["reply_tokens"] == 90 * judge["requests"]
    (model,) = steps["judge"]["models"]
    assert model["model"] == "local/any"
    assert found["left"]["cost_usd"] == pytest.approx(
        (found["left"]["prompt_tokens"] * 1.0 + found["left"]["reply_tokens"] * 4.0) / 1e6, rel=1e-6
    )
    assert found["left"]["cost_in_batches_usd"] is None  # this table has no price for batches
    assert found["left"]["hours"] == pytest.approx(found["left"]["requests"] / 500 / 60)
    text = command(call).out
    assert "Assumed for summaries, hypotheses, aspects, judge, recheck, label-results: 8 aspects" in " ".join(
        text.split()
    )
    assert "unknown" in text
    assert max(map(len, text.splitlines())) <= 80


def test_after_the_run_nothing_is_left_to_pay(tmp_path: Path, server: RunningServer, command: Command) -> None:
    path = tmp_path / "construction.toml"
    path.write_text(path.read_text() + "[judge]\nat_once = true\n")
    assert command(f"construct run {path} --until aspects --json").json["dataset"] is None
    assert not (tmp_path / "work" / "judgments.jsonl").exists()
    before = command(f"construct estimate {path} --json").json
    assert command(f"construct run {path}").code == 0
    found = command(f"construct estimate {path} --json").json
    assert (found["left"]["requests"], found["used"]["requests"]) == (0, server.totals()["requests"])
    assert before["left"]["requests"] == found["used"]["requests"] - before["used"]["requests"]
    assert "Assumed" not in command(f"construct estimate {path}").out
