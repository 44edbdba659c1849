"""What is found in a paper of one's own has a verdict: whether the paper answers."""

import pytest

from evidencebench.execution.finding import PaperVerdict, find_evidence
from evidencebench.papers.read import read_content
from evidencebench.system import PaperChance, Ranking, Traits

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
        ("finder", "How many adults got tea?", PaperVerdict.UNSURE),  # no question of an effect
        ("bm25", "Does tea affect systolic blood pressure?", None),  # it does not judge
    ],
)
def test_a_finding_says_whether_the_paper_answers(system: str, question: str, verdict: PaperVerdict | None) -> None:
    found = find_evidence(PAPER, question, system=system)
    assert found.verdict == verdict
    assert (found.chance is None) == (verdict is None or found.by_words or not found.evidence)


class Own:
    def __init__(self, *told: float) -> None:
        self.traits = Traits(answers=lambda _: PaperChance(*told))

    def rank(self, *_: object) -> Ranking:
        return Ranking(sentences=(0,))


def test_a_system_of_ones_own_can_judge_and_is_refused_bounds_in_disorder() -> None:
    found = [
        find_evidence(PAPER, "Tea lowers cholesterol.", system=Own(chance, 0.2, 0.8)).verdict
        for chance in (0.1, 0.2, 0.8)
    ]
    assert found == [PaperVerdict.NONE, PaperVerdict.UNSURE, PaperVerdict.FOUND]
    with pytest.raises(Exception, match=r"failed: ValueError: expected a chance in 0\.\.1 and bounds in order"):
        find_evidence(PAPER, "Tea lowers cholesterol.", system=Own(0.5, 0.9, 0.1))
