"""What version 0.1.0 wrote is read as it was, or refused by words that say what to do; see `earlier/README.md`."""

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doors import EncodedText, VectorCache, read_run
from evidencebench import Ranking, __version__
from kit.command_line import Command

EARLIER = Path(__file__).parent / "earlier"


@pytest.fixture(autouse=True)
def _copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a copy of the files, its cache unpacked."""
    shutil.copytree(EARLIER, tmp_path / "earlier")
    monkeypatch.chdir(tmp_path / "earlier")
    for packed in Path("cache").glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", "cache")


def missing_from(now: Any, before: Any, path: str = "$") -> list[str]:
    """Return where a JSON value lacks, or tells otherwise, what an earlier one told; it may tell more."""
    if isinstance(before, dict):
        if not isinstance(now, dict):
            return [path]
        return [
            place
            for key, value in before.items()
            for place in (missing_from(now[key], value, f"{path}.{key}") if key in now else [f"{path}.{key}"])
        ]
    if isinstance(before, list):
        if not isinstance(now, list) or len(now) != len(before):
            return [path]
        return missing_from(dict(enumerate(now)), dict(enumerate(before)), path)
    if isinstance(before, str):
        before = before.replace("evidencebench:0.1.0", f"evidencebench:{__version__}")
    # The last bit of a number depends on the order in which its terms are added, which may change.
    is_same = now == (pytest.approx(before, rel=1e-12, abs=1e-12) if isinstance(before, float) else before)
    return [] if is_same else [f"{path}: {before!r}, now {now!r}"]


def test_data_is_valid_and_its_optima_are_derived_again_byte_for_byte(command: Command) -> None:
    assert command("data validate data.json --optima").code == 0
    assert command("data solve data.json -o again.json").code == 0
    assert Path("again.json").read_bytes() == Path("data.json").read_bytes()


@pytest.mark.parametrize("run", ["bm25", "llm", "selector", "set_selector"])
def test_a_run_has_the_scores_that_it_had(run: str, command: Command) -> None:
    found = command(f"score {run}.jsonl --data data.json --set draws=100 --json")
    assert missing_from(found.json, json.loads(Path(f"{run}.scores.json").read_text())) == []


def test_runs_are_compared_ranked_and_reported(command: Command) -> None:
    runs = "bm25.jsonl selector.jsonl set_selector.jsonl"
    for line in (f"leaderboard {runs}", f"compare {runs}", f"report {runs} -o report.html"):
        assert command(f"{line} --data data.json --set draws=50 --task er_at_10").done


def test_an_interrupted_run_is_not_gone_on_with_and_is_kept(command: Command) -> None:
    before = Path("interrupted.jsonl").read_bytes()
    assert "holds something else" in command("run bm25 --data data.json -o interrupted.jsonl").refusal
    assert Path("interrupted.jsonl").read_bytes() == before


def test_replies_are_found_again_by_the_same_requests(command: Command) -> None:
    """No server is there to answer anything else."""
    system = "llm_base:model=local/any,base_url=http://127.0.0.1:18733/v1"
    tasks = "-t er_at_10 -t result_er_at_5"
    assert command(f"run {system} --data data.json --limit 2 {tasks} -o again.jsonl --set max-attempts=1").done
    before, now = read_run("llm.jsonl"), read_run("again.jsonl")
    assert now.done == before.done
    assert [now.answer(*key) for key in before.done] == [before.answer(*key) for key in before.done]
    assert "tokens; price unknown; time unknown)" in command("llm show again.jsonl evidencebench_sample_id_0").out


def test_replies_are_listed(command: Command) -> None:
    (model,) = command("cache list --json").json["replies"]["models"]
    assert (model["model"], model["n_replies"], model["cost_usd"]) == ("local/any", 5, None)


def test_vectors_are_found_again() -> None:
    store = VectorCache(Path("cache"), "an encoder")
    text = EncodedText(text="Tea.")
    assert np.array_equal(store.get([text])[text].vector, np.array([0.6, 0.8], dtype=np.float32))
    store.close()


@pytest.mark.parametrize(
    "words",
    [
        "run selector:model=selector --data data.json -o x.jsonl",
        "run best:model=best --data data.json -o x.jsonl",
        "run set_selector --data data.json -o x.jsonl",
        "run diverse:system=[selector:model=selector] --data data.json -o x.jsonl",
        "run finder:model=selector --data data.json -o x.jsonl",
        "run finder:model=best --data data.json -o x.jsonl",
        "run finder:model=set_model --data data.json -o x.jsonl",
        "train selector:hypothesis=false --data sample -o model",
        "train best --data sample -o model",
        "train finder --data sample -o selector --overwrite",
        "crossval best --data sample",
    ],
)
def test_systems_that_were_taken_away_and_their_models_are_refused_with_what_to_do(
    words: str, command: Command
) -> None:
    Path("set_model").mkdir()
    Path("set_model/card.json").write_text('{"format": "evidencebench-set-model/1", "features": ["length_rank"]}')
    refused = command(words)
    said = r"'selector', 'best' and 'set_selector' were taken away, .* train and use 'finder' ins"
    assert (bool(re.search(said, refused.refusal)), refused.err.count("\n")) == (True, 1)
    assert not Path("model").exists()


def test_what_a_person_submitted_is_scored(command: Command) -> None:
    (path,) = Path("people").glob("ada-*.jsonl")
    run = read_run(path)
    (submission,) = [run.answer(*key) for key in run.done]
    assert isinstance(submission, Ranking)
    assert submission.sentences == (3, 5, 8)
    assert set(submission.notes) == {"seconds", "seconds_open"}
    assert command(f"score {path} --data data.json --set draws=50").code == 0


def test_a_run_is_written_in_the_present_form_and_keeps_its_answers(command: Command) -> None:
    assert command("export run bm25.jsonl -o now.jsonl").code == 0
    assert Path("now.jsonl").read_bytes().startswith(b'{"evidencebench_answers":1,"role":"system"')
    before, now = read_run("bm25.jsonl"), read_run("now.jsonl")
    assert now.header == before.header
    assert [now.answer(*key) for key in before.done] == [before.answer(*key) for key in before.done]
