"""The real ranx, pytrec_eval and PyTerrier take our dicts and frames, and give scores that ours explain."""

# ruff: noqa: E402 - imports stand behind importorskip

import json
import os
from pathlib import Path

import pytest

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # ranx would be compiled for 40 s, to the same values
ranx = pytest.importorskip("ranx", reason="needs ranx, a neighbour's package")
pt = pytest.importorskip("pyterrier", reason="needs python-terrier, a neighbour's package")

import pandas as pd
import pytrec_eval
from ir_measures import StRecall

from doors import RunFile, write_trec
from evidencebench import (
    answers_of_frame,
    evaluate,
    execute,
    load_sample,
    open_run,
    qrels_dict,
    run_dict,
    sentences_frame,
    with_qrels,
)

SAMPLE = load_sample()
K = 10


@pytest.fixture(scope="module")
def bm25(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    path = tmp_path_factory.mktemp("runs") / "bm25.jsonl"
    execute("bm25", SAMPLE, path)
    return open_run(path)


@pytest.fixture(scope="module")
def recalls(bm25: RunFile) -> dict[str, float]:
    """Give the share of relevant sentences among the first ten: recall where each sentence is an aspect."""
    relabelled = list(with_qrels(SAMPLE, qrels_dict(SAMPLE)))
    scores = evaluate({"run": bm25}, relabelled, f"er_at_{K}")["run"][f"er_at_{K}"]
    return dict(zip(scores.ids, scores.recalls.tolist(), strict=True))


def test_ranx_gives_the_recall_that_ours_is_with_a_sentence_as_aspect(bm25: RunFile, recalls: dict[str, float]) -> None:
    qrels, run = ranx.Qrels(qrels_dict(SAMPLE)), ranx.Run(run_dict(bm25))
    mean = ranx.evaluate(qrels, run, f"recall@{K}")
    assert mean == pytest.approx(sum(recalls.values()) / len(recalls), abs=1e-12)
    assert dict(run.scores[f"recall@{K}"]) == pytest.approx(recalls, abs=1e-12)


def test_a_run_that_ranx_fused_is_scored_by_us(bm25: RunFile) -> None:
    lead = {one.id: {index: -index for index in range(len(one.query.sentences))} for one in SAMPLE}
    fused = ranx.fuse(runs=[ranx.Run(run_dict(bm25)), ranx.Run(run_dict(lead))], method="rrf")
    answers = {qid: {name: float(score) for name, score in scores.items()} for qid, scores in fused.run.items()}
    scores = evaluate({"fused": answers, "bm25": bm25}, SAMPLE, "er_at_10")
    assert scores["fused"]["er_at_10"].counts.missing == 0
    assert scores["fused"]["er_at_10"].mean_recall != scores["bm25"]["er_at_10"].mean_recall


def test_pytrec_eval_gives_the_same_recall(bm25: RunFile, recalls: dict[str, float]) -> None:
    found = pytrec_eval.RelevanceEvaluator(qrels_dict(SAMPLE), {f"recall.{K}"}).evaluate(run_dict(bm25))
    assert {qid: values[f"recall_{K}"] for qid, values in found.items()} == pytest.approx(recalls, abs=1e-6)


@pytest.fixture(scope="module")
def trec(bm25: RunFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "trec"
    write_trec(folder, SAMPLE, [bm25])
    return folder


def test_the_files_are_an_experiment_of_pyterrier(bm25: RunFile, trec: Path) -> None:
    topics = pt.io.read_topics(str(trec / "topics.tsv"), format="singleline")
    system = pt.Transformer.from_df(pt.io.read_results(str(trec / "runs" / "bm25.run")))
    qrels = pd.read_csv(trec / "qrels.all.txt", sep=" ", names=["qid", "iteration", "docno", "label"])
    table = pt.Experiment([system], topics, qrels, eval_metrics=[StRecall @ K], perquery=True)
    ours = evaluate({"run": bm25}, SAMPLE, f"er_at_{K}")["run"][f"er_at_{K}"]
    assert dict(zip(table["qid"], table["value"], strict=True)) == pytest.approx(
        dict(zip(ours.ids, ours.recalls.tolist(), strict=True)), abs=1e-12
    )


def test_a_reranker_of_pyterrier_gets_all_sentences_and_its_results_are_answers(trec: Path) -> None:
    topics = pt.io.read_topics(str(trec / "topics.tsv"), format="singleline")
    frame = sentences_frame(SAMPLE, backend="pandas")
    candidates = frame.rename(columns={"id": "qid", "sentence": "docno"}).astype({"docno": str}).merge(topics)
    longest_first = pt.apply.doc_score(lambda row: float(len(row["text"])))
    answers = answers_of_frame(longest_first(candidates))
    ours = {one.id: {index: len(text) for index, text in enumerate(one.query.sentences)} for one in SAMPLE}
    scores = evaluate({"theirs": answers, "ours": ours}, SAMPLE, "er_at_10")
    assert scores["theirs"]["er_at_10"].recalls.tolist() == scores["ours"]["er_at_10"].recalls.tolist()


def test_pyterrier_reads_the_files_that_are_exported(bm25: RunFile, trec: Path) -> None:
    topics = pt.io.read_topics(str(trec / "topics.tsv"), format="singleline")
    rows = list(topics.itertuples(index=False, name=None))
    assert rows == [(one.id, one.query.hypothesis) for one in SAMPLE]
    results = pt.io.read_results(str(trec / "runs" / "bm25.run"))
    assert answers_of_frame(results) == run_dict(bm25)
    report = json.loads((trec / "evidencebench.json").read_text())
    assert len(pt.io.read_qrels(str(trec / "qrels.all.txt"))) == report["qrels"]["qrels.all.txt"]
    assert report["n_topics"] == len(SAMPLE)
