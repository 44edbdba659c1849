"""Fusion equals its formula, treats what is tied alike, and does not care in which order systems are named."""

import math
import statistics
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    AnswerError,
    Diverse,
    Fuse,
    SystemSpecError,
    WordSimilarity,
    discounted_order,
    scores_of,
    standard_scores,
    unit_scores,
)
from evidencebench import Kind, NamedSystem, Query, Ranking, RankingTask, make_system
from kit.strategies import queries, rankings

TASK = RankingTask(budget=3)
N_SENTENCES = 6


def paper(size: int) -> Query:
    sentences = tuple(f"word{index}" for index in range(size))
    return Query(instance_id="q", paper_id="p", hypothesis="Tea.", sentences=sentences, kinds=(Kind.BODY,) * size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Always:
    """One answer, whatever is asked."""

    ranking: Ranking

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return self.ranking


def always(ranking: Ranking) -> NamedSystem:
    return NamedSystem(name="always", options={}, system=Always(ranking=ranking))


any_ranking = rankings(n_sentences=N_SENTENCES) | rankings(n_sentences=N_SENTENCES, scored=True)


def slow_place(ranking: Ranking, index: int) -> float:
    """Return the mean place over all orders that the answer allows."""
    named = list(dict.fromkeys(ranking.sentences))
    score_of = dict(zip(reversed(ranking.sentences), reversed(ranking.scores or ()), strict=False))

    def key(one: int) -> tuple[float, ...]:
        if one not in named:
            return (1,)
        if not ranking.ordered:
            return (0,)
        return (0, -score_of[one] if ranking.scores else named.index(one))

    n_better = sum(key(one) < key(index) for one in range(N_SENTENCES))
    n_alike = sum(key(one) == key(index) for one in range(N_SENTENCES))
    return n_better + (n_alike + 1) / 2


@given(st.lists(any_ranking, min_size=1, max_size=3), st.floats(0, 100))
def test_reciprocal_rank_fusion_equals_its_formula(answers: list[Ranking], k: float) -> None:
    fused = Fuse(systems=tuple(map(always, answers)), k=k).rank(paper(N_SENTENCES), TASK)
    expected = [sum(1 / (k + slow_place(one, index)) for one in answers) for index in range(N_SENTENCES)]
    assert scores_of(fused, N_SENTENCES).tolist() == pytest.approx(expected, rel=1e-12)


@given(st.lists(any_ranking, min_size=1, max_size=3), st.data())
def test_fused_z_scores_equal_their_formula(answers: list[Ranking], data: st.DataObject) -> None:
    weights = tuple(data.draw(st.lists(st.floats(0.1, 3), min_size=len(answers), max_size=len(answers))))
    fused = Fuse(systems=tuple(map(always, answers)), weights=weights, method="zscore").rank(paper(N_SENTENCES), TASK)
    expected = [0.0] * N_SENTENCES
    for weight, answer in zip(weights, answers, strict=True):
        scores = [-slow_place(answer, index) for index in range(N_SENTENCES)]
        if answer.scores and set(answer.sentences) == set(range(N_SENTENCES)):
            first = {index: answer.scores[answer.sentences.index(index)] for index in answer.sentences}
            scores = [first[index] for index in range(N_SENTENCES)]
        deviation = statistics.pstdev(scores)
        for index in range(N_SENTENCES):
            expected[index] += weight * (scores[index] - statistics.mean(scores)) / deviation if deviation else 0.0
    assert scores_of(fused, N_SENTENCES).tolist() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.lists(any_ranking, min_size=2, max_size=4), st.sampled_from(["rrf", "zscore"]), st.randoms())
def test_the_order_of_the_systems_does_not_matter(answers: list[Ranking], method: str, random: object) -> None:
    swapped = answers[:]
    random.shuffle(swapped)  # type: ignore[attr-defined]
    fused = [
        Fuse(systems=tuple(map(always, some)), method=method).rank(paper(N_SENTENCES), TASK)  # type: ignore[arg-type]
        for some in (answers, swapped)
    ]
    assert fused[0] == fused[1]


@given(queries(), st.sampled_from(["rrf", "zscore"]))
def test_one_system_fused_alone_keeps_its_order_and_a_constant_one_changes_nothing(query: Query, method: str) -> None:
    alone = make_system("bm25").rank(query, TASK).sentences
    assert make_system(f"fuse:systems=bm25,method={method}").rank(query, TASK).sentences == alone
    constant = "structure:abstract=2,body=2,heading=2"
    assert make_system(f"fuse:systems=[bm25+{constant}],method=zscore").rank(query, TASK).sentences == alone
    assert make_system(f"fuse:systems=[bm25+lead],weights=[1+0],method={method}").rank(query, TASK).sentences == alone


@given(queries())
def test_structure_sorts_by_kind(query: Query) -> None:
    order = {Kind.ABSTRACT: 0, Kind.BODY: 1, Kind.HEADING: 2}
    expected = sorted(range(len(query.sentences)), key=lambda index: order[query.kinds[index]])
    assert make_system("structure").rank(query, TASK).sentences == tuple(expected)


@pytest.mark.parametrize("system", ["fuse", "diverse"])
def test_an_answer_of_another_paper_or_of_no_form_is_an_error(system: str) -> None:
    def around(ranking: Ranking) -> Fuse | Diverse:
        return Fuse(systems=(always(ranking),)) if system == "fuse" else Diverse(system=always(ranking))

    with pytest.raises(AnswerError, match=r"0\.\.2, got 3"):
        around(Ranking(sentences=(0, 3))).rank(paper(3), TASK)
    with pytest.raises(AnswerError, match="got -1"):
        around(Ranking(sentences=(-1,))).rank(paper(3), TASK)
    with pytest.raises(ValueError, match="finite"):
        around(Ranking(sentences=(0,), scores=(math.nan,))).rank(paper(3), TASK)
    with pytest.raises(AnswerError, match=r"Ranking.*got '0, 1'"):
        around("0, 1").rank(paper(3), TASK)  # type: ignore[arg-type]


def test_a_system_that_knows_the_labels_is_not_asked_by_another() -> None:
    with pytest.raises(SystemSpecError, match="labels"):
        Fuse(systems=(make_system("oracle"),)).rank(paper(2), TASK)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_standard_scores_have_no_mean_and_keep_the_order(scores: list[float]) -> None:
    standard = standard_scores(np.array(scores))
    assert abs(standard.mean()) < 1e-9
    assert np.isfinite(standard).all()
    assert (np.diff(standard[np.argsort(scores, kind="stable")]) >= 0).all()


@given(queries(), st.floats(0, 1))
def test_a_diverse_system_discounts_the_unit_scores_of_the_other(query: Query, strength: float) -> None:
    inner = make_system("bm25").rank(query, TASK)
    scores = unit_scores(scores_of(inner, len(query.sentences)))
    expected = discounted_order(scores, WordSimilarity(query.sentences).row, strength=strength)
    assert make_system(f"diverse:system=bm25,strength={strength}").rank(query, TASK).sentences == expected
    assert make_system("diverse:system=bm25,strength=0").rank(query, TASK).sentences == inner.sentences
