"""What picks add: an independent count, on random answers, and sentences that chance draws."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import Selection, coverage_from, picks_of

SENTENCES = st.permutations(range(8)).flatmap(lambda order: st.integers(0, 8).map(lambda n: tuple(order[:n])))
SOURCES = st.dictionaries(st.sampled_from("abcd"), st.sets(st.integers(0, 7)))


@given(SENTENCES, SOURCES, st.frozensets(st.integers(0, 7)))
def test_new_picks_are_those_with_which_recall_rises(
    picked: tuple[int, ...], sources: dict[str, set[int]], headings: frozenset[int]
) -> None:
    coverage = coverage_from(sources)
    found = picks_of([(Selection(certain=picked), coverage, headings)])
    n_covered = [coverage.mask_of(picked[:n]).bit_count() for n in range(len(picked) + 1)]
    assert found.new == sum(after > before for before, after in pairwise(n_covered))
    evidence = set().union(*sources.values())
    assert found.new + found.redundant == len(evidence & set(picked))
    assert found.heading == len(set(picked) & headings - evidence)
    assert found.total == len(picked)


@given(SENTENCES.filter(lambda one: len(one) > 2), SOURCES, st.data())
def test_a_sentence_that_chance_draws_counts_as_often_as_it_is_drawn(
    picked: tuple[int, ...], sources: dict[str, set[int]], data: st.DataObject
) -> None:
    n_certain = data.draw(st.integers(0, len(picked) - 2))
    certain, tied = picked[:n_certain], picked[n_certain:]
    n_drawn = data.draw(st.integers(1, len(tied) - 1))
    coverage, headings = coverage_from(sources), frozenset({0, 1})
    found = picks_of([(Selection(certain=certain, tied=tied, n_drawn=n_drawn), coverage, headings)])
    draws = list(combinations(tied, n_drawn))
    alone = [picks_of([(Selection(certain=(*certain, one)), coverage, headings)]) for draw in draws for one in draw]
    base = picks_of([(Selection(certain=certain), coverage, headings)])
    for sort in ("new", "redundant", "heading", "no_evidence"):
        added = sum(getattr(one, sort) - getattr(base, sort) for one in alone) / len(draws)
        assert getattr(found, sort) == pytest.approx(getattr(base, sort) + added)
    assert found.total == pytest.approx(n_certain + n_drawn)
