"""``evidencebench llm rewrite``: hypotheses rewritten into a file."""

from pathlib import Path

import pytest

from doors import read_hypotheses
from kit.command_line import SAMPLE, Command
from kit.fake_models import RunningServer, running_fake_server

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("more", ["", ",structured=true"])
def test_hypotheses_are_rewritten_into_a_file_for_controls(more: str, server: RunningServer, command: Command) -> None:
    call = f"llm rewrite paraphrased --data sample --model local/fake,base_url={server.base_url}{more}"
    estimate = command(f"{call} --estimate --json").json
    assert (estimate["n_instances"], estimate["models"][0]["requests"]) == (10, 10)
    assert server.totals()["requests"] == 0
    made = command(f"{call} -o other.jsonl")
    assert (made.code, made.out) == (0, "other.jsonl: 10 hypotheses\n"), made.err
    assert "asked: 10 sent" in made.err
    found = read_hypotheses(Path("other.jsonl"), SAMPLE)
    assert found == {one.id: f"In other words: {one.query.hypothesis}" for one in SAMPLE}
    assert "other.jsonl: exists" in command(f"{call} -o other.jsonl").err
    again = command(f"{call} -o other.jsonl --overwrite --json")
    assert (again.json["failures"], server.totals()["requests"]) == ({}, 10)
    (one,) = command(
        "controls bm25 --data sample --control paraphrased=other.jsonl -t er_at_10 --set draws=50 --json"
    ).json
    assert one["control"] == "paraphrased=other.jsonl"


def test_what_a_model_does_not_rewrite_is_told_and_missing(command: Command) -> None:
    with running_fake_server(SAMPLE, behaviour="wrong_format") as server:
        call = f"llm rewrite negated --data sample --limit 2 --model local/fake,base_url={server.base_url}"
        found = command(f"{call} -o other.jsonl")
    assert (found.code, found.out) == (1, "other.jsonl: 0 hypotheses; 2 of 2 are missing\n")
    assert f"{SAMPLE.ids[0]}: no rewritten hypothesis" in found.err
    assert Path("other.jsonl").read_bytes() == b""


def test_a_wrong_output_is_refused_before_anything_is_sent(server: RunningServer, command: Command) -> None:
    call = f"llm rewrite negated --data sample --model local/fake,base_url={server.base_url}"
    assert "Missing option '-o'" in command(call).err
    assert "expected the suffix .jsonl" in command(f"{call} -o a.csv").err
    assert server.totals()["requests"] == 0
