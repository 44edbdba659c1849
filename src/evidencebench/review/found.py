"""What a system answers to the cells of a review: a file a system, in the form of all answers."""

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from evidencebench.errors import EvidenceBenchError
from evidencebench.execution.finding import Finding, PaperVerdict, find_evidence, found_sentence
from evidencebench.execution.findings import unit_name
from evidencebench.files.records import Journal, RecordFormat
from evidencebench.papers.paper import Paper
from evidencebench.runs.answers import (
    ANSWERS,
    VERSION,
    Answer,
    AnswersHeader,
    EvidenceReference,
    FailureAnswer,
    check_line,
)
from evidencebench.runs.header import SystemHeader
from evidencebench.runs.people import file_stem
from evidencebench.system import NamedSystem
from evidencebench.systems.directions import ReportedDirection
from evidencebench.systems.question import question_of
from evidencebench.version import __version__

CELLS = "cells of a review"
"""What the headers of files of answers call their items here."""

_BUDGET = 10


def cell_key(paper: str, question: str) -> str:
    """Return what stands for a paper and a question in files of answers."""
    return f"{paper}-{hashlib.sha256(question.encode(errors='replace')).hexdigest()[:12]}"


def paper_of(cell: str) -> str:
    return cell.rpartition("-")[0]


class FoundEvidence(EvidenceReference, frozen=True, kw_only=True, omit_defaults=True):
    chance: float | None = None  # that it is evidence, in 0..1
    direction: ReportedDirection | None = None


class EvidenceAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True, tag="evidence"):
    """What a system found for a question in a paper: whether there is evidence, and the sentences and units."""

    verdict: PaperVerdict | None = None
    chance: float | None = None
    evidence: tuple[FoundEvidence, ...] = ()  # best first, where it is ordered
    ordered: bool = True
    unmentioned: tuple[str, ...] = ()
    text: str  # the digest of the paper's text
    question: str

    @property
    def best(self) -> str:
        """The first sentence; empty without one."""
        return self.evidence[0].quotation if self.evidence else ""


SystemAnswer: TypeAlias = EvidenceAnswer | FailureAnswer

_FORMAT: RecordFormat[AnswersHeader, SystemAnswer] = RecordFormat(
    header=AnswersHeader,
    record=SystemAnswer,  # type: ignore[arg-type]
    begins=ANSWERS.begins,
    what="a file of what a system found",
    a_record="what was found",
    made_by="evidencebench review",
    version_field="evidencebench_answers",
    check=check_line,
    remedy="move it away to have all papers asked anew; what people decided lies in other files",
)


def system_key(system: NamedSystem) -> str:
    """Return what tells systems apart: name, options, and what its files and libraries are."""
    versions = ",".join(f"{name}={value}" for name, value in sorted(system.versions().items()))
    digest = hashlib.sha256(versions.encode()).hexdigest()[:8]
    signature = SystemHeader(name=system.name, options=dict(system.options)).signature
    return f"{signature} [{digest}]" if versions else signature


def read_found(desk_folder: Path) -> Iterator[tuple[str, EvidenceAnswer]]:
    """Yield what systems found, with what stands for the system; failures are left out."""
    for path in sorted(_folder(desk_folder).glob("*.jsonl")):
        header, lines = _FORMAT.scan(path)
        for line in lines:
            if isinstance(line.record, EvidenceAnswer):
                yield header.name, line.record


def open_found(desk_folder: Path, system: str) -> AbstractContextManager[Journal]:
    """Return the file of a system's answers, to be added to."""
    folder = _folder(desk_folder)
    folder.mkdir(parents=True, exist_ok=True)
    header = AnswersHeader(
        evidencebench_answers=VERSION, role="system", merge="first success", name=system, items=CELLS
    )
    return _FORMAT.append(folder / f"{file_stem(system)}.jsonl", header)


def _folder(desk_folder: Path) -> Path:
    return desk_folder / "systems"


def found_in(paper: Paper, text: str, question: str, system: NamedSystem, *, at: str) -> SystemAnswer:
    """Ask a system for the evidence in a paper; ``text`` is the digest of its text, ``at`` the time."""
    key = cell_key(text, question)
    try:
        finding = find_evidence(paper, question, budget=_BUDGET, system=system)
    except EvidenceBenchError as error:
        return FailureAnswer(id=key, error=str(error), at=at)
    return EvidenceAnswer(
        id=key,
        at=at,
        verdict=finding.verdict,
        chance=finding.chance,
        evidence=tuple(
            FoundEvidence(
                index=one.sentence,
                quotation=one.text,
                unit=unit_name(one),
                reader=__version__,
                chance=one.chance,
                direction=one.direction,
            )
            for one in finding.evidence
        ),
        ordered=finding.ordered,
        unmentioned=finding.unmentioned,
        text=text,
        question=question,
    )


def finding_of(paper: Paper, found: EvidenceAnswer) -> Finding:
    """Return what was found as it was made; ``paper`` has the same text."""
    question = question_of(found.question)
    return Finding(
        paper=paper,
        hypothesis=found.question,
        evidence=tuple(
            found_sentence(paper, one.index, question, one.chance, one.direction)
            for one in found.evidence
            if one.index is not None
        ),
        ordered=found.ordered,
        verdict=found.verdict,
        chance=found.chance,
        unmentioned=found.unmentioned,
    )
