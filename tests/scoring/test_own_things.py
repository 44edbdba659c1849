"""A measure, a test and a task of one's own are objects that are passed: figures, tables and p-values follow them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doors import TaskError, UndefinedScoreError, board_of, paired_test, results_of_runs, score_runs, systems_table
from evidencebench import (
    BM25,
    Experiment,
    Measure,
    MeasureInput,
    Processes,
    Resampling,
    Task,
    compare,
    evaluate,
    execute,
    load_sample,
    make_system,
    task_named,
)

SAMPLE = load_sample()
AT_10 = "er_at_10"
FEW = Resampling(n_draws=100)
COVERED = Measure(name="covered", of=lambda outcome: outcome.n_covered, label="covered aspects")
PARTLY = Measure(  # undefined where no aspect is covered
    name="partly", of=lambda outcome: np.where(outcome.n_covered > 0, 7.0, np.nan), label="partly"
)


def selected(outcome: MeasureInput) -> Any:
    """Return the number of selected sentences; other processes find it by its name."""
    return outcome.n_selected


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Give runs of two systems, and one that was asked wrong hypotheses."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("bm25", "cues"):
        execute(name, SAMPLE, folder / f"{name}.jsonl")
    execute("bm25", SAMPLE, folder / "wrong.jsonl", control="wrong_hypothesis")
    return sorted(folder.iterdir())


def test_a_measure_of_ones_own_stands_beside_the_others_and_is_compared() -> None:
    given: dict[str, Any] = {"bm25": BM25(), "cues": make_system("cues")}
    scores = {name: by_task[AT_10] for name, by_task in evaluate(given, SAMPLE, AT_10, measures=[COVERED]).items()}
    plain = evaluate(given, SAMPLE, AT_10)["bm25"][AT_10]
    assert [*scores["bm25"].scores] == [*plain.scores, "covered"]
    n_aspects = np.array([len(SAMPLE[instance_id].labels.aspects) for instance_id in plain.ids])
    assert scores["bm25"].estimate("covered").mean == pytest.approx(np.mean(plain.recalls * n_aspects))
    found = compare(scores["bm25"], scores["cues"], measure=COVERED, resampling=FEW)
    assert found.first == scores["bm25"].estimate(COVERED, FEW)
    assert found.first.mean - found.second.mean == pytest.approx(found.test.difference.mean)
    with pytest.raises(ValueError, match=r"'coverd'.*'covered'"):
        scores["bm25"].estimate("coverd")
    with pytest.raises(ValueError, match=r"'covered'.*measures=\[Measure"):
        compare(plain, scores["cues"], measure=COVERED)


@pytest.mark.parametrize("returned", ["many", [1.0, 2.0], np.inf])
def test_a_measure_that_returns_something_else_is_named(returned: object) -> None:
    wrong = Measure(name="wrong", of=lambda _: returned, label="wrong")
    with pytest.raises(TypeError, match=r"'wrong': .*finite"):
        evaluate({"bm25": BM25()}, SAMPLE, AT_10, measures=[wrong])


def test_a_measure_does_not_take_the_name_of_another() -> None:
    taken = Measure(name="precision", of=selected, label="mine")
    with pytest.raises(ValueError, match="another 'precision'"):
        evaluate({"bm25": BM25()}, SAMPLE, AT_10, measures=[taken])
    wrong: Any = ["precision"]
    with pytest.raises(TypeError, match=r"Measure.*got 'precision'"):
        evaluate({"bm25": BM25()}, SAMPLE, AT_10, measures=wrong)


def test_tables_rank_by_a_measure_of_ones_own(runs: list[Path]) -> None:
    scored = score_runs(runs, SAMPLE, [AT_10], measures=[COVERED, PARTLY])
    board = board_of(scored, scored.tasks[0], FEW, COVERED)
    means = [row.recall.mean for row in board.standings]
    assert means == sorted(means, reverse=True)
    assert means[0] > 1
    bm25 = next(row for row in board.standings if row.system == "bm25")
    assert bm25.recall == scored.scores["bm25"][AT_10].estimate(COVERED, FEW)
    assert bm25.signature is not None
    assert bm25.signature.startswith("covered|task:er_at_10|")
    assert (bm25.fields()["covered"]["mean"], "aspect_recall" in bm25.fields()) == (bm25.recall.mean, False)
    (result,) = results_of_runs(scored, FEW, measure="covered")
    assert bm25.wrong_hypothesis is not None
    assert bm25.wrong_hypothesis.recall == result.comparison.second
    table = systems_table(scored, resampling=FEW, measure=COVERED)
    assert {row.name: row.cells[AT_10].recall for row in table.rows}["bm25"] == bm25.recall


def test_a_measure_that_is_undefined_here_and_there_counts_where_all_have_it(runs: list[Path]) -> None:
    scored = score_runs(runs, SAMPLE, [AT_10], measures=[PARTLY])
    columns = [*scored.scores.values(), *scored.controls.values()]
    defined = ~np.isnan([column[AT_10].scores["partly"] for column in columns]).any(axis=0)
    board = board_of(scored, scored.tasks[0], FEW, PARTLY)
    assert {(row.recall.mean, row.recall.n) for row in board.standings} == {(7.0, defined.sum())}
    assert {pair.test.difference.n for pair in board.pairs} == {defined.sum()}
    never = Measure(name="never", of=lambda outcome: outcome.n_covered * np.nan, label="never")
    with pytest.raises(UndefinedScoreError):
        board_of(score_runs(runs, SAMPLE, [AT_10], measures=[never]), scored.tasks[0], FEW, never)


def test_other_processes_compute_a_measure_that_they_can_import(runs: list[Path]) -> None:
    measure = Measure(name="selected", of=selected, label="selected")
    found = [
        score_runs(runs, SAMPLE, [AT_10], measures=[measure], engine=engine).scores["bm25"][AT_10].scores["selected"]
        for engine in (None, Processes(2))
    ]
    assert found[0].tolist() == found[1].tolist()


def test_query_controls_compare_a_measure_of_ones_own() -> None:
    (found,) = Experiment([BM25()], SAMPLE, tasks=AT_10, measures=[COVERED], draws=100).controls(COVERED).found
    scores = evaluate({"bm25": BM25()}, SAMPLE, AT_10, measures=[COVERED])["bm25"][AT_10]
    assert found.comparison.first == scores.estimate(COVERED, FEW)


def test_a_test_of_ones_own_gives_every_p_and_holm_adjusts_it(runs: list[Path]) -> None:
    asked = []

    def mine(first: Any, second: Any, clusters: Any) -> float:
        asked.append((len(first), len(second), len(clusters)))
        return 0.02 if first.mean() > second.mean() else 0.01

    resampling = Resampling(n_draws=50, test=mine)
    scored = score_runs(runs, SAMPLE, [AT_10])
    board = board_of(scored, scored.tasks[0], resampling)
    runs_only = [pair for pair in board.pairs if not pair.is_apart]
    assert {(pair.test.p_value, pair.p_value, pair.p_text) for pair in runs_only} == {(0.02, 0.02, "0.0200")}
    apart = [pair for pair in board.pairs if pair.is_apart and pair.adjusted is not None]
    assert {pair.p_value for pair in apart} == {0.02 * pair.adjusted.n_tests for pair in apart if pair.adjusted}
    assert set(asked) == {(len(SAMPLE), len(SAMPLE), len(SAMPLE))}
    assert all("|test:mine|" in row.signature for row in board.standings if row.signature)
    assert resampling.test_name == "mine"
    assert FEW.test_name == "sign-flip test"


def test_a_test_of_ones_own_is_no_bound_and_not_asked_of_equal_scores() -> None:
    def never(*_: Any) -> float:
        raise AssertionError("asked")

    equal = paired_test([0.5, 1], [0.5, 1], ["a", "b"], Resampling(test=never))
    assert (equal.p_value, equal.can_be_significant) == (1.0, False)
    found = paired_test([0.5, 1], [0, 0], ["a", "b"], Resampling(test=lambda *_: 0.0))
    assert (found.p_value, found.is_bound, found.can_be_significant) == (0.0, False, True)


@pytest.mark.parametrize("returned", [1.5, -0.1, float("nan"), "small", None, (0.1, 0.2)])
def test_a_test_that_returns_no_p_is_named(returned: Any) -> None:
    def odd(*_: Any) -> Any:
        return returned

    with pytest.raises(ValueError, match=r"'odd': .*0\.\.1, got "):
        paired_test([0.5, 1], [0, 0], ["a", "b"], Resampling(test=odd))
    wrong: Any = 0.05
    with pytest.raises(TypeError, match=r"test: .*function"):
        Resampling(test=wrong)


@pytest.mark.parametrize(
    ("name", "budgets"),
    [
        ("er_at_5_percent", [max(1, round(0.05 * len(one.query.sentences))) for one in SAMPLE]),
        ("er_at_99_percent", [round(0.99 * len(one.query.sentences)) for one in SAMPLE]),
        ("er_at_aspects", [len(one.labels.aspects) for one in SAMPLE]),
        ("result_er_at_aspects", [len(one.labels.that_count("results")) for one in SAMPLE]),
        ("result_er_at_7", [7] * len(SAMPLE)),
    ],
)
def test_a_task_of_ones_own_counts_a_number_a_share_or_as_many_as_aspects(name: str, budgets: list[int]) -> None:
    task = task_named(name)
    assert Task(name=name, scope=task.scope, budget=task.budget) == task
    assert [task.budget_for(one) for one in SAMPLE if task.applies_to(one.labels)] == [
        budget for budget, one in zip(budgets, SAMPLE, strict=True) if task.applies_to(one.labels)
    ]


@pytest.mark.parametrize("name", ["er_at_0", "er_at_100_percent", "er_at_0_percent", "er_at_5%", "er_at_aspect"])
def test_a_name_that_says_no_budget_is_no_task(name: str) -> None:
    with pytest.raises(TaskError, match=r"no task .*evidencebench tasks"):
        task_named(name)


def test_a_task_without_such_a_name_is_evaluated_but_not_written_into_a_run(tmp_path: Path) -> None:
    for task in (Task(name="mine", scope="all", budget=0.1), Task(name="er_at_5_percent", scope="all", budget=0.1)):
        assert evaluate({"bm25": make_system("bm25")}, SAMPLE, task)["bm25"][task.name].ids == SAMPLE.ids
        with pytest.raises(TaskError, match="name it by what it counts"):
            execute("bm25", SAMPLE, tmp_path / "run.jsonl", tasks=task)
    with pytest.raises(ValueError, match=r"budget: .*1\.5"):
        Task(name="er_at_5_percent", scope="all", budget=1.5)


def test_a_share_of_the_sentences_is_a_task_of_every_table_and_of_other_processes(tmp_path: Path) -> None:
    how: dict[str, Any] = {"tasks": ["er_at_10_percent", "er_at_aspects"], "controls": (), "folder": tmp_path}
    boards = Experiment(["bm25", "finder"], "sample", **how, jobs=2).leaderboard().found
    for task, board in boards.items():
        alone = evaluate({"bm25": make_system("bm25")}, SAMPLE, task)["bm25"][task].mean_recall
        assert {row.system: row.recall.mean for row in board.standings}["bm25"] == pytest.approx(alone)
    page = Experiment(["bm25", "finder"], "sample", **how).report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "10 % of the sentences" in page
