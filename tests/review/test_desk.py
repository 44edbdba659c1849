"""The table of a desk: what is read and found once, what is asked anew, and what goes on after a stop."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from doors import (
    DataError,
    PageBox,
    PageShape,
    PeopleError,
    ReviewTable,
    RunError,
    export,
    open_desk,
    papers_of,
    report_review,
)
from evidencebench import InProcess, Resampling, make_system
from kit.command_line import Command
from kit.desks import QUESTIONS, TEXT, cell_of, decide, filled, make_folder, opened


def files_of_systems(folder: Path) -> list[Path]:
    return sorted((folder / "evidencebench-review" / "systems").glob("*.jsonl"))


def findings(folder: Path) -> list[dict[str, Any]]:
    lines = [line for file in files_of_systems(folder) for line in file.read_text().splitlines()[1:]]
    return [json.loads(line) for line in lines]


def without_time(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in {"at", "crc"}}


def cells(table: ReviewTable, **options: int) -> dict[tuple[int, int], dict[str, Any]]:
    found: Any = table.queue("Ada", **options)
    return {(row, column): cell for row, column, cell in found["cells"]}


def test_a_table_has_titles_of_the_list_verdicts_and_reasons(tmp_path: Path) -> None:
    table = filled(make_folder(tmp_path / "papers"))
    queue: Any = table.queue("Ada")

    assert [paper["title"] for paper in queue["papers"]] == ["Coffee, listed", "Tea and pressure", ""]
    assert [paper["is_pdf"] for paper in queue["papers"]] == [True, False, False]
    assert "PDFium cannot open it" in queue["papers"][2]["error"]
    assert queue["progress"] == {"done": 6, "of": 6, "failed": 2, "is_running": False}
    assert [cell["status"] for cell in cells(table).values()] == ["found"] * 4 + ["failed"] * 2
    best = cells(table)[table.place(cell_of(table, "paper_0.txt"))]
    assert best["best"].startswith("Blood pressure was lower with tea")
    assert best["level"] >= 2


def test_nothing_is_asked_twice_and_what_is_new_is_asked(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    filled(folder)
    first = findings(folder)
    (folder / "paper_0.txt").touch()  # another time, the same content
    filled(folder)
    assert findings(folder) == first

    (folder / "another.txt").write_text(TEXT.replace("Nurses", "Doctors"))
    table = filled(folder, questions=(*QUESTIONS, "Did nurses measure?"))
    asked = [(line["text"], line["question"]) for line in findings(folder)]
    assert len(asked) == len(set(asked)) == 9  # three papers that can be read, three questions
    shown = filled(folder, questions=QUESTIONS[1:])  # a removed question is hidden
    assert len(shown.ids) == 4
    assert findings(folder)[: len(first)] == first
    assert len(table.ids) == 12


def test_a_desk_that_was_stopped_within_a_line_goes_on(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    filled(folder)
    (journal,) = files_of_systems(folder)
    whole = findings(folder)
    journal.write_bytes(journal.read_bytes()[:-30])
    filled(folder)

    assert [without_time(line) for line in findings(folder)] == [without_time(line) for line in whole]


def test_a_cell_that_failed_is_asked_again(tmp_path: Path) -> None:
    folder, is_well = make_folder(tmp_path / "papers"), tmp_path / "well"
    (tmp_path / "moody.py").write_text(
        f"from pathlib import Path\nclass Moody:\n    def rank(self, query, task):\n"
        f"        assert Path({str(is_well)!r}).exists(), 'not today'\n        return [1]\n"
    )
    system = f"{tmp_path / 'moody.py'}:Moody"
    place = (1, 0)
    assert "not today" in filled(folder, system).desk.found(*place).error
    is_well.touch()
    found = filled(folder, system).desk.found(*place)
    assert (found.error, found.found is not None) == ("", True)


def test_another_system_fills_it_anew_and_the_table_says_what_changed(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    assert {cell["changed"] for cell in cells(filled(folder)).values()} == {""}
    table = filled(folder, "bm25")
    changed = {cell["changed"] for cell in cells(table).values()} - {""}

    assert any("was: " in words for words in changed)
    headers = [json.loads(file.read_text().splitlines()[0]) for file in files_of_systems(folder)]
    assert {header["role"] for header in headers} == {"system"}
    assert sorted(re.split(r"\W", header["name"])[0] for header in headers) == ["bm25", "finder"]


def test_of_several_systems_before_the_last_one_is_told(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    for system in ("lead", "bm25"):  # the files of which are read in the order of the alphabet
        filled(folder, system)
    place = (1, 0)
    last = filled(folder, "bm25").desk.found(*place).found
    before = filled(folder, "random").desk.found(*place).before
    assert last is not None
    assert before == last


def test_a_change_is_told_since_a_stamp(tmp_path: Path) -> None:
    table = filled(make_folder(tmp_path / "papers"))
    stamp: Any = table.queue("Ada")["stamp"]
    assert cells(table, since=stamp) == {}
    decide(table, "Bo", "1.1", "no_difference", 3)

    assert [*cells(table, since=stamp)] == [(1, 1)]
    assert cells(table)[1, 1]["decision"] == ""  # Ada has said nothing


def test_decisions_stay_with_their_paper_when_others_are_added_or_it_moves(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    table = filled(folder)
    decide(table, "Ada", cell_of(table, "paper_0.txt"), "decrease", 2)
    (folder / "a_first.txt").write_text(TEXT.replace("Nurses", "Doctors"))
    shutil.move(folder / "paper_0.txt", folder / "z_last.txt")
    table = filled(folder)
    answer = table.answer("Ada", cell_of(table, "z_last.txt"))

    assert answer is not None
    assert answer["accepted"] == (2,)
    assert table.answer("Ada", cell_of(table, "a_first.txt")) is None


def test_one_process_at_a_time_fills_a_desk(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    desk = opened(folder, "bm25")
    desk.fill(InProcess(), make_system("bm25"))
    with pytest.raises(RunError, match="another process"):
        opened(folder, "bm25").fill(InProcess(), make_system("bm25"))
    desk.close()


def test_a_desk_without_questions_says_what_to_give(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    with pytest.raises(DataError, match="--questions"):
        open_desk(folder, papers_of(folder, None), None, "finder")
    assert not (folder / "evidencebench-review").exists()


@pytest.mark.parametrize(
    ("turns", "shown"),
    [(0, (0, 10, 30, 20)), (1, (10, 70, 20, 100)), (2, (70, 180, 100, 190)), (3, (180, 0, 190, 30))],
)
def test_boxes_turn_with_their_page(turns: int, shown: tuple[int, ...]) -> None:
    page = PageShape(left=5, bottom=5, right=105, top=205, turns=turns)
    assert page.shown(PageBox(page=1, left=5, bottom=15, right=35, top=25)) == shown


def test_questions_are_not_replaced_while_a_desk_is_open_that_has_others(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    desk = opened(folder)
    desk.fill(InProcess(), make_system("bm25"))
    try:
        with pytest.raises(RunError, match=r"questions.*another process works at this desk"):
            opened(folder, questions=["Is the sky blue?"])
        opened(folder).close()  # the same ones are no change
    finally:
        desk.wait(60)
        desk.close()
    assert (desk.folder / "questions.txt").read_text().splitlines() == list(QUESTIONS)
    (question,) = opened(folder, questions=["Is the sky blue?"]).questions
    assert (question.text, question.kind) == ("Is the sky blue?", "yes/no")


def test_files_of_the_same_text_have_places_of_their_own(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    first = filled(folder)
    text = first.desk.text(first.place(cell_of(first, "printed.pdf"))[0])
    (folder / "a.txt").write_text("\n".join(text.sentences))
    table = filled(folder)
    same = {paper.read.text for paper in table.desk.papers if paper.read and paper.file in ("a.txt", "printed.pdf")}
    assert len(same) == 1
    decide(table, "Ada", cell_of(table, "printed.pdf"), "increase", 2)
    assert export(table, "pdf").told == ["a.txt: not marked: not a PDF"]
    assert [len(table.text(cell_of(table, name)).pages) for name in ("a.txt", "printed.pdf")] == [0, 1]


def test_a_pdf_that_was_replaced_gets_no_marks_of_the_one_that_was_read(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    table = filled(folder)
    decide(table, "Ada", cell_of(table, "printed.pdf"), "increase", 2)
    (folder / "printed.pdf").write_bytes((folder / "printed.pdf").read_bytes() + b"\n")
    with pytest.raises(DataError, match=r"printed\.pdf: not marked: has changed since it was read"):
        export(table, "pdf")


def test_exports_among_the_papers_are_none_and_no_paper_is_overwritten(tmp_path: Path, command: Command) -> None:
    folder = make_folder(tmp_path / "papers")
    table = filled(folder)
    decide(table, "Ada", cell_of(table, "paper_0.txt"), "increase", 2)
    before = [paper.file for paper in papers_of(folder, None)]
    for _ in range(2):
        assert command(f"review {folder} --export {folder}/out.csv --export {folder}/out.ris --overwrite").code == 0
        assert [paper.file for paper in papers_of(folder, None)] == before
    listed = (folder / "list.ris").read_bytes()
    refused = command(f"review {folder} --export {folder}/list.ris --overwrite")
    assert refused.code == 2
    assert "list.ris: is among the papers" in refused.err
    assert (folder / "list.ris").read_bytes() == listed


def test_a_name_that_is_no_utf_8_is_read_and_an_empty_file_of_a_person_is_nobodys(
    tmp_path: Path, command: Command
) -> None:
    folder = make_folder(tmp_path / "papers")
    (tmp_path / "papers" / "caf\udce9.txt").write_text(TEXT)
    table = filled(folder)
    assert [paper.read.error for paper in table.desk.papers if paper.read and paper.file.startswith("caf")] == [""]
    decide(table, "Ada", cell_of(table, "paper_0.txt"), "increase", 2)
    (table.desk.folder / "people" / "cy-0b659605.jsonl").touch()
    for words in ("--report", f"--export {tmp_path}/out.csv"):
        assert command(f"review {folder} {words}").code == 0


@pytest.mark.parametrize("cell", ["9" * 5000, "9" * 5000 + ".0", "0", "-1.0", "0.0.0", "\u0661.0"])
def test_an_id_that_is_no_cell_is_refused_in_words(tmp_path: Path, cell: str) -> None:
    table = filled(make_folder(tmp_path / "papers"), "bm25")
    with pytest.raises(PeopleError, match=r"no cell '.{1,60}'"):
        table.answer("Ada", cell)


FUNDED = """<?xml version="1.0"?>
<article><front><article-meta><title-group><article-title>Tea for headache: a trial</article-title></title-group>
<abstract><p>Tea lowered headache intensity compared with water.</p></abstract></article-meta></front>
<body><sec><title>Results</title><p>Headache intensity fell by 2.1 points with tea.</p></sec></body>
<back><ack><title>Acknowledgments</title><p>This research was supported by a grant of the Tea Council.</p></ack></back>
</article>"""


def test_what_stands_beside_the_text_is_found_accepted_and_exported_as_by_find(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    (folder / "funding.xml").write_text(FUNDED)
    table = filled(folder, questions=["Who funded the study?"])
    cell = cell_of(table, "funding.xml")
    assert cells(table)[table.place(cell)]["verdict"] != "none found"
    text = table.text(cell)
    (unit,) = [unit for unit in text.units if "Tea Council" in unit.text]
    place = len(text.sentences) + text.units.index(unit)
    found = table.desk.found(*table.place(cell)).found
    assert found is not None
    assert (found.evidence[0].index, found.evidence[0].quotation) == (place, unit.text)

    decide(table, "Ada", cell, "unclear", place)
    decide(table, "Bo", cell, "unclear", 1, place)
    rows = export(table, "csv").content.decode()
    assert "a grant of the Tea Council" in rows
    assert report_review(table, Resampling(seed=0, n_draws=200)).pairs[0].n_cells == 1
    with pytest.raises(PeopleError, match=r"the paper has 0\.\."):
        decide(table, "Ada", cell, "unclear", len(text.sentences) + len(text.units))
