"""Systems rank every sentence once and always alike, are made from words, and equal bm25s and scikit-learn."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from doors import UndefinedScoreError, derange_hypotheses, tokens
from evidencebench import (
    BM25,
    Instance,
    Kind,
    Labels,
    Query,
    Ranking,
    RankingTask,
    Task,
    answer_instance,
    load_sample,
    make_system,
    rank_by_score,
)
from kit.examples import examples
from kit.specs import LABEL_FREE
from kit.strategies import instances, labels, queries

SAMPLE = load_sample()


def answer(spec: str, query: Query) -> Ranking:
    return make_system(spec).rank(query, RankingTask(budget=3))


@pytest.fixture(scope="module", params=LABEL_FREE)
def spec(request: pytest.FixtureRequest) -> str:
    """Give a specification of each system that does not know the labels."""
    return re.sub(r"\{(\w+)\}", lambda found: str(request.getfixturevalue(found[1])), request.param)


@examples(60)
@given(query=queries(), other=queries())
def test_every_label_free_system_returns_each_sentence_once_and_always_alike(
    spec: str, query: Query, other: Query
) -> None:
    ranking = answer(spec, query)
    system = make_system(spec)
    everything = list(range(len(query.sentences)))
    if system.selects or spec.startswith("llm_vote"):  # a part of the paper, each sentence once
        assert len(ranking.sentences) <= 3
        assert sorted(ranking.sentences) == sorted(set(ranking.sentences) & set(everything))
    else:
        assert sorted(ranking.sentences) == everything
    system.rank(other, RankingTask(budget=3))  # what was asked before changes nothing
    assert system.rank(query, RankingTask(budget=3)) == ranking
    if ranking.scores is not None:
        assert len(ranking.scores) == len(ranking.sentences)
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)


@examples(30)
@given(instance=instances(), other=labels(), budget=st.integers(1, 5))
def test_no_label_free_system_answers_otherwise_where_the_labels_are_others(
    spec: str, instance: Instance, other: Labels, budget: int
) -> None:
    system, task = make_system(spec), Task(name="er_at_k", scope="all", budget=budget)
    swapped = replace(instance, labels=replace(other, aspects=other.aspects or ("a",)))
    labelled = replace(instance, labels=replace(instance.labels, aspects=instance.labels.aspects or ("a",)))
    assert answer_instance(system, swapped, task) == answer_instance(system, labelled, task)


@given(query=queries())
def test_position_controls_order_by_kind_and_place(query: Query) -> None:
    abstract, rest = query.indices_of(Kind.ABSTRACT), query.indices_of(Kind.HEADING, Kind.BODY)
    assert answer("lead", query).sentences == tuple(range(len(query.sentences)))
    assert answer("abstract_first", query).sentences == abstract + rest
    assert answer("abstract_backwards", query).sentences == abstract[::-1] + rest
    text, headings = query.indices_of(Kind.ABSTRACT, Kind.BODY), query.indices_of(Kind.HEADING)
    assert answer("lead_no_headings", query).sentences == text + headings
    assert not answer("random", query).ordered


@given(query=queries())
def test_bm25_abstract_first_is_bm25_within_the_abstract_and_within_the_rest(query: Query) -> None:
    plain = answer("bm25", query).sentences
    abstract = tuple(index for index in plain if query.kinds[index] is Kind.ABSTRACT)
    assert answer("bm25_abstract_first", query).sentences == abstract + tuple(
        index for index in plain if index not in abstract
    )


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8))
def test_ranking_by_score_is_descending_with_ties_in_paper_order(scores: list[float]) -> None:
    ranking = rank_by_score(scores)
    assert list(ranking.sentences) == sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    assert ranking.scores == tuple(scores[index] for index in ranking.sentences)


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_not_finite_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match=r"sentence 1: .*finite"):
        rank_by_score([0.0, score])


def check_against_bm25s(query: Query, system: BM25) -> None:
    import bm25s  # noqa: PLC0415 - with scipy, which few tests need

    sentences = [tokens(sentence, stopwords=system.stopwords) for sentence in query.sentences]
    vocabulary = {term for sentence in sentences for term in sentence}
    if not vocabulary:  # bm25s refuses it
        assert set(system.scores(query)) == {0.0}
        return
    theirs = bm25s.BM25(method="lucene", k1=system.k1, b=system.b, dtype="float64")
    theirs.index(sentences, show_progress=False)
    asked = [term for term in tokens(query.hypothesis, stopwords=system.stopwords) if term in vocabulary]
    expected = theirs.get_scores(asked) if asked else np.zeros(len(sentences))
    assert system.scores(query) == pytest.approx(list(expected), rel=1e-9, abs=1e-12)


@given(query=queries(min_sentences=1), k1=st.floats(0, 3), b=st.floats(0, 1), stopwords=st.booleans())
@example(query=SAMPLE[0].query, k1=0.9, b=0.4, stopwords=True)
@example(query=SAMPLE[5].query, k1=0.9, b=0.4, stopwords=True)
def test_bm25_equals_bm25s(query: Query, k1: float, b: float, stopwords: bool) -> None:  # noqa: FBT001 - drawn
    check_against_bm25s(query, BM25(k1=k1, b=b, stopwords=stopwords))


def check_against_sklearn(query: Query, system: Any, vectorizer: Any) -> None:
    try:
        vectors = vectorizer.fit_transform(query.sentences)
    except ValueError as error:
        assert "empty vocabulary" in str(error)  # noqa: PT017 - scikit-learn gives up, we do not
        assert set(system.rank(query, RankingTask(budget=None)).scores or ()) == {0.0}
        return
    cosines = (vectors @ vectorizer.transform([query.hypothesis]).T).toarray().ravel()
    ranking = system.rank(query, RankingTask(budget=None))
    assert ranking.scores == pytest.approx([cosines[index] for index in ranking.sentences], abs=1e-12)


@given(queries(min_sentences=1))
@example(SAMPLE[0].query)
@example(SAMPLE[5].query)
def test_tfidf_of_words_and_of_characters_equals_scikit_learn(query: Query) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - seconds, which few tests need

    check_against_sklearn(query, make_system("tfidf").system, TfidfVectorizer(analyzer=tokens))
    in_words = {"preprocessor": lambda text: " ".join(tokens(text, stopwords=False))}
    check_against_sklearn(
        query, make_system("tfidf_char").system, TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), **in_words)
    )


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("lead", {}),
        ("bm25", {"k1": 0.9, "b": 0.4, "stopwords": True}),
        ("bm25:", {"k1": 0.9, "b": 0.4, "stopwords": True}),
        ("bm25:k1=1.5,b=0", {"k1": 1.5, "b": 0.0, "stopwords": True}),
        (" bm25: k1 = 2 , stopwords=false ", {"k1": 2.0, "b": 0.4, "stopwords": False}),
        ("tfidf_char:shortest=2,longest=4", {"shortest": 2, "longest": 4}),
    ],
)
def test_options_are_read_from_the_specification(spec: str, options: dict[str, object]) -> None:
    named = make_system(spec)
    assert named.options == options
    assert named.name == spec.strip().partition(":")[0]
    assert all(getattr(named.system, key) == value for key, value in options.items())


def asked_of(papers: list[int]) -> list[Query]:
    """Give queries whose hypotheses all differ, one for each paper named."""
    return [
        Query(instance_id=f"i{n}", paper_id=f"p{paper}", hypothesis=f"h{n}", sentences=(), kinds=())
        for n, paper in enumerate(papers)
    ]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=14), st.integers(0, 99))
def test_swapped_hypotheses_all_come_from_another_paper_and_each_is_used_once(papers: list[int], seed: int) -> None:
    asked = asked_of(papers)
    if 2 * max(Counter(papers).values()) > len(papers):
        with pytest.raises(UndefinedScoreError):
            derange_hypotheses(asked, np.random.default_rng(seed))
        return
    swapped = derange_hypotheses(asked, np.random.default_rng(seed))
    paper_of = {query.hypothesis: query.paper_id for query in asked}
    assert set(swapped) == {query.instance_id for query in asked}
    assert sorted(swapped.values()) == sorted(paper_of)
    assert all(paper_of[swapped[query.instance_id]] != query.paper_id for query in asked)
    assert derange_hypotheses(asked, np.random.default_rng(seed)) == swapped


def test_another_seed_swaps_otherwise_and_no_query_cannot_be_swapped() -> None:
    asked = asked_of(list(range(12)))
    swaps = [derange_hypotheses(asked, np.random.default_rng(seed)) for seed in range(3)]
    assert swaps[0] != swaps[1] != swaps[2]
    with pytest.raises(UndefinedScoreError, match=r"hypotheses .*swapped.* 0 of 0 .*share"):
        derange_hypotheses([], np.random.default_rng(0))


def test_no_query_gets_its_own_text_back_where_papers_share_a_hypothesis() -> None:
    asked = asked_of(list(range(8)))
    shared = [replace(query, hypothesis="shared") if n < 4 else query for n, query in enumerate(asked)]
    for seed in range(20):
        swapped = derange_hypotheses(shared, np.random.default_rng(seed))
        assert all(swapped[query.instance_id] != query.hypothesis for query in shared)
