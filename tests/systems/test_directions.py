"""What a sentence reports of a hypothesis's outcome."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.errors import ModelError
from evidencebench.systems.directions.classifier import (
    LEARNED,
    SHIPPED,
    ReportedDirection,
    read_weights,
    reported_directions,
    shipped_weights,
)
from evidencebench.systems.directions.features import MarkedParts, direction_features, marked_words

_TEA = "Tea, compared with water, changes blood pressure."
_WATER = "Water, compared with tea, changes blood pressure."
INCREASE, DECREASE, NO_DIFFERENCE, NOT_SAID = ReportedDirection


def _directions(hypothesis: str, *sentences: str) -> list[ReportedDirection]:
    return list(reported_directions(hypothesis, sentences, range(len(sentences))).values())


@pytest.mark.parametrize(
    ("sentence", "direction"),
    [
        ("Blood pressure was significantly higher with tea than with water (p < 0.001).", INCREASE),
        ("Compared with water, tea significantly increased blood pressure (P=0.002).", INCREASE),
        ("Blood pressure was significantly lower with tea than with water (p = 0.01).", DECREASE),
        ("Tea significantly reduced blood pressure compared with water.", DECREASE),
        ("Blood pressure did not differ between tea and water (p = 0.6).", NO_DIFFERENCE),
        ("There was no significant difference in blood pressure between tea and water.", NO_DIFFERENCE),
        ("Nurses took the blood pressure twice a day.", NOT_SAID),
    ],
)
def test_a_sentence_says_what_it_reports(sentence: str, direction: ReportedDirection) -> None:
    assert _directions(_TEA, sentence) == [direction]


@pytest.mark.parametrize("word", ["tea than with water", "the tea group than in the water group"])
def test_it_matters_which_arm_is_asked_about(word: str) -> None:
    sentence = f"Blood pressure was significantly higher in {word} (p < 0.001)."
    assert (_directions(_TEA, sentence), _directions(_WATER, sentence)) == ([INCREASE], [DECREASE])


def test_a_hypothesis_of_another_form_is_read_too() -> None:
    assert _directions("Tea lowers blood pressure.", "Tea significantly reduced blood pressure (p < 0.01).") == [
        DECREASE
    ]


def test_an_abbreviation_stands_for_its_full_name() -> None:
    parts = MarkedParts.of(_TEA, {"bp": ("blood", "pressure")})
    assert marked_words("BP fell.", parts) == ["O", "fell", "."]


@pytest.mark.parametrize(
    ("written", "mark"),
    [
        ("p = 0.03", "p<0.05"),
        ("P<.05", "p<0.05"),
        ("p-value of 0.2", None),
        ("P value = 0·20", "p>0.05"),
        ("p > 0.05", "p>0.05"),
        ("p < 0.10", "p<1"),
        ("p ≥ 0.05", "p>0.05"),
        ("pH = 0.05", None),
    ],
)
def test_p_values_are_read_by_the_level_of_5_percent(written: str, mark: str | None) -> None:
    words = marked_words(f"It fell ({written}).", MarkedParts.of(_TEA, {}))
    assert [word for word in words if word.startswith(("p<", "p>"))] == ([] if mark is None else [mark])


_TEXT = "tea water blood pressure higher lower no difference than p < 0.05 = 3 ( ) . é 12,5"
_WORDS = st.sampled_from(_TEXT.split())


@given(st.lists(_WORDS, max_size=40), st.randoms(use_true_random=False))
def test_white_space_and_order_of_features_change_nothing(words: list[str], rng: random.Random) -> None:
    sentence = " ".join(words)
    assert _directions(_TEA, sentence) == _directions(_TEA, "\n \t".join(words))
    features = sorted(direction_features(marked_words(sentence, MarkedParts.of(_TEA, {}))))
    shuffled = rng.sample(features, len(features))
    assert shipped_weights().direction(shuffled) is shipped_weights().direction(features)


def test_of_a_long_sentence_the_first_words_are_read() -> None:
    padding = "p " * 200_000
    long = "tea is higher than water and lower, " * 20_000
    assert _directions(_TEA, long + padding)[0] in LEARNED
    assert _directions(_TEA, padding + long) == [NOT_SAID]


def test_the_weights_are_small_and_of_evidence_inference_alone() -> None:
    assert SHIPPED.stat().st_size < 200_000
    assert shipped_weights().data["name"] == "Evidence Inference 2.0"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"starts":[0,0],"weights":{},"data":{}}', b"\xff"])
def test_damaged_weights_are_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"cannot be read as weights of directions: .*; install the package again"):
        read_weights(path)
