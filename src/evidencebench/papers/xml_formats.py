"""XML of any format that a paper can have: recognised by its outermost element, whatever the file's name."""

from collections.abc import Sequence

from evidencebench.errors import UnreadableError
from evidencebench.papers.bioc import read_bioc_xml
from evidencebench.papers.blocks import each_paper
from evidencebench.papers.jats import articles_in, ids_of_article, read_article
from evidencebench.papers.paper import Paper
from evidencebench.papers.refusal import metadata_only
from evidencebench.papers.tei import read_tei
from evidencebench.papers.xml_text import root_tag
from evidencebench.papers.xml_tree import parse_xml

_ROOTS = frozenset(
    {"article", "articles", "article-set", "articleset", "pmc-articleset", "oai-pmh", "pubmedarticleset"}
    | {"tei", "teicorpus", "collection", "document"}
)
_OTHERS = frozenset({"html", "svg"})  # XML that is no paper, or that another reader takes


def is_xml_paper(content: bytes) -> bool:
    """Say whether content is XML, HTML apart."""
    tag = root_tag(content)
    return tag in _ROOTS or (tag not in _OTHERS and content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml"))


def read_xml(content: bytes, name: str) -> Sequence[Paper | UnreadableError]:
    """Return each paper of an XML file, or why it cannot be read; raises `UnreadableError` if it has none."""
    root = parse_xml(content, name=name)
    if root.first("pubmedarticle", "pubmedbookarticle", "medlinecitation"):
        raise metadata_only(name, "XML of PubMed", "titles and abstracts")
    if articles := articles_in(root):
        ids = [next(iter(ids_of_article(article).values()), "") for article in articles]
        return each_paper(articles, ids, read_article, name)
    if papers := ([root] if root.tag == "tei" else list(root.all("tei"))):
        return each_paper(papers, [""] * len(papers), read_tei, name)
    if root.first("passage"):
        return read_bioc_xml(root, name)
    raise UnreadableError(
        f"{name}: expected a paper in JATS, TEI or BioC, got XML that begins with <{root.tag}>; give its JATS or PDF"
    )
