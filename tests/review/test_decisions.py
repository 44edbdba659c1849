"""What people decide: journals, what counts of several people, and how they agree."""

import random
from pathlib import Path

import krippendorff
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    DECISIONS,
    Decided,
    DecisionAnswer,
    DeskAnswer,
    EvidenceReference,
    PeopleError,
    ReviewTable,
    Side,
    StaleError,
    decision_folder,
    nominal_agreement,
    report_review,
)
from evidencebench import Resampling
from kit.desks import cell_of, decide, filled, make_folder

NAMES = tuple(DECISIONS)
RESAMPLING = Resampling(seed=0, n_draws=200)


@pytest.fixture
def table(tmp_path: Path) -> ReviewTable:
    return filled(make_folder(tmp_path / "papers"), "bm25")


@pytest.fixture(scope="module")
def refusing_table(tmp_path_factory: pytest.TempPathFactory) -> ReviewTable:
    """Give a table of which nothing is saved."""
    return filled(make_folder(tmp_path_factory.mktemp("refusing") / "papers"), "bm25")


def test_two_tabs_do_not_overwrite_each_other_and_a_repeated_answer_is_one(table: ReviewTable) -> None:
    first = DeskAnswer(task="0.0", decision="increase", accepted=(2,))
    kept = table.save("Ada", first)
    assert table.save("Ada", first) == kept  # the reply was lost
    with pytest.raises(StaleError):
        table.save("Ada", DeskAnswer(task="0.0", decision="decrease"))
    assert table.save("Ada", DeskAnswer(task="0.0", decision="decrease", revision=2))["revision"] == 2


def test_a_journal_torn_anywhere_in_its_last_line_keeps_all_before_it(table: ReviewTable) -> None:
    for number in range(3):
        decide(table, "Ada", "0.0", NAMES[number], number)
    (journal,) = (table.desk.folder / "people").glob("*.jsonl")
    whole = journal.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(whole) - 1, 7):
        journal.write_bytes(whole[:cut])
        again = decision_folder(table.desk.folder)
        assert [answer.revision for answer in again.answers_of("Ada").values()] == [2]
    saved = ReviewTable(table.desk, decision_folder(table.desk.folder))
    decide(saved, "Ada", "0.0", "unclear", 4)
    assert [answer.accepted for answer in decision_folder(table.desk.folder).answers_of("Ada").values()] == [(4,)]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (DeskAnswer(task="9.0"), "'9.0'"),
        (DeskAnswer(task="x"), "'x'"),
        (DeskAnswer(task="2.0"), "not read"),
        (DeskAnswer(task="0.0", accepted=(99,)), r"sentence 99: .*0\.\.4"),
        (DeskAnswer(task="0.0", accepted=(2, 1)), "ascending"),
        (DeskAnswer(task="0.0", accepted=(2,), rejected=(2,)), "both"),
        (DeskAnswer(task="0.0", of="another"), "load the page again"),
        (DeskAnswer(task="0.0", note="x" * 5001), "5000"),
    ],
)
def test_what_fits_no_cell_is_refused(refusing_table: ReviewTable, answer: DeskAnswer, told: str) -> None:
    with pytest.raises(PeopleError, match=told):
        refusing_table.save("Ada", answer)


def sides(*decided: tuple[str, set[int]]) -> Decided:
    made = [
        DecisionAnswer(
            id="t", choice=name, evidence=tuple(EvidenceReference(index=n, quotation=str(n)) for n in sorted(of))
        )
        for name, of in decided
    ]
    return Decided(sides=[Side(str(number), one) for number, one in enumerate(made)], agreed=None)


def test_what_counts_of_several_people_are_the_sentences_that_most_accept() -> None:
    three = sides(("increase", {1, 2}), ("increase", {2, 3}), ("increase", {2}))
    assert three.final is not None
    assert three.final.accepted == (2,)
    disputed = sides(("increase", {1}), ("decrease", {1}))
    assert (disputed.is_disputed, disputed.final) == (True, None)


def test_while_blind_nobody_sees_another_and_disputes_are_resolved_afterwards(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    blind = filled(folder, "bm25", is_blind=True)
    cell = cell_of(blind, "paper_0.txt")
    decide(blind, "Ada", cell, "increase", 2)
    decide(blind, "Bo", cell, "decrease", 2)
    assert (blind.others("Ada", cell), blind.disputes("Zed")) == ([], [])
    assert not any(shown["disputed"] or shown["agreed"] for _, _, shown in blind.queue("Ada")["cells"])  # type: ignore[attr-defined]

    seen = filled(folder, "bm25")
    (dispute,) = seen.disputes("Zed")
    assert [side["decision"] for side in dispute["sides"]] == ["increase", "decrease"]
    assert [side["person"] for side in seen.others("Ada", cell)] == ["Bo"]
    seen.others("Bo", cell)
    decide(seen, "Bo", cell, "increase", 2)  # after having seen Ada's
    report = report_review(seen, RESAMPLING)
    assert (report.pairs[0].n_cells, report.pairs[0].n_differing) == (1, 1)  # that of the blind answers

    seen.save("Cy", DeskAnswer(task=cell, decision="no_difference", accepted=(3,)), is_agreed=True)
    agreed = seen.answer("Ada", cell, is_agreed=True)
    assert agreed is not None
    assert (agreed["decided_by"], agreed["decision"]) == ("Cy", "no_difference")
    final = next(one.decided.final for one in seen.cells() if one.decided)
    assert final is not None
    assert final.accepted == (3,)


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=2, max_size=40))
def test_agreement_is_that_of_other_packages(said: list[tuple[str, str]]) -> None:
    from sklearn.metrics import cohen_kappa_score  # noqa: PLC0415 - slow to import

    found = nominal_agreement([str(number % 5) for number in range(len(said))], said, RESAMPLING)
    first, second = ([NAMES.index(one) for one in side] for side in zip(*said, strict=True))

    assert found["accuracy"].value == pytest.approx(sum(a == b for a, b in said) / len(said))
    if len({*first, *second}) > 1:
        assert found["kappa"].value == pytest.approx(cohen_kappa_score(first, second, labels=range(len(NAMES))))
        alpha = krippendorff.alpha([first, second], level_of_measurement="nominal", value_domain=range(len(NAMES)))
        assert found["alpha"].value == pytest.approx(alpha)
    else:
        assert found["kappa"].value is None


def test_a_report_counts_people_pairs_and_what_is_not_here_any_more(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers", n_papers=12)
    table, chance = filled(folder, "bm25"), random.Random(0)
    for person in ("Ada", "Bo"):
        for cell in table.ids[:-2]:
            decide(table, person, cell, chance.choice(NAMES[:2]), *sorted(chance.sample(range(5), 2)))
    report = report_review(table, RESAMPLING)
    (pair,) = report.pairs
    assert pair.n_cells == 26
    (kind,) = pair.kinds
    assert (kind.kind, kind.n_cells) == ("effect", 26)
    kappa = kind.measures["kappa"]
    assert kappa.value is not None
    assert kappa.low is not None
    assert kappa.low < kappa.value
    assert pair.sentences["f1"].value is not None
    assert sum(not one.is_of_sentences for one in report.disputes) == pair.n_differing > 0
    assert any(one.is_of_sentences for one in report.disputes)
    assert report.n_elsewhere == 0

    (folder / "paper_3.txt").unlink()
    assert report_review(filled(folder, "bm25"), RESAMPLING).n_elsewhere == 4
