"""Findings as one HTML page without requests: each paper with its evidence marked."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from evidencebench.execution import findings as telling
from evidencebench.execution.finding import Finding, FoundSentence, PaperVerdict
from evidencebench.pages.html import Node, as_html, node, static_page
from evidencebench.papers.paper import Paper
from evidencebench.query import Kind
from evidencebench.systems.directions import ReportedDirection
from evidencebench.wording import counted


def findings_page(
    findings: Sequence[Finding], *, split: bool = False, failed: Sequence[str] = (), links: Mapping[str, str] = {}
) -> str:
    """Return the page; of several findings, a table of papers and hypotheses comes first, the strongest paper on top.

    Below it each paper is folded, until a link leads to it or the browser finds words in it.

    ``failed`` says what could not be read or answered; ``links`` has, by the names of papers in PDF, where copies lie,
    seen from the page.
    """
    hypotheses = list(dict.fromkeys(finding.hypothesis for finding in findings))
    several = len(hypotheses) > 1
    title = "Evidence by hypothesis" if several else hypotheses[0]
    papers = telling.by_paper(findings)
    has_table = len(findings) > 1
    if has_table:
        papers.sort(key=lambda of_paper: sorted(map(_level, of_paper), reverse=True), reverse=True)
    sections = []
    for number, of_paper in enumerate(papers, 1):
        numbered = [(hypotheses.index(finding.hypothesis) + 1, finding) for finding in of_paper]
        link = links.get(of_paper[0].paper.name)
        head, *parts = map(as_html, _Section(f"paper-{number}", numbered, several, split, link).nodes())
        text = f'<section id="paper-{number}">{"".join(parts)}</section>'
        sections.append(f"<details><summary>{head}</summary>{text}</details>" if has_table else head + text)
    said = f"{counted(len(failed), 'file or answer', 'files or answers')} missing, for these reasons:"
    reasons = node("div", {"class": "told"}, said, node("ul", None, *(node("li", None, reason) for reason in failed)))
    body = (
        *("<main>", node("h1", {"dir": "auto"}, title), reasons if failed else ""),
        *('<div class="papers">', _table(papers, hypotheses) if has_table else "", *sections, "</div>"),
        *(node("p", {"class": "note"}, meaning) for meaning in telling.meanings(findings)),
        "</main>",
    )
    return static_page(title, *body, module="findings" if has_table else "")


def _level(finding: Finding) -> float:
    """Return how strong a finding is, for sorting: its verdict, then its highest chance."""
    of_verdict = {PaperVerdict.FOUND: 2, PaperVerdict.NONE: 0}.get(finding.verdict or PaperVerdict.UNSURE, 1)
    return of_verdict + 0.99 * max((one.chance or 0 for one in finding.evidence), default=0)


def _table(papers: Sequence[Sequence[Finding]], hypotheses: Sequence[str]) -> Node:
    several = len(hypotheses) > 1
    heads = [f"{number}. {text}" for number, text in enumerate(hypotheses, 1)] if several else ["Evidence"]
    rows = []
    for number, of_paper in enumerate(papers, 1):
        paper, of_hypotheses = of_paper[0].paper, {finding.hypothesis: finding for finding in of_paper}
        name = node("a", {"href": f"#paper-{number}", "dir": "auto"}, paper.title or paper.name)
        head = node("th", {"scope": "row"}, name, node("small", None, paper.name) if paper.title else None)
        cells = (_cell(of_hypotheses.get(one), f"paper-{number}-{place}") for place, one in enumerate(hypotheses, 1))
        rows.append(node("tr", None, head, *cells))
    columns = (node("th", {"scope": "col", "dir": "auto"}, text) for text in ("Paper", *heads))
    table = node("table", None, node("thead", None, node("tr", None, *columns)), node("tbody", None, *rows))
    return node("div", {"class": "answers", "tabindex": 0, "role": "region", "aria-label": "Answers"}, table)


def _cell(finding: Finding | None, anchor: str) -> Node:
    if finding is None:
        return node("td", None, "not answered")
    best = next(iter(telling.shown(finding)), None)
    words = str(finding.verdict or counted(len(finding.evidence), "sentence")).capitalize()
    sure = "" if best is None or best.chance is None else telling.chance_text(best.chance)
    told = "; ".join(filter(None, (sure, telling.reported_counts(finding))))
    return node(
        "td",
        {
            "data-verdict": finding.verdict or "",
            "data-level": f"{_level(finding):.3f}",
            "data-sure": round(4 * (best.chance or 0)) if best else 0,
        },
        node("a", {"href": f"#{anchor}"}, words),
        node("small", None, told) if told else None,
        None if best is None else node("p", {"dir": "auto"}, best.text),
    )


@dataclass(frozen=True, slots=True)
class _Section:
    """What was found in a paper, and its text with the sentences marked."""

    anchor: str
    findings: Sequence[tuple[int, Finding]]  # each with the number of its hypothesis
    has_several: bool  # hypotheses
    split: bool
    link: str | None

    def nodes(self) -> Iterator[Node]:
        paper = self.findings[0][1].paper
        yield node("h2", {"dir": "auto"}, paper.title or paper.name)
        if paper.title:
            yield node("p", {"class": "note"}, f"{paper.name} ({paper.format})")
        for number, finding in self.findings:
            yield node("div", {"id": f"{self.anchor}-{number}", "class": "answer"}, *self._parts(number, finding))
        yield node("article", {"dir": "auto"}, *self._text(paper))

    def _parts(self, number: int, finding: Finding) -> Iterator[Node]:
        """Yield what was found; where there are several hypotheses, their number is what the text's marks say."""
        tag = "h4" if self.has_several else "h3"
        if self.has_several:
            yield node("h3", {"dir": "auto"}, f"{number}. {finding.hypothesis}")
        if words := telling.lead(finding):
            yield node("p", {"class": "verdict", "data-verdict": finding.verdict or ""}, words)
        levels = telling.strengths(finding)
        for heading, of_group in telling.grouped(finding, split=self.split):
            if heading:
                yield node(tag, None, heading)
            items = []
            for rank, one in of_group:
                attributes: dict[str, object] = {"data-strength": levels.get(one.sentence, 0)}
                if finding.ordered and heading:
                    attributes["value"] = rank
                items.append(node("li", attributes, node("span", None, one.text), self._where(one)))
            yield node("ol" if finding.ordered else "ul", {"dir": "auto"}, *items)
        if words := telling.message(finding):
            yield node("p", {"class": "told"}, words)

    def _where(self, one: FoundSentence) -> Node:
        """Return where a sentence stands, with links: to it in the text, and to the page of a PDF that is at hand."""
        parts: list[Node | str] = [telling.about(one)]
        if not one.is_unit:  # a unit stands beside the text that is shown
            parts += ["; ", node("a", {"href": f"#{self.anchor}-sentence-{one.sentence}"}, "in the text")]
        if one.place.page is not None and self.link is not None:
            page = f"{quote(self.link)}#page={one.place.page}"
            parts += ["; ", node("a", {"href": page}, f"open page {one.place.page}")]
        return node("small", None, *parts)

    def _text(self, paper: Paper) -> Iterator[Node]:
        kinds, places, marks = paper.kinds, paper.places, self._marks(paper)
        indices = range(bool(paper.title), len(kinds))
        blocks = groupby(indices, key=lambda index: (places[index].paragraph, kinds[index] is Kind.HEADING))
        for (_, is_heading), of_block in blocks:
            block = list(of_block)
            if is_heading:
                for index in block:
                    yield node(f"h{min(6, 3 + len(places[index].section))}", None, paper.sentences[index])
                continue
            sentences = (part for index in block for part in (marks.get(index, paper.sentences[index]), " "))
            yield node("p", {"class": "abstract"} if kinds[block[0]] is Kind.ABSTRACT else None, *sentences)

    def _marks(self, paper: Paper) -> dict[int, Node]:
        """Return the marked sentences by their indices; a mark is as strong as the surest finding."""
        said: dict[int, list[tuple[str, int, str]]] = defaultdict(list)  # number of the hypothesis, strength, label
        for number, finding in self.findings:
            levels = telling.strengths(finding)
            for rank, one in enumerate(telling.shown(finding), 1):
                reported = "" if one.direction in {None, ReportedDirection.NOT_SAID} else f" {one.direction}"
                label = f"{number}.{rank}{reported}" if self.has_several else f"{rank}{reported}"
                if one.is_unit:
                    continue  # it is not in the text
                said[one.sentence].append((str(number), levels.get(one.sentence, 0), label))
        marks = {}
        for index, of_sentence in said.items():
            numbers, levels_of, labels = zip(*of_sentence, strict=True)
            anchor = {"id": f"{self.anchor}-sentence-{index}"}
            attributes = {**anchor, "data-strength": max(levels_of), "data-of": " ".join(numbers)}
            sup = node("sup", None, ", ".join(labels))
            marks[index] = node("mark", attributes, paper.sentences[index], sup)
        return marks
