"""What `find` found: in words, as tables, RIS and JSON."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any, Literal, Protocol, get_args

from evidencebench.execution.finding import Finding, FoundSentence, PaperVerdict
from evidencebench.files.disk import packaged_table
from evidencebench.files.workbook import workbook
from evidencebench.papers.jats import FORMAT as JATS
from evidencebench.papers.paper import Paper, UnitKind, name_of_unit
from evidencebench.papers.ris import NotedPaper, as_ris
from evidencebench.papers.tei import FORMAT as TEI
from evidencebench.systems.directions import Stance
from evidencebench.systems.question import question_of
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted

# Findings in words: whether there is evidence, what it reports; where a sentence stands, how likely it is evidence.

_WORDS = packaged_table(__file__)
CHANCE_MEANING, DIRECTION_MEANING = _WORDS["chance_meaning"].strip(), _WORDS["direction_meaning"].strip()
VERDICTS, HEADINGS, _DIRECTIONS = _WORDS["verdicts"], _WORDS["headings"], _WORDS["directions"]
NEAR = frozenset({PaperVerdict.UNSURE, PaperVerdict.NONE})
MOST_NEAREST = 3  # sentences of a paper that may hold no evidence
_SHORT = 50  # sentences; few papers have fewer, and no abstract has more
_LIKELY, _POSSIBLE = 0.5, 0.4  # the least chance of a strong mark, and of a middle one as a share of it
_OFTEN_RIGHT = 0.5  # the share of questions of a kind from which on a reader needs no warning
_LEAST_REPORTED = 0.3  # the chance of the best sentence from which on a headline says what is reported


class HasChance(Protocol):
    """A sentence that was found, with the chance that it is evidence; None: not known."""

    @property
    def chance(self) -> float | None: ...


def chance_text(chance: float) -> str:
    """Return a chance in words.

    >>> [chance_text(chance) for chance in (0.004, 0.04, 0.68, 0.97)]
    ['under 1 in 50', 'about 1 in 25', 'about 7 in 10', 'over 9 in 10']
    """
    if chance < 0.02:  # noqa: PLR2004 - one in fifty
        return "under 1 in 50"
    if chance < 0.1:  # noqa: PLR2004 - below one in ten, as one in so many
        return f"about 1 in {round(1 / chance)}"
    return f"about {round(10 * chance)} in 10" if chance <= 0.95 else "over 9 in 10"  # noqa: PLR2004 - as it says


def strengths(finding: Finding) -> Mapping[int, int]:
    """Return 3 for sentences that are likely evidence, 2 for possible, 1 for less likely ones; none without chances.

    Where there is evidence, the surest sentence is a likely one.
    """
    chances = {one.sentence: one.chance for one in finding.evidence if one.chance is not None}
    best = max(chances.values(), default=0.0) if finding.verdict is PaperVerdict.FOUND else _LIKELY
    likely = min(best, _LIKELY)
    return {index: 1 + (chance >= _POSSIBLE * likely) + (chance >= likely) for index, chance in chances.items()}


def about(sentence: FoundSentence) -> str:
    """Return where a found sentence stands, how likely it is evidence, what it reports, and for or against."""
    place, has_no_difference = sentence.place, sentence.stance is Stance.NO_DIFFERENCE
    page = "" if place.page is None else f"page {place.page}"
    unit = unit_name(sentence)
    where = (unit, page) if unit else (" > ".join(place.section), f"paragraph {place.paragraph + 1}", page)
    chance = "" if sentence.chance is None else chance_text(sentence.chance)
    reported = None if has_no_difference else _DIRECTIONS.get(sentence.direction)
    stance = _WORDS["stances"].get(sentence.stance)
    place_words = ", ".join(filter(None, where))
    return "; ".join(filter(None, (place_words, chance, reported and f"reports {reported}", stance)))


def unit_name(one: FoundSentence) -> str:
    """Return the label and row of a unit, such as ``Table 2, row 3``, or its kind; empty of a sentence."""
    return name_of_unit(one.label, one.row, one.kind) if one.is_unit else ""


def shown(finding: Finding) -> Sequence[FoundSentence]:
    """Return the sentences that a reader sees: of a paper that may hold no evidence, only the nearest ones."""
    return finding.evidence[:MOST_NEAREST] if finding.verdict in NEAR and finding.ordered else finding.evidence


def summary(finding: Finding) -> str:
    """Return the verdict and what the sentences report; empty where neither is known.

    Such as "Evidence found. Reports a decrease (3 sentences), no difference (1)."
    """
    verdict = "" if finding.verdict is None else f"{VERDICTS[finding.verdict]}."
    reported = reported_counts(finding)
    return " ".join(filter(None, (verdict, reported and f"Reports {reported}.")))


def lead(finding: Finding) -> str:
    """Return what stands above the sentences of a finding."""
    words = summary(finding)
    if finding.verdict in NEAR and finding.evidence:
        words = f"{words[:-1]}; nearest sentences:"
    return words


def best_chance(evidence: Sequence[HasChance]) -> float | None:
    """Return the chance of the likeliest sentence; None where none is known."""
    return max((one.chance for one in evidence if one.chance is not None), default=None)


def is_reported(evidence: Sequence[HasChance]) -> bool:
    """Say whether the best sentence is likely enough that a headline says what is reported."""
    best = best_chance(evidence)
    return best is None or best >= _LEAST_REPORTED


def reported_counts(finding: Finding) -> str:
    """Return how many of the likelier sentences report what: ``a decrease (3 sentences), no difference (1)``.

    Empty where even the best sentence is not likely evidence.
    """
    if not is_reported(finding.evidence):
        return ""
    levels = strengths(finding)
    least = min(2, max(levels.values(), default=0))
    evidence = () if finding.verdict in NEAR else finding.evidence
    likely = [one for one in evidence if levels.get(one.sentence, 0) >= least]
    counts = Counter(_DIRECTIONS[one.direction] for one in likely if one.direction in _DIRECTIONS).most_common()
    return ", ".join(f"{words} ({n if place else counted(n, 'sentence')})" for place, (words, n) in enumerate(counts))


def grouped(finding: Finding, *, split: bool) -> Sequence[tuple[str, Sequence[tuple[int, FoundSentence]]]]:
    """Return the sentences with their ranks from 1, each group under its heading.

    ``split`` groups them by what they report, the best sentence's group first; else the less likely ones stand last.
    """
    sentences, levels = shown(finding), strengths(finding)
    has_weak = finding.verdict not in NEAR and any(levels.get(one.sentence) != 1 for one in sentences)
    groups: dict[str, list[tuple[int, FoundSentence]]] = defaultdict(list)
    for rank, one in enumerate(sentences, 1):
        heading = "Less likely" if has_weak and levels.get(one.sentence) == 1 else ""
        if split and one.direction is not None:
            heading = HEADINGS[one.direction]
        groups[heading].append((rank, one))
    return list(groups.items()) if split else sorted(groups.items())


def meanings(findings: Sequence[Finding]) -> list[str]:
    sentences = [sentence for finding in findings for sentence in shown(finding)]
    has_chances = any(sentence.chance is not None for sentence in sentences)
    has_directions = any(sentence.direction in _DIRECTIONS for sentence in sentences)
    meant = [CHANCE_MEANING] if has_chances else []
    if has_directions:
        meant.append(DIRECTION_MEANING)
    return meant


def message(finding: Finding) -> str:
    """Return what a reader should know of a finding besides its lines; empty where there is nothing."""
    paper, words = finding.paper, [f"'{word}'" for word in finding.unmentioned]
    parts = []
    units = counted(len(paper.units), "table row, caption or note", "table rows, captions or notes")
    read = counted(len(paper.sentences), "sentence")
    if words:
        listed = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        rows = f" and {units}" if paper.units else ""
        parts.append(f"{listed} {'is' if len(words) == 1 else 'are'} not in the {read}{rows} read.")
    elif finding.verdict is PaperVerdict.NONE:
        parts.append(f"Read: {read}{f' and {units}' if paper.units else ''}.")
    if parts:
        how_sure = " (as far as a PDF shows)" if paper.format == "PDF" else ""
        parts.append(f"Not searched{how_sure}: {', '.join(not_searched(paper))}.")
    if not finding.evidence and finding.verdict is None:
        parts.append("The system named no sentence as evidence.")
    is_unsure = finding.verdict is PaperVerdict.UNSURE and finding.evidence
    if is_unsure and len(paper.sentences) < _SHORT:
        parts.append(
            f"Only {read} {'was' if len(paper.sentences) == 1 else 'were'} read; the whole paper may say more."
        )
    if finding.evidence and finding.right_first is not None and finding.right_first < _OFTEN_RIGHT:
        parts.append(f"The first line answers {chance_text(finding.right_first)} questions of this kind.")
    return " ".join([*parts, *paper.warnings])


def not_searched(paper: Paper) -> list[str]:
    """Return what of a paper is in none of its sentences and units, such as ``2 tables as pictures``."""
    # Of a text nobody can know what it lacks of its paper. Numbers are there only where each table is marked as one.
    rest = "what this text lacks of its paper" if paper.format.startswith("text") else "front matter"
    kinds = {unit.kind for unit in paper.units}
    n_tables = len({(unit.label, unit.place) for unit in paper.units if unit.kind is UnitKind.TABLE_ROW})
    named = []
    for sort, out in paper.loss.left_out.items():
        n = out.n_elements if paper.format in {JATS, TEI} and sort in _WORDS["counted"] else None
        one, many = sort, ""
        if sort == "figure" and UnitKind.CAPTION in kinds:
            one, many = "figure's picture", "figures' pictures"
        elif sort == "table" and n_tables:  # a table that is a picture has no rows
            n, one, many = max(0, (n or 0) - n_tables), "table as a picture", "tables as pictures"
        elif sort in (*_WORDS["no_text"], rest) or not kinds.isdisjoint(_WORDS["searched"].get(sort, ())):
            n = 0
        if n != 0:
            named.append(counted(n, one, many) if n else many or one)
    return [*named, rest]


# Findings as a table (CSV, Markdown) and as RIS, which managers of references read.

_PAPER_COLUMNS = ("paper", "title", "doi", "pmid", "year", "hypothesis", "verdict")
_SENTENCE_COLUMNS = (
    *("sentence", "section", "paragraph", "page", "start", "stop"),
    *("chance", "direction", "stance", "unit", "text", "message"),
)
_COUNTED_COLUMNS = (*_DIRECTIONS, str(Stance.SUPPORTS), str(Stance.CONTRADICTS))  # how many sentences say it
RowsOf = Literal["sentence", "paper"]


def findings_table(findings: Sequence[Finding], rows_of: RowsOf = "sentence") -> Table:
    """Return a row a sentence and unit, or a paper and hypothesis; one without either says why in its last cell."""
    own = ("rank",) if rows_of == "sentence" else ("n_sentences", *_COUNTED_COLUMNS)
    columns = (*_PAPER_COLUMNS, *own, *_SENTENCE_COLUMNS)
    rows = [[row.get(column) for column in columns] for finding in findings for row in _rows(finding, rows_of)]
    return Table(columns=columns, rows=rows)


def _rows(finding: Finding, rows_of: RowsOf) -> Sequence[Mapping[str, Cell]]:
    paper, evidence = finding.paper, finding.evidence
    values = (printable(paper.name), paper.title, paper.ids.get("doi"), paper.ids.get("pmid"), paper.year)
    head = dict(zip(_PAPER_COLUMNS, (*values, finding.hypothesis, finding.verdict), strict=True))
    head["message"] = message(finding)
    rows = []
    for rank, one in enumerate(evidence, 1):
        fields = _fields(one)
        fields |= {"section": " > ".join(one.place.section), "paragraph": one.place.paragraph + 1}
        fields |= {"chance": one.chance and round(one.chance, 3), "rank": rank if finding.ordered else None}
        if unit := unit_name(one):
            fields["unit"] = f"{one.kind}: {unit}"
        rows.append({**fields, **head})
    if rows_of == "sentence":
        return rows or [head]
    counts = Counter(said for one in evidence for said in {str(one.direction), str(one.stance)})
    of_all = {"n_sentences": len(evidence), **{column: counts[column] for column in _COUNTED_COLUMNS}}
    return [{**(rows[0] if evidence else head), **of_all}]


def findings_workbook(findings: Sequence[Finding]) -> bytes:
    """Return an .xlsx file: a sheet of papers, one of sentences; raises `MissingExtraError` without XlsxWriter."""
    sheets = {f"{rows_of}s": findings_table(findings, rows_of) for rows_of in get_args(RowsOf)}
    return workbook(sheets, "find --xlsx")


def by_paper(findings: Sequence[Finding]) -> list[list[Finding]]:
    return [list(group) for _, group in groupby(findings, key=lambda finding: finding.paper.name)]


def findings_ris(findings: Sequence[Finding]) -> str:
    """Return a RIS record a paper, with a note for each hypothesis; raises `MissingExtraError` without rispy."""
    papers = ((of_paper[0].paper, list(map(_ris_note, of_paper))) for of_paper in by_paper(findings))
    noted = (
        NotedPaper(paper.title or paper.name, paper.ids, paper.year, notes, paper.about) for paper, notes in papers
    )
    return as_ris(noted, "find --format ris")


def _ris_note(finding: Finding) -> str:
    words = [f"Evidence for or against '{finding.hypothesis}':", lead(finding)]
    words += [f"[{rank}] {one.text} ({about(one)})" for rank, one in enumerate(shown(finding), 1)]
    return " ".join(filter(None, (*words, message(finding))))


def finding_record(finding: Finding) -> dict[str, Any]:
    paper = finding.paper
    return {
        "paper": paper.name,
        **{field: getattr(paper, field) for field in ("title", "format", "year")},
        "ids": dict(paper.ids),
        **{field: getattr(finding, field) for field in ("hypothesis", "verdict", "right_first", "unmentioned")},
        "asks_for": question_of(finding.hypothesis).kind,
        "summary": summary(finding),
        "n_sentences": len(paper.sentences),
        "not_searched": not_searched(paper),
        "message": message(finding),
        "evidence": [{**_fields(one), "message": about(one)} for one in finding.evidence],
        "notes": dict(finding.notes),
    }


def _fields(one: FoundSentence) -> dict[str, Any]:
    """Return the fields of a sentence or unit, with those of its place and span among them, as `line_record` does."""
    fields = asdict(one)
    return {**fields.pop("place"), **(fields.pop("span") or {"start": None, "stop": None}), **fields}
