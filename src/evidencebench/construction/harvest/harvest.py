"""Reviews become ``passages.jsonl``: a draft a passage, those that are dropped included, with the reason."""

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from evidencebench.construction.draft import CitedPassage, Draft, DraftHeader, output_of, writing_drafts
from evidencebench.construction.harvest.marks import LINK, CitationMark, MarkedText, marked_text
from evidencebench.construction.harvest.papers import PaperAtHand, PapersAtHand
from evidencebench.construction.harvest.passages import (
    POINTING_BACK,
    SUBJECT,
    THIS_STUDY,
    Passage,
    is_own,
    passages_of,
)
from evidencebench.construction.harvest.references import (
    ALLOWED,
    ReferenceList,
    id_to_fetch,
    licence_of,
    normal_ids,
    paper_id_of,
    read_reference,
)
from evidencebench.construction.harvest.tables import StudyRow, study_rows
from evidencebench.errors import DataError, UnreadableError
from evidencebench.files.disk import file_sha256, read_bytes
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
    text: MarkedText
    rows: tuple[StudyRow, ...]  # of its tables of studies
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
            "summaries of your own as 'table'"
        )
    body = article.child("body") or Element("body")
    return ReviewSource(
        id=paper_id_of(normal_ids(ids_of_article(article).items())) or file.partition(".")[0],
        paper=paper,
        listed=listed,
        text=marked_text(body, listed, file=file),
        rows=tuple(study_rows(article, listed)),
        licence=licence_of(article),
    )


UNRESOLVED = "mark leads to no reference"
SEVERAL_PAPERS = "cites several papers"
CITED_AGAIN = "paper cited again in the section"  # or in another row of a table
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
    return _first_reason(
        (UNRESOLVED, lambda: not all(mark.references for mark in passage.marks)),
        (SEVERAL_PAPERS, lambda: len(listed) > 1 or listed[0].lists_several),
        (CITED_AGAIN, lambda: cited[place.section, listed[0].id] > 1),
        (METHODS, lambda: any(_METHODS.search(plain_title(title)) for title in place.section)),
        (OWN_VOICE, lambda: any(map(is_own, sentences)) or THIS_STUDY.search(sentences[0])),
        (POINTS_BACK, lambda: is_behind_another and POINTING_BACK.match(sentences[0])),
        (PART_OF_SENTENCE, lambda: any(_is_for_part(source, mark) for mark in passage.marks)),
        (NO_ID, lambda: not listed[0].ids),
        (REVIEW_LICENCE, lambda: source.licence not in rules.licences),
    ) or rules.reason_against(paper)


def _reason_against(
    source: ReviewSource, row: StudyRow, cited: Mapping[str, int], rules: HarvestRules, paper: PaperAtHand | None
) -> str:
    listed = [source.listed[reference] for reference in row.references]
    return _first_reason(
        (SEVERAL_PAPERS, lambda: len(listed) > 1 or listed[0].lists_several),
        (CITED_AGAIN, lambda: cited[listed[0].id] > 1),
        (NO_ID, lambda: not listed[0].ids),
        (REVIEW_LICENCE, lambda: source.licence not in rules.licences),
    ) or rules.reason_against(paper)


def _first_reason(*checks: tuple[str, Callable[[], object]]) -> str:
    return next((reason for reason, holds in checks if holds()), "")


def _is_for_part(source: ReviewSource, mark: CitationMark) -> bool:
    """Say whether more of the sentence follows a mark than it can stand for, as in "Tea helps [7], but ..."."""
    spans = source.paper.spans
    sentence = spans[bisect_right(spans, mark.start, key=lambda span: span.start) - 1]
    if len(source.text.between(mark.stop, sentence.stop).replace(LINK, "").split()) <= MOST_BEHIND:
        return False
    before = source.text.between(sentence.start, mark.start)
    is_written_out = mark.text[:1].isalpha() and not before.rstrip().endswith("(")
    return _IN_BRACKETS.search(before) is not None or not (is_written_out or SUBJECT.search(before))


MOST_CONTEXT = 6_000  # the most characters of the paragraphs around a passage


class ReviewHarvest(NamedTuple):
    drafts: list[Draft]  # one a passage
    n_marks_elsewhere: int  # in headings, tables, figures and notes, but for rows of studies


def harvest_review(content: bytes, *, file: str, rules: HarvestRules) -> ReviewHarvest:
    source = read_review(content, file=file)
    review, passages = source.paper, list(passages_of(source.paper, source.text.marks, source.listed))
    cited = Counter((review.places[passage.first].section, ref) for passage in passages for ref in passage.references)
    body = [index for index, kind in enumerate(review.kinds) if kind is Kind.BODY]
    paragraphs = {
        number: " ".join(review.sentences[index] for index in members)
        for number, members in groupby(body, key=lambda index: review.places[index].paragraph)
    }
    numbers: Counter[str] = Counter()

    def draft(
        references: Sequence[str],
        summary: str,
        context: Callable[[], str],
        reason: Callable[[PaperAtHand | None], str],
        where: Mapping[str, Any],
    ) -> Draft:
        first, *others = references or ("?",)
        name = f"{first}+{len(others)}" if others else first
        numbers[name] += 1
        ids = source.listed[first].ids if len(references) == 1 else {}
        paper = rules.papers.find(ids) if rules.papers else None
        dropped = reason(paper)
        ids = {**(paper.ids if paper else {}), **ids}
        return Draft(
            id=f"{review.name}:{name}:{numbers[name]}",
            review_id=source.id,
            paper_id=paper_id_of(ids),
            paper_file="" if paper is None else paper.file,
            paper_ids=ids,
            summary=summary,
            context="" if dropped else context(),
            passage=CitedPassage(review_file=review.name, reference=" ".join(references), **where),
            dropped=dropped,
        )

    drafts = []
    for passage in passages:
        place = review.places[passage.first]
        summary = " ".join(review.sentences[passage.first : passage.last + 1])
        where = {
            "start": review.spans[passage.first].start,
            "stop": review.spans[passage.last].stop,
            "marks": tuple(mark.text for mark in passage.marks),
            "section": place.section,
        }
        context = partial(_context, paragraphs, place.paragraph, summary)
        reason = partial(reason_to_drop, source, passage, cited, rules)
        drafts.append(draft(passage.references, summary, context, reason, where))
    in_tables = Counter(reference for row in source.rows for reference in row.references)
    for row in source.rows:
        where = {"start": row.start, "stop": row.stop, "marks": row.marks, "section": (*row.section, row.caption)}
        context = partial("{}\n\n{}".format, row.caption[:MOST_CONTEXT], row.text)
        drafts.append(
            draft(row.references, row.text, context, partial(_reason_against, source, row, in_tables, rules), where)
        )
    return ReviewHarvest(drafts, max(0, source.text.n_elsewhere - sum(len(row.marks) for row in source.rows)))


def _context(paragraphs: Mapping[int, str], number: int, summary: str) -> str:
    """Return a passage's paragraph, the one before and the one behind, on both sides as far as there is room."""
    before, _, behind = paragraphs[number].partition(summary)
    before = "\n\n".join([*filter(None, [paragraphs.get(number - 1)]), before])
    behind = "\n\n".join([behind, *filter(None, [paragraphs.get(number + 1)])])
    room = max(0, MOST_CONTEXT - len(summary)) // 2
    return before[max(0, len(before) - room) :] + summary + behind[:room]


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestReport:
    n_reviews: int = 0  # that were read, with passages or not
    n_kept: int  # drafts that go on
    n_papers: int  # that these speak of
    dropped: Counter[str]  # reason -> drafts
    n_marks_elsewhere: int = 0  # in headings, tables, figures and notes, which are in no draft
    unreadable: tuple[str, ...] = ()  # why files could not be read
    # Of the papers that are wanted and not at hand, as ``papers fetch`` takes them, each once, in the order of a pilot.
    ids: tuple[str, ...]


def write_passages(
    output: Path, drafts: Iterable[Draft], *, settings: Mapping[str, object], rules: HarvestRules, overwrite: bool
) -> HarvestReport:
    """Write drafts, those that are not in the file yet, and count all; ``settings`` and the rules decide them."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{output.parent}: cannot be made: {error.strerror}") from error
    papers = rules.papers.sha256[:12] if rules.papers else ""
    header = DraftHeader(step="harvest", settings={**settings, "licences": sorted(rules.licences), "papers": papers})
    reasons, cited, ids = Counter[str](), set[str](), dict[bytes, str]()
    with writing_drafts(output, header, overwrite=overwrite) as writer:
        for draft in drafts:
            if draft.id not in writer.done:
                writer.append(draft)
            reasons[draft.dropped] += 1
            cited.update([] if draft.dropped else [draft.paper_id])
            if draft.paper_ids and not draft.paper_file and draft.dropped in ("", NOT_AT_HAND):
                ids[hashlib.sha256(draft.id.encode()).digest()] = id_to_fetch(draft.paper_ids)
        writer.finish()
    wanted = dict.fromkeys(ids[digest] for digest in sorted(ids))
    return HarvestReport(n_kept=reasons.pop("", 0), n_papers=len(cited), dropped=reasons, ids=tuple(wanted))


def harvest(
    reviews: Sequence[Path],
    folder: Path,
    *,
    rules: HarvestRules,
    overwrite: bool = False,
    on_review: Callable[[int, int], object] = lambda *_: None,
) -> HarvestReport:
    n_files = Counter(path.name for path in reviews)
    if twice := [name for name, n in n_files.items() if n > 1]:
        raise DataError(
            f"{twice[0]}: expected reviews in files of different names, got several of this one; rename them, since a "
            "draft is named after its file"
        )
    digest = hashlib.sha256()
    for path in reviews:
        try:
            digest.update(f"{path.name} {file_sha256(path)}\n".encode())
        except OSError:  # told when it is harvested
            digest.update(f"{path.name}\n".encode())
    unreadable, counts = list[str](), list[int]()  # of each review, its marks elsewhere

    def drafts() -> Iterator[Draft]:
        for number, path in enumerate(reviews, 1):
            try:
                of_review, n_elsewhere = harvest_review(read_bytes(path), file=path.name, rules=rules)
            except UnreadableError as error:
                unreadable.append(str(error))
            else:
                yield from of_review
                counts.append(n_elsewhere)
            on_review(number, len(reviews))

    output, settings = output_of("harvest", folder), {"reviews": digest.hexdigest()[:12]}
    report = write_passages(output, drafts(), settings=settings, rules=rules, overwrite=overwrite)
    return replace(
        report,
        n_reviews=len(counts),
        n_marks_elsewhere=sum(counts),
        unreadable=tuple(unreadable),
    )
