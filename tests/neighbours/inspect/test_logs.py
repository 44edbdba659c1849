"""Any run as a log of inspect_ai: what it reads back is what we scored, to the last digit."""

import json
import math
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from doors import Answer, Failure, RunError, cli, encode_answer
from evidencebench import (
    Instance,
    Kind,
    Query,
    Ranking,
    Rules,
    TaskScores,
    evaluate,
    execute,
    load_sample,
    open_dataset,
    open_run,
    write_dataset,
)
from kit.examples import examples
from kit.strategies import labels, rankings

inspect_log = pytest.importorskip("inspect_ai.log", reason="needs inspect_ai, a neighbour's package")

from doors import log_of_run, write_log  # noqa: E402 - needs inspect_ai

N_SENTENCES = 8
SAMPLE = load_sample()


def clustered_standard_error(values: list[float], clusters: list[str]) -> float:
    """Return the standard error of a mean from the sums of deviations by cluster, times c / (c - 1) of c clusters."""
    deviations = np.array(values) - np.mean(values)
    sums = [deviations[[one == name for one in clusters]].sum() for name in dict.fromkeys(clusters)]
    if len(sums) == 1:
        return 0.0
    return math.sqrt(sum(one**2 for one in sums) * len(sums) / (len(sums) - 1)) / len(values)


def require_equal(path: Path, scores: dict[str, TaskScores]) -> None:
    """Fail unless a log holds exactly these scores."""
    log = inspect_log.read_eval_log(str(path))
    assert log.status == "success"
    assert {one.name for one in log.results.scores} == {name for name, found in scores.items() if found.ids}
    for figures in log.results.scores:
        found = scores[figures.name]
        of_log = {one.id: one.scores[figures.name] for one in log.samples if figures.name in one.scores}
        assert tuple(of_log) == found.ids
        for place, score in enumerate(of_log.values()):
            assert score.value == found.recalls[place]
            kept = score.metadata["measures"]
            assert kept == {key: column[place] for key, column in found.scores.items() if not math.isnan(column[place])}
        value_of = {name: metric.value for name, metric in figures.metrics.items()}
        assert value_of["mean"] == pytest.approx(found.mean_recall, abs=1e-15)
        expected = clustered_standard_error(found.recalls.tolist(), list(found.clusters))
        assert value_of["stderr"] == pytest.approx(expected, abs=1e-12)
        assert value_of["failed"] == found.counts.failed + found.counts.missing
        assert figures.scored_samples == len(found.ids)


@st.composite
def papers(draw: st.DrawFn) -> list[Instance]:
    """Draw instances, several of which may share a paper or a review."""
    return [
        Instance(
            query=Query(
                instance_id=f"i{number}",
                paper_id=draw(st.sampled_from(["p1", "p2"])),
                hypothesis="Tea helps <b>sleep</b>.",
                sentences=tuple(f"sentence {index}" for index in range(N_SENTENCES)),
                kinds=(Kind.BODY,) * N_SENTENCES,
            ),
            labels=replace(draw(labels(n_sentences=N_SENTENCES)), evaluations={}),
        )
        for number in range(draw(st.integers(1, 5)))
    ]


answers = st.one_of(
    st.none(),
    st.just(Failure(error="ReplyError: refused")),
    rankings(n_sentences=N_SENTENCES, repeats=True),
    st.lists(st.integers(0, N_SENTENCES - 1)).map(lambda some: Ranking(sentences=tuple(some), ordered=False)),
)


@given(papers(), st.lists(answers, min_size=5, max_size=5))
@examples(50)
def test_what_inspect_reads_of_a_run_is_what_we_score(instances: list[Instance], given_: list[Answer | None]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_dataset(folder / "data.json", instances)
        dataset = open_dataset(folder / "data.json")
        pairs = zip([one.id for one in instances], given_, strict=False)
        lines = [encode_answer(one, None, answer) + b"\n" for one, answer in pairs if answer is not None]
        (folder / "run.jsonl").write_bytes(b"".join(lines) or b'{"id":"i0","error":"none"}\n')
        run = open_run(folder / "run.jsonl")
        tasks = ["er_at_2", "er_at_optimal", "result_er_at_2"]
        scores = evaluate({"run": run}, dataset, tasks)["run"]
        asked = [name for name in tasks if scores[name].ids]
        if not asked:
            return
        write_log(log_of_run(folder / "run.jsonl", dataset, asked), folder / "run.eval")
        require_equal(folder / "run.eval", {name: scores[name] for name in asked})


def test_a_run_becomes_a_log_by_a_command_which_the_viewer_bundles_and_inspect_dumps(tmp_path: Path) -> None:
    run, log = tmp_path / "run.jsonl", tmp_path / "logs" / "run.eval"
    log.parent.mkdir()
    execute("bm25:k1=1.2", SAMPLE, run)
    arguments = ["export", "inspect", str(run), "--data", "sample", "-o", str(log)]
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    scores = evaluate({"run": open_run(run)}, SAMPLE, list(json.loads(result.stdout)["scores"]))["run"]
    require_equal(log, scores)
    header = inspect_log.read_eval_log(str(log), header_only=True)
    assert header.eval.model == "evidencebench/bm25"
    assert header.eval.model_args["k1"] == 1.2
    assert header.eval.metadata["data_sha256"] == SAMPLE.sha256
    assert header.eval.metadata["signatures"]["er_at_10"].startswith("aspect_recall|task:er_at_10|data:sample.json")

    def ran(*words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "inspect_ai", *words], capture_output=True, text=True, check=True
        ).stdout

    dumped = json.loads(ran("log", "dump", str(log)))
    assert [one["id"] for one in dumped["samples"]] == list(SAMPLE.ids)
    ran("view", "bundle", "--log-dir", str(log.parent), "--output-dir", str(tmp_path / "site"))
    listed = json.loads((tmp_path / "site" / "logs" / "listing.json").read_text())
    assert "run.eval" in str(listed)
    assert (tmp_path / "site" / "index.html").is_file()

    again = CliRunner().invoke(cli, arguments)
    assert "exists; choose another name" in str(again.exception)


def test_a_log_needs_a_name_that_inspect_knows(tmp_path: Path) -> None:
    execute("lead", SAMPLE, tmp_path / "run.jsonl", limit=2)
    log = log_of_run(tmp_path / "run.jsonl", SAMPLE, ["er_at_10"])
    assert len(log.samples) == 2
    with pytest.raises(RunError, match=r"expected a name that ends in \.eval"):
        write_log(log, tmp_path / "run.json")


def test_sentences_that_do_not_exist_are_left_out_where_the_rules_drop_them(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({SAMPLE.ids[0]: [9999, 3, 3, 1]}))
    rules = Rules(out_of_range="drop")
    score = log_of_run(path, SAMPLE, ["er_at_2"], rules=rules).samples[0].scores["er_at_2"]
    assert score.answer == "[3, 1]"
    expected = evaluate({"run": open_run(path)}, SAMPLE, "er_at_2", rules=rules)["run"]["er_at_2"]
    assert score.value == expected.recalls[0]


def test_a_sample_shows_the_sentences_the_failure_and_the_aspects(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first, second = SAMPLE.ids[:2]
    path.write_bytes(
        encode_answer(first, None, Ranking(sentences=(3, 1)))
        + b"\n"
        + encode_answer(second, None, Failure(error="ProgramTimeoutError: no answer"))
        + b"\n"
    )
    log = log_of_run(path, SAMPLE, ["er_at_10"])
    shown, failed_one, missing = log.samples[:3]
    assert shown.scores["er_at_10"].explanation.splitlines() == [
        f"[{index}] {SAMPLE[first].query.sentences[index]}" for index in (3, 1)
    ]
    assert shown.scores["er_at_10"].answer == "[3, 1]"
    labels_ = SAMPLE[first].labels
    assert shown.target == [f"{list(labels_.sources[one])} {labels_.texts[one]}" for one in labels_.aspects]
    assert failed_one.scores["er_at_10"].explanation == "ProgramTimeoutError: no answer"
    assert missing.scores["er_at_10"].explanation == "there is no answer"
    assert [one.scores["er_at_10"].value for one in (failed_one, missing)] == [0, 0]
