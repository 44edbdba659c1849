"""Copies of PDFs with their evidence highlighted, each with a note."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evidencebench.errors import DataError
from evidencebench.execution.finding import Finding, FoundSentence, PaperVerdict
from evidencebench.files.atomic import whole_file
from evidencebench.files.disk import read_bytes
from evidencebench.pages.findings import about
from evidencebench.papers.paper import PageBox
from evidencebench.papers.pdf.marking import Highlight, require_marking, with_highlights
from evidencebench.papers.pdf.reader import is_pdf

# Of the first question, the second, ...; red, green and blue in 0..1.
_COLOURS = ((1, 0.85, 0), (0.35, 0.85, 0.4), (0.4, 0.7, 1), (1, 0.5, 0.7), (1, 0.6, 0.25), (0.75, 0.55, 1))
_LEAST_TINT = 0.25  # of what is hardly evidence, in 0..1
_NO_CHANCE = 0.7  # the tint where the system gives no chances


class MarkedCopy(NamedTuple):
    source: Path
    target: Path


def planned_copies(papers: Mapping[str, Path], folder: Path, *, overwrite: bool) -> dict[str, MarkedCopy]:
    """Return where copies of those papers go that are PDFs, by their names; raises `DataError` where one may not."""
    require_marking("find --mark")
    copies: dict[str, MarkedCopy] = {}
    targets: dict[str, Path] = {}
    sources = {path.resolve() for path in papers.values()}
    for name, source in papers.items():
        if not source.is_file() or not is_pdf(read_bytes(source)):
            continue
        stem = source.stem if source.suffix.lower() == ".pdf" else source.name
        n, target = 1, folder / f"{stem}.pdf"
        while target.name.casefold() in targets:
            n, target = n + 1, folder / f"{stem}-{n + 1}.pdf"
        targets[target.name.casefold()] = target
        if target.resolve() in sources:
            raise DataError(f"{target}: is one of the papers; choose another folder for --mark")
        if not overwrite and target.exists():
            raise DataError(f"{target}: exists; choose another folder for --mark, or replace it with --overwrite")
        copies[name] = MarkedCopy(source, target)
    return copies


def write_copies(findings: Sequence[Finding], copies: Mapping[str, MarkedCopy]) -> Iterator[tuple[str, str]]:
    """Write a copy of each paper with evidence; yield the name of each paper, and why it has none, or an empty text."""
    hypotheses = list(dict.fromkeys(finding.hypothesis for finding in findings))
    by_paper: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_paper[finding.paper.name].append(finding)
    for name, of_paper in by_paper.items():
        if name not in copies:
            yield name, "it is no PDF in a file of its own"
            continue
        highlights = [
            highlight
            for finding in of_paper
            if finding.verdict is not PaperVerdict.NONE
            for sentence in finding.evidence
            for highlight in _highlights(
                finding, sentence, _COLOURS[hypotheses.index(finding.hypothesis) % len(_COLOURS)]
            )
        ]
        if not highlights:
            yield name, "nothing was found in it"
            continue
        source, target = copies[name]
        try:
            content = with_highlights(read_bytes(source), highlights, name)
        except DataError as error:
            yield name, str(error).removeprefix(f"{name}: ")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target, follows_links=False) as file:
            file.write(content)
        yield name, ""


def _highlights(finding: Finding, sentence: FoundSentence, colour: tuple[float, float, float]) -> Iterator[Highlight]:
    """Yield an annotation for each page on which the sentence stands."""
    chance = _NO_CHANCE if sentence.chance is None else sentence.chance
    tint = _LEAST_TINT + (1 - _LEAST_TINT) * chance
    boxes: dict[int, list[PageBox]] = defaultdict(list)
    for box in finding.paper.boxes[sentence.sentence]:
        boxes[box.page].append(box)
    for of_page in boxes.values():
        red, green, blue = (round(1 - tint * (1 - part), 3) for part in colour)
        note = f"{finding.hypothesis}\n{about(sentence)}"
        yield Highlight(boxes=tuple(of_page), colour=(red, green, blue), note=note)
