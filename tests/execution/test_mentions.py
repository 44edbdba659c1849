"""What stands beside the text answers too: by forms of words, abbreviations, and words that say the same."""

from dataclasses import replace

import pytest

from doors import PaperVerdict, UnitKind, holds_nearly_all_words
from evidencebench import Paper, Unit, find_evidence, read_paper

_PAPER = read_paper(b"# Results\nTea helped. Deep venous thrombosis (DVT) was rare.\n")
_TEXTS = {
    "Table 1. Events. DVT. Tea: 3; Water: 4": UnitKind.TABLE_ROW,
    "Table 1. Events. Sleep, h. Tea: 7; Water: 6": UnitKind.TABLE_ROW,
    "Table 1. Events. Headaches. Tea: 1; Water: 9": UnitKind.TABLE_ROW,
    "Figure 1. Flow of participants.": UnitKind.CAPTION,
    "Acknowledgements. Supported by a grant of the Board.": UnitKind.END_MATTER,
}
PAPER = replace(_PAPER, units=tuple(Unit(text=text, kind=kind, label="x") for text, kind in _TEXTS.items()))


def units(paper: Paper, question: str) -> list[str]:
    return [one.text for one in find_evidence(paper, question).evidence if isinstance(one.kind, UnitKind)]


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("Does tea affect headaches compared with water?", 2),
        ("Who funded the study?", 4),
        ("Which grants paid for it?", 4),
    ],
)
def test_the_best_unit_comes_before_the_others(question: str, best: int) -> None:
    assert units(PAPER, question)[0] == list(_TEXTS)[best]


def test_sentences_and_units_are_one_list_in_the_order_of_their_chances() -> None:
    evidence = find_evidence(PAPER, "Does tea affect headaches compared with water?").evidence
    assert {type(one.kind).__name__ for one in evidence} == {"Kind", "UnitKind"}
    chances = [one.chance or 0 for one in evidence]
    assert chances == sorted(chances, reverse=True)
    number_of = {one.text: one.sentence for one in evidence}
    n_sentences = len(PAPER.sentences)
    assert [number_of[text] for text in _TEXTS] == list(range(n_sentences, n_sentences + len(_TEXTS)))
    unit = next(one for one in evidence if one.kind is UnitKind.CAPTION)
    assert (unit.label, unit.span, unit.direction) == ("x", None, None)


def test_a_paper_is_not_said_to_lack_what_one_unit_or_sentence_holds() -> None:
    assert holds_nearly_all_words(PAPER, "Headaches")
    assert holds_nearly_all_words(PAPER, "Is venous thrombosis rare?")
    assert not holds_nearly_all_words(PAPER, "Headache and thrombosis")
    assert not holds_nearly_all_words(PAPER, "Did it?")
    found = find_evidence(PAPER, "Headaches")
    assert (found.evidence[0].text, found.unmentioned) == (list(_TEXTS)[2], ())
    assert found.verdict is PaperVerdict.UNSURE
