"""The ten things with mteb 2.26, which evaluates embedders and rerankers; sentence-transformers trains them."""

import json
from pathlib import Path
from typing import Any

import mteb
import numpy as np
import pandas as pd
from datasets import Dataset
from mteb.models import ModelMeta
from mteb.results import BenchmarkResults
from pytrec_eval import RelevanceEvaluator
from scipy.stats import bootstrap, ttest_rel, wilcoxon
from sentence_transformers import SentenceTransformerTrainer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sklearn.model_selection import KFold

from evidencebench import mteb_tasks
from things.given import (
    PAPERS,
    QRELS,
    QUERIES,
    SAMPLE,
    SYSTEMS,
    base_model,
    first_words,
    mteb_model,
    relevance,
    word_overlap,
)

tasks = mteb_tasks(SAMPLE, ["er_at_10", "result_er_at_5"])
models = {name: mteb_model(name) for name in SYSTEMS}
AspectRecall: Any = type(tasks[0])


class Mine:
    mteb_model_meta = ModelMeta.create_empty({"name": "me/mine"})

    def __init__(self, change: Any = str) -> None:
        self.change = change

    def predict(self, inputs1: Any, inputs2: Any, **_: Any) -> Any:
        texts = [[text for batch in batches for text in batch["text"]] for batches in (inputs1, inputs2)]
        return np.array([word_overlap(self.change(query), [text])[0] for query, text in zip(*texts, strict=True)])


def own_system() -> Any:
    return mteb.evaluate(Mine(), tasks[0], cache=None).to_dataframe()


def own_measure() -> Any:
    class WithF1(AspectRecall):
        def task_specific_scores(self, scores: Any, qrels: Any, results: Any, *more: Any, **options: Any) -> Any:
            def f1(relevant: Any, scores: Any) -> float:
                top = sorted(scores, key=scores.get, reverse=True)[:10]
                return 2 * len(relevant.keys() & top) / (len(relevant) + len(top))

            own = {"f1": np.mean([f1(qrels[qid], results[qid]) for qid in qrels])}
            return own | super().task_specific_scores(scores, qrels, results, *more, **options)

    return mteb.evaluate(models["bm25"], WithF1(), cache=None)[0].scores["test"][0]["f1"]


def own_control() -> Any:
    return [mteb.evaluate(Mine(change), tasks[0], cache=None).to_dataframe() for change in (str, first_words)]


# Scores by query are not kept: they are computed anew from the predictions.
def scores_of(name: str, k: int) -> Any:
    mteb.evaluate(models[name], tasks[0], cache=None, prediction_folder=name)
    run = json.loads(Path(name, tasks[0].prediction_file_name).read_text(encoding="utf-8"))["default"]["test"]
    judged = RelevanceEvaluator(QRELS, {f"recall.{k}"}).evaluate(run)
    return pd.Series({qid: values[f"recall_{k}"] for qid, values in judged.items()}).sort_index()


def own_test() -> Any:
    return wilcoxon(scores_of("bm25", 10), scores_of("cues", 10)).pvalue


# A dagger marks what differs from the first system.
def latex_table() -> Any:
    def cell(k: int, name: str) -> str:
        first, scores = scores_of("bm25", k), scores_of(name, k)
        mark = r"$^\dagger$" if ttest_rel(first, scores).pvalue < 0.05 else ""
        return f"{scores.mean():.3f}{mark}"

    cells = {f"recall at {k}": {name: cell(k, name) for name in models} for k in (10, 5)}
    return pd.DataFrame(cells).to_latex()


def trained(ids: Any) -> Any:
    pairs = [(QUERIES[qid], PAPERS[qid][index]) for qid in ids for index in np.flatnonzero(relevance(qid))]
    data = Dataset.from_dict(dict(zip(("anchor", "positive"), zip(*pairs, strict=True), strict=True)))
    model = base_model()
    SentenceTransformerTrainer(model, train_dataset=data, loss=MultipleNegativesRankingLoss(model)).train()
    return model


def cross_validation() -> Any:
    scores, ids = [], np.array(sorted(QUERIES))
    for train, test in KFold(5).split(ids):
        (fold,) = mteb_tasks(SAMPLE, "er_at_10")
        fold.load_data()
        part = fold.dataset["default"]["test"]
        part["queries"] = part["queries"].filter(lambda query, chosen=ids[test]: query["id"] in chosen)
        part["relevant_docs"] = {qid: part["relevant_docs"][qid] for qid in ids[test]}
        scores.append(mteb.evaluate(trained(ids[train]), fold, cache=None)[0].scores["test"][0]["recall_at_10"])
    return np.mean(scores)


def training() -> Any:
    return trained(QUERIES)


# It writes no page: a table alone, by pandas.
def report() -> Any:
    results = [mteb.evaluate(model, tasks, cache=None) for model in models.values()]
    table = BenchmarkResults(model_results=results).to_dataframe()
    return Path("report.html").write_text(table.to_html(), encoding="utf-8")


def leaderboard() -> Any:
    def interval(name: str) -> Any:
        scores = scores_of(name, 10)
        return (scores.mean(), *bootstrap((scores,), np.mean).confidence_interval)

    return sorted(((*interval(name), name) for name in models), reverse=True)


# By an embedder, of sentences that are there: it reads no papers.
def find() -> Any:
    qid, model = next(iter(QUERIES)), base_model()
    scores = model.similarity(model.encode([QUERIES[qid]]), model.encode(PAPERS[qid]))[0]
    return [(PAPERS[qid][index], float(scores[index])) for index in scores.topk(5).indices]
