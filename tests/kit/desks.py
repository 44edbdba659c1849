"""A folder of papers, a PDF and one that cannot be read among them, and its desk, filled."""

from collections.abc import Sequence
from pathlib import Path

from doors import Desk, DeskAnswer, DeskPaper, ReviewTable, decision_folder, open_desk, system_key
from evidencebench import InProcess, make_system
from kit.patience import MOST_SECONDS
from kit.printing import BOLD, Sheet

QUESTIONS = ("Tea lowers blood pressure compared with water.", "Does coffee raise the heart rate?")
TEXT = """# Tea and pressure
# Results
Blood pressure was lower with tea than with water (p = 0.01).
The heart rate did not differ between coffee and water (p = 0.8).
Nurses took all measures.
"""


def make_folder(folder: Path, *, n_papers: int = 1) -> Path:
    """Write ``n_papers`` texts, a PDF that a list of papers names, and a file that is no paper."""
    folder.mkdir()
    for number in range(n_papers):
        (folder / f"paper_{number}.txt").write_text(f"{TEXT}Paper {number} was long.\n")
    sheet = Sheet()
    y = sheet.paragraph(72, 90, "Coffee and the rate of the heart", size=18, font=BOLD)
    y = sheet.line(72, 140, "Results", size=13, font=BOLD) and 170
    for text in (
        "The heart rate rose more with coffee than with water in all of the groups that were looked at (p = 0.02).",
        "Blood pressure was lower with tea than with water in both of the groups that nurses had measured.",
        "No other measure that was taken differed between the groups, as far as the nurses could tell from them.",
    ):
        y = sheet.paragraph(72, y, text)
    (folder / "printed.pdf").write_bytes(sheet.pdf())
    about = "AU  - Bean, A.\nAU  - Cup, B.\nJO  - J. Brews\nVL  - 7\nAB  - Coffee was given.\n"
    record = f"TY  - JOUR\nTI  - Coffee, listed\n{about}DO  - 10.1000/c\nL1  - printed.pdf\nER  - \n"
    (folder / "list.ris").write_text(record)
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4\nnothing\n")
    return folder


def listed(folder: Path) -> list[DeskPaper]:
    from doors import papers_of  # noqa: PLC0415 - the command knows lists of papers

    return papers_of(folder, None)


def opened(folder: Path, system: str = "finder", questions: Sequence[str] = QUESTIONS) -> Desk:
    path = folder.parent / "questions.txt"
    path.write_text("\n".join(questions) + "\n")
    return open_desk(folder, listed(folder), path, system_key(make_system(system, seed=0)))


def filled(folder: Path, system: str = "finder", *, is_blind: bool = False, **options: Sequence[str]) -> ReviewTable:
    """Return the table of a desk that has asked everything and let go of its files."""
    desk = opened(folder, system, **options)
    desk.fill(InProcess(), make_system(system, seed=0))
    desk.wait(MOST_SECONDS)
    desk.close()
    return ReviewTable(desk, decision_folder(desk.folder), is_blind=is_blind)


def decide(table: ReviewTable, person: str, cell: str, decision: str, *accepted: int, note: str = "") -> None:
    """Let a person decide, behind what the person said of the cell before."""
    before = table.answer(person, cell)
    revision = int(str(before["revision"])) + 1 if before else 1
    answer = DeskAnswer(task=cell, decision=decision, accepted=accepted, note=note, revision=revision)  # type: ignore[arg-type]
    table.save(person, answer)


def cell_of(table: ReviewTable, file: str, question: int = 0) -> str:
    row = next(row for row, paper in enumerate(table.desk.papers) if paper.file == file)
    return f"{row}.{question}"
