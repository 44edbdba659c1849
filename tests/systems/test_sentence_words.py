"""The words of a paper, cut once: the same as words cut sentence by sentence, and weighed as the textbook says."""

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from doors import SentenceWords, WeightedTerms, tokens, words_of

_TEXT = st.text(st.sampled_from("abcdeİΣßA19 .-,_\u2010the \n"), max_size=40)


@given(sentences=st.lists(_TEXT, max_size=8).map(tuple), stopwords=st.booleans())
def test_words_are_those_of_each_sentence_in_order(*, sentences: tuple[str, ...], stopwords: bool) -> None:
    paper = SentenceWords(sentences)
    numbers, places = paper.kept(stopwords=stopwords)
    cut: list[list[str]] = [[] for _ in sentences]
    for number, place in zip(numbers.tolist(), places.tolist(), strict=True):
        cut[place].append(paper.words[number])
    assert cut == [tokens(sentence, stopwords=stopwords) for sentence in sentences]


@given(sentences=st.lists(_TEXT, min_size=1, max_size=8).map(tuple), stopwords=st.booleans())
def test_weights_are_those_of_counting_each_sentence_for_itself(*, sentences: tuple[str, ...], stopwords: bool) -> None:
    paper = SentenceWords(sentences)
    weighted = WeightedTerms(paper, stopwords=stopwords)
    counts = [Counter(tokens(sentence, stopwords=stopwords)) for sentence in sentences]
    n_holding = Counter(term for count in counts for term in count)
    idf = {term: math.log((1 + len(counts)) / (1 + n)) + 1 for term, n in n_holding.items()}
    found = [
        (place, paper.words[number], weight)
        for place, number, weight in zip(
            weighted.terms.sentences.tolist(), weighted.terms.numbers.tolist(), weighted.weights.tolist(), strict=True
        )
    ]
    # Not approximately: an answer must not change in its last bit with the way in which words are counted.
    assert found == [(place, term, n * idf[term]) for place, count in enumerate(counts) for term, n in count.items()]
    assert weighted.norms.tolist() == [math.hypot(*(n * idf[term] for term, n in count.items())) for count in counts]


def test_no_more_than_two_papers_are_kept() -> None:
    first = words_of(("Tea.",))
    assert words_of(("Tea.",)) is first
    for number in range(3):
        words_of((f"Paper {number}.",))
    assert words_of(("Tea.",)) is not first
