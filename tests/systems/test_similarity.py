"""How alike sentences are: as scikit-learn's dense product; orders that avoid repetition: as a slow reference."""

import tracemalloc
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from doors import MOST_CHOSEN, PaperColumns, WordSimilarity, discounted_order, scores_of, tokens, unit_scores
from doors import WordFloats as Floats
from evidencebench import Kind, Query, RankingTask, make_system
from kit.strategies import queries


def dense_product(sentences: Sequence[str]) -> Floats:
    """Return all cosines at once, by scikit-learn; none of a sentence with itself."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - slow to import

    try:
        vectors = TfidfVectorizer(analyzer=tokens).fit_transform(sentences)
    except ValueError as error:
        assert "empty vocabulary" in str(error)  # noqa: PT017 - scikit-learn gives up, we do not
        return np.zeros((len(sentences), len(sentences)))
    cosines: Floats = (vectors @ vectors.T).toarray()
    np.fill_diagonal(cosines, 0.0)
    return cosines


def long_paper(n_sentences: int, seed: int = 0) -> Query:
    random = Random(seed)
    vocabulary = [f"word{number}" for number in range(2000)]
    sentences = [
        " ".join(["Tea", *(vocabulary[int(2000 * random.random() ** 2)] for _ in range(8))]) for _ in range(n_sentences)
    ]
    kinds = (Kind.ABSTRACT,) * 8 + (Kind.BODY,) * (n_sentences - 8)
    return Query(instance_id="i", paper_id="p", hypothesis="Tea word3.", sentences=tuple(sentences), kinds=kinds)


@given(queries(min_sentences=1, max_sentences=30), st.sampled_from([1, 40, 2_000_000]))
def test_likeness_equals_the_dense_product_whether_it_is_kept_or_made_row_by_row(query: Query, most: int) -> None:
    expected = dense_product(query.sentences)
    likeness = WordSimilarity(query.sentences, most_pairs=most)
    assert np.array([likeness.row(index) for index in range(likeness.n)]) == pytest.approx(expected, abs=1e-12)
    blocks = [block for _, block in likeness.blocks()]
    assert np.vstack(blocks) == pytest.approx(expected, abs=1e-12)
    assert max(block.size for block in blocks) <= max(most, likeness.n)


@given(queries(min_sentences=1))
@example(long_paper(1600))
def test_what_is_kept_of_the_cosines_equals_its_meaning(query: Query) -> None:
    page, dense = PaperColumns(query), dense_product(query.sentences)
    found = page.cosines
    assert found.total == pytest.approx(dense.sum(axis=1), abs=1e-8)
    assert found.highest == pytest.approx(dense.max(axis=1), abs=1e-12)
    assert found.highest_before == pytest.approx(np.tril(dense, -1).max(axis=1), abs=1e-12)
    assert found.abstract_total == pytest.approx(dense[:, page.is_abstract].sum(axis=1), abs=1e-12)
    assert found.abstract_highest == pytest.approx(dense[:, page.is_abstract].max(axis=1, initial=0), abs=1e-12)


def test_a_paper_too_long_to_be_kept_is_ordered_as_all_pairs_order_it() -> None:
    query = long_paper(1600)
    scores = unit_scores(scores_of(make_system("bm25").rank(query, RankingTask(budget=None)), len(query.sentences)))
    pairs = dense_product(query.sentences).clip(0, 1).round(9)
    expected = discounted_order(scores, pairs.__getitem__, strength=0.9)
    assert make_system("diverse:system=bm25,strength=0.9").rank(query, RankingTask(budget=10)).sentences == expected


def peak_mb(do: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_the_memory_of_features_and_orders_grows_with_the_paper_and_not_with_its_square() -> None:
    query = long_paper(4000)
    assert peak_mb(lambda: PaperColumns(query).cosines) < 100, "all pairs are 128 MB"
    assert peak_mb(lambda: make_system("diverse:system=lead").rank(query, RankingTask(budget=10))) < 25


# Orders without repetition

Pairs = list[list[float]]

# Few values, so that ties abound; quarters and eighths, so that products are exact.
fractions = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)
similarities = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1).map(lambda value: round(value, 9))


@st.composite
def scored_pairs(draw: st.DrawFn) -> tuple[list[float], Pairs]:
    scores = draw(st.lists(fractions, max_size=8))
    size = len(scores)
    rows = st.lists(similarities, min_size=size, max_size=size)
    return scores, draw(st.lists(rows, min_size=size, max_size=size))


def slowly_discounted(scores: Sequence[float], similarity: Pairs, strength: float) -> tuple[int, ...]:
    chosen: list[int] = []
    while len(chosen) < len(scores):
        value = dict(enumerate(scores))
        for index in value:
            for other in chosen:
                value[index] *= 1 - strength * similarity[other][index]
        unchosen = [index for index in value if index not in chosen]
        chosen.append(min(unchosen, key=lambda index: (-value[index], -scores[index], index)))
    return tuple(chosen)


@given(scored_pairs(), fractions)
def test_discounting_equals_the_definition(drawn: tuple[list[float], Pairs], strength: float) -> None:
    scores, similarity = drawn
    order = discounted_order(np.array(scores), np.array(similarity).__getitem__, strength=strength)
    assert order == slowly_discounted(scores, similarity, strength)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_scores_of_any_size_are_brought_to_the_unit_without_swapping_any(scores: list[float]) -> None:
    unit = unit_scores(np.array(scores))
    assert unit.max() == 1
    assert unit.min() in {0, 1}
    order = np.argsort(scores, kind="stable")
    assert (np.diff(unit[order]) >= 0).all()


def test_behind_the_most_that_are_chosen_one_by_one_the_others_follow_by_their_value_then() -> None:
    random = np.random.default_rng(0)
    n = MOST_CHOSEN + 50
    scores, similarity = random.random(n), random.random(n).round(9)
    alike = np.arange(n) % 7
    order = discounted_order(scores, lambda index: np.where(alike == alike[index], similarity, 0.0), strength=0.1)
    left, chosen = scores.copy(), list[int]()
    for _ in range(MOST_CHOSEN):
        chosen.append(int(np.argmax(np.where(np.isin(np.arange(n), chosen), -1.0, left))))
        left *= 1 - 0.1 * np.where(alike == alike[chosen[-1]], similarity, 0.0)
    others = [index for index in range(n) if index not in set(chosen)]
    assert list(order[:MOST_CHOSEN]) == chosen
    assert list(order[MOST_CHOSEN:]) == sorted(others, key=lambda index: -left[index])
