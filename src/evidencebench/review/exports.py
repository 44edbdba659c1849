"""What was decided, as tables, notes, a document, marked PDFs and a data set."""

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, groupby
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import msgspec

from evidencebench.data.instance import Instance, Labels, Origin
from evidencebench.data.json_format import encode_instance, write_json
from evidencebench.data.optima import derive_optima, with_optima
from evidencebench.errors import DataError, NothingKeptError
from evidencebench.files.workbook import workbook
from evidencebench.papers.paper import Paper, Place
from evidencebench.papers.pdf.marking import COLOURS, Highlight, free_name, highlights_of, tinted, with_highlights
from evidencebench.papers.ris import NotedPaper, as_ris
from evidencebench.provenance import require_extra
from evidencebench.query import Query
from evidencebench.review.decisions import words_of_decision
from evidencebench.review.desk import DeskPaper, content_as_read
from evidencebench.review.found import paper_of
from evidencebench.review.table import DeskCell, ReviewTable, verdict_word
from evidencebench.runs.answers import DecisionAnswer, EvidenceReference
from evidencebench.tables import Table, as_csv, printable
from evidencebench.wording import counted

_TINT = 0.7


class Exported(NamedTuple):
    """A file's content and the suffix of its name, and what a reader must know of it."""

    content: bytes
    suffix: str
    told: Sequence[str] = ()


class Quotation(NamedTuple):
    """An accepted sentence and where it stands; ``by`` names who accepts it where that is not settled."""

    sentence: int | None
    text: str
    place: Place
    unit: str = ""  # its name, of a row of a table, a caption or a note
    by: str = ""

    @classmethod
    def of(cls, paper: Paper, reference: EvidenceReference) -> "Quotation":
        index = reference.index
        if index is None:
            return cls(None, reference.quotation, Place(), reference.unit)
        line = paper.line(index)
        return cls(index, line.text, line.place, line.unit)

    @property
    def where(self) -> str:
        if self.sentence is None:
            return ", ".join(filter(None, (self.unit, "no longer in the file", self.by and f"accepted by {self.by}")))
        page = None if self.place.page is None else f"page {self.place.page}"
        section = "" if self.unit else " > ".join(self.place.section)
        return ", ".join(filter(None, (self.unit, page, section, self.by and f"accepted by {self.by}")))

    @property
    def place_words(self) -> str:
        """The section of a sentence, or the name of a unit."""
        return self.unit or " > ".join(self.place.section)


@dataclass(frozen=True, kw_only=True)
class _SaidCell:
    """A cell of which somebody said anything, with the paper's text."""

    cell: DeskCell
    table: ReviewTable

    @property
    def final(self) -> DecisionAnswer | None:
        return self.cell.decided.final if self.cell.decided else None

    @property
    def paper(self) -> Paper:
        return self.table.text(self.cell.id).paper

    @property
    def words(self) -> str:
        decided, final = self.cell.decided, self.final
        if final is not None:
            return words_of_decision(final)
        if decided is None or not decided.sides:
            return "not decided"
        return "disputed" if decided.differs_in_decision else "disputed sentences"

    @property
    def sides(self) -> str:
        """What each person decided, where that is disputed."""
        decided = self.cell.decided
        if decided is None or self.final is not None:
            return ""
        return ", ".join(f"{side.person}: {words_of_decision(side.decision)}" for side in decided.sides)

    @property
    def note(self) -> str:
        if self.final is not None and self.final.note:
            return self.final.note
        return self.cell.decided.notes() if self.cell.decided else ""

    def quotations(self) -> list[Quotation]:
        """Return the sentences that count, or all that anybody accepts where none is settled."""
        decided = self.cell.decided
        if decided is None:
            return []
        if self.final is not None and self.final.evidence:
            return [Quotation.of(self.paper, reference) for reference in self.final.evidence]
        return [
            Quotation.of(self.paper, reference)._replace(by=", ".join(decided.people_of(reference)))
            for reference in decided.accepted_by_any
        ]

    def ids(self) -> Mapping[str, str]:
        return self.cell.paper.read.ids if self.cell.paper.read else {}


def export(table: ReviewTable, name: str) -> Exported:
    """Return what was decided, in one of `EXPORTS`; raises `MissingExtraError` where its library is not there."""
    return EXPORTS[name](table)


def _rows(table: ReviewTable) -> list[_SaidCell]:
    return [_SaidCell(cell=cell, table=table) for cell in table.cells() if cell.decided is not None]


def _head(row: _SaidCell) -> dict[str, Any]:
    ids, read = row.ids(), row.cell.paper.read
    about = _about(row.cell.paper)
    of_paper = {
        "paper": printable(row.cell.paper.file),
        "title": row.cell.title,
        "authors": "; ".join(about.get("authors", ())),
        "journal": "; ".join(about.get("journal", ())),
        "year": read and read.year,
    }
    return {**of_paper, "doi": ids.get("doi"), "pmid": ids.get("pmid"), "question": row.cell.question.text}


def _about(paper: DeskPaper) -> Mapping[str, tuple[str, ...]]:
    """Return what is known of a paper: a list of papers goes before what its file says."""
    return {**(paper.read.about if paper.read else {}), **paper.about}


def decisions_table(table: ReviewTable) -> Table:
    """Return a row for each cell, decided or not, with a column for each person."""
    people = sorted(table.decisions.read_all())
    rows: list[dict[str, Any]] = []
    for row in (_SaidCell(cell=cell, table=table) for cell in table.cells()):
        decided, found = row.cell.decided, row.cell.found
        sides = {side.person: words_of_decision(side.decision) for side in decided.sides} if decided else {}
        said = [f"“{one.text}” ({one.where})" if one.where else f"“{one.text}”" for one in row.quotations()]
        rows.append(
            {
                **_head(row),
                "found": (verdict_word(found) if found else "") or row.cell.error,
                "decision": row.words if decided else "",
                "agreed by": decided.agreed.by if decided and decided.agreed else "",
                "quotations": " ".join(said),
                "note": row.note,
                **{f"by {name}": sides.get(name, "") for name in people},
            }
        )
    columns = list(rows[0]) if rows else []
    return Table(columns=columns, rows=[list(row.values()) for row in rows])


def papers_table(table: ReviewTable) -> Table:
    """Return a row for each paper, and for each question what was decided, the quotations, and where they are."""
    rows: list[list[Any]] = []
    columns: list[str] = []
    for of_paper in _by_paper(_SaidCell(cell=cell, table=table) for cell in table.cells()):
        head = _head(of_paper[0])
        del head["question"]
        fields = head
        for number, row in enumerate(of_paper, 1):
            quoted, question = row.quotations(), row.cell.question.text
            fields[f"{number}. {question}"] = row.words if row.cell.decided else ""
            fields[f"{number}. quotation"] = " ".join(f"“{one.text}”" for one in quoted)
            fields[f"{number}. place"] = "; ".join(one.place_words for one in quoted)
            fields[f"{number}. page"] = "; ".join(str(one.place.page) for one in quoted if one.place.page is not None)
        columns = list(fields)
        rows.append(list(fields.values()))
    return Table(columns=columns, rows=rows)


def sentences_table(table: ReviewTable) -> Table:
    """Return a row for each accepted sentence."""
    rows: list[list[Any]] = []
    columns: list[str] = []
    for row in _rows(table):
        for one in row.quotations():
            place = {"sentence": one.sentence, "page": one.place.page, "section": " > ".join(one.place.section)}
            fields = {**_head(row), "decision": row.words, **place, "text": one.text, "accepted by": one.by}
            columns = list(fields)
            rows.append(list(fields.values()))
    return Table(columns=columns or ["text"], rows=rows)


def _csv(table: ReviewTable) -> Exported:
    return Exported(f"{as_csv(decisions_table(table))}\n".encode(), ".csv")


def _xlsx(table: ReviewTable) -> Exported:
    sheets = {
        "papers": papers_table(table),
        "decisions": decisions_table(table),
        "sentences": sentences_table(table),
    }
    return Exported(workbook(sheets, "review --export .xlsx"), ".xlsx")


def _by_paper(rows: Iterable[_SaidCell]) -> Iterator[list[_SaidCell]]:
    for _, group in groupby(rows, key=lambda row: row.cell.paper.file):
        yield list(group)


def _ris(table: ReviewTable) -> Exported:
    def note(row: _SaidCell) -> str:
        said = [f"[{one.where}] {one.text}" if one.where else one.text for one in row.quotations()]
        decision = f"{row.words} ({row.sides})" if row.sides else row.words
        return " ".join(filter(None, (f"{row.cell.question.text} {decision}.", *said, row.note)))

    def noted(rows: Sequence[_SaidCell]) -> NotedPaper:
        read = rows[0].cell.paper.read
        year = read.year if read else None
        about = _about(rows[0].cell.paper)
        return NotedPaper(rows[0].cell.title, rows[0].ids(), year, list(map(note, rows)), about)

    return Exported(as_ris(map(noted, _by_paper(_rows(table))), "review --export .ris").encode(), ".ris")


def _docx(table: ReviewTable) -> Exported:
    """Return a Word document: under each question the papers, what was decided of them, and quotations with pages."""
    require_extra("review --export .docx", "review", "docx")
    import docx  # noqa: PLC0415 - an extra

    document, content = docx.Document(), io.BytesIO()
    document.add_heading("What the papers report", 0)
    rows = _rows(table)
    for number, question in enumerate(table.desk.questions, 1):
        of_question = [row for row in rows if row.cell.question == question]
        document.add_heading(printable(f"{number}. {question.text}"), 1)
        if not of_question:
            document.add_paragraph("Nothing has been decided yet.")
        for row in of_question:
            paragraph, year = document.add_paragraph(), row.cell.paper.read and row.cell.paper.read.year
            paragraph.add_run(printable(f"{row.cell.title}{f' ({year})' if year else ''}")).bold = True
            doi = row.ids().get("doi")
            sides = f" ({row.sides})" if row.sides else ""
            paragraph.add_run(printable(f": {row.words}{sides}.{f' doi:{doi}' if doi else ''}"))
            for one in row.quotations():
                where = f" ({one.where})" if one.where else ""
                document.add_paragraph(printable(f"“{one.text}”{where}"), style="Quote")
            if row.note:
                document.add_paragraph(printable(row.note))
    document.save(content)
    return Exported(content.getvalue(), ".docx")


def _pdfs(table: ReviewTable) -> Exported:
    """Return a zip of the PDFs in which sentences were accepted, each with a colour a question, and notes."""
    require_extra("review --export .zip", "mark", "pypdf")
    colours = dict(zip((one.text for one in table.desk.questions), cycle(COLOURS), strict=False))
    told, content, taken = list[str](), io.BytesIO(), set[str]()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for rows in _by_paper(_rows(table)):
            paper = rows[0].cell.paper
            if not any(row.quotations() for row in rows):
                continue
            if not (paper.read and paper.read.is_pdf):
                told.append(f"{paper.file}: not marked: not a PDF")
                continue
            marks = [mark for row in rows for mark in _highlights(row, colours[row.cell.question.text])]
            try:
                marked = with_highlights(content_as_read(paper), marks, paper.file)
            except DataError as error:
                told.append(f"{paper.file}: not marked: {str(error).removeprefix(f'{paper.file}: ')}")
                continue
            packed.writestr(zipfile.ZipInfo(free_name(PurePosixPath(paper.file).stem, taken)), marked)
    if not taken:
        raise NothingKeptError("; ".join(["no PDF has an accepted sentence", *told]))
    return Exported(content.getvalue(), ".zip", told)


def _highlights(row: _SaidCell, colour: tuple[float, float, float]) -> Iterator[Highlight]:
    boxes = row.paper.boxes
    note = "\n".join(filter(None, (row.cell.question.text, row.words, row.sides, row.note)))
    for one in row.quotations():
        if one.unit or one.sentence is None:  # nothing says where it stands on a page
            continue
        yield from highlights_of(boxes[one.sentence], tinted(colour, _TINT), note)


def _data(table: ReviewTable) -> Exported:
    """Return a data set: an aspect for each sentence that people accept, and none where a paper does not report it."""
    made: dict[str, Instance] = {}
    n_without = 0
    for row in _rows(table):
        final = row.final
        if final is None:
            n_without += 1
            continue
        is_absent = final.choice == "not_reported"
        paper, ids = row.paper, row.ids()
        sentences = [index for index in final.accepted if index < len(paper.sentences) and not is_absent]
        if final.choice == "unclear" or not (sentences or is_absent):
            n_without += 1
            continue
        name = f"desk_{final.id}"
        aspects = {f"{name}_aspect_{number}": index for number, index in enumerate(sentences)}
        pmcid = ids.get("pmcid", "").lower().replace("pmc", "pmc_")
        query = Query(
            instance_id=name,
            paper_id=pmcid or ids.get("doi") or paper_of(final.id),
            hypothesis=row.cell.question.text,
            sentences=paper.sentences,
            kinds=paper.kinds,
            goal="answer",
        )
        labels = Labels(
            aspects=tuple(aspects),
            sources={aspect: (index,) for aspect, index in aspects.items()},
            texts={aspect: paper.sentences[index] for aspect, index in aspects.items()},
        )
        instance = Instance(query=query, labels=labels)
        instance = with_optima(instance, derive_optima(instance))
        fields = msgspec.json.decode(encode_instance(instance), type=dict[str, msgspec.Raw])
        of_people: dict[str, Any] = {"paper": row.cell.paper.file, "decision": final.choice, "note": final.note}
        if final.values:
            of_people["values"] = final.values
        made[name] = replace(instance, origin=Origin(raw=msgspec.json.encode({**fields, **of_people})))
    if not made:
        raise NothingKeptError("no cell is decided with an accepted sentence yet, so that there is no data set")
    content = io.BytesIO()
    write_json(content, made.values())
    left_out = f"{counted(n_without, 'decided cell')} left out: disputed, unclear, or nothing accepted"
    return Exported(content.getvalue(), ".json", [left_out] if n_without else [])


EXPORTS: Mapping[str, Callable[[ReviewTable], Exported]] = {
    "csv": _csv,
    "xlsx": _xlsx,
    "ris": _ris,
    "docx": _docx,
    "pdf": _pdfs,
    "data": _data,
}
SUFFIXES = {".csv": "csv", ".xlsx": "xlsx", ".ris": "ris", ".docx": "docx", ".zip": "pdf", ".json": "data"}
"""The format that the end of a file's name asks for."""
