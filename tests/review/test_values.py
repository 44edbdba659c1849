"""Values that people answer: what is typed, and what a sentence or a row offers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    PeopleError,
    ReviewQuestion,
    Unit,
    UnitKind,
    as_number,
    offered_by_sentence,
    offered_by_unit,
    values_in,
)

HOW_MANY = ReviewQuestion(text="How many adults were randomised?", kind="number")
DOSE = ReviewQuestion(text="What dose was given?", kind="number", unit="mg")
DESIGN = ReviewQuestion(text="Which design?", kind="choice", choices=("parallel", "crossover"))
FUNDER = ReviewQuestion(text="Who funded it?", kind="text")


@pytest.mark.parametrize(
    ("typed", "value", "unit", "beside"),
    [
        ("120", "120", "", ""),
        (" 1,200 adults ", "1,200", "adults", ""),
        ("1 200", "1 200", "", ""),
        ("49,7 (7,5)", "49,7", "", "(7,5)"),
        ("12 of 100", "12 of 100", "", ""),
        ("-3.1 mmHg (95% CI 1 to 5)", "-3.1", "mmHg", "(95% CI 1 to 5)"),
        ("\u22120.8 \u00b1 0.2", "\u22120.8", "", "\u00b1 0.2"),
        (".5%", ".5", "%", ""),
        ("5 m2", "5", "m2", ""),
    ],
)
def test_a_number_has_its_unit_and_what_stands_beside_it(typed: str, value: str, unit: str, beside: str) -> None:
    (found,) = values_in(typed, HOW_MANY)
    assert (found.value, found.unit, found.beside, found.arm) == (value, unit, beside, "")


@pytest.mark.parametrize(
    ("value", "number"),
    [("1,200", 1200), ("49,7", 49.7), ("1 200.5", 1200.5), ("\u22120\u00b78", -0.8), ("12 of 100", 12)],
)
def test_a_value_is_a_number_however_it_is_written(value: str, number: float) -> None:
    assert as_number(value) == number


def test_each_arm_has_its_number() -> None:
    found = values_in("tea (n = 61): 12 of 61; water: 9 of 59", HOW_MANY)
    assert [(one.arm, one.value) for one in found] == [("tea (n = 61)", "12 of 61"), ("water", "9 of 59")]
    assert values_in("5", DOSE)[0].unit == "mg"


@pytest.mark.parametrize(
    ("typed", "question", "why"),
    [
        ("many", HOW_MANY, "expected a number"),
        ("about 20", HOW_MANY, "expected a number"),
        ("10-12", HOW_MANY, "expected a number"),
        ("12 of 10", HOW_MANY, "more than there are"),
        ("61; 59", HOW_MANY, "one for each arm"),
        ("tea: 61; tea: 59", HOW_MANY, "one for each arm"),
        ("5 kg", DOSE, "expected mg, got kg"),
        ("cluster", DESIGN, "expected one of parallel, crossover"),
        ("x" * 1_001, FUNDER, "at most 1,000"),
    ],
)
def test_what_does_not_fit_is_refused_with_why(typed: str, question: ReviewQuestion, why: str) -> None:
    with pytest.raises(PeopleError) as raised:
        values_in(typed, question)
    assert why in str(raised.value)


def test_a_sentence_offers_its_numbers_with_their_arms_those_of_the_question_first() -> None:
    text = "In 2004, 61 (50.8%) were given tea in the tea group; we randomised 120 adults (95% CI 1 to 5, p = 0.004)."
    offered = offered_by_sentence(text, HOW_MANY)
    assert offered[0] == "120 adults"
    assert {"2004", "tea: 61", "tea: 50.8 %"} <= set(offered)
    assert not {"0.004", "95 %"} & set(offered)
    assert offered_by_sentence("They took 20 mg of tea twice, in 3 cups.", DOSE)[0] == "20 mg"
    assert offered_by_sentence("Thirty-two adults in the tea group took part.", HOW_MANY) == ["tea: 32 adults"]


def test_a_row_of_a_table_offers_each_cell_with_the_head_of_its_column() -> None:
    text = "Table 2. Outcomes. Pain (VAS). Tea (n = 45): -5.16 (2.33); Water (n = 49): 4.43 \u00b1 1.9; P: 0,04"
    row = Unit(kind=UnitKind.TABLE_ROW, text=text, label="Table 2", row=1)
    assert offered_by_unit(row, HOW_MANY) == ["Tea (n = 45): -5.16 (2.33)", "Water (n = 49): 4.43 \u00b1 1.9"]


@given(st.text("0123456789.,·- abcdefgh(%)±:;[]", max_size=80))
def test_what_is_offered_fits(text: str) -> None:
    row = Unit(kind=UnitKind.TABLE_ROW, text=f"Table 1. {text}", label="Table 1", row=1)
    for offered in (*offered_by_sentence(text, HOW_MANY), *offered_by_unit(row, HOW_MANY)):
        assert values_in(offered, HOW_MANY)
