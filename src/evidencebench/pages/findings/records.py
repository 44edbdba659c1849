"""Findings as plain JSON values."""

from typing import Any

from evidencebench.execution.finding import Finding, FoundSentence
from evidencebench.pages.findings.words import about, not_searched, told
from evidencebench.papers.paper import Paper


def finding_record(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON values; ``told`` is what a reader should know besides the sentences."""
    paper = finding.paper
    return {
        "paper": paper.name,
        "title": paper.title,
        "format": paper.format,
        "ids": dict(paper.ids),
        "hypothesis": finding.hypothesis,
        "n_sentences": len(paper.sentences),
        "unmentioned": finding.unmentioned,
        "not_searched": not_searched(paper),
        "told": told(finding),
        "evidence": [_sentence_record(found) for found in finding.evidence],
        "notes": dict(finding.notes),
    }


def paper_record(paper: Paper) -> dict[str, Any]:
    """Return a paper as JSON values: what a page needs to show its text."""
    return {
        "name": paper.name,
        "title": paper.title,
        "format": paper.format,
        "sentences": paper.sentences,
        "kinds": [kind.value for kind in paper.kinds],
        "paragraphs": [place.paragraph for place in paper.places],
        "levels": [len(place.section) for place in paper.places],
    }


def _sentence_record(found: FoundSentence) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        "kind": found.kind.value,
        "text": found.text,
        "section": found.place.section,
        "paragraph": found.place.paragraph,
        "page": found.place.page,
        "start": found.span.start,
        "stop": found.span.stop,
        "chance": found.chance,
        "direction": found.direction,
        "told": about(found),
    }
