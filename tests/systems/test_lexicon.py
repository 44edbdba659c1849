"""Every cue finds what it is for and nothing else, and every word of the lists counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import CUES, Cue, asks, count_cues
from kit.cue_examples import EXAMPLES
from kit.strategies import sentence_texts

NAMES = [cue.name for cue in CUES]


def counts(sentence: str) -> dict[str, int]:
    return {name: int(n) for name, n in zip(NAMES, count_cues([sentence])[0], strict=True) if n}


def test_every_cue_has_an_example_and_every_name_is_its_own() -> None:
    assert list(EXAMPLES) == NAMES
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("cue", CUES, ids=lambda cue: cue.name)
def test_a_cue_counts_in_its_example_and_not_in_the_sentence_like_it(cue: Cue) -> None:
    has, n, has_not = EXAMPLES[cue.name]
    assert counts(has).get(cue.name) == n
    assert cue.name not in counts(has_not)


@pytest.mark.parametrize("cue", CUES, ids=lambda cue: cue.name)
def test_every_word_and_phrase_of_a_cue_counts_where_it_stands(cue: Cue) -> None:
    for entry in [*cue.words.split(), *cue.phrases]:
        for text in (entry, entry.upper()):
            assert cue.name in counts(f"({text.rstrip('*')})"), entry
    for word in cue.words.split():
        suffixed = cue.name in counts(f"{word.rstrip('*')}zzz")
        assert suffixed == word.endswith("*"), word


@pytest.mark.parametrize("cue", [cue for cue in CUES if cue.holds], ids=lambda cue: cue.name)
@given(st.data())
def test_every_match_of_a_pattern_holds_a_text_without_which_it_is_not_searched(cue: Cue, data: st.DataObject) -> None:
    match = data.draw(st.from_regex(cue.pattern))
    assert any(text in match for text in cue.holds)


@given(st.lists(sentence_texts, max_size=5))
def test_counts_of_a_sentence_depend_on_no_other_and_are_whole(sentences: list[str]) -> None:
    together = count_cues(sentences)
    assert together.shape == (len(sentences), len(CUES))
    for row, sentence in zip(together, sentences, strict=True):
        assert np.array_equal(row, count_cues([sentence])[0])
    assert np.array_equal(together, np.floor(together))
    assert (together >= 0).all()


ASKING = [
    *("Is tea good for the heart?", "They asked: \u201cIs tea good?\u201d", "Whether tea lowers pressure is unclear."),
    *("The effect of tea is not well understood.", "Little is known of tea.", "We aimed to lower pressure."),
    "OBJECTIVE: To assess the effect of tea on pressure.",
]
REPORTING = [
    *("Tea lowered pressure.", "Pressure was assessed with a cuff, and tea lowered it."),
    *("Knowing the aim, none of them failed to drink.", ""),
]


def test_questions_aims_and_what_is_unknown_ask_and_what_reports_does_not() -> None:
    assert [sentence for sentence in (*ASKING, *REPORTING) if asks(sentence)] == ASKING
