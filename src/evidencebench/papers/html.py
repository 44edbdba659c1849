"""Articles as web pages: those of PubMed Central, now and before, and any other page with paragraphs."""

import re
from collections.abc import Mapping

from evidencebench.errors import UnreadableError
from evidencebench.papers.blocks import paper_of
from evidencebench.papers.decoding import beginning, decoded, has_mark
from evidencebench.papers.html_page import article_root, ids_of_page, metadata_of, title_in
from evidencebench.papers.html_sections import SectionFinder
from evidencebench.papers.html_tree import BLOCKS, parse_html
from evidencebench.papers.jats_blocks import BlockReader
from evidencebench.papers.losses import LossCount, n_visible
from evidencebench.papers.markup_tree import Element
from evidencebench.papers.paper import Paper
from evidencebench.papers.xml_text import known_codec, root_tag
from evidencebench.query import Kind

FORMAT = "HTML"

_PAGES = frozenset({"html", "head", "body"})
_PARTS_OF_PAGES = (BLOCKS | {"meta", "link", "span", "script", "style", "font"}) - {"article"}  # which is of JATS too
_CHARSET = re.compile(rb"""<meta\b[^<>]*?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_DOCTYPE = re.compile(rb"\s*<!doctype html", re.IGNORECASE)
_MARKED_UP = re.compile(r"^#{1,6} |^```", re.MULTILINE)  # Markdown may begin with HTML
_HEAD_BYTES = 1 << 16

# Fewer characters of paragraphs are no article, or up to the second number where the page speaks of these.
_LEAST_TEXT, _LEAST_TEXT_BESIDE = 150, 2000
_OBSTACLES = re.compile(
    r"enable javascript|javascript is (?:disabled|required)|captcha|checking your browser|are you a robot|"
    r"not a robot|access denied|enable cookies|unusual traffic|page not found",
    re.IGNORECASE,
)


def is_html(content: bytes) -> bool:
    """Say whether content is a web page, or a part of one."""
    tag = root_tag(content)
    if tag in _PAGES or _DOCTYPE.match(content):
        return True
    return tag in _PARTS_OF_PAGES and not _MARKED_UP.search(beginning(content[:_HEAD_BYTES]))


def read_html(content: bytes, name: str) -> Paper:
    """Return the paper in a web page; raises `UnreadableError` for a page that holds no article."""
    page = parse_html(_text(content, name), name=name)
    metadata = metadata_of(page)
    root = article_root(page)
    if root is None:
        raise _refusal(name, "a list of articles, as search results are", "give the page of one of them")
    title = title_in(page, root, metadata)
    return paper_of_page(root, title, name=name, file_format=FORMAT, ids=ids_of_page(metadata), page_text=page.raw_text)


def paper_of_page(
    root: Element,
    title: Element | None,
    *,
    name: str,
    file_format: str,
    ids: Mapping[str, str] | None = None,
    page_text: str | None = None,
) -> Paper:
    """Return the paper of an article; ``title`` is in it or not; ``page_text`` tells pages without an article."""
    count = LossCount()
    finder = SectionFinder(title=title, count=count)
    finder.find(root)
    if page_text is not None:
        n_abstract = n_visible(finder.abstract.raw_text)
        n = n_abstract + n_visible(finder.body.raw_text)
        obstacle = _OBSTACLES.search(page_text) if not n_abstract and n < _LEAST_TEXT_BESIDE else None
        if obstacle:
            advice = "open the article in a browser, and save it from there"
            raise _refusal(name, f"a page that says '{obstacle[0]}'", advice)
        if n < _LEAST_TEXT:
            raise _refusal(name, "a page almost without paragraphs", "give the page of the article itself")
    blocks = BlockReader(Kind.HEADING, part="title", count=count).read(finder.title)[:1]
    paper_title = blocks[0].text.text if blocks else ""
    blocks += BlockReader(Kind.ABSTRACT, part="abstract", count=count).read(finder.abstract)
    blocks += BlockReader(Kind.BODY, part="body", count=count).read(finder.body)
    return paper_of(blocks, name=name, file_format=file_format, title=paper_title, ids=ids, loss=count.loss)


def _text(content: bytes, name: str) -> str:
    """Return a page's characters: as UTF-8 where they are, as saved pages can be, else as the page declares."""
    declared, codec = _CHARSET.search(content[:_HEAD_BYTES]), "utf-8"
    if declared and not has_mark(content):
        try:
            content.decode()
        except UnicodeDecodeError:
            codec = known_codec(declared[1].decode(), name)
    return decoded(content, name=name, declared=codec)


def _refusal(name: str, what: str, advice: str) -> UnreadableError:
    return UnreadableError(f"{name}: expected an article in HTML, got {what}; {advice}, or give its PDF or XML")
