"""The ten things with ranx 0.3, which scores, compares and fuses runs."""

from pathlib import Path
from typing import Any

import numpy as np
from ranx import Qrels, Run, compare, evaluate, fuse, optimize_fusion
from scipy.stats import bootstrap, wilcoxon
from sklearn.model_selection import KFold

from things.given import DOCS, PAPERS, QRELS, QUERIES, RUNS, first_words, word_overlap

qrels = Qrels(QRELS)
runs = [Run(run, name=name) for name, run in RUNS.items()]
bm25, cues, lead = runs


def own_system() -> Any:
    run = {qid: dict(zip(DOCS[qid], word_overlap(text, PAPERS[qid]), strict=True)) for qid, text in QUERIES.items()}
    return evaluate(qrels, Run(run), "recall@10")


# Its measures have names alone: this one is in none of its tables and tests.
def own_measure() -> Any:
    def f1(relevant: Any, scores: Any) -> float:
        top = sorted(scores, key=scores.get, reverse=True)[:10]
        return 2 * len(relevant.keys() & top) / (len(relevant) + len(top))

    judged, ranked = qrels.to_dict(), bm25.to_dict()
    return np.mean([f1(judged[qid], ranked[qid]) for qid in judged])


def own_control() -> Any:
    def run_of(name: str, queries: dict[str, str]) -> Any:
        scores = {qid: word_overlap(text, PAPERS[qid]) for qid, text in queries.items()}
        return Run({qid: dict(zip(DOCS[qid], scores[qid], strict=True)) for qid in queries}, name=name)

    changed = {qid: first_words(text) for qid, text in QUERIES.items()}
    return compare(qrels, [run_of("mine", QUERIES), run_of("first words", changed)], ["recall@10"])


def own_test() -> Any:
    first, second = (evaluate(qrels, run, "recall@10", return_mean=False) for run in (bm25, cues))
    return wilcoxon(first, second).pvalue


# A table is of one set of labels: the second task is another cut-off.
def latex_table() -> Any:
    return compare(qrels, runs, ["recall@10", "recall@5"], max_p=0.05).to_latex()


# What it trains are the weights of a fusion of runs.
def cross_validation() -> Any:
    def part(run: Any, ids: Any) -> Any:
        return {qid: run[qid] for qid in ids}

    judged, ranked, ids = qrels.to_dict(), [run.to_dict() for run in runs], np.array(sorted(QUERIES))
    fused: dict[str, dict[str, float]] = {}
    for train, test in KFold(5).split(ids):
        learning = [Run(part(run, ids[train])) for run in ranked]
        weights = optimize_fusion(Qrels(part(judged, ids[train])), learning, method="wsum", metric="recall@10")
        fused |= fuse([Run(part(run, ids[test])) for run in ranked], method="wsum", params=weights).to_dict()
    return evaluate(qrels, Run(fused), "recall@10")


def training() -> Any:
    return optimize_fusion(qrels, runs, method="wsum", metric="recall@10")


# It writes no page: the table alone, by pandas.
def report() -> Any:
    table = compare(qrels, runs, ["recall@10", "recall@5"]).to_dataframe()
    return Path("report.html").write_text(table.to_html(), encoding="utf-8")


def leaderboard() -> Any:
    def interval(run: Any) -> Any:
        scores = evaluate(qrels, run, "recall@10", return_mean=False)
        return (scores.mean(), *bootstrap((scores,), np.mean).confidence_interval)

    return sorted(((*interval(run), run.name) for run in runs), reverse=True)


# Not possible: it ranks nothing, and reads no papers.
find = None
