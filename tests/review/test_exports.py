"""What was decided, read back by other libraries, scored and learned from."""

import csv
import io
import json
import zipfile
from pathlib import Path

import docx
import pypdf
import pytest
import rispy

from doors import DeskAnswer, MissingExtraError, NothingKeptError, ReviewTable, export
from evidencebench import open_dataset
from kit.command_line import Command
from kit.desks import QUESTIONS, TEXT, cell_of, decide, filled, make_folder

HOSTILE = "=cmd|' /C calc'!A0 \x07 <b>"


@pytest.fixture
def table(tmp_path: Path) -> ReviewTable:
    """Give a desk on which Ada decided a PDF and a text, and Bo differs on the text's second question."""
    made = filled(make_folder(tmp_path / "papers"), "bm25")
    decide(made, "Ada", cell_of(made, "printed.pdf", 1), "increase", 2, note=HOSTILE)
    decide(made, "Ada", cell_of(made, "paper_0.txt", 0), "decrease", 2, 4)
    decide(made, "Ada", cell_of(made, "paper_0.txt", 1), "no_difference", 3)
    decide(made, "Bo", cell_of(made, "paper_0.txt", 1), "unclear")
    return made


def test_csv_has_a_row_a_cell_with_quotations_and_no_formula(table: ReviewTable) -> None:
    rows = list(csv.DictReader(io.StringIO(export(table, "csv").content.decode())))
    by_cell = {(row["paper"], row["question"]): row for row in rows}

    assert len(rows) == 6
    printed = by_cell["printed.pdf", QUESTIONS[1]]
    assert (printed["decision"], printed["title"], printed["doi"]) == (
        "reports an increase",
        "Coffee, listed",
        "10.1000/c",
    )
    assert "“The heart rate rose more with coffee" in printed["quotations"]
    assert "(page 1" in printed["quotations"]
    assert not printed["note"].startswith("=")
    disputed = by_cell["paper_0.txt", QUESTIONS[1]]
    assert (disputed["decision"], disputed["by Ada"], disputed["by Bo"]) == (
        "disputed",
        "reports no difference",
        "unclear",
    )


def csv_row(table: ReviewTable, paper: str, question: int) -> dict[str, str]:
    rows = csv.DictReader(io.StringIO(export(table, "csv").content.decode()))
    return next(row for row in rows if (row["paper"], row["question"]) == (paper, QUESTIONS[question]))


def test_what_is_disputed_or_not_decided_yet_keeps_sentences_and_notes_with_names(table: ReviewTable) -> None:
    decide(table, "Bo", cell_of(table, "paper_0.txt", 0), "increase", 3, note="see the table")
    decide(table, "Bo", cell_of(table, "printed.pdf", 0), "", 4, note="ask the authors")
    disputed, begun = csv_row(table, "paper_0.txt", 0), csv_row(table, "printed.pdf", 0)
    assert disputed["decision"] == "disputed"
    assert [f"accepted by {name})" in disputed["quotations"] for name in ("Ada", "Bo")] == [True, True]
    assert disputed["note"] == "see the table"
    assert (begun["decision"], begun["note"]) == ("not decided", "ask the authors")
    assert "accepted by Bo)" in begun["quotations"]
    notes = [note for record in rispy.loads(export(table, "ris").content.decode()) for note in record["notes"]]
    assert any("not decided." in note and "ask the authors" in note for note in notes)
    assert any("(Ada: reports a decrease, Bo: reports an increase)" in note for note in notes)


def test_who_decide_the_same_of_other_sentences_are_not_agreed_without_any(table: ReviewTable) -> None:
    cell = cell_of(table, "paper_0.txt", 0)
    decide(table, "Bo", cell, "decrease", 3)
    found = csv_row(table, "paper_0.txt", 0)
    assert found["decision"] == "disputed sentences"
    assert found["quotations"].count("accepted by Ada") == 2
    decide(table, "Cy", cell, "decrease", 3)
    assert csv_row(table, "paper_0.txt", 0)["decision"] == "reports a decrease"
    assert "accepted by" not in csv_row(table, "paper_0.txt", 0)["quotations"]


def test_a_dispute_that_one_key_resolved_keeps_the_sentences_of_all(table: ReviewTable) -> None:
    cell = cell_of(table, "paper_0.txt", 0)
    decide(table, "Bo", cell, "increase", 3)
    table.save("Cy", DeskAnswer(task=cell, decision="decrease"), is_agreed=True)
    found = csv_row(table, "paper_0.txt", 0)
    assert (found["decision"], found["agreed by"]) == ("reports a decrease", "Cy")
    assert found["quotations"].count("“") == 3


def test_a_note_with_what_stands_in_no_xml_is_written(table: ReviewTable) -> None:
    decide(table, "Ada", cell_of(table, "paper_0.txt", 0), "decrease", 2, note="blood pres\ufffesure")
    for name in ("docx", "xlsx", "ris", "csv"):
        assert export(table, name).content


def test_a_workbook_has_the_same_tables(table: ReviewTable) -> None:
    with zipfile.ZipFile(io.BytesIO(export(table, "xlsx").content)) as book:
        names, strings = book.read("xl/workbook.xml").decode(), book.read("xl/sharedStrings.xml").decode()
        sheets = [book.read(f"xl/worksheets/sheet{number}.xml").decode() for number in (1, 2, 3)]
    assert 'name="papers"' in names
    assert 'name="decisions"' in names
    assert 'name="sentences"' in names
    assert "<f>" not in sheets[0]
    assert "Blood pressure was lower with tea than with water" in strings
    assert [sheet.count("<row ") - 1 for sheet in sheets] == [3, 6, 4]


def test_ris_has_a_record_a_paper_with_a_note_a_question(table: ReviewTable) -> None:
    printed, text = rispy.loads(export(table, "ris").content.decode())
    assert (printed["title"], printed["doi"]) == ("Coffee, listed", "10.1000/c")
    assert (printed["authors"], printed["journal_name"]) == (["Bean, A.", "Cup, B."], "J. Brews")
    assert (printed["volume"], printed["abstract"]) == ("7", "Coffee was given.")
    assert "authors" not in text
    assert printed["notes"][0].startswith(f"{QUESTIONS[1]} reports an increase. [page 1")
    assert [f"{question} " in note for question, note in zip(QUESTIONS, text["notes"], strict=True)] == [True, True]
    assert "disputed" in text["notes"][1]


def test_a_document_has_questions_quotations_and_pages(table: ReviewTable) -> None:
    document = docx.Document(io.BytesIO(export(table, "docx").content))
    texts = [paragraph.text for paragraph in document.paragraphs]
    quoted = [
        paragraph.text for paragraph in document.paragraphs if paragraph.style and paragraph.style.name == "Quote"
    ]

    assert [text for text in texts if text.startswith(("1. ", "2. "))] == [f"1. {QUESTIONS[0]}", f"2. {QUESTIONS[1]}"]
    assert any(text.startswith("Coffee, listed: reports an increase. doi:10.1000/c") for text in texts)
    assert len(quoted) == 4
    assert any("(page 1" in text for text in quoted)
    assert any("accepted by Ada)" in text for text in quoted)
    assert any("disputed (Ada: reports no difference, Bo: unclear)" in text for text in texts)


def test_pdfs_are_marked_where_sentences_were_accepted(table: ReviewTable) -> None:
    made = export(table, "pdf")
    assert made.told == ["paper_0.txt: not marked: not a PDF"]
    with zipfile.ZipFile(io.BytesIO(made.content)) as packed:
        assert packed.namelist() == ["printed.pdf"]
        page = pypdf.PdfReader(io.BytesIO(packed.read("printed.pdf"))).pages[0]
    (mark,) = (one.get_object() for one in page["/Annots"])  # type: ignore[attr-defined]
    assert mark["/Subtype"] == "/Highlight"
    assert mark["/Contents"].startswith(f"{QUESTIONS[1]}\nreports an increase")


def test_a_missing_library_is_named_with_its_install_command(
    table: ReviewTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with pytest.raises(MissingExtraError, match=r"\[review\]"):
        export(table, "docx")


def test_nothing_decided_is_no_data_set(tmp_path: Path) -> None:
    table = filled(make_folder(tmp_path / "papers"), "bm25")
    for name in ("data", "pdf"):
        with pytest.raises(NothingKeptError):
            export(table, name)
    assert all(export(table, name).content for name in ("csv", "xlsx", "docx"))


def test_the_data_set_is_valid_scored_and_trained_on(tmp_path: Path, command: Command) -> None:
    folder = make_folder(tmp_path / "papers", n_papers=12)
    for number in range(12):  # no two alike
        (folder / f"paper_{number}.txt").write_text(
            "\n".join([TEXT, *(f"Nurse {number} measured {count} patients in week {count}." for count in range(40))])
        )
    table = filled(folder, "bm25")
    for number in range(12):
        decide(table, "Ada", cell_of(table, f"paper_{number}.txt", 0), "decrease", 2)
        decide(table, "Ada", cell_of(table, f"paper_{number}.txt", 1), "no_difference", 3, note="sure")
    decide(table, "Ada", cell_of(table, "printed.pdf", 0), "not_reported")
    decide(table, "Ada", cell_of(table, "printed.pdf", 1), "unclear")
    data, runs = tmp_path / "decided.json", tmp_path / "run.jsonl"
    told = command(f"review {folder} --export {data}").err

    assert "1 decided cell left out" in told
    assert "25 instances: valid" in command(f"data validate {data}").done
    instance = next(one for one in open_dataset(data) if one.labels.aspects)
    (silent,) = (one for one in open_dataset(data) if not one.labels.aspects)  # does not report it
    assert silent.query.hypothesis == QUESTIONS[0]
    assert instance.query.goal == "answer"
    assert list(instance.labels.sources.values()) == [(2,)]
    assert json.loads(data.read_bytes())[instance.id]["decision"] == "decrease"
    assert command(f"run bm25 --data {data} -o {runs}").code == 0
    assert "er_at_optimal" in command(f"score {runs} --data {data}").done
    assert "25 instances" in command(f"train finder --data {data} -o {tmp_path / 'mine'}").done
    trained = filled(folder, f"finder:model={tmp_path / 'mine'}")
    assert any(cell.before for cell in trained.cells())
    assert not any(cell.error for cell in trained.cells() if cell.paper.file != "scan.pdf")
