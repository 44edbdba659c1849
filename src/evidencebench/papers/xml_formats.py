"""XML of any format that a paper can have: recognised by its outermost element, whatever the file's name."""

from collections.abc import Sequence

from evidencebench.errors import UnreadableError
from evidencebench.papers.jats import articles_in, ids_of, read_article
from evidencebench.papers.markup_tree import Element
from evidencebench.papers.paper import Paper
from evidencebench.papers.refusal import metadata_only
from evidencebench.papers.xml_text import root_tag
from evidencebench.papers.xml_tree import parse_xml

_ROOTS = frozenset(
    {"article", "articles", "article-set", "articleset", "pmc-articleset", "oai-pmh", "pubmedarticleset"}
)
_OTHERS = frozenset({"html", "svg"})  # XML that is no paper, or that another reader takes


def is_xml_paper(content: bytes) -> bool:
    """Say whether content is XML, HTML apart."""
    tag = root_tag(content)
    return tag in _ROOTS or (tag not in _OTHERS and content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml"))


def read_xml(content: bytes, name: str) -> Sequence[Paper | UnreadableError]:
    """Return each paper of an XML file, or why it cannot be read; raises `UnreadableError` if it has none."""
    root = parse_xml(content, name=name)
    articles = articles_in(root)
    if articles:
        names = _names(articles, name)
        return [_read(article, one) for article, one in zip(articles, names, strict=True)]
    if root.first("pubmedarticle", "pubmedbookarticle", "medlinecitation"):
        raise metadata_only(name, "XML of PubMed", "titles and abstracts")
    raise UnreadableError(
        f"{name}: expected a paper in JATS XML, got XML that begins with <{root.tag}>; give its JATS XML or its PDF"
    )


def _names(articles: Sequence[Element], name: str) -> list[str]:
    """Return how each article is called: as its file, with its id or number where the file has several."""
    if len(articles) == 1:
        return [name]
    ids = [ids_of(article) for article in articles]
    return [f"{name}#{next(iter(one.values()), number)}" for number, one in enumerate(ids, 1)]


def _read(article: Element, name: str) -> Paper | UnreadableError:
    try:
        return read_article(article, name=name)
    except UnreadableError as error:
        return error
