import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.papers.sentences import sentence_spans
from examples import examples

WORDS = 'The We cells Fig e.g p<0.05 J E al U.S mRNA [3,4] (i) 1 3 . ? ... ) ( , \u201d "'
PIECES = st.sampled_from([*WORDS.split(), *"  \n\u00a0\u2009"])
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=30).map("".join))


@given(TEXTS)
@examples(500)
def test_every_character_but_white_space_is_in_exactly_one_sentence(text: str) -> None:
    end = 0
    for start, stop in sentence_spans(text):
        assert end <= start < stop <= len(text)
        assert not text[end:start].strip()
        assert text[start:stop] == text[start:stop].strip()
        end = stop
    assert not text[end:].strip()


@pytest.mark.parametrize("unit", ["a", "a. ", "A. ", ".", " ", ".)", "[3", "1. ", "a.1,", "\u00b9", '?"', "Ab. [1] "])
def test_a_long_paragraph_of_anything_is_split(unit: str) -> None:
    text = unit * 200_000
    spans = sentence_spans(text)
    assert "".join(text[start:stop] for start, stop in spans).split() == text.split() or len(spans) > 1
