"""Findings as one HTML page without requests: each paper with its evidence marked."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from urllib.parse import quote

from evidencebench.execution.finding import Finding
from evidencebench.pages.findings import (
    about,
    about_unit,
    by_paper,
    grouped,
    grouped_units,
    lead,
    meanings,
    searched,
    shown,
    strength,
)
from evidencebench.pages.html import Child, Node, node, static_page
from evidencebench.papers.paper import Place
from evidencebench.query import Kind
from evidencebench.systems.directions import ReportedDirection

_NO_LINKS: Mapping[str, str] = MappingProxyType({})


def findings_page(findings: Sequence[Finding], *, split: bool = False, links: Mapping[str, str] = _NO_LINKS) -> str:
    """Return the page; ``links`` has, by the names of papers in PDF, where copies lie, seen from the page."""
    sections = [
        _Section(number, of_paper, split=split, link=links.get(of_paper[0].paper.name)).node()
        for number, of_paper in enumerate(by_paper(findings), 1)
    ]
    notes = [node("p", {"class": "note"}, meaning) for meaning in meanings(findings)]
    hypotheses = {finding.hypothesis for finding in findings}
    title = hypotheses.pop() if len(hypotheses) == 1 else "Evidence by hypothesis"
    body = node("main", None, node("h1", {"dir": "auto"}, title), *sections, *notes)
    return static_page(title, body)


class _Section:
    """What was found in a paper, and its text with the sentences marked."""

    def __init__(self, number: int, findings: Sequence[Finding], *, split: bool, link: str | None) -> None:
        self._number, self._findings, self._split, self._link = number, findings, split, link
        self._paper, self._has_several = findings[0].paper, len(findings) > 1

    def node(self) -> Node:
        paper = self._paper
        parts = [part for number, finding in enumerate(self._findings, 1) for part in self._parts(number, finding)]
        return node(
            "section",
            {"id": f"paper-{self._number}"},
            node("h2", {"dir": "auto"}, paper.title or paper.name),
            node("p", {"class": "note"}, f"{paper.name} ({paper.format})") if paper.title else None,
            *parts,
            node("article", {"dir": "auto"}, *self._text()),
        )

    def _parts(self, number: int, finding: Finding) -> Iterator[Node]:
        """Yield what was found; where there are several findings, their number is what the text's marks say."""
        tag = "h4" if self._has_several else "h3"
        if self._has_several:
            yield node("h3", {"dir": "auto", "id": f"{self._anchor}-{number}"}, f"{number}. {finding.hypothesis}")
        if words := lead(finding):
            yield node("p", {"class": "verdict", "data-verdict": finding.verdict or ""}, words)
        for heading, of_group in grouped(finding, split=self._split):
            if heading:
                yield node(tag, None, heading)
            items = []
            for rank, one in of_group:
                to_text = node("a", {"href": f"#{self._anchor}-sentence-{one.sentence}"}, one.text)
                value = {"value": rank} if finding.ordered and heading else None
                items.append(node("li", value, to_text, node("small", None, about(one), *self._to_page(one.place))))
            yield node("ol" if finding.ordered else "ul", {"dir": "auto"}, *items)
        for heading, units in grouped_units(finding):
            yield node(tag, None, heading)
            about_units = (node("small", None, about_unit(unit), *self._to_page(unit.place)) for unit in units)
            lines = zip(units, about_units, strict=True)
            yield node("ul", {"dir": "auto"}, *(node("li", None, unit.text, place) for unit, place in lines))
        if words := searched(finding):
            yield node("p", {"class": "told"}, words)

    @property
    def _anchor(self) -> str:
        return f"paper-{self._number}"

    def _to_page(self, place: Place) -> Sequence[Child]:
        """Return the link to a page of a PDF; nothing where the page or the file is not known."""
        if place.page is None or self._link is None:
            return ()
        return ("; ", node("a", {"href": f"{quote(self._link)}#page={place.page}"}, f"open page {place.page}"))

    def _text(self) -> Iterator[Node]:
        paper, marks = self._paper, self._marks()
        rows = [row for row in enumerate(zip(paper.kinds, paper.places, strict=True)) if row[0] or not paper.title]
        for (_, kind), of_block in groupby(rows, key=lambda row: (row[1][1].paragraph, row[1][0] is Kind.HEADING)):
            indices = [index for index, _ in of_block]
            if kind:
                for index in indices:
                    level = min(6, 3 + len(paper.places[index].section))
                    yield node(f"h{level}", None, paper.sentences[index])
                continue
            sentences = (part for index in indices for part in (marks.get(index, paper.sentences[index]), " "))
            is_abstract = paper.kinds[indices[0]] is Kind.ABSTRACT
            yield node("p", {"class": "abstract"} if is_abstract else None, *sentences)

    def _marks(self) -> dict[int, Node]:
        """Return the marked sentences by their indices; a mark is as strong as the surest finding."""
        labels: dict[int, list[str]] = defaultdict(list)  # hypothesis, rank and what is reported
        strengths: dict[int, int] = defaultdict(int)
        for number, finding in enumerate(self._findings, 1):
            for rank, one in enumerate(shown(finding), 1):
                reported = "" if one.direction in {None, ReportedDirection.NOT_SAID} else f" {one.direction}"
                labels[one.sentence].append(f"{f'{number}.' * self._has_several}{rank}{reported}")
                strengths[one.sentence] = max(strength(one) or 0, strengths[one.sentence])
        return {
            index: node(
                "mark",
                {"id": f"{self._anchor}-sentence-{index}", "data-strength": strengths[index]},
                self._paper.sentences[index],
                node("sup", None, ", ".join(label)),
            )
            for index, label in labels.items()
        }
