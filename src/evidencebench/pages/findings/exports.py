"""Findings as a table (CSV, Markdown) and as RIS, which managers of references read."""

from collections.abc import Sequence
from itertools import groupby

from evidencebench.execution.finding import Finding
from evidencebench.extras import require_extra
from evidencebench.pages.findings.words import REPORTS, about, told
from evidencebench.papers.paper import Paper
from evidencebench.tables import Cell, Table, printable

_COLUMNS = (
    *("paper", "title", "hypothesis", "rank", "sentence"),
    *("section", "paragraph", "page", "chance", "direction", "text", "told"),
)


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return a row a sentence; a finding without a sentence has one row, whose last cell says why."""
    rows: list[Sequence[Cell]] = []
    for finding in findings:
        paper, note = finding.paper, told(finding)
        head = (_as_cell(printable(paper.name)), _as_cell(paper.title), _as_cell(finding.hypothesis))
        for rank, found in enumerate(finding.evidence, 1):
            place = found.place
            where = (_as_cell(" > ".join(place.section)), place.paragraph + 1, place.page)
            shown = rank if finding.ordered else None
            chance = None if found.chance is None else f"{found.chance:.3f}"
            rows.append((*head, shown, found.sentence, *where, chance, found.direction, _as_cell(found.text), note))
        if not finding.evidence:
            rows.append((*head, *(None,) * 8, note))
    return Table(columns=_COLUMNS, rows=rows)


def _as_cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: behind an apostrophe where it begins like one."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def findings_ris(findings: Sequence[Finding]) -> str:
    """Return a RIS record a paper, with a note for each hypothesis; raises `MissingExtraError` without rispy."""
    require_extra("find --format ris", "ris", "rispy")
    import rispy  # noqa: PLC0415 - an extra

    papers = (list(group) for _, group in groupby(findings, key=lambda finding: finding.paper.name))
    records = [_ris_record(of_paper[0].paper, of_paper) for of_paper in papers]
    text: str = rispy.dumps(records)
    return text


def _ris_record(paper: Paper, findings: Sequence[Finding]) -> dict[str, str | list[str]]:
    fields = {
        "type_of_reference": "JOUR",
        "title": printable(paper.title or paper.name),
        "doi": paper.ids.get("doi", ""),
        "accession_number": paper.ids.get("pmcid") or paper.ids.get("pmid", ""),
    }
    given = {name: printable(value) for name, value in fields.items() if value}
    return {**given, "notes": [_note(finding) for finding in findings]}


def _note(finding: Finding) -> str:
    """Return a finding on one line, since a line of RIS is a field."""
    directions = ("" if found.direction is None else f"; {REPORTS[found.direction]}" for found in finding.evidence)
    sentences = (
        f"[{rank}] {found.text} ({about(found)}{direction})"
        for rank, (found, direction) in enumerate(zip(finding.evidence, directions, strict=True), 1)
    )
    return printable(" ".join((f"Evidence for or against '{finding.hypothesis}':", *sentences, told(finding)))).strip()
