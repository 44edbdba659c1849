"""A decision is found by the paper that it is of, and its evidence by its words, whatever becomes of the file."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import DeskAnswer, EvidenceReference, PaperText, Place, ReviewTable, export, found_again
from evidencebench import Kind
from kit.desks import cell_of, decide, filled, make_folder
from kit.printing import BOLD, Sheet

RATE = "The heart rate rose more with coffee than with water in all of the groups that were looked at (p = 0.02)."
TEA = "Blood pressure was lower with tea than with water in both of the groups that nurses had measured."


def printed(*lines: str) -> bytes:
    sheet = Sheet()
    sheet.paragraph(72, 90, "Coffee and the rate of the heart", size=18, font=BOLD)
    sheet.line(72, 140, "Results", size=13, font=BOLD)
    y: float = 170
    for line in lines:
        y = sheet.paragraph(72, y, line)
    return sheet.pdf()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "papers")


def decided(folder: Path) -> ReviewTable:
    """Let Ada accept the second sentence of the PDF, whose DOI a list tells, and one of a text without a DOI."""
    table = filled(folder, "bm25")
    decide(table, "Ada", cell_of(table, "printed.pdf", 1), "increase", 2, 3, note="as printed")
    decide(table, "Ada", cell_of(table, "paper_0.txt"), "decrease", 2)
    return table


def rename(folder: Path) -> str:
    (folder / "printed.pdf").rename(folder / "coffee 2024.pdf")
    (folder / "list.ris").unlink()
    return "coffee 2024.pdf"


def save_again_with_more_before(folder: Path) -> str:
    (folder / "printed.pdf").write_bytes(
        printed("Water was given to all others, and nurses took all measures.", RATE, TEA)
    )
    return "printed.pdf"


def save_again_in_other_letters(folder: Path) -> str:
    (folder / "printed.pdf").write_bytes(printed(RATE.replace("p = 0.02", "P = 0.02"), TEA.replace("Blood", "blood")))
    return "printed.pdf"


@pytest.mark.parametrize("change", [rename, save_again_with_more_before, save_again_in_other_letters])
def test_a_decision_stays_with_the_paper(change: Callable[[Path], str], folder: Path) -> None:
    decided(folder)
    table = filled(folder, "bm25") if (name := change(folder)) else None
    assert table is not None
    cell = cell_of(table, name, 1)
    answer = table.answer("Ada", cell)
    assert answer is not None
    assert (answer["decision"], answer["note"], answer["lost"]) == ("increase", "as printed", [])
    text = table.text(cell)
    assert [text.sentences[index].casefold() for index in answer["accepted"]] == [RATE.casefold(), TEA.casefold()]  # type: ignore[attr-defined]
    assert RATE[:40] in export(table, "csv").content.decode()
    decide(table, "Ada", cell, "decrease", *answer["accepted"])  # type: ignore[misc]
    again = filled(folder, "bm25").answer("Ada", cell)
    assert again is not None
    assert (again["decision"], again["revision"]) == ("decrease", 2)


def test_a_quotation_that_is_in_the_file_no_more_is_kept_told_and_dropped_by_hand(folder: Path) -> None:
    decided(folder)
    (folder / "printed.pdf").write_bytes(printed("Nothing of it was kept by those who print.", TEA))
    table = filled(folder, "bm25")
    cell = cell_of(table, "printed.pdf", 1)
    answer = table.answer("Ada", cell)
    assert answer is not None
    assert answer["lost"] == [RATE]
    assert len(answer["accepted"]) == 1  # type: ignore[arg-type]
    exported = export(table, "csv").content.decode()
    assert f"“{RATE}” (no longer in the file)" in exported.replace('""', '"')
    for number, lost in ((2, (RATE,)), (3, ())):
        kept = table.save("Ada", DeskAnswer(task=cell, decision="increase", accepted=(3,), lost=lost, revision=number))
        assert kept["lost"] == list(lost)


def test_a_text_without_a_doi_is_another_paper_once_it_says_otherwise(folder: Path) -> None:
    decided(folder)
    (folder / "paper_0.txt").write_text("# Tea\nAll of it was written anew, and nothing stands as it did.\n")
    table = filled(folder, "bm25")
    assert table.answer("Ada", cell_of(table, "paper_0.txt")) is None


def test_two_files_of_one_doi_that_are_both_there_are_decided_apart(folder: Path) -> None:
    decided(folder)
    (folder / "copy.txt").write_text("# Coffee\nThe same work, as a text of its own (doi:10.1000/c).\n")
    record = "TY  - JOUR\nTI  - Coffee, again\nDO  - 10.1000/c\nL1  - copy.txt\nER  - \n"
    (folder / "list.ris").write_text((folder / "list.ris").read_text() + record)
    table = filled(folder, "bm25")
    assert table.answer("Ada", cell_of(table, "copy.txt", 1)) is None
    assert table.answer("Ada", cell_of(table, "printed.pdf", 1)) is not None


def text_of(*sentences: str) -> PaperText:
    return PaperText(
        name="a",
        format="text",
        title="",
        sentences=sentences,
        kinds=(Kind.BODY,) * len(sentences),
        places=(Place(),) * len(sentences),
        spans=(),
    )


@given(st.permutations([f"sentence {letter} of all" for letter in "abcdefgh"]), st.sets(st.integers(0, 7)))
def test_evidence_is_found_again_wherever_it_went(order: list[str], chosen: set[int]) -> None:
    before = sorted(order)
    given_references = [EvidenceReference(index=index, quotation=before[index]) for index in sorted(chosen)]
    found = found_again(given_references, text_of(*order))
    assert {one.quotation for one in found} == {before[index] for index in chosen}
    assert all(one.index is not None and order[one.index] == one.quotation for one in found)
    assert [one.index for one in found] == sorted(one.index or 0 for one in found)


@pytest.mark.parametrize(
    ("quotation", "sentences", "index"),
    [
        ("Tea helped.", ["Tea helped.", "Water.", "Tea helped."], 2),  # the nearest of two that say the same
        ("Tea helped.", ["In short: tea   helped. Water did not."], 0),  # two sentences became one
        ("Tea helped. Water did not help anybody at all.", ["Tea helped.", "Water did not help anybody at all."], 1),
        ("Tea helped.", ["Coffee helped."], None),
        ("", ["Coffee helped."], None),
    ],
)
def test_what_is_taken_for_the_same_evidence(quotation: str, sentences: list[str], index: int | None) -> None:
    (found,) = found_again([EvidenceReference(index=2, quotation=quotation)], text_of(*sentences))
    assert found == msgspec.structs.replace(found, index=index)
