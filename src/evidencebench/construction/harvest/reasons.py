"""A review as it is harvested, and why a passage of it is dropped."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from evidencebench.construction.harvest.marks import LINK, CitationMark, MarkedText, linked_marks, plain_marks
from evidencebench.construction.harvest.papers import PaperAtHand, PapersAtHand
from evidencebench.construction.harvest.passages import POINTING_BACK, SUBJECT, THIS_STUDY, Passage, is_own
from evidencebench.construction.harvest.references import (
    ALLOWED,
    ReferenceList,
    licence_of,
    normal_ids,
    paper_id_of,
    read_reference,
)
from evidencebench.errors import UnreadableError
from evidencebench.papers.jats import articles_in, ids_of_article, read_article
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import checked
from evidencebench.papers.sections import plain_title
from evidencebench.papers.tree import Element, parse_xml
from evidencebench.query import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSource:
    id: str  # in a data set, such as ``pmc_1280405``; its file's name without the suffix where it has none
    paper: Paper
    listed: ReferenceList
    marks: tuple[CitationMark, ...]  # in its running text, in order
    text: MarkedText
    licence: str


def read_review(content: bytes, *, file: str) -> ReviewSource:
    root = parse_xml(content, name=file)
    articles = articles_in(root)
    if len(articles) != 1:
        raise UnreadableError(
            f"{file}: expected one review in JATS XML, got {len(articles)} articles in <{root.tag}>; get the review's "
            "XML, as with 'evidencebench papers fetch'"
        )
    article = articles[0]
    paper = checked(read_article(article, name=file))
    if isinstance(paper, UnreadableError):
        raise paper
    listed = ReferenceList(tuple(map(read_reference, article.all("ref"))))
    if not listed.references:
        raise UnreadableError(
            f"{file}: expected a review with a list of references, got none (no <ref>); get its XML elsewhere, or give "
            "summaries of your own with --table"
        )
    body = next((element for element in article.elements if element.tag == "body"), Element("body"))
    try:
        text = linked_marks(body, listed)
    except UnreadableError as error:
        raise UnreadableError(f"{file}: {error}") from error
    marks = sorted([*text.linked, *plain_marks(text, listed)], key=lambda mark: (mark.start, mark.stop))
    return ReviewSource(
        id=paper_id_of(normal_ids(ids_of_article(article).items())) or file.partition(".")[0],
        paper=paper,
        listed=listed,
        marks=tuple(marks),
        text=text,
        licence=licence_of(article),
    )


UNRESOLVED = "mark leads to no reference"
SEVERAL_PAPERS = "cites several papers"
CITED_AGAIN = "paper cited again in the section"
METHODS = "in a methods section"
OWN_VOICE = "review speaks of itself"
POINTS_BACK = "goes on about another paper"
PART_OF_SENTENCE = "mark stands for a part of its sentence"
NO_ID = "reference without PMCID, DOI or PMID"
REVIEW_LICENCE = "licence of the review"
NOT_AT_HAND = "paper not at hand"
PAPER_LICENCE = "licence of the paper"

MOST_BEHIND = 5  # the most words that may follow a mark in its sentence, unless it stands behind whom it cites

_METHODS = re.compile(
    r"\b(?:methods?|methodology|statistic(?:s|al)|procedures?|participants|study design|data collection|measurements|"
    r"protocol)\b"
)

# "(Smith et al., " before a mark that is the year alone; "Smith et al. (" is no such.
_IN_BRACKETS = re.compile(r"\([^()]{0,300}[^()\s][^()]{0,300}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestRules:
    """Which licences a review and a paper may have, and which papers are at hand; None: that is not asked."""

    licences: Collection[str] = ALLOWED
    papers: PapersAtHand | None = None

    def reason_against(self, paper: PaperAtHand | None) -> str:
        """Return why nothing on a paper can be used, None for one that is not at hand; an empty text: it can."""
        if self.papers is None:
            return ""
        if paper is None:
            return NOT_AT_HAND
        return "" if paper.licence in self.licences else PAPER_LICENCE


def reason_to_drop(
    source: ReviewSource,
    passage: Passage,
    cited: Mapping[tuple[tuple[str, ...], str], int],
    rules: HarvestRules,
    paper: PaperAtHand | None,
) -> str:
    """Return why a passage is dropped: the first reason that holds; an empty text: it is kept.

    ``cited`` is how many passages of a section cite a reference; ``paper`` is the one that it cites, if it is at hand.
    """
    review, first = source.paper, passage.first
    place, sentences = review.places[first], review.sentences[first : passage.last + 1]
    listed = [source.listed[reference] for reference in passage.references]
    is_behind_another = (
        first > 0
        and review.places[first - 1].paragraph == place.paragraph
        and review.kinds[first - 1] is not Kind.HEADING
    )
    checks: tuple[tuple[str, Callable[[], object]], ...] = (
        (UNRESOLVED, lambda: not all(mark.references for mark in passage.marks)),
        (SEVERAL_PAPERS, lambda: len(listed) > 1 or listed[0].lists_several),
        (CITED_AGAIN, lambda: cited[place.section, listed[0].id] > 1),
        (METHODS, lambda: any(_METHODS.search(plain_title(title)) for title in place.section)),
        (OWN_VOICE, lambda: any(map(is_own, sentences)) or THIS_STUDY.search(sentences[0])),
        (POINTS_BACK, lambda: is_behind_another and POINTING_BACK.match(sentences[0])),
        (PART_OF_SENTENCE, lambda: any(_is_for_part(source, mark) for mark in passage.marks)),
        (NO_ID, lambda: not listed[0].ids),
        (REVIEW_LICENCE, lambda: source.licence not in rules.licences),
    )
    return next((reason for reason, holds in checks if holds()), "") or rules.reason_against(paper)


def _is_for_part(source: ReviewSource, mark: CitationMark) -> bool:
    """Say whether more of the sentence follows a mark than it can stand for, as in "Tea helps [7], but ..."."""
    spans = source.paper.spans
    sentence = spans[bisect_right(spans, mark.start, key=lambda span: span.start) - 1]
    behind = source.text.between(mark.stop, sentence.stop).replace(LINK, "")
    if len(behind.split()) <= MOST_BEHIND:
        return False
    before = source.text.between(sentence.start, mark.start)
    is_in_brackets = _IN_BRACKETS.search(before) is not None
    is_written_out = mark.text[:1].isalpha() and not before.rstrip().endswith("(")
    return is_in_brackets or not (is_written_out or SUBJECT.search(before))
