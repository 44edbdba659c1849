"""What a sentence reports of a hypothesis's outcome."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import SHIPPED_DIRECTIONS as SHIPPED
from doors import (
    ReportedDirection,
    Stance,
    marked_words,
    paper_folds,
    part_marks,
    question_of,
    read_annotations,
    read_prompts,
    reported_directions,
    shipped_weights,
    split_at_fold,
    stance_of,
    turned_to_intervention,
)
from kit.examples import IS_THOROUGH
from kit.skips import DATA_FOLDER
from make_direction_model import LABELS, OPPOSITE, WORDINGS, Prompt, fitted

_TEA = "Tea, compared with water, changes blood pressure."
INCREASE, DECREASE, NO_DIFFERENCE, NOT_SAID = ReportedDirection
SUPPORTS, CONTRADICTS, NO_CHANGE = Stance


def _directions(hypothesis: str, *sentences: str) -> list[ReportedDirection]:
    """Return what each sentence alone reports."""
    return [direction for text in sentences for direction in reported_directions(hypothesis, [text], [0]).values()]


def _leading(hypothesis: str, *sentences: str) -> list[ReportedDirection]:
    """Return what leads for each sentence alone, be it by little."""
    marks = part_marks(hypothesis, {})
    return [shipped_weights().leading([marked_words(sentence, marks)])[0][0] for sentence in sentences]


_STATED = {
    "Blood pressure was significantly higher with tea than with water (p < 0.001).": INCREASE,
    "Compared with water, tea significantly increased blood pressure (P=0.002).": INCREASE,
    "Blood pressure was significantly lower with tea than with water (p = 0.01).": DECREASE,
    "Tea significantly reduced blood pressure compared with water.": DECREASE,
    "Blood pressure did not differ between tea and water (p = 0.6).": NO_DIFFERENCE,
    "There was no significant difference in blood pressure between tea and water.": NO_DIFFERENCE,
    "Whether or not they liked it, blood pressure was lower with tea than with water (p = 0.01).": DECREASE,
    "Blood pressure was significantly lower with tea (p < 0.05), a difference that was considered relevant.": DECREASE,
    "The primary outcome, blood pressure, was lower with tea than with water (p = 0.01).": DECREASE,
    "At the significant p value of 0.01, blood pressure was lower with tea than with water.": DECREASE,
    "Tea slowed the rise of blood pressure compared with water (p = 0.01).": DECREASE,
    "Tea does not consistently yield a higher blood pressure than water.": NO_DIFFERENCE,
    "Tea does not always lower blood pressure.": NO_DIFFERENCE,
}
_NOT_STATED = """
Nurses took the blood pressure twice a day.
It is not known whether tea lowers blood pressure more than water.
The level of significance was set at P< 0.05.
A p value of less than 0.05 was considered statistically significant.
P < 0.05 was taken as significant for blood pressure.
A sample size of 120 adults gave 80% power to detect a difference of 3 mmHg with tea (p < 0.05).
The aim of this study was to find out whether tea lowers blood pressure more than water.
We hypothesised that blood pressure would be lower with tea than with water.
A response was defined as a blood pressure that was lower than before tea.
Previous studies found a lower blood pressure with tea than with water (p = 0.01).
It has been shown that tea lowers blood pressure significantly (p < 0.001).
Nurse et al. found a lower blood pressure with tea (p = 0.01).
"""


def test_what_compares_the_other_arm_alone_says_nothing_of_the_intervention() -> None:
    found = "Blood pressure was significantly higher with tea than with water (p < 0.001)."
    texts = [found, found, "With water, blood pressure was significantly higher than in former years (p = 0.01)."]
    assert [*reported_directions(_TEA, texts, range(3)).values()] == [INCREASE, INCREASE, NOT_SAID]


def test_letters_and_digits_are_one_word() -> None:
    marks = part_marks("Does BM25 improve recall compared with TF2?", {})
    words = marked_words("BM25 had 5 points more recall than TF2.", marks)
    assert " ".join(words) == "I had # points more O than C ."


def test_a_sentence_says_what_it_reports_and_one_that_states_no_finding_of_its_paper_nothing() -> None:
    assert dict(zip(_STATED, _leading(_TEA, *_STATED), strict=True)) == _STATED
    assert _directions(_TEA, *_STATED).count(NOT_SAID) <= len(_STATED) // 4, "most are sure"
    assert {*_directions(_TEA, *_NOT_STATED.strip().splitlines())} == {NOT_SAID}


# {I} against {C}; asked with both exchanged, an increase is a decrease.
_REPORTED = {
    "{O} was higher with {I} than with {C}.": INCREASE,
    "{O} was significantly higher in the {I} group compared with the {C} group (P < 0.001).": INCREASE,
    "{O} was significantly increased by {I} compared with {C}.": INCREASE,
    "Compared with {C}, {I} significantly increased {O} (P=0.002).": INCREASE,
    "{I} increased {O} more than {C} did (p < 0.05).": INCREASE,
    "The {I} group had significantly higher {O} than the {C} group.": INCREASE,
    "There was a greater increase in {O} with {I} than with {C} (p = 0.02).": INCREASE,
    "Significantly higher {O} was seen with {I} versus {C} (p = 0.03).": INCREASE,
    "{O} was lower with {I} than with {C}.": DECREASE,
    "{O} in the {I} group was significantly lower than that in the {C} group (p<0.05).": DECREASE,
    "{O} was reduced by {I} as compared with {C}.": DECREASE,
    "Compared with {C}, {I} significantly reduced {O} (P=0.002).": DECREASE,
    "{I} reduced {O} more than {C} did (p < 0.05).": DECREASE,
    "The {I} group had significantly lower {O} than the {C} group.": DECREASE,
    "In the {I} group, {O} fell by 12%, whereas it rose by 3% in the {C} group (p = 0.004).": DECREASE,
    "There was a greater reduction in {O} with {I} than with {C} (p = 0.02).": DECREASE,
    "{O} did not differ between {I} and {C} (p = 0.6).": NO_DIFFERENCE,
    "{O} was similar in the {I} and {C} groups.": NO_DIFFERENCE,
    "{I} did not change {O} compared with {C} (P > 0.05).": NO_DIFFERENCE,
    "{O} was not significantly lower with {I} than with {C} (p = 0.21).": NO_DIFFERENCE,
}
_TRIALS = [
    ("tea", "water", "blood pressure"),
    ("ketamine", "morphine", "pain scores"),
    ("early mobilisation", "bed rest", "length of stay"),
]


@pytest.mark.parametrize(
    "form",
    [
        "{I}, compared with {C}, changes {O}.",
        "{I} leads to lower {O} than {C}.",
        "{I} reduces {O} compared with {C}.",
        "{I} increases {O} more than {C}.",
        "Compared with {C}, {I} lowers {O}.",
        "{I} is associated with higher {O} versus {C}.",
    ],
)
@pytest.mark.parametrize("trial", _TRIALS, ids=lambda trial: trial[0])
def test_it_matters_which_arm_is_asked_about(form: str, trial: tuple[str, str, str]) -> None:
    first, second, outcome = trial
    sentences = [sentence.format(I=first, C=second, O=outcome) for sentence in _REPORTED]
    asked = form.format(I=first, C=second, O=outcome)
    exchanged = form.format(I=second, C=first, O=outcome)
    opposite = [OPPOSITE[direction] for direction in _REPORTED.values()]
    for hypothesis, expected in ((asked, list(_REPORTED.values())), (exchanged, opposite)):
        assert _leading(hypothesis, *sentences) == expected
        said = _directions(hypothesis, *sentences)
        assert all(direction in (right, NOT_SAID) for direction, right in zip(said, expected, strict=True))
        assert said.count(NOT_SAID) <= len(said) // 4, "most are sure"


_CLAIMS = {
    "Does tea lower blood pressure compared with water?": [SUPPORTS, CONTRADICTS, NO_CHANGE],
    "Is blood pressure higher with tea than with water?": [CONTRADICTS, SUPPORTS, NO_CHANGE],
    "Tea does not change blood pressure compared with water": [CONTRADICTS, CONTRADICTS, SUPPORTS],
    "Tea does not lower blood pressure compared with water": [CONTRADICTS, SUPPORTS, SUPPORTS],
    "Tea improves blood pressure compared with water": [None, None, NO_CHANGE],
    "Tea improves sleep quality compared with water": [CONTRADICTS, SUPPORTS, NO_CHANGE],
    "Is tea better than water for pain?": [SUPPORTS, CONTRADICTS, NO_CHANGE],
    "Tea is non-inferior to water for pain": [SUPPORTS, CONTRADICTS, SUPPORTS],
    "Tea is not as effective as water for pain relief": [SUPPORTS, CONTRADICTS, NO_CHANGE],
    "Does tea worsen time to recovery compared with water?": [CONTRADICTS, SUPPORTS, NO_CHANGE],
    "What is the effect of tea versus water on blood pressure?": [None, None, None],
}


@pytest.mark.parametrize("claim", _CLAIMS)
def test_a_decrease_an_increase_and_no_difference_support_or_contradict_a_claim(claim: str) -> None:
    question = question_of(claim)
    reported = (DECREASE, INCREASE, NO_DIFFERENCE)
    assert [stance_of(direction, question) for direction in reported] == _CLAIMS[claim]
    assert (stance_of(NOT_SAID, question), stance_of(None, question)) == (None, None)


# Hypothesis, sentence, what it reports, what that means: hard ones, each read alone.
_HARD = [
    ("Tea reduces pain", "Pain scores were lower in the tea group than in controls (p = 0.01).", DECREASE, SUPPORTS),
    ("Tea reduces pain", "Pain was higher with placebo than with tea (p = 0.01).", DECREASE, SUPPORTS),
    ("Tea improves pain", "Pain significantly improved with tea versus water (p=0.01).", DECREASE, SUPPORTS),
    ("Tea improves sleep", "Pain did not differ between tea and water at baseline (p = 0.6).", NOT_SAID, None),
    ("Tea reduces pain", "Tea reduced pain more than water in a Chinese cohort [12, 13].", NOT_SAID, None),
    ("Tea reduces pain", "Patients were randomly assigned to no tea or water.", NOT_SAID, None),
    # An arm without the intervention is not the intervention's.
    ("A gift raises mating", "Mating was significantly reduced in males with no gift (p < 0.001).", NOT_SAID, None),
]


@pytest.mark.parametrize(("hypothesis", "sentence", "direction", "stance"), _HARD)
def test_hard_sentences(hypothesis: str, sentence: str, direction: ReportedDirection, stance: Stance | None) -> None:
    (said,) = _directions(hypothesis, sentence)
    assert (said, stance_of(said, question_of(hypothesis))) == (direction, stance)


def test_what_was_found_beside_a_sentence_helps_to_read_it_the_more_the_higher_it_stands() -> None:
    doubtful = "Blood pressure was 131 with tea and 152 with water (P < 0.01)."
    clear = "Tea significantly reduced blood pressure compared with water (p = 0.01)."
    assert _directions(_TEA, doubtful) == [NOT_SAID]
    sentences = [doubtful, clear, *["It rained."] * 8]
    assert reported_directions(_TEA, sentences, [1, 0])[0] is DECREASE
    assert reported_directions(_TEA, sentences, [0, *range(2, 10), 1])[0] is NOT_SAID
    assert _leading(_TEA, doubtful, doubtful.replace("131", "161")) == [DECREASE, INCREASE], "numbers are compared"


_MARKED = st.sampled_from(["I", "C", "O", "than", "versus", "with", "higher", "lower", "not", "p<0.05", "group"])


@given(st.lists(_MARKED, max_size=15))
def test_turning_twice_changes_nothing_and_leaves_the_comparator_compared_against(words: list[str]) -> None:
    turned, is_turned = turned_to_intervention(words)
    assert turned_to_intervention(turned) == (turned, False)
    assert (turned == words) is not is_turned


@pytest.mark.data
def test_on_papers_that_it_has_not_seen_the_model_beats_the_most_frequent_direction() -> None:
    folder = DATA_FOLDER / "evidence_inference"
    if not folder.is_dir():
        pytest.skip(f"needs the real file {folder}, which is not here")
    asked = {prompt.id: prompt for prompt in read_prompts(folder / "prompts.csv")}
    prompts = [
        Prompt(
            paper=asked[annotation.prompt_id].pmcid,
            label=LABELS[annotation.direction],
            texts={
                wording: [marked_words(annotation.text, part_marks(asked[annotation.prompt_id].hypothesis, {}))]
                for wording in WORDINGS
            },
            marked=[0],
        )
        for annotation in read_annotations(folder / "annotations.csv")
        if annotation.direction and annotation.has_valid_label and annotation.has_valid_reasoning
    ]
    if not IS_THOROUGH:
        some_papers = set(sorted({prompt.paper for prompt in prompts})[::4])
        prompts = [prompt for prompt in prompts if prompt.paper in some_papers]
    fold = paper_folds([prompt.paper for prompt in prompts], 5, np.random.default_rng(0))[0]
    seen, held_back = split_at_fold(prompts, fold)
    weights = fitted(seen, data={})
    right = [weights.directions(prompt.texts[WORDINGS[0]]) == [prompt.label] for prompt in held_back]
    most_frequent = max(Counter(prompt.label for prompt in held_back).values())
    assert len(held_back) > (500 if IS_THOROUGH else 100)
    assert sum(right) >= most_frequent + 0.15 * len(held_back)


def test_an_abbreviation_stands_for_its_full_name() -> None:
    marks = part_marks(_TEA, {"bp": ("blood", "pressure")})
    assert marked_words("BP fell.", marks) == ["O", "fell", "."]


@pytest.mark.parametrize(
    ("written", "mark"),
    [
        *(("p = 0.03", "p<0.05"), ("P<.05", "p<0.05"), ("P value = 0·20", "p>0.05"), ("p > 0.05", "p>0.05")),
        *(("p < 0.10", "p<1"), ("p ≥ 0.05", "p>0.05"), ("p-value of 0.2", None), ("pH = 0.05", None)),
    ],
)
def test_p_values_are_read_by_the_level_of_5_percent(written: str, mark: str | None) -> None:
    words = marked_words(f"It fell ({written}).", part_marks(_TEA, {}))
    assert [word for word in words if word.startswith(("p<", "p>"))] == ([] if mark is None else [mark])


_TEXT = "tea water blood pressure higher lower no difference than p < 0.05 = 3 ( ) . é 12,5"
_WORDS = st.sampled_from(_TEXT.split())


@given(st.lists(_WORDS, max_size=40))
def test_white_space_changes_nothing(words: list[str]) -> None:
    sentence = " ".join(words)
    assert _directions(_TEA, sentence) == _directions(_TEA, "\n \t".join(words))


def test_of_a_long_sentence_the_first_words_are_read() -> None:
    padding = "p " * 200_000
    long = "pressure is lower with tea than with water, " * 20_000
    assert _directions(_TEA, long + padding) == [DECREASE]
    assert _directions(_TEA, padding + long) == [NOT_SAID]


def test_the_weights_are_small_and_of_evidence_inference_alone() -> None:
    assert SHIPPED.stat().st_size < 200_000
    assert shipped_weights().data["name"] == "Evidence Inference 2.0"


_LINES = Path(__file__).with_name("denials.txt").read_text(encoding="utf-8").splitlines()[1:]
_DENIALS = [
    (denial, affirmed, ReportedDirection(way))
    for denial, affirmed, way in zip(_LINES[::4], _LINES[1::4], _LINES[2::4], strict=True)
]


@pytest.mark.parametrize(("denial", "affirmation", "direction"), _DENIALS)
def test_what_supports_a_claim_never_supports_its_denial(
    denial: str, affirmation: str, direction: ReportedDirection
) -> None:
    assert stance_of(direction, question_of(denial)) in {CONTRADICTS, None}
    assert stance_of(direction, question_of(affirmation)) in {SUPPORTS, None}


def test_most_denials_and_affirmations_are_told() -> None:
    told = [stance_of(way, question_of(text)) for denial, affirmed, way in _DENIALS for text in (denial, affirmed)]
    assert len(told) == 120
    assert sum(stance is not None for stance in told) > 100
