"""A review's file becomes drafts: one for each passage, dropped where it speaks of no single paper that can be had."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from evidencebench.construction.draft import CitedPassage, Draft
from evidencebench.construction.harvest.licences import ALLOWED, licence_of
from evidencebench.construction.harvest.marks import LINK, CitationMark, MarkedText, linked_marks
from evidencebench.construction.harvest.paper_names import normal_ids, paper_id_of
from evidencebench.construction.harvest.papers_at_hand import PapersAtHand
from evidencebench.construction.harvest.passages import Passage, passages_of
from evidencebench.construction.harvest.plain_marks import merged, plain_marks
from evidencebench.construction.harvest.references import ReferenceList, references_of
from evidencebench.construction.harvest.voice import is_own, is_subject, points_back, rests_on_own
from evidencebench.errors import UnreadableError
from evidencebench.papers.jats import articles_in, ids_of_article, read_article
from evidencebench.papers.markup_tree import Element
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import checked
from evidencebench.papers.section_titles import plain_title
from evidencebench.papers.xml_tree import parse_xml
from evidencebench.query import Kind

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
REASONS = (
    UNRESOLVED,
    SEVERAL_PAPERS,
    CITED_AGAIN,
    METHODS,
    OWN_VOICE,
    POINTS_BACK,
    PART_OF_SENTENCE,
    NO_ID,
    REVIEW_LICENCE,
    NOT_AT_HAND,
    PAPER_LICENCE,
)
"""Why a passage is dropped: the first that holds, in this order."""

_METHODS = re.compile(
    r"\b(?:methods?|methodology|statistic(?:s|al)|procedures?|participants|study design|data collection|measurements|"
    r"protocol)\b"
)

MOST_BEHIND = 5
"""The most words that may follow a mark in its sentence, unless it stands behind whom it cites."""

MOST_CONTEXT = 6_000
"""The most characters of the paragraphs around a passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestRules:
    """Which licences a review and a paper may have, and which papers are at hand; None: that is not asked."""

    licences: Collection[str] = ALLOWED
    papers: PapersAtHand | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewHarvest:
    """A review's drafts in order, and how many marks stand in its headings, tables, figures and notes."""

    drafts: tuple[Draft, ...]
    n_marks_elsewhere: int


def harvest_review(content: bytes, *, file: str, rules: HarvestRules) -> ReviewHarvest:
    """Return a draft for each passage of a review; ``file`` is its name.

    Raises `UnreadableError` if the file is no article in JATS with a body and a list of references.
    """
    root = parse_xml(content, name=file)
    articles = articles_in(root)
    if len(articles) != 1:
        raise UnreadableError(
            f"{file}: expected one review in JATS XML, got {len(articles)} articles in <{root.tag}>; get the review's "
            "XML, as with 'evidencebench papers fetch'"
        )
    review = checked(read_article(articles[0], name=file))
    if isinstance(review, UnreadableError):
        raise review
    listed = references_of(articles[0])
    if not listed.references:
        raise UnreadableError(
            f"{file}: expected a review with a list of references, got none (no <ref>); get its XML elsewhere, or give "
            "summaries of your own with --table"
        )
    body = next((part for part in articles[0].elements if part.tag == "body"), Element("body"))
    try:
        text = linked_marks(body, listed)
    except UnreadableError as error:
        raise UnreadableError(f"{file}: {error}") from error
    marks = merged(text.linked, plain_marks(text, listed))
    harvest = _Harvest(review, articles[0], listed, text, rules)
    return ReviewHarvest(
        drafts=tuple(harvest.drafts(list(passages_of(review, marks, listed)))), n_marks_elsewhere=text.n_elsewhere
    )


class _Harvest:
    """Makes the drafts of one review."""

    def __init__(
        self, review: Paper, article: Element, listed: ReferenceList, text: MarkedText, rules: HarvestRules
    ) -> None:
        self._review, self._listed, self._text, self._rules = review, listed, text, rules
        ids = normal_ids(ids_of_article(article).items())
        self._id = paper_id_of(ids) or review.name.partition(".")[0]
        self._is_licensed = licence_of(article) in rules.licences
        self._paragraphs = _paragraph_texts(review)

    def drafts(self, passages: Sequence[Passage]) -> Iterator[Draft]:
        cited = Counter((self._section(one), reference) for one in passages for reference in one.references)
        numbers: Counter[str] = Counter()
        for passage in passages:
            references = passage.references
            name = "+".join([*references[:1], *([str(len(references) - 1)] if references[1:] else [])]) or "?"
            numbers[name] += 1
            reason = self._reason(passage, cited)
            yield self._draft(passage, f"{self._review.name}:{name}:{numbers[name]}", reason)

    def _draft(self, passage: Passage, draft_id: str, reason: str) -> Draft:
        first, last = self._review.spans[passage.first], self._review.spans[passage.last]
        ids, file = self._ids_and_file(passage)
        summary = " ".join(self._review.sentences[passage.first : passage.last + 1])
        return Draft(
            id=draft_id,
            review_id=self._id,
            paper_id=paper_id_of(ids),
            paper_file=file,
            paper_ids=ids,
            summary=summary,
            context="" if reason else self._context(passage, summary),
            passage=CitedPassage(
                review_file=self._review.name,
                start=first.start,
                stop=last.stop,
                marks=tuple(mark.text for mark in passage.marks),
                reference=" ".join(passage.references),
                section=self._section(passage),
            ),
            dropped=reason,
        )

    def _reason(self, passage: Passage, cited: Mapping[tuple[tuple[str, ...], str], int]) -> str:
        """Return why a passage is dropped, as `REASONS` has it; an empty text: it is kept."""
        references, section = passage.references, self._section(passage)
        if not passage.is_resolved:
            return UNRESOLVED
        if len(references) > 1 or self._listed[references[0]].lists_several:
            return SEVERAL_PAPERS
        if cited[section, references[0]] > 1:
            return CITED_AGAIN
        return self._reason_of_text(passage, section) or self._reason_of_paper(references[0])

    def _reason_of_text(self, passage: Passage, section: Sequence[str]) -> str:
        if any(_is_methods(title) for title in section):
            return METHODS
        if any(is_own(self._review.sentences[index]) for index in range(passage.first, passage.last + 1)):
            return OWN_VOICE
        if rests_on_own(self._review.sentences[passage.first]):
            return OWN_VOICE
        if self._points_back(passage):
            return POINTS_BACK
        return PART_OF_SENTENCE if any(map(self._is_for_part, passage.marks)) else ""

    def _reason_of_paper(self, reference: str) -> str:
        ids, papers = self._listed[reference].ids, self._rules.papers
        if not ids:
            return NO_ID
        if not self._is_licensed:
            return REVIEW_LICENCE
        if papers is None:
            return ""
        paper = papers.find(ids)
        if paper is None:
            return NOT_AT_HAND
        return "" if paper.licence in self._rules.licences else PAPER_LICENCE

    def _points_back(self, passage: Passage) -> bool:
        """Say whether a passage begins with a word for what stands before it, in the same paragraph."""
        before = passage.first - 1
        places = self._review.places
        is_first = before < 0 or places[before].paragraph != places[passage.first].paragraph
        is_first = is_first or self._review.kinds[before] is Kind.HEADING
        return not is_first and points_back(self._review.sentences[passage.first])

    def _is_for_part(self, mark: CitationMark) -> bool:
        """Say whether more of the sentence follows a mark than it can stand for, as in "Tea helps [7], but ..."."""
        spans = self._review.spans
        index = bisect_right(spans, mark.start, key=lambda span: span.start) - 1
        behind = self._text.between(mark.stop, spans[index].stop).replace(LINK, "")
        if len(behind.split()) <= MOST_BEHIND:
            return False
        before = self._text.between(spans[index].start, mark.start)
        is_written_out = mark.text[:1].isalpha() and not before.rstrip().endswith("(")
        return not (is_written_out or is_subject(before))

    def _ids_and_file(self, passage: Passage) -> tuple[Mapping[str, str], str]:
        """Return the ids of the cited paper, those of its file included, and the file; of several papers, none."""
        if len(passage.references) != 1:
            return {}, ""
        ids = self._listed[passage.references[0]].ids
        paper = self._rules.papers.find(ids) if self._rules.papers else None
        return ({**paper.ids, **ids}, paper.file) if paper else (ids, "")

    def _section(self, passage: Passage) -> tuple[str, ...]:
        return self._review.places[passage.first].section

    def _context(self, passage: Passage, summary: str) -> str:
        """Return the paragraph before, the passage's own and the one behind, on both sides as far as there is room."""
        paragraph = self._review.places[passage.first].paragraph
        own = self._paragraphs[paragraph]
        at = own.index(summary)
        before = "\n\n".join([*filter(None, [self._paragraphs.get(paragraph - 1)]), own[:at]])
        behind = "\n\n".join([own[at + len(summary) :], *filter(None, [self._paragraphs.get(paragraph + 1)])])
        room = max(0, MOST_CONTEXT - len(summary)) // 2
        return before[max(0, len(before) - room) :] + summary + behind[:room]


def _paragraph_texts(review: Paper) -> Mapping[int, str]:
    numbers = (place.paragraph for place in review.places)
    sentences = zip(numbers, review.kinds, review.sentences, strict=True)
    body = (one for one in sentences if one[1] is Kind.BODY)
    return {number: " ".join(one[2] for one in members) for number, members in groupby(body, key=lambda one: one[0])}


def _is_methods(title: str) -> bool:
    return _METHODS.search(plain_title(title)) is not None
