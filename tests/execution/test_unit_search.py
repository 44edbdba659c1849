"""Units that answer a question: by forms of its words, abbreviations, and words that say the same in end matter."""

from dataclasses import replace

import pytest

from doors import MOST_UNITS, PaperVerdict, UnitKind, holds_all_words
from evidencebench import Paper, Unit, find_evidence, read_paper

_PAPER = read_paper(b"# Results\nTea helped. Deep venous thrombosis (DVT) was rare.\n")
_TEXTS = {
    "Table 1. Events. DVT. Tea: 3; Water: 4": UnitKind.TABLE_ROW,
    "Table 1. Events. Sleep, h. Tea: 7; Water: 6": UnitKind.TABLE_ROW,
    "Table 1. Events. Headaches. Tea: 1; Water: 9": UnitKind.TABLE_ROW,
    "Figure 1. Flow of participants.": UnitKind.CAPTION,
    "Acknowledgements. Supported by the Board.": UnitKind.END_MATTER,
}
PAPER = replace(_PAPER, units=tuple(Unit(text=text, kind=kind, label="x") for text, kind in _TEXTS.items()))


def texts(paper: Paper, question: str) -> list[str]:
    return [unit.text for unit in find_evidence(paper, question).units]


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("Does tea affect deep venous thrombosis compared with water?", 0),
        ("Tea reduces headache compared with water.", 2),
        ("Who funded the study?", 4),
        ("Which grants paid for it?", 4),
    ],
)
def test_the_best_unit_comes_first(question: str, best: int) -> None:
    assert texts(PAPER, question)[0] == list(_TEXTS)[best]


def test_few_are_found_and_none_that_shares_little() -> None:
    assert texts(PAPER, "Statins lower cholesterol in gout.") == texts(_PAPER, "Headache") == []
    assert len(texts(replace(PAPER, units=PAPER.units * 9), "Headache with tea")) == MOST_UNITS


def test_a_paper_is_not_said_to_lack_what_one_unit_or_sentence_holds() -> None:
    assert holds_all_words(PAPER, "Headaches")
    assert holds_all_words(PAPER, "Is venous thrombosis rare?")
    assert not holds_all_words(PAPER, "Headache and thrombosis")
    assert not holds_all_words(PAPER, "Did it?")
    found = find_evidence(PAPER, "Headaches")
    assert (found.evidence, found.unmentioned) == ((), ())
    assert found.verdict is PaperVerdict.UNSURE
