"""Findings in words: where a sentence stands, how likely it is evidence, what it reports; what is not mentioned."""

from collections.abc import Mapping, Sequence

from evidencebench.execution.finding import Finding, FoundSentence
from evidencebench.papers.jats import FORMAT as JATS
from evidencebench.papers.paper import Paper
from evidencebench.papers.tei import FORMAT as TEI
from evidencebench.systems.directions.classifier import ReportedDirection
from evidencebench.wording import counted

_RARE, _MOST = 0.02, 0.95

_COUNTED = ("table", "figure", "footnote", "display formula", "keyword")
# Sorts of the loss report that hold nothing of the paper, or nothing that is not in its sentences too.
_NO_TEXT = ("form", "hyphen at a line's end", "line number", "navigation", "other form of a formula", "page footer",
            "page metadata", "page number or running head", "running head or page number", "script")  # fmt: skip

CHANCE_MEANING = (
    "'About 7 in 10' means: of the sentences with such a score, in papers that the model had not seen and that had "
    "studied what was asked, people had marked 7 in 10 as evidence."
)

DIRECTION_MEANING = (
    "What a sentence reports of the outcome was read by a model, which errs: docs/papers.md says how often."
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
    if chance < _RARE:
        return "under 1 in 50"
    if chance < 0.1:  # noqa: PLR2004 - below one in ten, as one in so many
        return f"about 1 in {round(1 / chance)}"
    return "over 9 in 10" if chance > _MOST else f"about {round(10 * chance)} in 10"


def about(found: FoundSentence) -> str:
    """Return where a found sentence stands and how likely it is evidence, where that is known."""
    place = found.place
    section = " > ".join(place.section)
    page = "" if place.page is None else f"page {place.page}"
    where = ", ".join(filter(None, (section, f"paragraph {place.paragraph + 1}", page)))
    return where + ("" if found.chance is None else f"; {_chance_text(found.chance)}")


def grouped(finding: Finding) -> Sequence[tuple[str, Sequence[tuple[int, FoundSentence]]]]:
    """Return the sentences with their ranks from 1, by what they report, each group under its heading."""
    groups: dict[str, list[tuple[int, FoundSentence]]] = {}
    for rank, found in enumerate(finding.evidence, 1):
        groups.setdefault("" if found.direction is None else HEADINGS[found.direction], []).append((rank, found))
    return list(groups.items())


def meanings(findings: Sequence[Finding]) -> list[str]:
    """Return what the chances and the directions of findings mean, as far as these have any."""
    sentences = [sentence for finding in findings for sentence in finding.evidence]
    has_chances = any(sentence.chance is not None for sentence in sentences)
    has_directions = any(sentence.direction is not None for sentence in sentences)
    return [CHANCE_MEANING] * has_chances + [DIRECTION_MEANING] * has_directions


def told(finding: Finding) -> str:
    """Return what a reader should know of a finding besides its sentences; empty where there is nothing."""
    paper, words = finding.paper, [f"'{word}'" for word in finding.unmentioned]
    parts = []
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
