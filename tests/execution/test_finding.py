"""What is found in a paper of one's own has a verdict: whether the paper answers."""

import pytest

from evidencebench.execution.finding import PaperVerdict, find_evidence
from evidencebench.execution.making import make_system
from evidencebench.papers.read import read_content
from evidencebench.system import Brief, NamedSystem, PaperChance, Ranking, Traits

TEXT = (
    b"Tea and blood pressure: a trial.\n\nWe gave tea or water to 80 adults. Systolic blood pressure fell "
    b"more with tea than with water (-4.1 mmHg, p < 0.001). Body weight did not differ between the groups (p = 0.71).\n"
)


@pytest.mark.parametrize(
    ("system", "question", "verdict"),
    [
        ("finder", "Does tea affect systolic blood pressure compared with water?", PaperVerdict.FOUND),
        ("finder", "Does dexamethasone prevent vomiting in adults after surgery?", PaperVerdict.NONE),
        ("finder", "Does xyzzy affect syzygy?", PaperVerdict.NONE),
        ("finder", "How many adults were given tea?", PaperVerdict.UNSURE),  # no question of an effect
        ("bm25", "Does tea affect systolic blood pressure?", None),  # it does not judge
    ],
)
def test_a_finding_says_whether_the_paper_answers(system: str, question: str, verdict: PaperVerdict | None) -> None:
    found = find_evidence(
        make_system(system), read_content(TEXT, name="tea.txt"), question, brief=Brief(budget=3), wish="answer"
    )
    assert found.verdict == verdict
    assert (found.chance is None) == (verdict is None or found.by_words or not found.evidence)


def test_a_system_of_ones_own_can_judge_and_is_refused_bounds_in_disorder() -> None:
    class Own:
        def __init__(self, told: PaperChance) -> None:
            self.traits = Traits(answers=lambda _: told)

        def rank(self, *_: object) -> Ranking:
            return Ranking(sentences=(0,))

    def found(chance: float, none_below: float, found_from: float) -> PaperVerdict | None:
        own = NamedSystem(name="own", options={}, system=Own(PaperChance(chance, none_below, found_from)))
        return find_evidence(
            own, read_content(TEXT, name="tea.txt"), "Tea lowers pressure.", brief=Brief(budget=1)
        ).verdict

    assert [found(chance, 0.2, 0.8) for chance in (0.1, 0.2, 0.8)] == list(PaperVerdict)[::-1]
    with pytest.raises(Exception, match=r"own failed: ValueError: expected a chance in 0\.\.1 and bounds in order"):
        found(0.5, 0.9, 0.1)
