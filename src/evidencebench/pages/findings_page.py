"""Findings as one HTML page without requests: each paper with its evidence marked."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from urllib.parse import quote

from evidencebench.execution.finding import Finding, PaperVerdict
from evidencebench.pages.findings import (
    about,
    about_unit,
    by_paper,
    chance_text,
    grouped,
    grouped_units,
    lead,
    meanings,
    reported_counts,
    searched,
    shown,
    strengths,
)
from evidencebench.pages.html import (
    FINDINGS_SCRIPTS,
    FINDINGS_STYLES,
    Child,
    Node,
    as_html,
    node,
    one_file,
    page_parts,
    script,
    style,
)
from evidencebench.papers.paper import Place
from evidencebench.query import Kind
from evidencebench.systems.directions import ReportedDirection
from evidencebench.wording import counted

_NO_LINKS: Mapping[str, str] = MappingProxyType({})


def findings_page(
    findings: Sequence[Finding],
    *,
    split: bool = False,
    failed: Sequence[str] = (),
    links: Mapping[str, str] = _NO_LINKS,
) -> str:
    """Return the page; of several findings, a table of papers and hypotheses comes first, the strongest paper on top.

    ``failed`` says what could not be read or answered; ``links`` has, by the names of papers in PDF, where copies lie,
    seen from the page.
    """
    hypotheses = list(dict.fromkeys(finding.hypothesis for finding in findings))
    title = hypotheses[0] if len(hypotheses) == 1 else "Evidence by hypothesis"
    papers = by_paper(findings)
    has_table = len(findings) > 1
    if has_table:
        papers.sort(key=lambda of_paper: sorted(map(_level, of_paper), reverse=True), reverse=True)
    sections = []
    for number, of_paper in enumerate(papers, 1):
        link = links.get(of_paper[0].paper.name)
        section = _Section(number, of_paper, hypotheses, split=split, link=link)
        text = "".join(map(as_html, section.nodes()))
        sections.append(f'<section id="paper-{number}">{text}</section>')
    body = (
        *("<main>", as_html(node("h1", {"dir": "auto"}, title)), *map(as_html, _failures(failed))),
        *('<div class="papers">', as_html(_table(papers, hypotheses)) if has_table else "", *sections, "</div>"),
        *(as_html(node("p", {"class": "note"}, meaning)) for meaning in meanings(findings)),
        "</main>",
    )
    return one_file(title, body, page_parts(style(FINDINGS_STYLES), script(FINDINGS_SCRIPTS) if has_table else ""))


def _failures(failed: Sequence[str]) -> Iterator[Node]:
    if failed:
        said = f"{counted(len(failed), 'file or answer', 'files or answers')} missing, for these reasons:"
        yield node("div", {"class": "told"}, said, node("ul", None, *(node("li", None, reason) for reason in failed)))


def _level(finding: Finding) -> float:
    """Return how strong a finding is, for sorting: its verdict, then its highest chance."""
    of_verdict = {PaperVerdict.FOUND: 2, PaperVerdict.NONE: 0}.get(finding.verdict or PaperVerdict.UNSURE, 1)
    return of_verdict + 0.99 * max((one.chance or 0 for one in finding.evidence), default=0)


def _table(papers: Sequence[Sequence[Finding]], hypotheses: Sequence[str]) -> Node:
    several = len(hypotheses) > 1
    heads = [f"{number}. {text}" for number, text in enumerate(hypotheses, 1)] if several else ["Evidence"]
    rows = []
    for number, of_paper in enumerate(papers, 1):
        anchors = {text: f"paper-{number}-{place}" for place, text in enumerate(hypotheses, 1)}
        cells = {finding.hypothesis: _cell(finding, anchors[finding.hypothesis]) for finding in of_paper}
        paper = of_paper[0].paper
        name = node("a", {"href": f"#paper-{number}", "dir": "auto"}, paper.title or paper.name)
        head = node("th", {"scope": "row"}, name, node("small", None, paper.name) if paper.title else None)
        rows.append(node("tr", None, head, *(cells.get(one) or node("td", None, "not answered") for one in hypotheses)))
    columns = (node("th", {"scope": "col", "dir": "auto"}, text) for text in ("Paper", *heads))
    table = node("table", None, node("thead", None, node("tr", None, *columns)), node("tbody", None, *rows))
    return node("div", {"class": "answers", "tabindex": 0, "role": "region", "aria-label": "Answers"}, table)


def _cell(finding: Finding, anchor: str) -> Node:
    best = next(iter(shown(finding)), None)
    words = str(finding.verdict or counted(len(finding.evidence), "sentence")).capitalize()
    sure = "" if best is None or best.chance is None else chance_text(best.chance)
    reports = reported_counts(finding)
    link = node("a", {"href": f"#{anchor}"}, words)
    about = node("small", None, "; ".join(filter(None, (sure, reports)))) if sure or reports else None
    text = None if best is None else node("p", {"dir": "auto"}, best.text)
    level = f"{_level(finding):.3f}"
    return node("td", {"data-verdict": finding.verdict or "", "data-level": level}, link, about, text)


class _Section:
    """What was found in a paper, and its text with the sentences marked."""

    def __init__(
        self, number: int, findings: Sequence[Finding], hypotheses: Sequence[str], *, split: bool, link: str | None
    ) -> None:
        self._anchor, self._split, self._link = f"paper-{number}", split, link
        self._paper, self._has_several = findings[0].paper, len(hypotheses) > 1
        self._findings = [(hypotheses.index(finding.hypothesis) + 1, finding) for finding in findings]

    def nodes(self) -> Iterator[Node]:
        paper = self._paper
        yield node("h2", {"dir": "auto"}, paper.title or paper.name)
        if paper.title:
            yield node("p", {"class": "note"}, f"{paper.name} ({paper.format})")
        for number, finding in self._findings:
            yield node("div", {"id": f"{self._anchor}-{number}", "class": "answer"}, *self._parts(number, finding))
        yield node("article", {"dir": "auto"}, *self._text())

    def _parts(self, number: int, finding: Finding) -> Iterator[Node]:
        """Yield what was found; where there are several hypotheses, their number is what the text's marks say."""
        tag = "h4" if self._has_several else "h3"
        if self._has_several:
            yield node("h3", {"dir": "auto"}, f"{number}. {finding.hypothesis}")
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
            about_units = (node("small", None, about_unit(unit), *self._to_page(unit.place)) for _, unit in units)
            lines = zip(units, about_units, strict=True)
            yield node("ul", {"dir": "auto"}, *(node("li", None, text, place) for (text, _), place in lines))
        if words := searched(finding):
            yield node("p", {"class": "told"}, words)

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
        greatest: dict[int, int] = defaultdict(int)
        asked: dict[int, list[str]] = defaultdict(list)  # the numbers of the hypotheses
        for number, finding in self._findings:
            of_sentences = strengths(finding)
            for rank, one in enumerate(shown(finding), 1):
                reported = "" if one.direction in {None, ReportedDirection.NOT_SAID} else f" {one.direction}"
                labels[one.sentence].append(f"{f'{number}.' * self._has_several}{rank}{reported}")
                asked[one.sentence].append(str(number))
                greatest[one.sentence] = max(of_sentences.get(one.sentence, 0), greatest[one.sentence])
        return {
            index: node(
                "mark",
                {
                    "id": f"{self._anchor}-sentence-{index}",
                    "data-strength": greatest[index],
                    "data-of": " ".join(asked[index]),
                },
                self._paper.sentences[index],
                node("sup", None, ", ".join(label)),
            )
            for index, label in labels.items()
        }
