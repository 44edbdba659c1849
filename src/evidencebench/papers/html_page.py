"""What a web page says of itself, and which part of it holds the article."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evidencebench.papers.html_tree import HEADINGS
from evidencebench.papers.losses import n_visible
from evidencebench.papers.markup_tree import Characters, Element

_TITLE_KEYS = ("citation_title", "dc.title", "og:title")
# Scheme -> what its ids look like, and where the metadata has them.
_IDS = {
    "doi": (re.compile(r"10\.\d{4,9}/\S+"), ("citation_doi", "dc.identifier", "prism.doi")),
    "pmcid": (re.compile(r"PMC\d+"), ("citation_pmcid", "ncbi_pcid", "citation_fulltext_html_url", "og:url")),
    "pmid": (re.compile(r"\d{1,9}"), ("citation_pmid",)),
}

_MAIN = frozenset({"article", "main"})
# The share of a page's text in paragraphs that the part with the article holds, and how many articles make up a list.
_MOST_OF_TEXT = 0.6
_LEAST_ARTICLES = 5


def metadata_of(page: Element) -> dict[str, str]:
    """Return the page's ``meta`` elements, by their names in lower case; the first of each name."""
    contents: dict[str, str] = {}
    for meta in page.all("meta"):
        key = meta.attributes.get("name") or meta.attributes.get("property") or ""
        contents.setdefault(key.lower(), " ".join(meta.attributes.get("content", "").split()))
    return contents


def ids_of_page(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the paper's identifiers, such as ``{"pmcid": "PMC13901"}``."""
    ids: dict[str, str] = {}
    for scheme, (pattern, names) in _IDS.items():
        for name in names:
            if scheme not in ids and (match := pattern.search(metadata.get(name, ""))):
                ids[scheme] = match[0]
    return ids


def title_in(page: Element, root: Element, metadata: Mapping[str, str]) -> Element | None:
    """Return the element of the title: a heading that the metadata names, the outermost one, or the page's title."""
    given = next((metadata[key] for key in _TITLE_KEYS if metadata.get(key)), "")
    headings = [heading for heading in page.all(*HEADINGS) if heading.text]
    named = next((heading for heading in headings if given and _letters(heading.text) == _letters(given)), None)
    outermost = next((heading for heading in headings if heading.tag == "h1"), None)
    return named or root.first("h1") or outermost or page.first("title")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


@dataclass(slots=True)
class _Part:
    """An element that may hold the article: characters of the page's paragraphs before it, and up to its end."""

    element: Element
    start: int
    stop: int = 0

    @property
    def n(self) -> int:
        return self.stop - self.start


def article_root(page: Element) -> Element | None:
    """Return the innermost part of a page that holds most of its text; None where that is a list of articles."""
    whole = page.first("body") or page
    parts = _parts(whole)
    total = parts[0].n
    root = [part for part in parts if part.n >= _MOST_OF_TEXT * total][-1]
    within = [
        part for part in parts if part.element.tag == "article" and root.start <= part.start < part.stop <= root.stop
    ]
    others = [part.n for part in within if part is not root]
    is_list = root.element.tag != "article" and len(others) >= _LEAST_ARTICLES and sum(others) >= _MOST_OF_TEXT * root.n
    return None if is_list else root.element


def _parts(whole: Element) -> list[_Part]:
    """Return the page and the parts of it that may hold the article, each before those in it."""
    parts = [_Part(whole, 0)]
    position = n_paragraphs = 0
    waiting: list[Element | Characters | _Part | None] = [*reversed(whole.children)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Characters):
            position += n_visible(node.text) if n_paragraphs else 0
        elif node is None:
            n_paragraphs -= 1
        elif isinstance(node, _Part):
            node.stop = position
        else:
            if node.tag in _MAIN or node.attributes.get("role") in _MAIN:
                parts.append(_Part(node, position))
                waiting.append(parts[-1])
            elif node.tag == "p":
                n_paragraphs += 1
                waiting.append(None)
            waiting.extend(reversed(node.children))
    parts[0].stop = position
    return parts
