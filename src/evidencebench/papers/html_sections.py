"""The article of a web page as elements of JATS, which `jats_blocks` reads: abstract and body, in sections."""

import re
from dataclasses import dataclass, field

from evidencebench.papers.captions import captioned
from evidencebench.papers.html_parts import names_of, sort_left_out, sort_of_section
from evidencebench.papers.html_tree import BLOCKS, HEADINGS
from evidencebench.papers.losses import LossCount
from evidencebench.papers.markup_tree import Characters, Element, ElementEnd
from evidencebench.papers.section_titles import Outline, is_abstract_title

_PARAGRAPHS = frozenset({"p", "li", "dd", "dt", "blockquote"})
_ABSTRACT_NAMES = frozenset({"abstract", "article-abstract", "abstract-content", "html-abstract"})
_TEX_NAMES = frozenset({"mathjax-tex", "tex-math"})
# A link to a place of the page is a reference; to one of these, not to the literature.
_ELSEWHERE = re.compile(r"fig|tab|sec|equ|fn|supp|app|media|box|^[tfs]\d", re.IGNORECASE)
_SIGNS = frozenset("#\u00a7\u00b6\u221e\U0001f517") | {""}  # of links from a heading to itself
_MOST_LINKED = 0.8  # of the characters of a paragraph
_SENTENCES = re.compile(r"[.!?:][\"'\u2019\u201d)\]]*$")
_LEAST_SENTENCE, _LEAST_IN_SECTION = 60, 20
# Text before the abstract is about the authors, unless it is as long as an article.
_MOST_FRONT_MATTER, _MOST_BEFORE = 3000, 50  # characters, paragraphs


@dataclass(slots=True)
class _Around:
    """The sections that are open: their outline, their elements, and the sorts of those that are left out."""

    base: Element
    outline: Outline = field(default_factory=Outline)
    sections: list[Element] = field(default_factory=list)
    sorts: list[str | None] = field(default_factory=list)


class SectionFinder:
    """Finds the sections of a page; what is left out goes into the counter."""

    def __init__(self, *, title: Element | None, count: LossCount) -> None:
        self.abstract, self.body = Element("abstract"), Element("body")
        self._title, self._count = title, count
        self.title = self._inline(title) if title else Element("title")
        self._around = _Around(self.body)
        self._outer: list[_Around] = []  # around the element that holds the abstract
        self._paragraph: list[Element | Characters] = []
        self._n_open = dict.fromkeys(_PARAGRAPHS, 0)  # of each element of paragraphs
        self._n_breaks = 0  # right before this place

    def find(self, root: Element) -> None:
        """Fill ``abstract`` and ``body`` with the sections of an element."""
        with_blocks = _with_blocks(root)
        waiting: list[Element | Characters | ElementEnd] = [root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Characters):
                self._add(node)
            elif isinstance(node, ElementEnd):
                self._leave(node.element)
            elif node is self._title:
                self._flush()
            elif sort := self._sort(node):
                self._count_out(sort, node)
            elif node.tag in HEADINGS:
                self._enter_section(node)
            elif node.tag in BLOCKS:
                self._enter(node)
                waiting.append(ElementEnd(node))
                waiting.extend(reversed(node.children))
            elif id(node) in with_blocks:
                waiting.extend(reversed(node.children))
            elif node.tag == "br":
                self._add_break()
            else:
                self._add(self._inline(node))
        self._flush()

    def _sort(self, element: Element) -> str | None:
        is_further = _is_abstract(element) and not self._outer and bool(self.abstract.children)
        return "further abstract" if is_further else sort_left_out(element)

    def _enter(self, element: Element) -> None:
        self._flush()
        if element.tag in _PARAGRAPHS:
            self._n_open[element.tag] += 1
        if _is_abstract(element) and not self._outer:
            self._begin_abstract()
            self._outer.append(self._around)
            self._around = _Around(self.abstract)

    def _leave(self, element: Element) -> None:
        self._flush()
        if element.tag in _PARAGRAPHS:
            self._n_open[element.tag] -= 1
        if self._outer and _is_abstract(element):
            self._around = self._outer.pop()

    def _begin_abstract(self) -> None:
        """Leave out what stands before the abstract and is not in a section."""
        front = [child for child in self.body.children[:_MOST_BEFORE] if isinstance(child, Element)]
        if (
            len(self.body.children) < _MOST_BEFORE
            and all(child.tag == "p" for child in front)
            and sum(len(child.text) for child in front) <= _MOST_FRONT_MATTER
        ):
            for child in front:
                self._count_out("front matter", child)
            self.body.children.clear()

    def _enter_section(self, heading: Element) -> None:
        self._flush()
        text, title = heading.text, Element("title", children=self._inline(heading).children)
        if not text:
            return
        around, is_abstract = self._around, is_abstract_title(text)
        if self._outer and not self.abstract.children and "abstract" in text.lower():
            self.abstract.children.append(title)
            return
        around.outline.enter(text, level=HEADINGS.index(heading.tag) + 1)
        depth = len(around.outline.path) - 1
        del around.sections[depth:], around.sorts[depth:]
        around.sorts.append("further abstract" if is_abstract and self.abstract.children else sort_of_section(text))
        if is_abstract and not self.abstract.children:
            self._begin_abstract()
            section = self.abstract
        else:
            section = Element("sec")
            if not self._left_out:
                (around.sections[-1] if around.sections else around.base).children.append(section)
        around.sections.append(section)
        if self._left_out:
            self._count.leave_out(self._left_out, text, n_elements=0)
        else:
            section.children.append(title)

    @property
    def _left_out(self) -> str | None:
        return next(filter(None, self._around.sorts), None)

    def _add(self, node: Element | Characters) -> None:
        if isinstance(node, Element) or node.text.strip():
            self._n_breaks = 0
        self._paragraph.append(node)

    def _add_break(self) -> None:
        self._n_breaks += 1
        if self._n_breaks > 1:
            self._flush()
        else:
            self._paragraph.append(Element("break"))

    def _flush(self) -> None:
        """End the paragraph, and keep it if it is one."""
        paragraph = Element("p", children=self._paragraph)
        self._paragraph, self._n_breaks = [], 0
        text = paragraph.text
        if not text:
            return
        around = self._around
        least = _LEAST_IN_SECTION if self._outer or around.sections else _LEAST_SENTENCE
        if sort := self._left_out or captioned(text):
            self._count_out(sort, paragraph)
        elif self._is_menu(paragraph):
            self._count_out("navigation", paragraph)
        elif not any(self._n_open.values()) and not (len(text) >= least and _SENTENCES.search(text)):
            self._count_out("other text", paragraph)
        else:
            (around.sections[-1] if around.sections else around.base).children.append(paragraph)
            around.outline.pass_paragraph()

    def _is_menu(self, paragraph: Element) -> bool:
        """Say whether a paragraph is little but links, and no ``p`` of a section, as one with a register's number."""
        is_of_section = bool(self._outer or self._around.sections) and self._n_open["p"] > 0
        n_linked = sum(len(link.text) for link in paragraph.all("a"))
        return not is_of_section and n_linked > _MOST_LINKED * len(paragraph.text)

    def _count_out(self, sort: str, element: Element) -> None:
        if sort in ("table", "figure") or element.text:
            self._count.leave_out(sort, element.raw_text)

    def _inline(self, element: Element) -> Element:
        """Return an element of a line, or a heading, as JATS has it, without what is left out."""
        top = _as_jats(element)
        waiting = [(top, iter([] if top.tag == "math" else element.children))]
        while waiting:
            parent, children = waiting[-1]
            child = next(children, None)
            if child is None:
                waiting.pop()
            elif isinstance(child, Characters):
                parent.children.append(child)
            elif sort := sort_left_out(child):
                self._count_out(sort, child)
            elif child.tag != "a" or child.text not in _SIGNS:
                copied = _as_jats(child)
                parent.children.append(copied)
                if copied.tag != "math":
                    waiting.append((copied, iter(child.children)))
        return top


def _as_jats(element: Element) -> Element:
    """Return an element of a line by its name in JATS, empty but for a formula."""
    attributes = element.attributes
    target = attributes.get("href", "").rpartition("#")[2] if "#" in attributes.get("href", "") else ""
    if element.tag == "a" and target:
        return Element("xref", {"ref-type": "other"} if _ELSEWHERE.search(target) else {"ref-type": "bibr"})
    if element.tag == "math":
        return element
    if not _TEX_NAMES.isdisjoint(attributes.get("class", "").split()):
        return Element("tex-math")
    return Element("break" if element.tag == "br" else element.tag if element.tag in ("a", "sup", "sub") else "span")


def _with_blocks(root: Element) -> set[int]:
    """Return the ids of the elements of lines that hold blocks, as a link around a paragraph does."""
    ids: set[int] = set()
    waiting: list[tuple[Element, tuple[Element, ...]]] = [(root, ())]
    while waiting:
        node, around = waiting.pop()
        if node.tag in BLOCKS:
            ids.update(map(id, around))
            around = ()
        else:
            around = (*around, node)
        waiting.extend((child, around) for child in node.elements)
    return ids


def _is_abstract(element: Element) -> bool:
    return element.tag in BLOCKS and not _ABSTRACT_NAMES.isdisjoint(names_of(element))
