from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import _WORDS, sentence_spans
from evidencebench import Dataset, Kind, Query
from kit.examples import SHORTER, examples

LINES = (Path(__file__).parent / "sentence_examples.txt").read_text(encoding="utf-8").splitlines()
WORDS = 'The We cells Fig e.g p<0.05 J E al U.S mRNA [3,4] (i) a 1 3 : ; . ? ... ) ( , \u201d "'
PIECES = st.sampled_from([*WORDS.split(), *"  \n\u00a0\u2009"])
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=30).map("".join))


@pytest.mark.parametrize("line", [line for line in LINES if line and not line.startswith("# ")])
def test_a_sentence_begins_at_each_bar(line: str) -> None:
    text = line.replace("|", "")
    starts = [start for start, _ in sentence_spans(text)]
    assert "|".join(text[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)) == line


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


@given(TEXTS)
@examples(500)
def test_each_sentence_alone_is_one_and_what_is_cut_between_two_splits_as_before(text: str) -> None:
    spans = sentence_spans(text)
    for cut, end in spans:
        assert sentence_spans(text[cut:end]) == [(0, end - cut)]
        behind = [(start + cut, stop + cut) for start, stop in sentence_spans(text[cut:])]
        assert sentence_spans(text[:cut]) + behind == spans


@pytest.mark.parametrize("unit", ["a", "a. ", "A. ", ".", ". ", ".)", "[3", "1. ", "a.1,", "\u00b9", '?"', "a.The"])
def test_a_paragraph_of_a_megabyte_is_split_whatever_it_is(unit: str) -> None:
    text = unit * (1_000_000 // SHORTER // len(unit))
    assert sum(stop - start for start, stop in sentence_spans(text)) >= len("".join(text.split()))


def test_no_abbreviation_is_both_never_and_sometimes_last() -> None:
    assert not _WORDS["never_last"] & (_WORDS["seldom_last"] | _WORDS["before_number"])


def paragraphs(queries: Iterable[Query]) -> Iterator[list[str]]:
    """Yield the sentences of each paper, once, that stand together: of one kind, between two headings."""
    for query in {query.paper_id: query for query in queries}.values():
        for kind, group in groupby(zip(query.sentences, query.kinds, strict=True), key=lambda pair: pair[1]):
            if kind is not Kind.HEADING:
                yield [sentence.strip() for sentence, _ in group if sentence.strip()]


@pytest.mark.data
def test_the_boundaries_of_the_train_split_are_found_again(train: Dataset) -> None:
    n_found, n_own, n_both = 0, 0, 0
    for sentences in paragraphs(instance.query for instance in train):
        own = set(accumulate(len(sentence) + 1 for sentence in sentences[:-1]))
        found = {start for start, _ in sentence_spans(" ".join(sentences))[1:]}
        n_found, n_own, n_both = n_found + len(found), n_own + len(own), n_both + len(own & found)
    assert n_own == 14_040
    assert 2 * n_both / (n_found + n_own) >= 0.97
