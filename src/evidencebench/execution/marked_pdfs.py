"""Copies of PDFs with their evidence highlighted, each with a note."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import cycle
from pathlib import Path

from evidencebench.errors import DataError
from evidencebench.execution.finding import Finding, PaperVerdict
from evidencebench.execution.findings import about, by_paper, shown
from evidencebench.files.atomic import whole_file
from evidencebench.files.disk import read_bytes
from evidencebench.papers.pdf.marking import COLOURS, free_name, highlights_of, tinted, with_highlights
from evidencebench.papers.pdf.reader import is_pdf
from evidencebench.provenance import require_extra

_LEAST_TINT = 0.25  # of what is hardly evidence, in 0..1
_NO_CHANCE = 0.7  # the tint where the system gives no chances

MarkedCopies = Mapping[str, tuple[Path, Path]] | None  # name of a paper -> its file and the copy; None: not wanted


def planned_copies(papers: Mapping[str, Path], folder: Path | None, *, overwrite: bool) -> MarkedCopies:
    """Return where copies of those papers go that are PDFs; raises `DataError` where one may not."""
    if folder is None:
        return None
    require_extra("find --mark", "mark", "pypdf")
    copies: dict[str, tuple[Path, Path]] = {}
    taken: set[str] = set()
    for name, source in papers.items():
        with suppress(DataError):  # which is told when the papers are read
            if is_pdf(read_bytes(source)):
                stem = source.stem if source.suffix.lower() == ".pdf" else source.name
                copies[name] = (source, folder / free_name(stem, taken))
    for _, target in copies.values():
        if target.exists() and any(path.exists() and target.samefile(path) for path in papers.values()):
            raise DataError(f"{target}: is one of the papers; choose another folder for --mark")
        if not overwrite and target.exists():
            raise DataError(f"{target}: exists; choose another folder for --mark, or replace it with --overwrite")
    return copies


def write_copies(findings: Sequence[Finding], copies: MarkedCopies) -> Iterator[tuple[str, Path | None, str]]:
    """Write a copy of each paper with evidence; yield the name of each paper with its copy, or why it has none."""
    if copies is None:
        return
    colours = dict(zip(dict.fromkeys(finding.hypothesis for finding in findings), cycle(COLOURS), strict=False))
    for of_paper in by_paper(findings):
        name = of_paper[0].paper.name
        if name not in copies:
            yield name, None, "it is no PDF in a file of its own"
            continue
        highlights = [
            highlight
            for one in of_paper
            if one.verdict is not PaperVerdict.NONE
            for sentence in shown(one)
            if not sentence.is_unit  # which has no box
            for highlight in highlights_of(
                one.paper.boxes[sentence.sentence],
                tinted(colours[one.hypothesis], _tint(sentence.chance)),
                f"{one.hypothesis}\n{about(sentence)}",
            )
        ]
        if not highlights:
            yield name, None, "nothing was found in it"
            continue
        source, target = copies[name]
        try:
            content = with_highlights(read_bytes(source), highlights, name)
        except DataError as error:
            yield name, None, str(error).removeprefix(f"{name}: ")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target, follows_links=False) as file:
            file.write(content)
        yield name, target, ""


def _tint(chance: float | None) -> float:
    return _LEAST_TINT + (1 - _LEAST_TINT) * (_NO_CHANCE if chance is None else chance)
