"""What version 0.1.0 wrote is read as it was, or refused by words that say what to do; see `earlier/README.md`."""

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doors import DataHeader, EncodedText, PeopleFolder, VectorCache, read_run
from evidencebench import __version__, open_dataset
from kit.command_line import Command

EARLIER = Path(__file__).parent / "earlier"

# Why a run or a cross-validation of an earlier version is not gone on with: other libraries than it began with.
OTHER_VERSIONS = r"(python|numpy|evidencebench) was '[^']*', now '[^']*'.*; choose another file, or start over"


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
    found = command(f"score {run}.jsonl --data data.json --draws 100 --json")
    assert missing_from(found.json, json.loads(Path(f"{run}.scores.json").read_text())) == []


def test_runs_are_compared_ranked_and_reported(command: Command) -> None:
    runs = "bm25.jsonl selector.jsonl set_selector.jsonl"
    for line in (f"leaderboard {runs}", f"compare {runs}", f"report {runs} -o report.html"):
        assert command(f"{line} --data data.json --draws 50 --task er_at_10").done


def test_an_interrupted_run_goes_on_to_the_same_answers(command: Command) -> None:
    found = command("run bm25 --data data.json -o interrupted.jsonl")
    if found.code == 0:
        assert Path("interrupted.jsonl").read_bytes() == Path("bm25.jsonl").read_bytes()
    else:
        assert re.search(OTHER_VERSIONS, found.err)


def test_replies_are_found_again_by_the_same_requests(command: Command) -> None:
    """No server is there to answer anything else."""
    system = "llm_base:model=local/any,base_url=http://127.0.0.1:18733/v1"
    tasks = "-t er_at_10 -t result_er_at_5"
    assert command(f"run {system} --data data.json --limit 2 {tasks} -o again.jsonl --max-attempts 1").done
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


def test_a_finished_cross_validation_is_not_done_again(command: Command) -> None:
    options = "--data data.json --folds 2 --seeds 1 --against lead --draws 100 --json"
    found = command(f"crossval bm25 {options} -o crossval.jsonl")
    if found.code == 0:
        assert missing_from(found.json, json.loads(Path("crossval.scores.json").read_text())) == []
        assert Path("crossval.jsonl").read_bytes() == (EARLIER / "crossval.jsonl").read_bytes()
    else:
        assert re.search(OTHER_VERSIONS, found.err)


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


def test_what_a_person_submitted_and_drafted_is_there(command: Command) -> None:
    data = open_dataset("data.json")
    header = DataHeader(name=data.name, path=str(data.path), sha256=data.sha256, n=len(data))
    people = PeopleFolder(Path("people"), data=header, task="er_at_10", limit=None)
    submitted, draft = people.person("Ada").submitted[data.ids[0]], people.person("Ada").drafts[data.ids[1]]
    people.close()
    assert (submitted.sentences, draft.sentences) == ((3, 5, 8), (2, 7))
    (run,) = Path("people").glob("ada-*.jsonl")
    assert command(f"score {run} --data data.json --draws 50").code == 0
