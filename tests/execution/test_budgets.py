"""A budget is a number of sentences or None wherever one is given, and nothing is graded or compared of nothing."""

import numpy as np
import pytest

from evidencebench import BM25, Brief, Ranking, Rules, Task, load_sample, select
from evidencebench.errors import RunError, RunMismatchError, SystemSpecError
from evidencebench.scoring.compare import mean_recalls
from evidencebench.scoring.score_runs import score_runs
from evidencebench.training.crossval import cross_validate
from evidencebench.training.crossval_splits import CrossValidation


@pytest.mark.parametrize("budget", [-1, -(10**9), np.int64(-3)])
def test_a_budget_below_0_is_refused(budget: int) -> None:
    message = f"budget: expected at least [01] sentences, or None for any number, got {budget}"
    with pytest.raises(ValueError, match=message):
        Brief(budget=budget)
    with pytest.raises(ValueError, match=message):
        Task(name="er_at_k", scope="all", budget=budget)
    with pytest.raises(ValueError, match=message):
        select(Ranking(sentences=(1, 2, 3)), budget)


def test_a_task_asks_for_a_sentence_at_least_while_an_optimum_may_be_0() -> None:
    with pytest.raises(ValueError, match="budget: expected at least 1 sentences"):
        Task(name="er_at_0", scope="all", budget=0)
    assert Brief(budget=0).budget == 0
    assert select(Ranking(sentences=(1, 2)), 0).size == 0


@pytest.mark.parametrize("budget", ["10", 2.5, (3,), True])
def test_a_budget_that_is_no_whole_number_is_refused(budget: object) -> None:
    with pytest.raises(TypeError, match="budget: expected a whole number of sentences, or None for any, got"):
        Brief(budget=budget)  # type: ignore[arg-type]


def test_a_budget_of_numpy_is_a_number() -> None:
    query = load_sample()[0].query
    assert BM25().rank(query, Brief(budget=np.int64(3))) == BM25().rank(query, Brief(budget=3))  # type: ignore[arg-type]


@pytest.mark.parametrize("scope", ["result", None, "ALL"])
def test_a_scope_that_there_is_not_is_refused(scope: str) -> None:
    with pytest.raises(ValueError, match="scope: expected one of all, results, got"):
        Brief(budget=3, scope=scope)  # type: ignore[arg-type]


def test_nothing_is_graded_compared_or_validated_of_nothing() -> None:
    with pytest.raises(RunError, match="expected at least one run file, got none"):
        score_runs([], load_sample(), [], rules=Rules())
    with pytest.raises(RunMismatchError, match="expected the scores of at least one system, got none"):
        mean_recalls([])
    with pytest.raises(SystemSpecError, match="expected at least one system to validate, got none"):
        cross_validate(CrossValidation(systems=()), load_sample())
