"""Words of a hypothesis that no sentence of a paper has: by their roots, and in memory that a long word cannot fill."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import topic_words, unmentioned_words
from evidencebench import Dataset

_WORDS = ["kidney", "therapy", "infection", "harmed", "dialysis", "statin", "wine", "placebo-controlled", "HbA1c"]


@pytest.mark.parametrize(
    ("hypothesis", "sentence"),
    [
        ("Statins cause infections.", "An infection was treated with a statin."),
        ("Therapies harm kidneys.", "Therapy harmed the kidney."),
        ("Hypertension is inherited.", "Hypertensive parents pass it on: inheritance is likely."),
        ("Antiinflammatory drugs work.", "An anti-inflammatory drug that works."),
        ("Aspirin 500 mg or 5mg increases the risk.", "They took aspirin."),
        ("How many of them were there, and that nothing was found by anybody else, or why?", "It was found."),
        ("The outcome is significantly worse than in the placebo group.", "Nothing was measured."),
    ],
)
def test_a_word_is_mentioned_in_any_form_and_words_of_any_study_do_not_count(hypothesis: str, sentence: str) -> None:
    assert unmentioned_words(hypothesis, [sentence]) == ()


@pytest.mark.parametrize(
    ("hypothesis", "words"),
    [
        ("Xyzzy unrelated cats", ("xyzzy", "unrelated", "cats")),
        ("Statins lower cholesterol in patients with gout.", ("cholesterol", "gout")),
        ("Tea is good", ("tea", "good")),
    ],
)
def test_words_that_are_nowhere_are_named_in_order(hypothesis: str, words: tuple[str, ...]) -> None:
    assert unmentioned_words(hypothesis, ["A statin was given.", "A team goes on."]) == words


@given(st.lists(st.sampled_from(_WORDS), min_size=1), st.sets(st.sampled_from(["xyzzy", "quux", "plugh"])))
def test_no_word_that_the_paper_has_is_named_and_every_other_is(own: list[str], other: set[str]) -> None:
    sentences = [f"We saw {word}s once." for word in own]
    assert set(unmentioned_words(" ".join([*own, *sorted(other)]), sentences)) == other


def test_a_word_as_long_as_a_paper_takes_no_more_memory_than_the_paper() -> None:
    tracemalloc.start()
    try:
        assert unmentioned_words("Wine harms cats.", ["a" * 20_000, "Wine."]) == ("harms", "cats")
        assert tracemalloc.get_traced_memory()[1] < 1e6, "all its beginnings are 200 MB"
    finally:
        tracemalloc.stop()


@pytest.mark.data
def test_of_its_own_paper_a_hypothesis_never_has_only_words_that_are_not_mentioned(train: Dataset) -> None:
    queries = list(train.queries())
    for query, other in zip(queries, [*queries[1:], queries[0]], strict=True):
        own = topic_words(query.hypothesis)
        assert len(unmentioned_words(query.hypothesis, query.sentences)) < len(own)
        assert other.paper_id == query.paper_id or unmentioned_words(query.hypothesis, other.sentences)
