"""What an answer is worth: laws, every subset counted out, ir_measures, and the published figures."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import combinations, islice, permutations
from math import isnan
from statistics import fmean
from typing import Any, get_args, get_type_hints

import ir_measures
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ir_measures import StRecall

from doors import CONTROLS as CONTROL_LIST
from doors import (
    RULE_TEXTS,
    AnswerError,
    Coverage,
    Selection,
    UndefinedScoreError,
    check_answer,
    coverage_from,
    measure_input,
)
from evidencebench import (
    MEASURES,
    SYSTEMS,
    TASKS,
    Dataset,
    Measure,
    Query,
    Ranking,
    RankingTask,
    Rules,
    answer_instance,
    answers_from,
    aspect_recall,
    coverage_of,
    evaluate,
    make_system,
    rank_by_score,
    select,
    task_named,
)
from kit.examples import examples, some_of
from kit.specs import STANDALONE
from kit.strategies import coverages, queries, rankings, selections

CUTOFFS = (1, 5, 10, 20)

some_coverages = coverages().filter(lambda coverage: coverage.n_aspects > 0)


def value_of(measure: str, selection: Selection, coverage: Coverage) -> float:
    return float(MEASURES[measure].values(measure_input(selection, coverage)))


def draws(selection: Selection) -> Iterator[Selection]:
    """Give every equally likely outcome of a selection, with nothing left to chance."""
    for drawn in combinations(selection.tied, selection.n_drawn):
        yield Selection(certain=selection.certain + drawn)


@given(selections(), some_coverages)
def test_recall_is_in_0_to_1_and_at_most_the_recall_of_coverable_aspects(
    selection: Selection, coverage: Coverage
) -> None:
    recall = aspect_recall(selection, coverage)
    assert 0 <= recall <= 1
    if coverage.coverable:
        assert recall <= value_of("coverable_aspect_recall", selection, coverage) <= 1


@given(selections(), some_coverages, st.integers(0, 7))
def test_one_more_sentence_never_lowers_recall(selection: Selection, coverage: Coverage, index: int) -> None:
    larger = replace(selection, certain=(*selection.certain, index))
    assert aspect_recall(larger, coverage) >= aspect_recall(selection, coverage)


@given(selections(), some_coverages)
def test_recall_does_not_depend_on_the_order(selection: Selection, coverage: Coverage) -> None:
    turned = replace(selection, certain=selection.certain[::-1], tied=selection.tied[::-1])
    assert aspect_recall(turned, coverage) == aspect_recall(selection, coverage)


@given(selections(), some_coverages)
def test_the_expectation_is_the_mean_over_every_draw(selection: Selection, coverage: Coverage) -> None:
    counted = [aspect_recall(drawn, coverage) for drawn in draws(selection)]
    expected = aspect_recall(selection, coverage)
    assert expected == pytest.approx(fmean(counted), abs=1e-12)
    assert min(counted) <= expected <= max(counted)
    if selection.size:
        counted = [value_of("precision", drawn, coverage) for drawn in draws(selection)]
        assert value_of("precision", selection, coverage) == pytest.approx(fmean(counted), abs=1e-12)


@examples(200)
@given(rankings(n_sentences=6, repeats=False, scored=True), some_coverages, st.integers(0, 6))
def test_expected_ties_are_the_mean_over_every_order_of_equal_scores(
    ranking: Ranking, coverage: Coverage, budget: int
) -> None:
    assert ranking.scores is not None
    score_of = dict(zip(ranking.sentences, ranking.scores, strict=True))
    orders = [
        Ranking(sentences=order, scores=ranking.scores)
        for order in permutations(ranking.sentences)
        if tuple(map(score_of.__getitem__, order)) == ranking.scores
    ]
    counted = fmean(aspect_recall(select(order, budget), coverage) for order in orders)
    expected = aspect_recall(select(ranking, budget, ties="expected"), coverage)
    assert expected == pytest.approx(counted, abs=1e-12)


@given(queries(max_sentences=8), some_coverages, st.integers(0, 9))
def test_a_constant_scorer_with_expected_ties_is_random_selection(
    query: Query, coverage: Coverage, budget: int
) -> None:
    constant = rank_by_score([1.0] * len(query.sentences))
    control: Any = make_system("random").system
    random = control.rank(query, RankingTask(budget=budget))
    tied, chance = select(constant, budget, ties="expected"), select(random, budget)
    assert aspect_recall(tied, coverage) == aspect_recall(chance, coverage)


def test_recall_worked_by_hand() -> None:
    coverage = coverage_from({"a": [0, 1], "b": [1], "c": [2], "d": []})
    assert aspect_recall(Selection(certain=(1,)), coverage) == 2 / 4
    assert value_of("precision", Selection(certain=(0, 1, 5, 6)), coverage) == 2 / 4
    assert value_of("coverable_aspect_recall", Selection(certain=(1,)), coverage) == 2 / 3
    assert aspect_recall(Selection(certain=()), coverage) == 0
    # Two of 0, 1, 2, 3: a is missed by {2,3} only, b by 3 of 6 pairs, c by 3 of 6, d always.
    over_length = select(Ranking(sentences=(0, 1, 2, 3), ordered=False), 2)
    assert aspect_recall(over_length, coverage) == pytest.approx((5 / 6 + 3 / 6 + 3 / 6) / 4, abs=1e-15)
    assert aspect_recall(select(Ranking(sentences=(3, 2, 0), ordered=False), 2, over_length="first"), coverage) == 1 / 4


def test_every_choice_of_a_rule_has_its_words_and_the_default_comes_first() -> None:
    choices = {name: set(get_args(hint)) for name, hint in get_type_hints(Rules).items()}
    assert {name: set(text.choices) for name, text in RULE_TEXTS.items()} == choices
    assert {name: next(iter(text.choices)) for name, text in RULE_TEXTS.items()} == asdict(Rules())


def test_a_control_is_the_system_of_its_name_and_has_a_letter_of_its_own() -> None:
    assert {name: type(control.system) for name, control in CONTROL_LIST.items()} == {
        name: SYSTEMS[name] for name in CONTROL_LIST
    }
    assert len({control.letter for control in CONTROL_LIST.values()}) == len(CONTROL_LIST)


def test_a_measure_without_a_value_is_an_error_or_nan_and_not_0() -> None:
    with pytest.raises(UndefinedScoreError):
        aspect_recall(Selection(certain=(0,)), coverage_from({}))
    assert isnan(value_of("coverable_aspect_recall", Selection(certain=(0,)), coverage_from({"a": []})))
    assert isnan(value_of("precision", Selection(certain=()), coverage_from({"a": [0]})))


def test_a_measure_with_parameters_is_called_by_them_and_its_function_is_given_them() -> None:
    weighted = Measure(name="weighted", of=lambda _, weight: weight / 2, label="weighted", parameters={"weight": 0.5})
    assert weighted.key == "weighted(weight=0.5)"
    assert weighted.values(measure_input(Selection(certain=()), coverage_from({}))) == 0.25


@given(rankings(), st.booleans())
def test_a_checked_answer_keeps_the_first_mention_and_counts_the_others(ranking: Ranking, scored: bool) -> None:  # noqa: FBT001 - drawn
    n = len(ranking.sentences)
    given_scores = tuple(float(n - position) for position in range(n)) if scored else None
    answer = Ranking(sentences=ranking.sentences, scores=given_scores, ordered=ranking.ordered)
    checked = check_answer(answer, n_sentences=8)
    assert checked.ranking.sentences == tuple(dict.fromkeys(ranking.sentences))
    assert checked.n_duplicates == n - len(set(ranking.sentences))
    assert checked.ranking.ordered == ranking.ordered
    if given_scores is not None:
        kept = [given_scores[ranking.sentences.index(index)] for index in checked.ranking.sentences]
        assert list(checked.ranking.scores or ()) == kept


def test_scores_follow_their_sentences_and_are_one_a_sentence() -> None:
    answer = Ranking(sentences=(4, 5, 4, -1, 0), scores=(5, 4, 3, 2, 1))
    checked = check_answer(answer, n_sentences=5, rules=Rules(out_of_range="drop"))
    assert checked.ranking == Ranking(sentences=(4, 0), scores=(5, 1))
    assert (checked.n_duplicates, checked.n_out_of_range) == (1, 2)
    with pytest.raises(AnswerError, match=r"2 scores.* 1"):
        check_answer(Ranking(sentences=(0, 1), scores=(1.0,)), n_sentences=5)


@example(ranking=Ranking(sentences=(0, 1, 2)), scores=[1, 5, 6], budget=1)
@given(rankings(repeats=False), st.lists(st.integers(0, 3), min_size=8, max_size=8), st.integers(0, 9))
def test_as_many_sentences_count_as_the_budget_allows_whatever_the_scores(
    ranking: Ranking, scores: list[int], budget: int
) -> None:
    size = len(ranking.sentences)
    answer = Ranking(sentences=ranking.sentences, scores=tuple(map(float, scores[:size])), ordered=ranking.ordered)
    try:
        checked = check_answer(answer, n_sentences=8).ranking
    except AnswerError:  # scores that do not descend may be refused, not miscounted
        assert list(answer.scores or ()) != sorted(answer.scores or (), reverse=True)
        return
    selection = select(checked, budget, ties="expected")
    assert selection.size == min(budget, size)
    assert 0 <= selection.n_drawn <= len(selection.tied)


@pytest.mark.data
@pytest.mark.parametrize("name", STANDALONE)
def test_aspect_recall_is_subtopic_recall_of_ir_measures(train: Dataset, name: str) -> None:
    qrels: list[ir_measures.Qrel] = []
    runs: Mapping[int, list[ir_measures.ScoredDoc]] = {cutoff: [] for cutoff in CUTOFFS}
    recalls: dict[tuple[str, int], float] = {}
    system = make_system(name)
    is_slow = name == "minilm"
    for instance in some_of(train[:], thorough=48 if is_slow else 4, quick=192 if is_slow else 8):
        coverage = coverage_of(instance.labels)
        for aspect, indices in instance.labels.sources.items():
            qrels += [ir_measures.Qrel(instance.id, str(index), 1, aspect) for index in indices]
        answer = None
        for cutoff in CUTOFFS:
            if answer is None or system.reads_task:
                answer = answer_instance(system, instance, task_named(f"er_at_{cutoff}"))
            assert isinstance(answer, Ranking)
            if name == "random":
                answer = Ranking(sentences=answer.sentences)  # any order will do, but ir_measures needs one
            recalls[instance.id, cutoff] = aspect_recall(select(answer, cutoff), coverage)
            runs[cutoff] += [
                ir_measures.ScoredDoc(instance.id, str(index), -float(place))
                for place, index in enumerate(answer.sentences)
            ]
    theirs = {
        (metric.query_id, cutoff): metric.value
        for cutoff in CUTOFFS
        for metric in ir_measures.iter_calc([StRecall @ cutoff], qrels, runs[cutoff])
    }
    assert theirs == pytest.approx(recalls, rel=0, abs=1e-12)


CONTROLS = {
    "random": (8.9, 24.3, 4.4, 12.3),
    "lead": (18.0, 55.1, 2.9, 12.9),
    "abstract_backwards": (28.4, 62.7, 15.7, 49.5),
    "oracle": (100.0, None, 100.0, None),
}


@pytest.mark.data
def test_the_controls_reach_the_figures_known_for_train(train: Dataset) -> None:
    tasks = list(islice(TASKS.values(), 4))
    scores = evaluate({name: answers_from(make_system(name)) for name in CONTROLS}, train, tasks)
    for name, expected in CONTROLS.items():
        means = [scores[name][task.name].scores["aspect_recall"].mean() for task in tasks]
        found = [round(100 * float(mean), 1) for mean in means]
        assert [figure for figure, known in zip(found, expected, strict=True) if known] == list(filter(None, expected))
    assert [len(scores["lead"][task.name].ids) for task in tasks] == [96, 96, 95, 95]
