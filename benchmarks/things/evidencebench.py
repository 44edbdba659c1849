"""The ten things with evidencebench."""

from typing import Any

from scipy.stats import wilcoxon

from evidencebench import Experiment, Measure, Query, cross_validate, find_evidence, rank_by_score, read_paper, train
from things.given import QUERIES, SYSTEMS, first_words, word_overlap

# `Experiment` is written as it is designed; its `measures`, its `test` and a control of one's own have not run yet.


def own_system() -> Any:
    mine = {"mine": lambda query, _: rank_by_score(word_overlap(query.hypothesis, query.sentences))}
    return Experiment(mine, "sample", tasks="er_at_10").table()


def own_measure() -> Any:
    def f1(outcome: Any) -> Any:
        precision, recall = outcome.n_relevant / outcome.n_selected, outcome.n_covered / outcome.n_aspects
        return 2 * precision * recall / (precision + recall)

    measure = Measure(name="f1", of=f1, label="F1")
    return Experiment("bm25", "sample", tasks="er_at_10", measures=[measure]).table()


def own_control() -> Any:
    def three_words(query: Query) -> str:
        return first_words(query.hypothesis)

    mine = {"mine": lambda query, _: rank_by_score(word_overlap(query.hypothesis, query.sentences))}
    return Experiment(mine, "sample", tasks="er_at_10", controls=[three_words]).controls()


def own_test() -> Any:
    both = Experiment(["bm25", "cues"], "sample", tasks="er_at_10", test=lambda a, b, _: wilcoxon(a, b).pvalue)
    return both.compare("bm25", "cues")


def latex_table() -> Any:
    return Experiment(SYSTEMS, "sample", tasks=["er_at_10", "result_er_at_5"]).table().latex()


def cross_validation() -> Any:
    return cross_validate("finder", "sample")


def training() -> Any:
    return train("finder", "sample", "model")


def report() -> Any:
    return Experiment(SYSTEMS, "sample", tasks=["er_at_10", "result_er_at_5"]).report("report.html")


def leaderboard() -> Any:
    return Experiment(SYSTEMS, "sample", tasks="er_at_10").leaderboard()


def find() -> Any:
    return find_evidence(read_paper("paper.txt"), next(iter(QUERIES.values())), budget=5)
