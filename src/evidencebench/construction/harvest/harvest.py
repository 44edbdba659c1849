"""Reviews become ``passages.jsonl``: a draft a passage, those that are dropped included, with the reason."""

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from evidencebench.construction.draft import CitedPassage, Draft, DraftHeader, output_of, writing_drafts
from evidencebench.construction.harvest.marks import LINK, CitationMark, MarkedText, marked_text
from evidencebench.construction.harvest.papers import PaperAtHand, PapersAtHand
from evidencebench.construction.harvest.passages import SUBJECT, THIS_STUDY, Passage, is_own, passages_of, points_back
from evidencebench.construction.harvest.references import (
    ALLOWED,
    ReferenceList,
    id_to_fetch,
    licence_of,
    normal_ids,
    paper_id_of,
    read_reference,
)
from evidencebench.construction.harvest.tables import study_rows
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
    passages: tuple[Passage, ...]  # of its running text, then the rows of its tables of studies
    licence: str


def read_review(content: bytes, *, file: str) -> ReviewSource:
    root = parse_xml(content, name=file)
    articles = articles_in(root, name=file)
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
    text = marked_text(article.child("body") or Element("body"), listed, file=file)
    return ReviewSource(
        id=paper_id_of(normal_ids(ids_of_article(article).items())) or file.partition(".")[0],
        paper=paper,
        listed=listed,
        text=text,
        passages=(*passages_of(paper, text.marks, listed), *study_rows(article, listed)),
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


def reasons_to_drop(
    source: ReviewSource, passage: Passage, n_cited: int, rules: HarvestRules, paper: PaperAtHand | None
) -> Iterator[str]:
    """Yield why a passage is dropped, at last an empty text; ``n_cited`` of its section, or rows, cite its paper."""
    listed = [source.listed[reference] for reference in passage.references]
    if not all(mark.references for mark in passage.marks):
        yield UNRESOLVED
    if len(listed) > 1 or listed[0].lists_several:
        yield SEVERAL_PAPERS
    if n_cited > 1:
        yield CITED_AGAIN
    if passage.sentences:
        yield from _reasons_in_text(source, passage)
    if not listed[0].ids:
        yield NO_ID
    if source.licence not in rules.licences:
        yield REVIEW_LICENCE
    yield rules.reason_against(paper)


def _reasons_in_text(source: ReviewSource, passage: Passage) -> Iterator[str]:
    sentences = [source.paper.sentences[index] for index in passage.sentences]
    if any(_METHODS.search(plain_title(title)) for title in passage.section):
        yield METHODS
    if any(map(is_own, sentences)) or THIS_STUDY.search(sentences[0]):
        yield OWN_VOICE
    if points_back(source.paper, passage.sentences[0]):
        yield POINTS_BACK
    if any(_is_for_part(source, mark) for mark in passage.marks):
        yield PART_OF_SENTENCE


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


def harvest_review(content: bytes, *, file: str, rules: HarvestRules) -> list[Draft]:
    """Return a draft for each passage, and for each row of a table of studies; those that are dropped say why."""
    source = read_review(content, file=file)
    review = source.paper
    cited = Counter((passage.scope, reference) for passage in source.passages for reference in passage.references)
    body = [index for index, kind in enumerate(review.kinds) if kind is Kind.BODY]
    paragraphs = {
        number: " ".join(review.sentences[index] for index in members)
        for number, members in groupby(body, key=lambda index: review.places[index].paragraph)
    }
    numbers: Counter[str] = Counter()
    drafts: list[Draft] = []
    for passage in source.passages:
        first, *others = passage.references or ("?",)
        name = f"{first}+{len(others)}" if others else first
        numbers[name] += 1
        ids = source.listed[first].ids if len(passage.references) == 1 else {}
        paper = rules.papers.find(ids) if rules.papers else None
        dropped = next(reasons_to_drop(source, passage, cited[passage.scope, first], rules, paper))
        ids = {**(paper.ids if paper else {}), **ids}
        draft = Draft(
            id=f"{review.name}:{name}:{numbers[name]}",
            review_id=source.id,
            paper_id=paper_id_of(ids),
            paper_file="" if paper is None else paper.file,
            paper_ids=ids,
            summary=passage.text,
            context="" if dropped else _context(review, paragraphs, passage),
            passage=CitedPassage(
                review_file=review.name,
                start=passage.start,
                stop=passage.stop,
                marks=tuple(mark.text for mark in passage.marks),
                reference=" ".join(passage.references),
                section=passage.section,
            ),
            dropped=dropped,
        )
        drafts.append(draft)
    return drafts


def _context(review: Paper, paragraphs: Mapping[int, str], passage: Passage) -> str:
    """Return a passage's paragraph, the one before and the one behind, as far as there is room; or a row's caption."""
    if not passage.sentences:
        return f"{passage.section[-1][:MOST_CONTEXT]}\n\n{passage.text}"
    number = review.places[passage.sentences[0]].paragraph
    before, _, behind = paragraphs[number].partition(passage.text)
    before = "\n\n".join([*filter(None, [paragraphs.get(number - 1)]), before])
    behind = "\n\n".join([behind, *filter(None, [paragraphs.get(number + 1)])])
    room = max(0, MOST_CONTEXT - len(passage.text)) // 2
    return before[max(0, len(before) - room) :] + passage.text + behind[:room]


class HarvestReport(NamedTuple):
    n_kept: int  # drafts that go on
    # Of the papers that are wanted and not at hand, as ``papers fetch`` takes them, each once, in the order of a pilot.
    ids: tuple[str, ...]
    unreadable: tuple[str, ...] = ()  # why files could not be read


def write_passages(
    output: Path, drafts: Iterable[Draft], *, settings: Mapping[str, object], rules: HarvestRules
) -> HarvestReport:
    """Write drafts, those that are not in the file yet; ``settings`` and the rules decide them."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{output.parent}: cannot be made: {error.strerror}") from error
    papers, unreadable = (rules.papers.sha256[:12], rules.papers.unreadable) if rules.papers else ("", {})
    settings = {**settings, "licences": sorted(rules.licences), "papers": papers}
    header = DraftHeader(step="harvest", settings=settings, unreadable_papers=unreadable)
    n_kept, ids = 0, dict[bytes, str]()
    with writing_drafts(output, header, overwrite=True) as writer:
        for draft in drafts:
            if draft.id not in writer.done:
                writer.append(draft)
            n_kept += not draft.dropped
            if draft.paper_ids and not draft.paper_file and draft.dropped in ("", NOT_AT_HAND):
                ids[hashlib.sha256(draft.id.encode()).digest()] = id_to_fetch(draft.paper_ids)
        writer.finish()
    return HarvestReport(n_kept, tuple(dict.fromkeys(ids[digest] for digest in sorted(ids))))


def harvest(
    reviews: Sequence[Path],
    folder: Path,
    *,
    rules: HarvestRules,
    on_review: Callable[[int, int], object] = lambda *_: None,
) -> HarvestReport:
    if twice := [name for name, n in Counter(path.name for path in reviews).items() if n > 1]:
        raise DataError(
            f"{twice[0]}: expected reviews in files of different names, got several of this one; rename them, since a "
            "draft is named after its file"
        )
    digest = hashlib.sha256()
    for path in reviews:
        digest.update(path.name.encode())
        with suppress(OSError):  # told when it is harvested
            digest.update(f" {file_sha256(path)}".encode())
        digest.update(b"\n")
    unreadable: list[str] = []

    def drafts() -> Iterator[Draft]:
        for number, path in enumerate(reviews, 1):
            try:
                yield from harvest_review(read_bytes(path), file=path.name, rules=rules)
            except UnreadableError as error:
                unreadable.append(str(error))
            on_review(number, len(reviews))

    output, settings = output_of("harvest", folder), {"reviews": digest.hexdigest()[:12]}
    report = write_passages(output, drafts(), settings=settings, rules=rules)
    return report._replace(unreadable=tuple(unreadable))
