"""A review's file becomes drafts: one for each passage, those that are dropped included."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from evidencebench.construction.draft import CitedPassage, Draft
from evidencebench.construction.harvest.paper_names import paper_id_of
from evidencebench.construction.harvest.passages import passages_of
from evidencebench.construction.harvest.reasons import HarvestRules, reason_to_drop
from evidencebench.construction.harvest.review_source import ReviewSource, read_review
from evidencebench.query import Kind

MOST_CONTEXT = 6_000
"""The most characters of the paragraphs around a passage."""


class ReviewHarvest(NamedTuple):
    """A review's drafts in order, and how many marks stand in its headings, tables, figures and notes."""

    drafts: tuple[Draft, ...]
    n_marks_elsewhere: int


def harvest_review(content: bytes, *, file: str, rules: HarvestRules) -> ReviewHarvest:
    """Return a draft for each passage of a review; ``file`` is its name. Raises as `read_review` does."""
    source = read_review(content, file=file)
    return ReviewHarvest(tuple(_drafts(source, rules)), source.text.n_elsewhere)


def _drafts(source: ReviewSource, rules: HarvestRules) -> Iterator[Draft]:
    passages = list(passages_of(source.paper, source.marks, source.listed))
    cited = Counter(
        (source.paper.places[passage.first].section, ref) for passage in passages for ref in passage.references
    )
    body = [index for index, kind in enumerate(source.paper.kinds) if kind is Kind.BODY]
    paragraphs = {
        number: " ".join(source.paper.sentences[index] for index in members)
        for number, members in groupby(body, key=lambda index: source.paper.places[index].paragraph)
    }
    numbers: Counter[str] = Counter()
    for passage in passages:
        first, *others = passage.references or ("?",)
        name = f"{first}+{len(others)}" if others else first
        numbers[name] += 1
        ids: Mapping[str, str] = {}
        file = ""
        if len(passage.references) == 1:
            ids = source.listed[passage.references[0]].ids
            if rules.papers and (paper := rules.papers.find(ids)):
                ids, file = {**paper.ids, **ids}, paper.file
        reason = reason_to_drop(source, passage, cited, rules)
        summary = " ".join(source.paper.sentences[passage.first : passage.last + 1])
        yield Draft(
            id=f"{source.paper.name}:{name}:{numbers[name]}",
            review_id=source.id,
            paper_id=paper_id_of(ids),
            paper_file=file,
            paper_ids=ids,
            summary=summary,
            context="" if reason else _context(paragraphs, source.paper.places[passage.first].paragraph, summary),
            passage=CitedPassage(
                review_file=source.paper.name,
                start=source.paper.spans[passage.first].start,
                stop=source.paper.spans[passage.last].stop,
                marks=tuple(mark.text for mark in passage.marks),
                reference=" ".join(passage.references),
                section=source.paper.places[passage.first].section,
            ),
            dropped=reason,
        )


def _context(paragraphs: Mapping[int, str], number: int, summary: str) -> str:
    """Return a passage's paragraph, the one before and the one behind, on both sides as far as there is room."""
    before, _, behind = paragraphs[number].partition(summary)
    before = "\n\n".join([*filter(None, [paragraphs.get(number - 1)]), before])
    behind = "\n\n".join([behind, *filter(None, [paragraphs.get(number + 1)])])
    room = max(0, MOST_CONTEXT - len(summary)) // 2
    return before[max(0, len(before) - room) :] + summary + behind[:room]
