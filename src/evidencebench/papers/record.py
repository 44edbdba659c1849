"""A paper as JSON: the one form that commands, assistants and pages give it."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from evidencebench.papers.paper import Paper


def paper_record(paper: Paper, sentences: Iterable[int] | None = None) -> dict[str, Any]:
    """Return what a paper is, with all of its sentences and units, or with the sentences of some numbers."""
    n_sentences = len(paper.sentences)
    record = {
        "paper": paper.name,
        "title": paper.title,
        "format": paper.format,
        "year": paper.year,
        "ids": dict(paper.ids),
        "about": dict(paper.about),
        "n_sentences": n_sentences,
        "warnings": paper.warnings,
    }
    if sentences is not None:
        return {**record, "sentences": [line_record(paper, index) for index in sentences]}
    units = range(n_sentences, n_sentences + len(paper.units))
    return {
        **record,
        "sentences": [line_record(paper, index) for index in range(n_sentences)],
        "units": [line_record(paper, index) for index in units],
    }


def line_record(paper: Paper, number: int) -> dict[str, Any]:
    """Return a sentence, or the unit whose number follows the sentences': where it stands, and what names it."""
    line = paper.line(number)
    span = {"start": None, "stop": None} if line.span is None else asdict(line.span)
    named = {"kind": line.kind.value, "text": line.text}
    return {"sentence": number, **named, **asdict(line.place), **span, "label": line.label, "row": line.row}
