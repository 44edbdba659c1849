"""Findings as one HTML page without scripts or requests: each paper with its evidence marked."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from evidencebench.execution.finding import Finding
from evidencebench.pages.findings.words import about, grouped, meanings, told
from evidencebench.pages.markup import Node, node
from evidencebench.pages.static_page import static_page
from evidencebench.papers.paper import Paper
from evidencebench.query import Kind
from evidencebench.systems.directions.classifier import ReportedDirection

_Mark = tuple[int, int, str]
"""A finding that names a sentence: the hypothesis from 1, the rank from 1, what is reported where that was read."""
_Marks = Mapping[int, Sequence[_Mark]]


def findings_page(findings: Sequence[Finding]) -> str:
    """Return the page: for each paper the evidence by hypothesis, then its text with that evidence marked."""
    papers = [list(group) for _, group in groupby(findings, key=lambda finding: finding.paper.name)]
    sections = [_paper_section(number, of_paper) for number, of_paper in enumerate(papers)]
    notes = [node("p", {"class": "note"}, meaning) for meaning in meanings(findings)]
    title = (
        findings[0].hypothesis if len({finding.hypothesis for finding in findings}) == 1 else "Evidence by hypothesis"
    )
    body = node("main", None, node("h1", {"dir": "auto"}, title), *sections, *notes)
    return static_page(title, body)


def _paper_section(number: int, findings: Sequence[Finding]) -> Node:
    paper = findings[0].paper
    marks: dict[int, list[_Mark]] = defaultdict(list)
    for place, finding in enumerate(findings, 1):
        for rank, found in enumerate(finding.evidence, 1):
            reported = "" if found.direction in {None, ReportedDirection.NOT_SAID} else f" {found.direction}"
            marks[found.sentence].append((place, rank, reported))
    several = len(findings) > 1
    lists = [
        part
        for place, finding in enumerate(findings, 1)
        for part in _finding_parts(number, finding, hypothesis=place if several else None)
    ]
    return node(
        "section",
        None,
        node("h2", {"dir": "auto"}, paper.title or paper.name),
        node("p", {"class": "note"}, f"{paper.name} ({paper.format})") if paper.title else None,
        *lists,
        node("article", {"dir": "auto"}, *_text(number, paper, marks, several=several)),
    )


def _finding_parts(number: int, finding: Finding, *, hypothesis: int | None) -> Iterator[Node]:
    """Yield what was found; ``hypothesis`` is its number from 1 where there are several, as the text's marks say."""
    if hypothesis is not None:
        yield node("h3", {"dir": "auto"}, f"{hypothesis}. {finding.hypothesis}")
    if words := told(finding):
        yield node("p", {"class": "told"}, words)
    for heading, of_group in grouped(finding):
        if heading:
            yield node("h3" if hypothesis is None else "h4", None, heading)
        items = []
        for rank, found in of_group:
            link = node("a", {"href": f"#{_anchor(number, found.sentence)}"}, found.text)
            place = node("small", None, f" {about(found)}")
            items.append(node("li", {"value": str(rank)} if finding.ordered and heading else None, link, place))
        yield node("ol" if finding.ordered else "ul", {"dir": "auto"}, *items)


def _text(number: int, paper: Paper, marks: _Marks, *, several: bool) -> Iterator[Node]:
    rows = [row for row in enumerate(zip(paper.kinds, paper.places, strict=True)) if row[0] or not paper.title]
    for (_, kind), of_block in groupby(rows, key=lambda row: (row[1][1].paragraph, row[1][0] is Kind.HEADING)):
        indices = [index for index, _ in of_block]
        if kind:
            for index in indices:
                level = min(6, 3 + len(paper.places[index].section))
                yield node(f"h{level}", None, paper.sentences[index])
        else:
            sentences = [
                child
                for index in indices
                for child in (_sentence(number, index, paper, marks.get(index, ()), several=several), " ")
            ]
            is_abstract = paper.kinds[indices[0]] is Kind.ABSTRACT
            yield node("p", {"class": "abstract"} if is_abstract else None, *sentences)


def _sentence(number: int, index: int, paper: Paper, marks: Sequence[_Mark], *, several: bool) -> Node | str:
    if not marks:
        return paper.sentences[index]
    labels = [f"{f'{hypothesis}.' * several}{rank}{reported}" for hypothesis, rank, reported in marks]
    return node("mark", {"id": _anchor(number, index)}, paper.sentences[index], node("sup", None, ", ".join(labels)))


def _anchor(number: int, index: int) -> str:
    return f"paper-{number}-sentence-{index}"
