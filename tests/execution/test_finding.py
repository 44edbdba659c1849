"""What is found in a paper of one's own has a verdict: whether the paper answers."""

from dataclasses import replace

import pytest

from doors import PaperChance, PaperVerdict, ReportedDirection, message, read_content, summary
from evidencebench import EvidenceBenchError, Ranking, Traits, find_evidence

PAPER = read_content(
    b"Tea and blood pressure: a trial.\n\nWe gave tea or water to adults. Systolic blood pressure fell more with tea "
    b"than with water (-4.1 mmHg, p < 0.001). Body weight did not differ between the groups (p = 0.71).\n",
    name="tea.txt",
)


@pytest.mark.parametrize(
    ("system", "question", "verdict"),
    [
        ("finder", "Does tea affect systolic blood pressure compared with water?", PaperVerdict.FOUND),
        ("finder", "Does dexamethasone prevent vomiting in adults after surgery?", PaperVerdict.NONE),
        ("finder", "Does xyzzy affect syzygy?", PaperVerdict.NONE),
        ("finder", "How many adults got tea?", PaperVerdict.UNSURE),  # no number is there
        ("bm25", "Does tea affect systolic blood pressure?", None),  # it does not judge
    ],
)
def test_a_finding_says_whether_the_paper_answers(system: str, question: str, verdict: PaperVerdict | None) -> None:
    found = find_evidence(PAPER, question, system=system)
    assert found.verdict == verdict
    assert (found.chance is None) == (verdict is None or not found.evidence)


class Own:
    def __init__(
        self, chance: float, none_below: float, found_from: float, right_first: float | None = None, best: float = 0.5
    ) -> None:
        self.traits = Traits(
            answers=lambda _: PaperChance(chance, none_below, found_from, right_first),
            chances=lambda query: [best, *[0.01] * (len(query.sentences) - 1)],
        )

    def rank(self, *_: object) -> Ranking:
        return Ranking(sentences=(0,))


def test_a_system_of_ones_own_can_judge_and_is_refused_bounds_in_disorder() -> None:
    found = [
        find_evidence(PAPER, "Tea lowers cholesterol.", system=Own(chance, 0.2, 0.8)).verdict
        for chance in (0.1, 0.2, 0.8)
    ]
    assert found == [PaperVerdict.NONE, PaperVerdict.UNSURE, PaperVerdict.FOUND]
    with pytest.raises(EvidenceBenchError, match="bounds in order"):
        find_evidence(PAPER, "Tea lowers cholesterol.", system=Own(0.5, 0.9, 0.1))


@pytest.mark.parametrize(("right_first", "is_told"), [(0.38, True), (0.5, False), (None, False)])
def test_where_a_first_line_is_seldom_right_a_reader_is_told_so(right_first: float | None, *, is_told: bool) -> None:
    found = find_evidence(PAPER, "Tea lowers cholesterol.", system=Own(0.9, 0.2, 0.8, right_first))
    assert found.right_first == right_first
    assert ("The first line answers about 4 in 10 questions of this kind." in message(found)) == is_told


@pytest.mark.parametrize(("best", "verdict"), [(0.1, PaperVerdict.FOUND), (0.09, PaperVerdict.UNSURE)])
def test_nothing_is_found_where_even_the_best_sentence_is_unlikely(best: float, verdict: PaperVerdict) -> None:
    found = find_evidence(PAPER, "Tea lowers cholesterol.", system=Own(0.9, 0.2, 0.8, best=best))
    assert (found.verdict, found.evidence[0].chance) == (verdict, best)
    # What may be of something else is not said to report anything.
    assert (found.evidence[0].direction is None) == (verdict is PaperVerdict.UNSURE)


def test_of_a_short_text_none_is_said_of_less_than_of_a_whole_paper() -> None:
    short = (
        b"Tea and the arteries: a trial.\n\nNurses drank green tea or water. Their arteries were measured. "
        b"Stiffness fell by 4% with tea (p = 0.01), and sleep did not change.\n"
    )
    whole = short + b"\n" + b"The participants sat in rows along the wall. " * 100
    question = "Does green tea reduce pulse wave velocity in women compared with placebo?"
    of_short, of_whole = (find_evidence(read_content(text, name="tea.txt"), question) for text in (short, whole))
    assert (of_short.verdict, of_whole.verdict) == (PaperVerdict.UNSURE, PaperVerdict.NONE)
    assert of_short.chance == pytest.approx(of_whole.chance, rel=0.1)
    of_other = find_evidence(of_short.paper, "Does dexamethasone prevent vomiting in adults after surgery?")
    assert of_other.verdict is PaperVerdict.NONE


def test_a_headline_says_what_is_reported_only_where_the_best_sentence_is_likely_enough() -> None:
    found = find_evidence(PAPER, "Does tea affect systolic blood pressure compared with water?")
    (best, *_) = found.evidence
    said = [
        summary(replace(found, evidence=(replace(best, chance=chance, direction=ReportedDirection.DECREASE),)))
        for chance in (0.29, 0.3)
    ]
    assert said == ["Evidence found.", "Evidence found. Reports a decrease (1 sentence)."]
