"""What `find` found: in words, as a table, RIS, JSON and a page."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from evidencebench.execution.finding import Finding, FoundSentence
from evidencebench.pages.html import Child, Node, node, static_page
from evidencebench.papers.jats import FORMAT as JATS
from evidencebench.papers.paper import Paper
from evidencebench.papers.tei import FORMAT as TEI
from evidencebench.provenance import require_extra
from evidencebench.query import Kind
from evidencebench.systems.directions import ReportedDirection
from evidencebench.systems.question import QuestionKind, question_of
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted

# Findings in words: where a sentence stands, how likely it is evidence, what it reports; what is not mentioned.

_COUNTED = ("table", "figure", "footnote", "display formula", "keyword")
# Sorts of the loss report that hold nothing of the paper, or nothing that is not in its sentences too.
_NO_TEXT = ("form", "hyphen at a line's end", "line number", "navigation", "other form of a formula", "page footer",
            "page metadata", "page number or running head", "running head or page number", "script")  # fmt: skip

CHANCE_MEANING = (
    "'About 7 in 10' means: of the sentences with such a score, in papers that the model had not seen and that had "
    "studied what was asked, people had marked 7 in 10 as evidence."
)

DIRECTION_MEANING = (
    "What a sentence reports of the outcome was read by a model, which errs: that of this package reads 1 in 25 of the "
    "significant findings as their opposite (docs/papers.md)."
)
REPORTS: Mapping[ReportedDirection, str] = {
    ReportedDirection.INCREASE: "reports an increase",
    ReportedDirection.DECREASE: "reports a decrease",
    ReportedDirection.NO_DIFFERENCE: "reports no difference",
    ReportedDirection.NOT_SAID: "does not say",
}
HEADINGS = {direction: text.capitalize() for direction, text in REPORTS.items()}  # of groups of sentences


def _chance_text(chance: float) -> str:
    """Return a chance in words.

    >>> [_chance_text(chance) for chance in (0.004, 0.04, 0.68, 0.97)]
    ['under 1 in 50', 'about 1 in 25', 'about 7 in 10', 'over 9 in 10']
    """
    if chance < 0.02:  # noqa: PLR2004 - one in fifty
        return "under 1 in 50"
    if chance < 0.1:  # noqa: PLR2004 - below one in ten, as one in so many
        return f"about 1 in {round(1 / chance)}"
    return f"about {round(10 * chance)} in 10" if chance <= 0.95 else "over 9 in 10"  # noqa: PLR2004 - as it says


def about(sentence: FoundSentence) -> str:
    """Return where a found sentence stands, and where that is known, how likely it is evidence and what it reports."""
    place = sentence.place
    page = "" if place.page is None else f"page {place.page}"
    where = ", ".join(filter(None, (" > ".join(place.section), f"paragraph {place.paragraph + 1}", page)))
    chance = "" if sentence.chance is None else _chance_text(sentence.chance)
    reported = "" if sentence.direction in {None, ReportedDirection.NOT_SAID} else REPORTS[sentence.direction]
    return "; ".join(filter(None, (where, chance, reported)))


def grouped(finding: Finding, *, split: bool) -> Sequence[tuple[str, Sequence[tuple[int, FoundSentence]]]]:
    """Return the sentences with their ranks from 1; if ``split``, by what they report, each group under its heading."""
    groups: dict[str, list[tuple[int, FoundSentence]]] = defaultdict(list)
    for rank, sentence in enumerate(finding.evidence, 1):
        heading = HEADINGS[sentence.direction] if split and sentence.direction is not None else ""
        groups[heading].append((rank, sentence))
    return list(groups.items())


def meanings(findings: Sequence[Finding]) -> list[str]:
    sentences = [sentence for finding in findings for sentence in finding.evidence]
    has_chances = any(sentence.chance is not None for sentence in sentences)
    has_directions = any(sentence.direction is not None for sentence in sentences)
    return [CHANCE_MEANING] * has_chances + [DIRECTION_MEANING] * has_directions


_ASKED = {
    QuestionKind.AMOUNT: "Asks for an amount",
    QuestionKind.METHOD: "Asks how the study was done",
    QuestionKind.OTHER: "Not understood as a question of an effect",
}


def told(finding: Finding) -> str:
    """Return what a reader should know of a finding besides its sentences; empty where there is nothing."""
    paper, words = finding.paper, [f"'{word}'" for word in finding.unmentioned]
    parts = []
    if finding.by_words and finding.evidence:
        asks = _ASKED[question_of(finding.hypothesis).kind]
        parts.append(f"{asks}: chosen are sentences that share most words with it, without chances.")
    if words:
        listed = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        read = counted(len(paper.sentences), "sentence")
        parts.append(f"{listed} {'is' if len(words) == 1 else 'are'} not in the {read} read.")
        how_sure = ", as far as a PDF shows what it is" if paper.format == "PDF" else ""
        parts.append(f"Not searched{how_sure}: {', '.join(not_searched(paper))}.")
    if not finding.evidence:
        parts.append("No sentence was named as evidence.")
    return " ".join([*parts, *paper.warnings])


def not_searched(paper: Paper) -> list[str]:
    """Return what of a paper is in none of its sentences, in the words of the loss report, such as ``3 tables``."""
    # Of a text nobody can know what it lacks of its paper. Numbers are there only where each table is marked as one.
    rest = "what this text lacks of its paper" if paper.format.startswith("text") else "front matter"
    counts = _COUNTED if paper.format in {JATS, TEI} else ()
    left_out = [(sort, out) for sort, out in paper.loss.left_out.items() if sort not in {*_NO_TEXT, rest}]
    return [*(counted(out.n_elements, sort) if sort in counts else sort for sort, out in left_out), rest]


# Findings as a table (CSV, Markdown) and as RIS, which managers of references read.

_COLUMNS = (
    *("paper", "title", "hypothesis", "rank", "sentence"),
    *("section", "paragraph", "page", "chance", "direction", "text", "told"),
)


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return a row a sentence; a finding without a sentence has one row, whose last cell says why."""
    rows: list[Sequence[Cell]] = []
    for finding in findings:
        paper, note = finding.paper, told(finding)
        head = (printable(paper.name), paper.title, finding.hypothesis)
        for rank, sentence in enumerate(finding.evidence, 1):
            place = sentence.place
            where = (" > ".join(place.section), place.paragraph + 1, place.page)
            shown = rank if finding.ordered else None
            chance = None if sentence.chance is None else f"{sentence.chance:.3f}"
            rows.append((*head, shown, sentence.sentence, *where, chance, sentence.direction, sentence.text, note))
        if not finding.evidence:
            rows.append((*head, *(None,) * 8, note))
    return Table(columns=_COLUMNS, rows=rows)


def _by_paper(findings: Sequence[Finding]) -> list[list[Finding]]:
    return [list(group) for _, group in groupby(findings, key=lambda finding: finding.paper.name)]


def findings_ris(findings: Sequence[Finding]) -> str:
    """Return a RIS record a paper, with a note for each hypothesis; raises `MissingExtraError` without rispy."""
    require_extra("find --format ris", "ris", "rispy")
    import rispy  # noqa: PLC0415 - an extra

    records = [_ris_record(of_paper[0].paper, of_paper) for of_paper in _by_paper(findings)]
    return str(rispy.dumps(records))


def _ris_record(paper: Paper, findings: Sequence[Finding]) -> dict[str, str | list[str]]:
    fields = {
        "type_of_reference": "JOUR",
        "title": printable(paper.title or paper.name),
        "doi": paper.ids.get("doi", ""),
        "accession_number": paper.ids.get("pmcid") or paper.ids.get("pmid", ""),
    }
    notes = []
    for finding in findings:
        words = [f"Evidence for or against '{finding.hypothesis}':"]
        for rank, sentence in enumerate(finding.evidence, 1):
            words.append(f"[{rank}] {sentence.text} ({about(sentence)})")
        notes.append(printable(" ".join((*words, told(finding)))).strip())  # a line of RIS is a field
    return {**{name: printable(value) for name, value in fields.items() if value}, "notes": notes}


# Findings as one HTML page without scripts or requests: each paper with its evidence marked.


def findings_page(findings: Sequence[Finding], *, split: bool = False) -> str:
    sections = [_paper_section(number, of_paper, split=split) for number, of_paper in enumerate(_by_paper(findings))]
    notes = [node("p", {"class": "note"}, meaning) for meaning in meanings(findings)]
    hypotheses = {finding.hypothesis for finding in findings}
    title = hypotheses.pop() if len(hypotheses) == 1 else "Evidence by hypothesis"
    body = node("main", None, node("h1", {"dir": "auto"}, title), *sections, *notes)
    return static_page(title, body)


def _paper_section(number: int, findings: Sequence[Finding], *, split: bool) -> Node:
    paper = findings[0].paper
    several = len(findings) > 1
    parts: list[Node] = []
    labels: dict[int, list[str]] = defaultdict(list)  # of a marked sentence: hypothesis, rank and what is reported
    for hypothesis_number, finding in enumerate(findings, 1):
        parts += _finding_parts(number, finding, hypothesis=hypothesis_number if several else None, split=split)
        for rank, sentence in enumerate(finding.evidence, 1):
            reported = "" if sentence.direction in {None, ReportedDirection.NOT_SAID} else f" {sentence.direction}"
            labels[sentence.sentence].append(f"{f'{hypothesis_number}.' * several}{rank}{reported}")
    return node(
        "section",
        None,
        node("h2", {"dir": "auto"}, paper.title or paper.name),
        node("p", {"class": "note"}, f"{paper.name} ({paper.format})") if paper.title else None,
        *parts,
        node("article", {"dir": "auto"}, *_text(number, paper, labels)),
    )


def _finding_parts(number: int, finding: Finding, *, hypothesis: int | None, split: bool) -> Iterator[Node]:
    """Yield what was found; ``hypothesis`` is its number from 1 where there are several, as the text's marks say."""
    if hypothesis is not None:
        yield node("h3", {"dir": "auto"}, f"{hypothesis}. {finding.hypothesis}")
    if words := told(finding):
        yield node("p", {"class": "told"}, words)
    for heading, of_group in grouped(finding, split=split):
        if heading:
            yield node("h3" if hypothesis is None else "h4", None, heading)
        items = []
        for rank, sentence in of_group:
            link = node("a", {"href": f"#{_anchor(number, sentence.sentence)}"}, sentence.text)
            where = node("small", None, f" {about(sentence)}")
            items.append(node("li", {"value": str(rank)} if finding.ordered and heading else None, link, where))
        yield node("ol" if finding.ordered else "ul", {"dir": "auto"}, *items)


def _text(number: int, paper: Paper, labels: Mapping[int, Sequence[str]]) -> Iterator[Node]:
    rows = [row for row in enumerate(zip(paper.kinds, paper.places, strict=True)) if row[0] or not paper.title]
    for (_, kind), of_block in groupby(rows, key=lambda row: (row[1][1].paragraph, row[1][0] is Kind.HEADING)):
        indices = [index for index, _ in of_block]
        if kind:
            for index in indices:
                level = min(6, 3 + len(paper.places[index].section))
                yield node(f"h{level}", None, paper.sentences[index])
            continue
        sentences: list[Child] = []
        for index in indices:
            sentence: Child = paper.sentences[index]
            if index in labels:
                label = node("sup", None, ", ".join(labels[index]))
                sentence = node("mark", {"id": _anchor(number, index)}, sentence, label)
            sentences += [sentence, " "]
        is_abstract = paper.kinds[indices[0]] is Kind.ABSTRACT
        yield node("p", {"class": "abstract"} if is_abstract else None, *sentences)


def _anchor(number: int, index: int) -> str:
    return f"paper-{number}-sentence-{index}"


def finding_record(finding: Finding) -> dict[str, Any]:
    paper = finding.paper
    return {
        "paper": paper.name,
        "title": paper.title,
        "format": paper.format,
        "ids": dict(paper.ids),
        "hypothesis": finding.hypothesis,
        "asks_for": question_of(finding.hypothesis).kind,
        "by_words": finding.by_words,
        "n_sentences": len(paper.sentences),
        "unmentioned": finding.unmentioned,
        "not_searched": not_searched(paper),
        "told": told(finding),
        "evidence": [
            {
                "sentence": sentence.sentence,
                "kind": sentence.kind.value,
                "text": sentence.text,
                **asdict(sentence.place),
                **asdict(sentence.span),
                "chance": sentence.chance,
                "direction": sentence.direction,
                "stance": sentence.stance,
                "told": about(sentence),
            }
            for sentence in finding.evidence
        ],
        "notes": dict(finding.notes),
    }
