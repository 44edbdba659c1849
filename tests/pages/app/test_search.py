"""The search against a search by plain Python through every text."""

import re
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import SearchIndex, Where, hits_in, words_in
from doors import search_words_of as words_of
from evidencebench import Kind, Query

LETTERS = "ab1é" + "ё中"
texts = st.text(alphabet=LETTERS + ' -"*()', max_size=12)


def query(position: int, *sentences: str, hypothesis: str = "") -> Query:
    return Query(
        instance_id=f"id_{position}",
        paper_id="p",
        hypothesis=hypothesis,
        sentences=sentences,
        kinds=(Kind.BODY,) * len(sentences),
    )


def index_of(sentences: Sequence[str]) -> SearchIndex:
    index = SearchIndex()
    index.add([words_in(query(position, text)) for position, text in enumerate(sentences)])
    return index


def found(index: SearchIndex, text: str, where: Where = "") -> list[int] | None:
    positions = index.find(text, where)
    return None if positions is None else positions.tolist()


@given(st.lists(texts, min_size=1, max_size=6), texts)
def test_it_finds_what_holds_every_word_as_the_beginning_of_one(sentences: list[str], asked: str) -> None:
    index = index_of(sentences)
    words = words_of(asked)
    held = [words_of(f"id_{position} {text}") for position, text in enumerate(sentences)]
    expected = [
        position
        for position, of_text in enumerate(held)
        if all(any(word.startswith(wanted) for word in of_text) for wanted in words)
    ]
    assert found(index, asked) == (expected if words else None)
    index.close()


@given(st.text(max_size=30))
def test_whatever_is_typed_is_never_a_command(asked: str) -> None:
    index = index_of(["alpha beta"])
    assert found(index, f'{asked}" OR alpha NEAR(x) *') in ([], [0])
    index.close()


@pytest.mark.parametrize(
    "asked",
    [
        '"',
        '""',
        "alpha AND",
        "NOT alpha",
        "text:alpha",
        "alpha*",
        "^alpha",
        "-alpha",
        "{text}:alpha",
        "al\x00pha",
        "\ud800",
    ],
)
def test_the_language_of_the_index_has_no_meaning(asked: str) -> None:
    index = index_of(["alpha text and", "beta"])
    assert found(index, asked) == {'"': None, '""': None, "NOT alpha": [], "al\x00pha": [], "\ud800": None}.get(
        asked, [0]
    )
    index.close()


def test_words_are_letters_and_digits_of_any_script() -> None:
    """The page's script uses the pattern ``[\\p{L}\\p{N}]+`` after NFKD without ``\\p{M}``; both must find the same."""
    for char in map(chr, range(0x33480)):  # beyond which no letter is assigned
        plain = "".join(
            part for part in unicodedata.normalize("NFKD", char) if not unicodedata.category(part).startswith("M")
        )
        expected = [
            word
            for word in re.split(
                "\x00+", "".join(c if unicodedata.category(c)[0] in "LN" else "\x00" for c in plain.lower())
            )
            if word
        ]
        assert words_of(char) == expected, (hex(ord(char)), words_of(char), expected)


def test_id_hypothesis_and_text_are_searched_and_a_paper_that_cannot_be_read_is_left_out() -> None:
    index = SearchIndex()
    index.add([words_in(query(0, "Text of the paper", hypothesis="Statins help"))])
    index.add([None, words_in(query(2, "statin again"))])
    assert index.n_searched == 3
    assert found(index, "STATIN") == [0, 2]
    assert found(index, "statin pap") == [0]
    assert found(index, "id 2") == [2]
    assert found(index, "statin", "hypothesis") == [0]
    assert found(index, "statin", "text") == [2]
    assert found(index, "statin pap", "text") == []
    assert found(index, "2", "text") == []
    index.close()


@given(st.lists(texts, min_size=1, max_size=6), texts)
def test_hits_are_the_sentences_with_a_searched_word(sentences: list[str], asked: str) -> None:
    words = set(words_of(asked))
    held = [sum(any(one.startswith(word) for one in words_of(text)) for word in words) for text in sentences]
    hits = hits_in(sentences, asked)
    if not any(held):
        assert hits is None
    else:
        assert hits is not None
        best = held.index(max(held))
        assert (hits.n, hits.index, hits.text) == (sum(map(bool, held)), best, sentences[best])
