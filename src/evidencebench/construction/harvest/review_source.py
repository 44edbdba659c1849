"""A review as it is harvested: its sentences, its list of references, its marks, and its licence."""

from dataclasses import dataclass

from evidencebench.construction.harvest.licences import licence_of
from evidencebench.construction.harvest.marks import CitationMark, MarkedText, linked_marks
from evidencebench.construction.harvest.paper_names import normal_ids, paper_id_of
from evidencebench.construction.harvest.plain_marks import plain_marks
from evidencebench.construction.harvest.references import ReferenceList, read_reference
from evidencebench.errors import UnreadableError
from evidencebench.papers.jats import articles_in, ids_of_article, read_article
from evidencebench.papers.markup_tree import Element
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import checked
from evidencebench.papers.xml_tree import parse_xml


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSource:
    """A review that was read."""

    id: str  # in a data set, such as ``pmc_1280405``; its file's name without the suffix where it has none
    paper: Paper
    listed: ReferenceList
    marks: tuple[CitationMark, ...]  # in its running text, in order
    text: MarkedText
    licence: str


def read_review(content: bytes, *, file: str) -> ReviewSource:
    """Return a review, ``file`` being its name; raises `UnreadableError` if it is no JATS article with references."""
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
    body = next((part for part in article.elements if part.tag == "body"), Element("body"))
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
