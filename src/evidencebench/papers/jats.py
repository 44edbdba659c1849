"""Articles in JATS XML, and in its forerunner NLM, as PubMed Central and publishers give them."""

from evidencebench.papers.blocks import Block, paper_of
from evidencebench.papers.jats_blocks import LEFT_OUT, BlockReader, leave_out
from evidencebench.papers.losses import LossCount
from evidencebench.papers.markup_tree import Characters, Element
from evidencebench.papers.paper import Paper
from evidencebench.papers.paper_ids import ids_of_pairs
from evidencebench.query import Kind

FORMAT = "JATS XML"

_WITHIN = frozenset({"sub-article", "response"})

# Abstracts of these types are read only where there is no other: summaries of the paper by others, or of the abstract.
_SECONDARY = frozenset(
    {"author-highlights", "editor", "graphical", "key-points", "longsummary", "precis", "short", "summary", "synopsis",
     "teaser", "toc", "video", "web-summary", "plain-language-summary", "executive-summary"}
)  # fmt: skip

_BACK = {
    "app": "appendix",
    "app-group": "appendix",
    "glossary": "glossary",
    "bio": "biography",
    "sub-article": "sub-article",
    "response": "response",
}


def articles_in(root: Element) -> list[Element]:
    """Return the articles of a file; one without a body stands for its sub-articles that have one."""
    outermost, waiting = list[Element](), [root]
    while waiting:
        element = waiting.pop()
        if element.tag == "article":
            outermost.append(element)
        else:
            waiting.extend(reversed(list(element.elements)))
    articles: list[Element] = []
    for article in outermost:
        within = [part for part in article.elements if part.tag in _WITHIN and _child(part, "body")]
        articles.extend([article] if _child(article, "body") or not within else within)
    return articles


def read_article(article: Element, name: str) -> Paper:
    """Return the paper in an ``article``, ``sub-article`` or ``response``; ``name`` is its name in messages."""
    count = LossCount()
    meta = _meta(article)
    title = _title(meta, count)
    blocks = [*title, *_abstract(meta, count)]
    for part in article.elements:
        if part.tag == "body":
            blocks.extend(BlockReader(Kind.BODY, part="body", count=count).read(part))
        elif part.tag in ("back", "floats-group", "floats-wrap"):
            _count_back(part, count)
        elif part.tag in _WITHIN:
            leave_out(part, _BACK[part.tag], count)
    return paper_of(
        blocks,
        name=name,
        file_format=FORMAT,
        title=title[0].text.text if title else "",
        ids=ids_of_article(article),
        loss=count.loss,
        is_record=True,
    )


def ids_of_article(article: Element) -> dict[str, str]:
    """Return the article's ids, such as ``{"pmcid": "PMC13901"}``."""
    ids = (element for element in _meta(article).elements if element.tag == "article-id")
    return ids_of_pairs((element.attributes.get("pub-id-type", ""), element.text) for element in ids)


def _meta(article: Element) -> Element:
    """Return what holds the title and the abstract: a ``front`` can do without ``article-meta``."""
    front = _child(article, "front") or _child(article, "front-stub") or Element("front")
    return _child(front, "article-meta") or front


def _title(meta: Element, count: LossCount) -> list[Block]:
    group = _child(meta, "title-group") or Element("title-group")
    parts = [part for part in group.elements if part.tag in ("article-title", "subtitle")]
    for part in group.elements:
        if part.tag in ("trans-title-group", "trans-title", "trans-subtitle"):
            leave_out(part, "translated title", count)
    # A colon stands between title and subtitle, as between a term and what it means.
    line: list[Element | Characters] = [Element("term", children=part.children) for part in parts[:-1]]
    line += [Element("p", children=part.children) for part in parts[-1:]]
    return BlockReader(Kind.HEADING, part="title", count=count).read(Element("title-group", children=line))[:1]


def _abstract(meta: Element, count: LossCount) -> list[Block]:
    abstracts = [part for part in meta.elements if part.tag == "abstract"]
    primary = [part for part in abstracts if part.attributes.get("abstract-type", "").lower() not in _SECONDARY]
    main = next(iter(primary or abstracts), None)
    for part in meta.elements:
        if part.tag in ("abstract", "trans-abstract") and part is not main:
            leave_out(part, "further abstract", count)
        elif part.tag in ("kwd-group", "author-notes"):
            leave_out(part, LEFT_OUT.get(part.tag, "author note"), count)
    return BlockReader(Kind.ABSTRACT, part="abstract", count=count).read(main) if main else []


def _count_back(back: Element, count: LossCount) -> None:
    for part in back.elements:
        leave_out(part, LEFT_OUT.get(part.tag) or _BACK.get(part.tag, "other back matter"), count)
        for tag in ("table-wrap", "fig") if part.tag not in LEFT_OUT else ():  # of a section at the end, as of "Tables"
            if n_within := sum(1 for _ in part.all(tag)):
                count.leave_out(LEFT_OUT[tag], "", n_elements=n_within)


def _child(element: Element, tag: str) -> Element | None:
    return next((child for child in element.elements if child.tag == tag), None)
