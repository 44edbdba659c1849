"""What a model wrote is checked without a model: length, language, numbers, findings given away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.construction.writing import is_foreign, numbers_in, wrong_with_aspect, wrong_with_hypothesis
from examples import examples

SUMMARY = (
    "In a randomised trial of 1,204 adults with type 2 diabetes, green tea lowered fasting glucose by 0.4 mmol/l "
    "(95% CI 0.1 to 0.7) compared with water, and COX-2 did not change."
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Green tea lowers fasting glucose in adults with type 2 diabetes.", ""),
        ("Drinking tea has no effect on COX-2 in people with diabetes", ""),
        ("In adults with diabetes, tea lowers glucose more than water does.", ""),
        ("Three cups or 500 ml of green tea a day lower glucose.", ""),  # a number that the summary lacks
        ("Tea lowers glucose. Water does not.", "it has 2 sentences, not one"),
        ("Tea lowers glucose.", "it has 3 words, not 5 to 50"),
        (" ".join(["tea"] * 51), "it has 51 words, not 5 to 50"),
        ("Does green tea lower fasting glucose in adults?", "it is a question, not a statement"),
        ("Green tea lowers fasting glucose by 0.4 mmol/l in adults.", "gives away the number 0.4"),
        ("Tea lowers glucose in a trial of 1204 adults.", "gives away the number 1204"),
        ("Green tea significantly lowers fasting glucose in adults.", "'significantly' gives away"),
        ("Fasting glucose was found to be lower with green tea.", "'was found' gives away"),
        ("El t\u00e9 verde baja la glucosa en ayunas de personas mayores", "not in the language of the summary"),
        ("\u7eff\u8336 \u964d\u4f4e \u7cd6\u5c3f\u75c5 \u60a3\u8005 \u7684 \u7a7a\u8179", "not in the language"),
        ("aspect: Green tea lowered fasting glucose by 0.4 mmol/l (95% CI 0.1-0.7)", ""),
        ("aspect: The trial included 1204 adults", ""),
        ("aspect: The trial included 1,305 adults", "the number 1305"),
        ("aspect:   ", "an aspect is empty"),
        ("aspect: Kaffee senkte den Blutdruck der Probanden deutlich", "not in the words and the language"),
    ],
)
def test_each_fault_of_a_hypothesis_or_an_aspect_is_told(text: str, why: str) -> None:
    aspect = text.removeprefix("aspect:")
    found = wrong_with_hypothesis(text, SUMMARY, "") if aspect == text else wrong_with_aspect(aspect, SUMMARY)
    assert (why in found) if why else found == ""


@given(st.text(), st.text())
@examples(200)
def test_no_text_makes_a_check_fail_and_a_text_is_never_foreign_to_itself(text: str, other: str) -> None:
    wrong_with_hypothesis(text, other, "")
    wrong_with_aspect(text, other)
    assert not is_foreign(text, text)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=6))
@examples(100)
def test_numbers_are_found_however_their_thousands_are_written(numbers: list[int]) -> None:
    plain = "with values " + " and ".join(map(str, numbers))
    grouped = "with values " + " and ".join(f"{number:,}" for number in numbers)
    assert numbers_in(plain) == numbers_in(grouped) == list(map(str, numbers))
