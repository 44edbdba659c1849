"""Queries changed on purpose: what is asked, and how answers map back."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import UndefinedScoreError, draw_distractors, shuffle_words, with_distractor
from evidencebench import BM25, Query, Ranking, load_sample
from kit.strategies import queries

SAMPLE = load_sample()


@given(queries(), queries(), st.booleans())
def test_a_distractor_stands_before_or_behind_and_every_sentence_maps_back(
    query: Query,
    distractor: Query,
    is_before: bool,  # noqa: FBT001 - a drawn value
) -> None:
    mixed = with_distractor(query, distractor, is_before=is_before)
    own = slice(mixed.offset, mixed.offset + mixed.n_own)
    assert (mixed.query.sentences[own], mixed.query.kinds[own]) == (query.sentences, query.kinds)
    assert replace(mixed.query, sentences=query.sentences, kinds=query.kinds) == query
    order = range(len(mixed.query.sentences))
    back = mixed.own_answer(Ranking(sentences=tuple(order)))
    assert sorted(back.sentences) == list(order)
    behind = with_distractor(query, distractor, is_before=False).query
    assert [behind.sentences[index] for index in back.sentences] == list(mixed.query.sentences)
    assert [behind.kinds[index] for index in back.sentences] == list(mixed.query.kinds)


def test_scores_order_and_notes_of_an_answer_stay_when_it_is_mapped_back() -> None:
    mixed = with_distractor(SAMPLE[0].query, SAMPLE[1].query, is_before=True)
    answer = Ranking(sentences=(0, mixed.offset), scores=(2.0, 1.0), ordered=False, notes={"requests": 1})
    found = mixed.own_answer(answer)
    assert found == replace(answer, sentences=(mixed.n_own, 0))
    assert found.notes == answer.notes


def test_half_of_the_distractors_stand_before_and_each_paper_is_a_distractor_once() -> None:
    asked = [instance.query for instance in SAMPLE]
    distractors = draw_distractors(asked, np.random.default_rng(3))
    assert distractors == draw_distractors(asked, np.random.default_rng(3))
    assert distractors != draw_distractors(asked, np.random.default_rng(4))
    assert set(Counter(one.instance_id for one in distractors.values()).values()) == {1}
    assert sum(one.is_before for one in distractors.values()) == len(asked) // 2
    for instance_id, distractor in distractors.items():
        other = SAMPLE[distractor.instance_id].query
        assert other.paper_id != SAMPLE[instance_id].query.paper_id
        assert distractor.n_sentences == len(other.sentences)
    with pytest.raises(UndefinedScoreError, match="1 of 1 instances"):
        draw_distractors(asked[:1], np.random.default_rng(0))


@given(st.lists(queries(), max_size=5), st.integers(0, 9))
def test_shuffled_words_are_the_same_words_in_another_order(asked: list[Query], seed: int) -> None:
    asked = [replace(query, instance_id=str(place)) for place, query in enumerate(asked)]
    shuffled = shuffle_words(asked, np.random.default_rng(seed))
    assert shuffled == shuffle_words(asked, np.random.default_rng(seed))
    for query in asked:
        words, found = query.hypothesis.split(), shuffled[query.instance_id].split()
        assert Counter(found) == Counter(words)
        assert (found != words) == (len(set(words)) > 1)


def test_shuffled_words_leave_the_scores_of_bm25_exactly_as_they_were() -> None:
    asked = [instance.query for instance in SAMPLE]
    for seed in range(5):
        shuffled = shuffle_words(asked, np.random.default_rng(seed))
        for query in asked:
            changed = replace(query, hypothesis=shuffled[query.instance_id])
            assert BM25().scores(changed) == BM25().scores(query)
