"""Words of a hypothesis that a paper never mentions: by their meaning, and in memory that a long word cannot fill."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from evidencebench.systems.retrievers.tokens import tokens
from evidencebench.systems.topic_words import topic_words, unmentioned_words

NAMES = st.sampled_from(
    ["cat", "cats", "kidney", "kidneys", "kidneyed", "therapy", "therapies", "wine", "wines", "gin"]
)


@given(asked=st.lists(NAMES, min_size=1).map(" ".join), paper=st.lists(st.lists(NAMES | st.just("the")).map(" ".join)))
def test_a_word_is_mentioned_where_a_word_of_the_paper_begins_with_its_stem(asked: str, paper: list[str]) -> None:
    stems = {"cat": 3, "cats": 3, "gin": 3, "wine": 4, "wines": 4, "therapy": 6, "therapies": 6}
    held = [token for sentence in paper for token in tokens(sentence)]

    def is_mentioned(word: str) -> bool:
        stem = word[: stems.get(word, 6)]
        # Of short stems, such as "cat", the whole word counts: "catheter" is no cat.
        return any(one.startswith(stem) if len(stem) > 3 else one[: stems.get(one)] == stem for one in held)

    assert unmentioned_words(asked, paper) == tuple(word for word in topic_words(asked) if not is_mentioned(word))


def test_a_word_as_long_as_a_paper_takes_no_more_memory_than_the_paper() -> None:
    tracemalloc.start()
    try:
        assert unmentioned_words("Wine harms cats.", ["a" * 20_000, "Wine."]) == ("harms", "cats")
        assert tracemalloc.get_traced_memory()[1] < 1e6, "all its beginnings are 200 MB"
    finally:
        tracemalloc.stop()
