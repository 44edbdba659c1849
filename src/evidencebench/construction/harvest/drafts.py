"""A review's file becomes drafts: one for each passage, dropped where it speaks of no single paper that can be had."""

from collections import Counter
from collections.abc import Iterator

from evidencebench.construction.draft import CitedPassage, Draft
from evidencebench.construction.harvest.marks import marks_in
from evidencebench.construction.harvest.passages import Passage, passages_of
from evidencebench.construction.harvest.references import ReferenceList, paper_id_of, references_of
from evidencebench.errors import UnreadableError
from evidencebench.papers.jats import articles_in, ids_of_article, read_article
from evidencebench.papers.markup_tree import Element
from evidencebench.papers.paper import Paper
from evidencebench.papers.xml_tree import parse_xml

SEVERAL_PAPERS = "cites several papers"
UNRESOLVED = "mark leads to no reference"
NO_ID = "reference without PMCID, DOI or PMID"

MOST_CONTEXT = 6_000
"""The most characters of the paragraphs around a passage."""


def drafts_of_review(content: bytes, *, file: str) -> Iterator[Draft]:
    """Yield a draft for each passage of a review, in order; ``file`` is its name.

    Raises `UnreadableError` if the file is no JATS article with a body and a list of references.
    """
    root = parse_xml(content, name=file)
    articles = articles_in(root)
    if len(articles) != 1:
        raise UnreadableError(
            f"{file}: expected one review in JATS XML, got {len(articles)} articles (<{root.tag}>); get the review's "
            "XML, as with 'evidencebench papers fetch'"
        )
    article = articles[0]
    listed = references_of(article)
    if not listed.references:
        raise UnreadableError(f"{file}: expected a review with a list of references, got none (<ref>)")
    review = read_article(article, name=file)
    body = next((part for part in article.elements if part.tag == "body"), Element("body"))
    review_id = paper_id_of(ids_of_article(article)) or file.partition(".")[0]
    counts: Counter[str] = Counter()
    for passage in passages_of(review, marks_in(body, listed)):
        yield _draft(review, review_id, passage, listed, counts)


def _draft(review: Paper, review_id: str, passage: Passage, listed: ReferenceList, counts: Counter[str]) -> Draft:
    references = passage.references
    name = (references[0] if references else "?") + (f"+{len(references) - 1}" if len(references) > 1 else "")
    counts[name] += 1
    ids = listed.by_id[references[0]].ids if len(references) == 1 else {}
    sentences = range(passage.first, passage.last + 1)
    first, last = review.spans[passage.first], review.spans[passage.last]
    return Draft(
        id=f"{review.name}:{name}:{counts[name]}",
        review_id=review_id,
        paper_id=paper_id_of(ids),
        paper_ids=ids,
        summary=" ".join(review.sentences[index] for index in sentences),
        context=_context(review, passage),
        passage=CitedPassage(
            review_file=review.name,
            start=first.start,
            stop=last.stop,
            marks=tuple(mark.text for mark in passage.marks),
            reference=" ".join(references),
            section=review.places[passage.first].section,
        ),
        dropped=_reason(passage, listed),
    )


def _reason(passage: Passage, listed: ReferenceList) -> str:
    if not all(mark.references for mark in passage.marks):
        return UNRESOLVED
    if len(passage.references) > 1:
        return SEVERAL_PAPERS
    return "" if listed.by_id[passage.references[0]].ids else NO_ID


def _context(review: Paper, passage: Passage) -> str:
    """Return the passage's paragraph and its neighbours, as far as they fit."""
    at = review.places[passage.first].paragraph
    near = (at - 1, at, at + 1)
    paragraphs = [
        " ".join(text for text, place in zip(review.sentences, review.places, strict=True) if place.paragraph == one)
        for one in near
    ]
    return "\n\n".join(filter(None, paragraphs))[:MOST_CONTEXT]
