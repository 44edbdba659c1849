"""The ten things with ir_measures 0.4, which computes measures of runs; its aspect recall is StRecall."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ir_measures import Qrel, StRecall, calc_aggregate, define_byquery, iter_calc
from scipy.stats import bootstrap, ttest_rel, wilcoxon
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from things.given import DOCS, PAPERS, QUERIES, RUNS, SAMPLE, features, first_words, relevance, word_overlap

qrels = [
    Qrel(one.id, docno, 1, aspect)
    for one in SAMPLE
    for aspect in one.labels.aspects
    for docno in [f"{one.id}#{index:05}" for index in one.labels.sources.get(aspect, ())] or ["no_sentence"]
]


def own_system() -> Any:
    run = {qid: dict(zip(DOCS[qid], word_overlap(text, PAPERS[qid]), strict=True)) for qid, text in QUERIES.items()}
    return calc_aggregate([StRecall @ 10], qrels, run)


def own_measure() -> Any:
    def f1(qrels: Any, run: Any) -> Any:
        found = qrels[qrels.doc_id.isin(run.doc_id)]
        precision, recall = found.doc_id.nunique() / len(run), found.iteration.nunique() / qrels.iteration.nunique()
        return 2 * precision * recall / (precision + recall)

    measure = define_byquery(f1, qrel_inputs=["query_id", "doc_id", "relevance", "iteration"])
    return calc_aggregate([measure @ 10], qrels, RUNS["bm25"])


def own_control() -> Any:
    def score(queries: dict[str, str]) -> Any:
        scores = {qid: word_overlap(text, PAPERS[qid]) for qid, text in queries.items()}
        run = {qid: dict(zip(DOCS[qid], scores[qid], strict=True)) for qid in queries}
        return calc_aggregate([StRecall @ 10], qrels, run)

    return score(QUERIES), score({qid: first_words(text) for qid, text in QUERIES.items()})


def scores_of(measure: Any, run: Any) -> Any:
    return pd.Series({one.query_id: one.value for one in iter_calc([measure], qrels, run)}).sort_index()


def own_test() -> Any:
    return wilcoxon(scores_of(StRecall @ 10, RUNS["bm25"]), scores_of(StRecall @ 10, RUNS["cues"])).pvalue


# A dagger marks what differs from the first system.
def latex_table() -> Any:
    def cell(measure: Any, name: str) -> str:
        first, scores = (scores_of(measure, RUNS[each]) for each in ("bm25", name))
        mark = r"$^\dagger$" if ttest_rel(first, scores).pvalue < 0.05 else ""
        return f"{scores.mean():.3f}{mark}"

    cells = {str(measure): {name: cell(measure, name) for name in RUNS} for measure in (StRecall @ 10, StRecall @ 5)}
    return pd.DataFrame(cells).to_latex()


# It trains nothing: scikit-learn does.
def trained(ids: Any) -> Any:
    rows = np.vstack([features(QUERIES[qid], PAPERS[qid]) for qid in ids])
    labels = np.concatenate([relevance(qid) for qid in ids])
    return LogisticRegression(max_iter=1000).fit(rows, labels)


def cross_validation() -> Any:
    run, ids = {}, np.array(sorted(QUERIES))
    for train, test in KFold(5).split(ids):
        model = trained(ids[train])
        for qid in ids[test]:
            chances = model.predict_proba(features(QUERIES[qid], PAPERS[qid]))[:, 1]
            run[qid] = dict(zip(DOCS[qid], chances, strict=True))
    return calc_aggregate([StRecall @ 10], qrels, run)


def training() -> Any:
    return trained(QUERIES)


# It writes no page: a table alone, by pandas.
def report() -> Any:
    means = {name: calc_aggregate([StRecall @ 10, StRecall @ 5], qrels, run) for name, run in RUNS.items()}
    return Path("report.html").write_text(pd.DataFrame(means).T.to_html(), encoding="utf-8")


def leaderboard() -> Any:
    def interval(run: Any) -> Any:
        scores = scores_of(StRecall @ 10, run)
        return (scores.mean(), *bootstrap((scores,), np.mean).confidence_interval)

    return sorted(((*interval(run), name) for name, run in RUNS.items()), reverse=True)


# Not possible: it ranks nothing, and reads no papers.
find = None
