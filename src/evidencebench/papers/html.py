"""Web pages: metadata, the article, its sections."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evidencebench.errors import UnreadableError
from evidencebench.files.disk import mark_of
from evidencebench.papers.jats import OTHER_FORMS, BlockReader, UnitReader, n_placed
from evidencebench.papers.lines import captioned
from evidencebench.papers.page_formulas import keep_one_form
from evidencebench.papers.paper import Loss, Paper, n_visible
from evidencebench.papers.sections import Outline, SectionSort, is_abstract_title, plain_title, section_of
from evidencebench.papers.tree import (
    BLOCKS,
    FORMULAS,
    HEADINGS,
    NAMES,
    Characters,
    Element,
    ElementEnd,
    beginning,
    decoded,
    known_codec,
    lists_of,
    parse_html,
    root_tag,
    unplaced,
)
from evidencebench.query import Kind

# Scheme -> what its ids look like, and where the metadata has them.
_IDS = {
    "doi": (re.compile(r"10\.\d{4,9}/\S+"), ("citation_doi", "dc.identifier", "prism.doi")),
    "pmcid": (re.compile(r"PMC\d+"), ("citation_pmcid", "ncbi_pcid", "citation_fulltext_html_url", "og:url")),
    "pmid": (re.compile(r"\d{1,9}"), ("citation_pmid",)),
}
SCHEME_PATTERNS: dict[str, re.Pattern[str]] = {scheme: pattern for scheme, (pattern, _) in _IDS.items()}

_MAIN = frozenset({"article", "main"})
# The share of a page's text in paragraphs that the part with the article holds, and how many articles make up a list.
_MOST_OF_TEXT = 0.6
_LEAST_ARTICLES = 5


def title_in(page: Element, root: Element, metadata: Mapping[str, str]) -> Element | None:
    """Return the element of the title: a heading that the metadata names, the outermost one, or the page's title."""
    keys = ("citation_title", "dc.title", "og:title")
    given = next((metadata[key] for key in keys if metadata.get(key)), "")
    headings = [heading for heading in page.all(*HEADINGS) if heading.text]
    named = next((heading for heading in headings if given and letters_of(heading.text) == letters_of(given)), None)
    outermost = next((heading for heading in headings if heading.tag == "h1"), None)
    return named or root.first("h1") or outermost or page.first("title")


def letters_of(text: str) -> str:
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
    parts = {id(whole): _Part(whole, 0)}
    position = n_paragraphs = 0
    waiting: list[Element | Characters | ElementEnd] = [ElementEnd(whole), *reversed(whole.children)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Characters):
            position += n_visible(node.text) if n_paragraphs else 0
        elif isinstance(node, ElementEnd):
            if part := parts.get(id(node.element)):
                part.stop = position
            else:
                n_paragraphs -= node.element.tag == "p"
        else:
            if node.tag in _MAIN or node.attributes.get("role") in _MAIN:
                parts[id(node)] = _Part(node, position)
            else:
                n_paragraphs += node.tag == "p"
            waiting += [ElementEnd(node), *reversed(node.children)]
    return list(parts.values())


# Which elements are left out, and the sort that they are counted as: table of the file -> word -> sort.
_SORTS = {table: lists_of(table) for table in ("tags", "roles", "names", "words", "titles")}
_WORD_OF_NAME = re.compile("[a-z]+")
_NEVER_SECTIONS = frozenset({"cookie", "cookies", "consent", "onetrust", "gdpr", "footer", "newsletter"})
_FOOTNOTE = re.compile(r"\bltx_note\b|(?<!-)\bfootnote\b(?!-?(?:ref|mark|link|back|anchor|number))")


def sort_left_out(element: Element) -> str | None:
    """Return the sort that an element is counted as where it is left out; None for one that is read."""
    attributes = element.attributes
    if "hidden" in attributes or "display:none" in attributes.get("style", "").replace(" ", ""):
        return "hidden text"
    if element.tag == "table":  # one that holds another one, or headings, lays the page out, as on old sites
        return None if element.first("table", "h1", "h2", "h3") else "table"
    sort = _SORTS["tags"].get(element.tag) or _SORTS["roles"].get(attributes.get("role", ""))
    if sort or element.tag in ("body", "html", "main"):
        return sort
    if element.tag not in BLOCKS:
        return "footnote" if _FOOTNOTE.search(attributes.get("class", "").lower()) else None
    named = (_SORTS["names"][name] for name in names_of(element) if name in _SORTS["names"])
    return next(named, None) or _sort_by_words(element)


def _sort_by_words(element: Element) -> str | None:
    """Return the sort that the words of an element's class announce; of its id, only what no section is called."""
    classes = set(_WORD_OF_NAME.findall(element.attributes.get("class", "").lower()))
    own_id = set(_WORD_OF_NAME.findall(element.attributes.get("id", "").lower())) & _NEVER_SECTIONS
    return next((_SORTS["words"][word] for word in sorted(classes | own_id) if word in _SORTS["words"]), None)


def names_of(element: Element) -> list[str]:
    """Return the words of an element's class, and its id, in small letters."""
    return [*element.attributes.get("class", "").lower().split(), element.attributes.get("id", "").lower()]


def sort_of_section(title: str) -> str | None:
    """Return the sort that a section of this title is counted as where it is left out; None for one that is read."""
    section = section_of(title)
    is_left_out = section in (SectionSort.REFERENCES, SectionSort.BACK_MATTER)
    return _SORTS["titles"].get(plain_title(title)) or (section.value if section and is_left_out else None)


# What a page says of its lists of other papers: how these were chosen, and what they are.
_CHOSEN = re.compile(
    r"(?i)\b(?:recommend|suggest|related|similar|citing|trending|popular|latest|featured|most|more|further|also|next|other"
    r"|for you|like)\w*"
)
_OTHERS = re.compile(
    r"(?i)\b(?:articles?|papers?|contents?|read(?:s|ing)?|stories|posts?|publications?|view(?:ed|s)?|like|for you)\b"
)
_MOST_WORDS_OF_OTHERS = 6
_APPENDIX = re.compile(
    r"(?i)append|supplement|supporting|additional|extended data|glossary|abbreviat|nomenclature|[A-Z][.\d]*:?\s"
)


def sections_of_others(root: Element, *, is_page: bool) -> dict[int, str]:
    """Return id of heading -> sort, for the sections of a page that are not its paper's.

    These are, behind the last section that papers have, lists of other papers; and all that a page has behind the
    references, but appendices.
    """
    headings = [heading for heading in root.all(*HEADINGS) if heading.text]
    sections = [section_of(heading.text) for heading in headings]
    last = max((n for n, section in enumerate(sections) if section is SectionSort.BODY), default=-1)
    of_references = [n for n, section in enumerate(sections) if section is SectionSort.REFERENCES]
    found: dict[int, str] = {}
    for number, heading in enumerate(headings[last + 1 :], last + 1):
        if (
            len(heading.text.split()) <= _MOST_WORDS_OF_OTHERS
            and _CHOSEN.search(heading.text)
            and _OTHERS.search(heading.text)
        ):
            found[id(heading)] = "navigation"
        elif is_page and of_references and number > of_references[-1] and sections[number] is None:
            is_deeper = heading.tag > headings[of_references[-1]].tag
            if not is_deeper and not _APPENDIX.match(heading.text):
                found[id(heading)] = "behind the references"
    return found


_PARAGRAPHS = frozenset(NAMES["html"]["paragraphs"])
_BESIDE, _OF_FLOATS = lists_of("html_beside"), lists_of("html_floats")
_NO_TEXT = frozenset({"script", "form", "navigation", "hidden text", "media", "page metadata"})
_OF_TABLES = frozenset({"table", "thead", "tbody", "tfoot", "tr", "td", "th"})
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
    def __init__(self, *, title: Element | None, count: Loss, is_page: bool) -> None:
        self.abstract: Element = Element("abstract")
        self.body: Element = Element("body")
        self._title, self._count, self._is_page = title, count, is_page
        self._of_others: dict[int, str] = {}
        self.title: Element = self._inline(title) if title else Element("title")
        self._around = _Around(self.body)
        self._outer: list[_Around] = []  # around the element that holds the abstract
        self._paragraph: list[Element | Characters] = []
        self._n_open = dict.fromkeys(_PARAGRAPHS, 0)  # of each element of paragraphs
        self._n_breaks = 0  # right before this place
        self.beside: list[tuple[Element, tuple[str, ...], int]] = []  # what is no running text, as JATS has it
        self._n_kept = 0

    def find(self, root: Element) -> None:
        """Fill ``abstract`` and ``body`` with the sections of an element."""
        with_blocks = _with_blocks(root)
        self._of_others = sections_of_others(root, is_page=self._is_page)
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
                self._add_beside(sort, node)
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
        is_further = _is_abstract(element) and not self._outer and self._has_abstract
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
            self._n_kept = 0

    def _enter_section(self, heading: Element) -> None:
        self._flush()
        text, title = heading.text, Element("title", children=self._inline(heading).children)
        if not text:
            return
        around = self._around
        if self._outer and not self.abstract.children and "abstract" in text.lower():
            self.abstract.children.append(title)
            return
        around.outline.enter(text, level=HEADINGS.index(heading.tag) + 1)
        depth = len(around.outline.path) - 1
        del around.sections[depth:], around.sorts[depth:]
        is_of_body = any(section_of(above) is SectionSort.BODY for above in around.outline.path[:-1])
        is_abstract = is_abstract_title(text) and not is_of_body  # as a summary of the discussion is
        is_further = is_abstract and self._has_abstract
        sort = self._of_others.get(id(heading)) or sort_of_section(text)
        around.sorts.append("further abstract" if is_further else sort)
        if is_abstract and not is_further and not self._outer:
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
    def _has_abstract(self) -> bool:
        """Whether there is an abstract with more than its title."""
        return any(isinstance(child, Element) and child.tag != "title" for child in self.abstract.children)

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
            self._add_beside(sort, paragraph)
        elif self._is_menu(paragraph):
            self._count_out("navigation", paragraph)
        elif not any(self._n_open.values()) and not (len(text) >= least and _SENTENCES.search(text)):
            self._count_out("other text", paragraph)
        else:
            (around.sections[-1] if around.sections else around.base).children.append(paragraph)
            around.outline.pass_paragraph()
            self._n_kept += 1

    def _add_beside(self, sort: str, element: Element) -> None:
        if sort not in _BESIDE:
            return
        path = tuple(title.rstrip("".join(_SIGNS)) for title in self._around.outline.path)
        made = _beside_as_jats(element, _BESIDE[sort])
        last, _, paragraph = self.beside[-1] if self.beside else (made, (), -1)
        if element.tag == last.tag[:5] == "table" and paragraph == self._n_kept and not last.first("table"):
            last.children.extend(made.children)  # its caption is a paragraph before it
            return
        if element.tag == "p" and self._left_out:
            made.children.insert(0, Element("title", children=[unplaced("".join(path[-1:]))]))
        elif element.tag == "p":
            made = Element(made.tag, children=[Element("caption", children=made.children)])
        self.beside.append((made, path, self._n_kept))

    def _is_menu(self, paragraph: Element) -> bool:
        """Say whether a paragraph is little but links, and no ``p`` of a section, as one with a register's number."""
        if not self._is_page:
            return False
        is_of_section = bool(self._outer or self._around.sections) and self._n_open["p"] > 0
        n_linked = sum(len(link.text) for link in paragraph.all("a"))
        return not is_of_section and n_linked > _MOST_LINKED * len(paragraph.text)

    def _count_out(self, sort: str, element: Element) -> None:
        if sort in ("table", "figure") or element.text:
            self._count.leave_out(sort, element.raw_text)

    def _inline(self, element: Element) -> Element:
        """Return an element of a line, or a heading, as JATS has it, without what is left out."""

        def part(child: Element) -> Element | None:
            if sort := sort_left_out(child):
                self._count_out(sort, child)
            return None if sort else _as_jats(child)

        top = _as_jats(element)
        return top if top is element else _copied(top, element.children, part)


def _copied(
    top: Element, children: Sequence[Element | Characters], part: Callable[[Element], Element | None]
) -> Element:
    """Fill an element with children as ``part`` makes them, those of all but formulas within; None: left out."""
    waiting = [(top, iter(children))]
    while waiting:
        parent, rest = waiting[-1]
        child = next(rest, None)
        if child is None:
            waiting.pop()
        elif isinstance(child, Characters):
            parent.children.append(child)
        elif (made := part(child)) and (child.tag != "a" or child.text not in _SIGNS):
            (top if made.tag == "label" else parent).children.append(made)
            if made is not child:
                waiting.append((made, iter(child.children)))
    return top


def _as_jats(element: Element) -> Element:
    """Return an element of a line by its name in JATS, empty but for a formula."""
    attributes = element.attributes
    target = attributes.get("href", "").partition("#")[2]
    if element.tag == "a" and target:
        return Element("xref", {"ref-type": "other" if _ELSEWHERE.search(target) else "bibr"})
    if element.tag in FORMULAS:
        return element
    if not _TEX_NAMES.isdisjoint(attributes.get("class", "").split()):
        return Element("tex-math")
    return Element("break" if element.tag == "br" else element.tag if element.tag in ("a", "sup", "sub") else "span")


def _beside_as_jats(root: Element, tag: str) -> Element:
    """Return a table, a figure or notes as JATS has them: label, caption, rows, foot."""
    is_captioned = tag in ("table-wrap", "fig")

    def part(element: Element) -> Element | None:
        if sort_left_out(element) in _NO_TEXT:
            return None
        if element.tag in _OF_TABLES:
            return Element(element.tag, element.attributes)
        floats = sorted(_OF_FLOATS[name] for name in (element.tag, *names_of(element)) if name in _OF_FLOATS)
        if floats and is_captioned:
            return Element(floats[0])
        if element.tag in HEADINGS:
            return Element("label" if is_captioned else "title")
        return Element("p") if element.tag in BLOCKS else _as_jats(element)

    top = _copied(Element(tag), [root] if root.tag == "table" else root.children, part)
    if is_captioned and not top.first("caption"):  # it is what stands before the table, or around the picture
        name = "caption"
        for number, child in enumerate(top.children):
            if isinstance(child, Element) and (child.tag == "table" or child.first("table")):
                name = "table-wrap-foot"
            elif isinstance(child, Element) and child.tag == "p":
                top.children[number] = Element(name, children=[child])
    return top


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

# What a page asks in place of its article; every page has such words in its head.
_BEHIND_LOGIN = re.compile(
    r"(?i)(?:sign|log) ?in (?:to|with|via|through|or) \w+|access through your institution|"
    r"institutional (?:login|access)|(?:purchase|buy) (?:access|this|the|a)\b|subscribe to (?:read|continue|access)"
)


def is_html(content: bytes) -> bool:
    """Say whether content is a web page, or a part of one."""
    tag = root_tag(content)
    if tag in ("html", "head", "body") or _DOCTYPE.match(content):
        return True
    return tag in _PARTS_OF_PAGES and not _MARKED_UP.search(beginning(content[:_HEAD_BYTES]))


def read_html(content: bytes, name: str) -> Paper:
    page = parse_html(_text(content, name), name=name)
    root = article_root(page)
    if root is None:
        raise _refusal(name, "a list of articles, as search results are", "give the page of one of them")
    metadata: dict[str, str] = {}  # the first of each name
    for meta in page.all("meta"):
        key = meta.attributes.get("name") or meta.attributes.get("property") or ""
        metadata.setdefault(key.lower(), " ".join(meta.attributes.get("content", "").split()))
    ids: dict[str, str] = {}
    for scheme, (pattern, keys) in _IDS.items():
        if match := next(filter(None, (pattern.search(metadata.get(key, "")) for key in keys)), None):
            ids[scheme] = match[0]
    title = title_in(page, root, metadata)
    return paper_of_page(root, title, name=name, file_format="HTML", ids=ids, page_text=page.raw_text)


def paper_of_page(
    root: Element,
    title: Element | None,
    *,
    name: str,
    file_format: str,
    ids: Mapping[str, str] | None = None,
    page_text: str | None = None,
    count: Loss | None = None,
) -> Paper:
    """Return the paper of an article; ``title`` is in it or not; ``page_text`` tells pages without an article.

    ``count`` has what was left out already.
    """
    count = Loss() if count is None else count
    n_before, n_in_page = count.n_counted, n_placed(root)
    keep_one_form(root)
    if n_other := n_in_page - n_placed(root):
        count.leave_out(OTHER_FORMS, "x" * n_other)
    finder = SectionFinder(title=title, count=count, is_page=page_text is not None)
    finder.find(root)
    if page_text is not None:
        n_abstract = n_visible(finder.abstract.raw_text)
        n = n_abstract + n_visible(finder.body.raw_text)
        obstacle = None
        if not n_abstract and n < _LEAST_TEXT_BESIDE:
            obstacle = _OBSTACLES.search(page_text) or _BEHIND_LOGIN.search(finder.body.raw_text)
        if obstacle:
            advice = "open the article in a browser, and save it from there"
            raise _refusal(name, f"a page that says '{obstacle[0]}'", advice)
        if n < _LEAST_TEXT:
            raise _refusal(name, "a page almost without paragraphs", "give the page of the article itself")
    blocks = BlockReader(Kind.HEADING, count).read(finder.title)[:1]
    paper_title = blocks[0].text.text if blocks else ""
    blocks += BlockReader(Kind.ABSTRACT, count).read(finder.abstract)
    blocks += BlockReader(Kind.BODY, count).read(finder.body)
    count.check(n_in_page, n_before=n_before)
    units = UnitReader()
    for beside in finder.beside:
        units.read(*beside)
    return units.paper(blocks, count, name=name, file_format=file_format, title=paper_title, ids=ids or {})


def _text(content: bytes, name: str) -> str:
    """Return a page's characters: as UTF-8 where they are, as saved pages can be, else as the page declares."""
    declared, codec = _CHARSET.search(content[:_HEAD_BYTES]), "utf-8"
    if declared and not mark_of(content)[0]:
        try:
            content.decode()
        except UnicodeDecodeError:
            codec = known_codec(declared[1].decode(), name)
    return decoded(content, name=name, declared=codec)


def _refusal(name: str, what: str, advice: str) -> UnreadableError:
    return UnreadableError(f"{name}: expected an article in HTML, got {what}; {advice}, or give its PDF or XML")
