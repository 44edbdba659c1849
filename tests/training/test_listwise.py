"""What fine-tuning learns from: which sentences are right, wrong or neither for an anchor, and what a step draws."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.models.embedding.formats import FORMATS
from evidencebench.training.listwise import Scope, batch_of, draw_positions, listwise_examples
from examples import examples
from labelled_papers import PAPERS, paper
from strategies import instances


@examples(60)
@given(
    papers=st.lists(instances(), min_size=1, max_size=4),
    scope=st.sampled_from(["all", "results", "both"]),
    counts=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    seed=st.integers(0, 9),
)
def test_a_source_is_never_drawn_as_wrong_and_repeats_of_a_sentence_are_one(
    papers: list[Instance], scope: Scope, counts: tuple[int, int], seed: int
) -> None:
    try:
        found = listwise_examples(papers, FORMATS["plain"], anchors="both", scope=scope)
    except DataError:
        return  # nothing to find in any of them
    for example in found:
        assert len(set(example.texts)) == len(example.texts)
        positions = draw_positions(example, *counts, np.random.default_rng(seed))
        assert len(set(positions.tolist())) == len(positions)
        right, wrong = set(example.positives) & set(positions), set(example.negatives) & set(positions)
        assert right | wrong == set(positions)
        assert not right & wrong
        assert (len(right), len(wrong)) == (
            min(counts[0], len(example.positives)),
            min(counts[1], len(example.negatives)),
        )
        for anchor in example.anchors:
            assert anchor.shares.sum() == pytest.approx(1)
            assert not (anchor.is_masked & (anchor.shares > 0)).any()


def test_a_hypothesis_asks_for_shares_of_the_aspects_of_each_scope() -> None:
    (example,) = listwise_examples(PAPERS[:1], FORMATS["plain"])
    everything, results = example.anchors
    assert everything.shares.tolist() == [0, 0, 0.5, 0, 0, 0.5, 0, 0]
    assert results.shares.tolist() == [0, 0, 0, 0, 0, 1, 0, 0]
    assert not results.is_masked.any()  # how the study was done is a wrong answer to one that asks for results
    assert everything.text == results.text
    scoped = listwise_examples(PAPERS[:1], FORMATS["e5_mistral"])[0].anchors
    assert scoped[0].text.prefix != scoped[1].text.prefix


def test_sources_of_other_aspects_and_of_other_instances_of_the_paper_are_masked() -> None:
    one, other = paper(1, paper_id="p", text="says"), paper(1, paper_id="p", sources=(5, 7))
    sentences = list(one.query.sentences)
    sentences[7] = other.query.sentences[7]
    one = replace(one, query=replace(one.query, sentences=tuple(sentences)))
    example = listwise_examples([one, other], FORMATS["plain"], anchors="both", scope="all")[0]
    hypothesis, first, second = example.anchors
    assert np.flatnonzero(hypothesis.is_masked).tolist() == [7]
    assert np.flatnonzero(first.is_masked).tolist() == [5, 7]
    assert np.flatnonzero(second.is_masked).tolist() == [2, 7]
    assert first.text.text == "says a2"
    assert 7 not in example.negatives


def test_heavier_sentences_are_drawn_more_often() -> None:
    (example,) = listwise_examples(PAPERS[:1], FORMATS["plain"])
    weights = np.where(np.arange(8) == 3, 1.0, 1e-9)
    draws = [draw_positions(example, 1, 1, np.random.default_rng(seed), weights) for seed in range(20)]
    assert all(3 in positions for positions in draws)


def test_a_batch_scales_the_shares_of_what_was_drawn_and_joins_equal_anchors() -> None:
    first, second = listwise_examples(PAPERS[:2], FORMATS["plain"])
    batch = batch_of([(first, np.array([1, 2, 5])), (second, np.array([0, 2]))])
    nan = np.nan
    # The hypothesis stands once though it asks for two scopes: half a share of 0.5 + 0 and of 0.5 + 1.
    expected = [[0, 0.25, 0.75, nan, nan], [nan, nan, nan, 0, 1]]
    assert np.array_equal(batch.labels, expected, equal_nan=True)
    assert [anchor.text for anchor in batch.anchors] == ["thing 1 works", "thing 2 works"]
    assert batch.texts == (*(first.texts[at] for at in (1, 2, 5)), second.texts[0], second.texts[2])
    scoped = listwise_examples(PAPERS[:2], FORMATS["e5_mistral"])
    prefixes = [anchor.prefix for anchor in batch_of([(one, np.arange(8)) for one in scoped]).anchors]
    assert prefixes == sorted(prefixes)
    assert len(set(prefixes)) == 2


def test_a_masked_text_has_no_label() -> None:
    text = PAPERS[0].query.hypothesis
    (example,) = listwise_examples(PAPERS[:1], FORMATS["plain"], scope="all")
    mask = np.arange(8) == 3
    masked = replace(example, anchors=(replace(example.anchors[0], is_masked=mask),))
    batch = batch_of([(masked, np.array([2, 3, 4]))])
    assert np.array_equal(batch.labels, [[1, np.nan, 0]], equal_nan=True)
    assert batch.anchors[0].text == text
