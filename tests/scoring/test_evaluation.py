"""Grading and comparing: what counts, what is left out, what is said beside a score, and what two runs share."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from doors import (
    AnswerError,
    RunMismatchError,
    Selection,
    UndefinedScoreError,
    case_of,
    compare_pairs,
    grade,
    kind_breakdown,
    mean_recalls,
    overlap_of,
    ranges_from,
    sample_path,
    score_fields,
    signature,
)
from evidencebench import (
    MEASURES,
    TASKS,
    Dataset,
    Experiment,
    NamedSystem,
    Query,
    Ranking,
    RankingTask,
    Resampling,
    Rules,
    Task,
    TaskScores,
    answers_from,
    answers_of,
    compare,
    evaluate,
    load_sample,
    make_system,
    open_dataset,
    open_run,
    task_named,
)
from kit.made_instances import dataset_of, made
from kit.strategies import selections

SAMPLE = load_sample()
ALL_TASKS = tuple(TASKS.values())
AT_10 = TASKS["er_at_10"]
BLIND = ("random", "lead", "lead_no_headings", "abstract_first", "abstract_backwards", "longest", "most_digits")
FEW = Resampling(n_draws=200)


def scores_of(
    system: str, task: Task = AT_10, *, dataset: Dataset = SAMPLE, limit: int | None = None, rules: Rules | None = None
) -> TaskScores:
    source = answers_from(make_system(system))
    return evaluate({"it": source}, dataset, [task], limit=limit, rules=rules)["it"][task.name]


def graded(
    answers: Mapping[str, Ranking], dataset: Dataset, task: Task = AT_10, *, rules: Rules | None = None
) -> TaskScores:
    """Grade answers given by hand."""
    return evaluate({"by hand": answers_of(answers)}, dataset, [task], rules=rules)["by hand"][task.name]


def test_an_instance_that_a_task_does_not_apply_to_is_left_out_and_n_says_so() -> None:
    without = [instance.id for instance in SAMPLE if not instance.labels.results]
    scores = scores_of("bm25", TASKS["result_er_at_5"])
    assert scores.ids == tuple(instance_id for instance_id in SAMPLE.ids if instance_id not in without)
    assert scores.counts.not_applicable == len(without) == 1
    fields = score_fields(scores, scores.estimates(resampling=FEW))
    assert scores.estimate("aspect_recall", FEW).n == fields["n"] == len(SAMPLE) - 1
    assert without[0] not in fields["per_instance"]


def test_recall_of_all_aspects_and_of_coverable_ones_have_their_own_denominators(tmp_path: Path) -> None:
    half = made("half", {"a": (0,), "b": (1,), "c": (), "d": ()}, review="r")
    dataset = dataset_of(tmp_path, half, made("none", {"a": (), "b": ()}, review="r"))
    scores = graded({"half": Ranking(sentences=(0, 5)), "none": Ranking(sentences=(3,))}, dataset)
    nan = float("nan")
    expected = {
        "aspect_recall": [1 / 4, 0],
        "coverable_aspect_recall": [1 / 2, nan],
        "precision": [1 / 2, 0],
        "ceiling": [1 / 2, 0],
        "regret": [1 / 4, 0],
        "relative_recall": [1 / 2, nan],
    }
    assert set(expected) == set(MEASURES)
    for measure, values in expected.items():
        np.testing.assert_array_equal(scores.scores[measure], values, err_msg=measure)
    fields = score_fields(scores, scores.estimates(resampling=FEW))
    assert (fields["aspect_recall"]["n"], fields["coverable_aspect_recall"]["n"]) == (2, 1)
    assert fields["aspect_recall"]["n_clusters"] == 1  # both are of one review


def test_a_measure_that_is_defined_nowhere_is_null_and_not_0(tmp_path: Path) -> None:
    scores = graded({}, dataset_of(tmp_path, made("none", {"a": ()})))
    assert score_fields(scores, scores.estimates(resampling=FEW))["coverable_aspect_recall"] is None
    with pytest.raises(UndefinedScoreError):
        scores.estimate("coverable_aspect_recall")


@pytest.mark.parametrize("system", ["bm25", "random", "oracle"])
@pytest.mark.parametrize("task", [*ALL_TASKS, task_named("er_at_3")], ids=lambda task: task.name)
def test_recall_and_regret_add_up_to_the_ceiling(system: str, task: Task) -> None:
    found = scores_of(system, task).scores
    np.testing.assert_allclose(found["aspect_recall"] + found["regret"], found["ceiling"], rtol=0, atol=1e-15)
    np.testing.assert_allclose(found["relative_recall"] * found["ceiling"], found["aspect_recall"], atol=1e-15)
    assert (found["regret"] >= -1e-12).all()
    if system == "oracle":
        np.testing.assert_allclose(found["regret"], 0, atol=1e-12)


def test_repeats_and_answers_over_length_are_counted(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, made("x", {"a": (0,), "b": (1,)}))
    for sentences, ordered, rules, counts, recall in (
        ((0, *range(11)), False, Rules(), (1, 1), pytest.approx(10 / 11)),
        ((*range(10), 0), False, Rules(), (1, 0), 1),
        ((0, *range(11)), True, Rules(), (1, 0), 1),
        (range(20)[::-1], False, Rules(over_length="first"), (0, 1), 0),
    ):
        scores = graded({"x": Ranking(sentences=tuple(sentences), ordered=ordered)}, dataset, rules=rules)
        assert (scores.counts.duplicates, scores.counts.over_length) == counts
        assert scores.recalls[0] == recall


def test_the_scores_of_nothing_and_on_nothing_are_undefined() -> None:
    with pytest.raises(UndefinedScoreError, match=r"no source.*at least one, such as"):
        evaluate({}, SAMPLE, AT_10)
    with pytest.raises(UndefinedScoreError, match="no task"):
        evaluate({"it": {}}, SAMPLE, [])


def test_a_sentence_that_does_not_exist_is_an_error_with_its_place_or_dropped_and_counted(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, made("x", {"a": (0,)}), made("y", {"a": (0,)}))
    answers = {"x": Ranking(sentences=(20, -1, 0)), "y": Ranking(sentences=(99,))}
    said = r"^by hand: x: .* 20, .*0\.\.19; .*--set out-of-range=drop"
    with pytest.raises(AnswerError, match=said):
        graded(answers, dataset)
    scores = graded(answers, dataset, rules=Rules(out_of_range="drop"))
    assert (scores.counts.out_of_range, scores.counts.empty) == (3, 1)
    # an answer of which nothing is left must not pay: it is empty, not left out
    assert list(scores.scores["aspect_recall"]) == list(scores.scores["precision"]) == [1.0, 0.0]


def test_where_the_optimum_takes_no_sentence_an_answer_of_none_has_no_precision(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, made("x", {"a": ()}), made("y", {"a": (0,)}))
    none = Ranking(sentences=())
    scores = graded({"x": none, "y": none}, dataset, TASKS["er_at_optimal"])
    assert np.isnan(scores.scores["precision"][0])
    assert scores.scores["precision"][1] == 0.0


def test_several_sources_and_tasks_in_one_pass_score_as_each_alone() -> None:
    names = ("bm25", "random", "greedy_oracle")
    together = evaluate({name: answers_from(make_system(name)) for name in names}, SAMPLE, ALL_TASKS)
    for name in names:
        for task in ALL_TASKS:
            alone = scores_of(name, task)
            assert together[name][task.name].selections == alone.selections
            assert together[name][task.name].counts == alone.counts
            for measure in MEASURES:
                np.testing.assert_array_equal(together[name][task.name].scores[measure], alone.scores[measure])


def test_a_system_is_asked_once_where_one_answer_serves_every_task() -> None:
    asked = []

    class Counting:
        def rank(self, query: Query, task: RankingTask) -> Ranking:
            asked.append((query.instance_id, task))
            return Ranking(sentences=(0,))

    seen: list[tuple[int, int]] = []
    source = answers_from(NamedSystem(name="counting", options={}, system=Counting()))
    evaluate({"it": source}, SAMPLE, ALL_TASKS, limit=4, on_progress=lambda *now: seen.append(now))
    assert asked == [(instance_id, RankingTask(budget=None)) for instance_id in SAMPLE.ids[:4]]
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("system", ["random", "bm25", "abstract_backwards", "oracle"])
def test_the_kinds_add_up(system: str) -> None:
    scores = scores_of(system)
    kinds = kind_breakdown(scores, SAMPLE)
    assert sum(row["selected"] for row in kinds.values()) == pytest.approx(1)
    recall = scores.estimate("aspect_recall", FEW).mean
    assert max(row["recall"] for row in kinds.values()) <= recall + 1e-12
    assert recall <= sum(row["recall"] for row in kinds.values()) + 1e-12
    assert all(0 <= row["recall"] <= row["available"] + 1e-12 <= 1 + 1e-9 for row in kinds.values())


def test_a_system_that_reads_the_abstract_only_finds_everything_there() -> None:
    scores = scores_of("abstract_backwards", task_named("er_at_3"))
    kinds = kind_breakdown(scores, SAMPLE)
    assert kinds["abstract"]["selected"] == 1
    assert kinds["abstract"]["recall"] == pytest.approx(scores.estimate("aspect_recall", FEW).mean)
    assert kinds["heading"]["recall"] == kinds["body"]["recall"] == kinds["body"]["selected"] == 0


@pytest.mark.parametrize("task", ["er_at_optimal", "result_er_at_optimal", "er_at_10", "result_er_at_5"])
@pytest.mark.parametrize("which", ["sample", pytest.param("train", marks=pytest.mark.data)])
def test_the_selections_stored_in_the_data_score_what_the_oracle_scores(
    request: pytest.FixtureRequest, which: str, task: str, tmp_path: Path
) -> None:
    dataset = SAMPLE if which == "sample" else request.getfixturevalue(which)
    stored = {instance.id: instance.labels.evaluations.get(task) for instance in dataset}
    path = tmp_path / "stored.json"
    path.write_text(json.dumps({name: found.sentences for name, found in stored.items() if found}))
    scores = evaluate({"it": answers_of(open_run(path))}, dataset, task)["it"][task]
    np.testing.assert_array_equal(
        scores.scores["aspect_recall"], scores_of("oracle", TASKS[task], dataset=dataset).scores["aspect_recall"]
    )
    assert scores.counts.over_length == scores.counts.missing == 0
    if TASKS[task].budget == "optimal":
        assert set(scores.scores["aspect_recall"]) == {1.0}
    n_covered = [len(found.covered) for found in stored.values() if found]
    n_aspects = [len(dataset[name].labels.that_count(TASKS[task].scope)) for name in scores.ids]
    np.testing.assert_allclose(scores.scores["aspect_recall"], np.divide(n_covered, n_aspects))


def test_every_thing_that_decides_a_score_changes_its_signature(tmp_path: Path) -> None:
    other = tmp_path / sample_path().name
    other.write_bytes(sample_path().read_bytes() + b"\n")
    given: dict[str, Any] = {"dataset": SAMPLE, "system": "bm25(b=0.4)", "task": AT_10, "n": 10}
    rules = (Rules(over_length="first"), Rules(ties="expected"), Rules(out_of_range="drop"))
    changes: list[dict[str, Any]] = [
        *({}, {"dataset": open_dataset(other)}, {"system": "bm25(b=0.5)"}, {"task": TASKS["er_at_optimal"]}, {"n": 9}),
        *({"rules": one} for one in rules),
        *({"resampling": one} for one in (Resampling(seed=1), Resampling(n_draws=999), Resampling(level=0.9))),
    ]
    assert len({signature(**given | change) for change in changes}) == len(changes)
    assert signature(**given).startswith("aspect_recall|task:er_at_10|data:sample.json@sha256:")
    assert "system:bm25(b=0.4)|instances:10|" in signature(**given)


def test_the_same_seed_gives_the_same_digits_and_another_the_same_mean() -> None:
    scores, other = scores_of("bm25"), scores_of("tfidf")
    assert scores.estimates(resampling=FEW) == scores_of("bm25").estimates(resampling=FEW)
    assert compare(scores, other, resampling=FEW) == compare(scores_of("bm25"), other, resampling=FEW)
    here, there = scores.estimate("precision", FEW), scores.estimate("precision", replace(FEW, seed=1))
    assert (here.mean, here.n) == (there.mean, there.n)
    assert (here.low, here.high) != (there.low, there.high)
    narrow = scores.estimate("precision", replace(FEW, level=0.5))
    ends = [*(here.interval or ()), *(narrow.interval or ()), here.mean]
    assert sorted(ends) == [ends[place] for place in (0, 2, 4, 3, 1)]


@pytest.mark.parametrize("task", ALL_TASKS, ids=lambda task: task.name)
def test_identical_runs_differ_by_exactly_0(task: Task) -> None:
    found = compare(scores_of("random", task), scores_of("random", task), resampling=FEW)
    assert (found.test.difference.mean, found.test.difference.low, found.test.difference.high) == (0, 0, 0)
    assert found.overlap is not None
    assert (found.test.p_value, found.overlap.mean, found.overlap.low) == (1, 1, 1)
    assert found.test.minimum_detectable is None
    assert found.test.n_equal == found.test.difference.n
    assert found.first == found.second


def test_swapping_the_runs_turns_the_difference_round() -> None:
    a, b = scores_of("abstract_backwards"), scores_of("bm25")
    there, back = compare(a, b, resampling=FEW), compare(b, a, resampling=FEW)
    assert there.test.difference.mean == -back.test.difference.mean > 0
    assert there.test.difference.interval == pytest.approx(back.test.difference.negated.interval)
    assert (there.test.p_value, there.overlap) == (back.test.p_value, back.overlap)
    assert (there.test.n_better, there.test.n_worse) == (back.test.n_worse, back.test.n_better)


def test_runs_over_different_instances_are_not_compared() -> None:
    with pytest.raises(RunMismatchError, match=r"instances.*10 and 4"):
        compare(scores_of("lead"), scores_of("lead", limit=4))
    with pytest.raises(RunMismatchError):
        mean_recalls([scores_of("lead"), scores_of("lead", limit=4)])


def test_both_means_of_a_comparison_are_over_the_instances_of_its_difference(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, made("x", {"a": (0,)}), made("y", {"a": (1,)}))
    best, worst = (graded({"x": Ranking(sentences=(index,))}, dataset) for index in (0, 2))
    partly = replace(best, scores={"precision": np.array([1.0, np.nan])})
    other = replace(worst, scores={"precision": np.array([0.0, 1.0])})
    found = compare(partly, other, measure="precision", resampling=FEW)
    assert (found.first.mean, found.second.mean, found.test.difference.mean) == (1.0, 0.0, 1.0)
    assert found.first.n == found.second.n == found.test.difference.n == 1
    nowhere = replace(other, scores={"precision": np.array([np.nan, 1.0])})
    with pytest.raises(UndefinedScoreError, match="precision is undefined"):
        compare(partly, nowhere, measure="precision", resampling=FEW)


@given(selections(), selections())
def test_overlap_is_symmetric_and_in_0_to_1(a: Selection, b: Selection) -> None:
    if not a.size + b.size:
        with pytest.raises(UndefinedScoreError):
            overlap_of(a, b)
        return
    assert 0 <= overlap_of(a, b) <= 1
    assert overlap_of(a, b) == pytest.approx(overlap_of(b, a))
    for one in (a, b):
        assert not one.size or (overlap_of(one, one), overlap_of(one, Selection(certain=(100, 101)))) == (1, 0)


@pytest.mark.parametrize(
    ("a", "b", "overlap"),
    [
        (Selection(certain=(1, 2)), Selection(certain=(2, 1)), 1),
        (Selection(certain=(1, 2)), Selection(certain=(2, 3)), 1 / 3),
        (Selection(certain=(1,)), Selection(certain=()), 0),
        (Selection(certain=(0,)), Selection(certain=(), tied=(0, 1), n_drawn=1), (1 / 2) / (3 / 2)),
        (Selection(certain=(), tied=(0, 1), n_drawn=1), Selection(certain=(), tied=(0, 1, 2, 3), n_drawn=2), 1 / 2),
    ],
)
def test_overlap_worked_by_hand_drawn_sentences_by_their_probability(
    a: Selection, b: Selection, overlap: float
) -> None:
    assert overlap_of(a, b) == pytest.approx(overlap)


def test_ranks_tell_a_clear_winner_and_leave_equals_together(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, *(made(f"i{i}", {"a": (i % 9 + 11,)}) for i in range(12)))
    systems = {"best": "oracle", "lead": "lead", "again": "lead_no_headings"}
    scores = {name: scores_of(system, dataset=dataset) for name, system in systems.items()}
    pairs = compare_pairs(scores, list(combinations(scores, 2)), resampling=FEW)
    p_values = {(pair.first, pair.second): pair.p_value for pair in pairs}
    means = {name: found.mean_recall for name, found in scores.items()}
    assert ranges_from(means, p_values) == {"best": (1, 1), "lead": (2, 3), "again": (2, 3)}
    assert ranges_from({"lead": means["lead"]}, {}) == {"lead": (1, 1)}


@pytest.mark.parametrize("system", [*BLIND, "oracle"])
def test_the_wrong_hypothesis_changes_nothing_for_systems_that_do_not_read_it(system: str) -> None:
    named = make_system(system)
    tasks = [task for task in ALL_TASKS if named.selects or task.budget]
    controls = ["wrong_hypothesis", "shuffled_words"]
    found = Experiment([named], SAMPLE, tasks=tasks, controls=controls, draws=200).controls().found
    expected = [(name.replace("_", " "), task) for name in controls for task in tasks]
    assert [(one.control, one.comparison.task) for one in found] == expected
    assert not any(one.reads_hypothesis for one in found)
    for one in found:
        difference, overlap = one.comparison.test.difference, one.comparison.overlap
        assert (one.p_value, one.comparison.test.p_value) == (None, 1)
        assert (difference.mean, difference.interval) == (0, (0, 0))
        assert overlap is not None
        assert (overlap.mean, overlap.interval) == (1, (1, 1))


@pytest.mark.parametrize("system", ["bm25", "random", "oracle"])
def test_a_grade_is_the_score_of_its_instance(system: str) -> None:
    scores, answer = scores_of(system), answers_from(make_system(system))
    for place, instance in enumerate(SAMPLE):
        case = case_of(instance, AT_10)
        assert case is not None
        graded = grade(case, answer(instance, AT_10))
        assert graded.selection == scores.selections[place]
        assert graded.recall == scores.recalls[place]
        assert graded.scores() == {key: values[place] for key, values in scores.scores.items()}
