"""JATS XML and its forerunner NLM, as PubMed Central and publishers give them."""

import re
from dataclasses import replace

from evidencebench.papers.blocks import Block, paper_of
from evidencebench.papers.ids import ids_of_pairs
from evidencebench.papers.paper import Loss, Paper, Part, n_visible
from evidencebench.papers.text import RunningText
from evidencebench.papers.tree import Characters, Element, ElementEnd
from evidencebench.query import Kind

LEFT_OUT = {
    **dict.fromkeys(("table-wrap", "table-wrap-group", "table", "array"), "table"),
    **dict.fromkeys(("fig", "fig-group", "graphic", "inline-graphic", "chem-struct", "chem-struct-wrap"), "figure"),
    **dict.fromkeys(("disp-formula", "disp-formula-group"), "display formula"),
    **dict.fromkeys(("fn", "fn-group"), "footnote"),
    "ref-list": "references",
    "ack": "acknowledgements",
    "supplementary-material": "supplementary material",
    **dict.fromkeys(("media", "inline-media"), "media"),
    "code": "code",
    "kwd-group": "keyword",
    **dict.fromkeys(
        ("sec-meta", "object-id", "permissions", "alt-text", "long-desc", "processing-meta"), "note on a part"
    ),
}
"""Element -> the sort that it is counted as where it is left out."""

# What is counted of a sort, where several stand in what is left out.
_UNITS = {"references": "ref", "footnote": "fn", "table": "table-wrap", "figure": "fig", "keyword": "kwd"}

_SECTIONS = frozenset({"abstract", "sec", "boxed-text", "app"})
_BLOCKS = _SECTIONS | {
    "attrib", "body", "caption", "def", "def-head", "def-item", "def-list", "disp-quote", "list", "list-item", "p",
    "preformat", "speech", "statement", "subtitle", "term-head", "title", "verse-group", "verse-line",
}  # fmt: skip

# Elements whose text begins the paragraph behind them, and what stands between.
_LEADS = {"label": " ", "term": ": ", "speaker": ": "}

# The forms of a formula, best first.
_FORMS = ("math", "tex-math")
_OTHER_FORMS = "other form of a formula"

# Kind of blocks -> the part of the paper that they count to.
PARTS: dict[Kind, Part] = {Kind.HEADING: "title", Kind.ABSTRACT: "abstract", Kind.BODY: "body"}


class BlockReader:
    """Reads the blocks of an element; in an abstract, titles begin a paragraph: ``Results: Pressure fell``."""

    def __init__(self, kind: Kind, count: Loss) -> None:
        self._kind, self._part, self._count = kind, PARTS[kind], count
        # In a title, references lead to footnotes.
        self._left_out = LEFT_OUT | {"xref": "footnote"} if kind is Kind.HEADING else LEFT_OUT
        self._blocks: list[Block] = []
        self._path: list[str] = ["Abstract"] if kind is Kind.ABSTRACT else []
        self._depths: list[int] = []  # for each open section, how many titles are around it
        self._open: list[str] = []
        self._text = RunningText()
        self._is_lead = False  # whether all that was written leads the paragraph to come

    def read(self, root: Element) -> list[Block]:
        waiting: list[Element | Characters | ElementEnd] = [root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Characters):
                self._count.read(self._part, node.text if node.start < node.stop else "")
                self._is_lead = self._is_lead and not node.text.strip()
                self._text.add(node)
            elif isinstance(node, ElementEnd):
                self._open.pop()
                self._leave(node.element)
            elif sort := self._left_out.get(node.tag):
                leave_out(node, sort, self._count)
                self._text.add_mark("" if sort == "footnote" else " ")
            elif node.tag in _FORMS:
                self._is_lead = False
                n_before, kept = n_visible(node.raw_text), self._text.add_formula(node)
                self._count.read(self._part, kept)
                if n_before > n_visible(kept):
                    self._count.leave_out(_OTHER_FORMS, "x" * (n_before - n_visible(kept)))
            else:
                self._enter(node)
                self._open.append(node.tag)
                waiting.append(ElementEnd(node))
                waiting.extend(reversed(self._forms(node) if node.tag == "alternatives" else node.children))
        self._flush(self._kind)
        return self._blocks

    def _enter(self, element: Element) -> None:
        if element.tag in _BLOCKS or element.tag in _LEADS:
            if not self._is_lead:
                self._flush(self._kind)
            if element.tag in _SECTIONS:
                self._depths.append(len(self._path) if self._depths else 0)
        elif element.tag in ("break", "hr"):
            self._text.add_mark(" ")
        else:
            self._text.enter(element)

    def _leave(self, element: Element) -> None:
        if element.tag in _LEADS:
            self._lead(_LEADS[element.tag])
        elif element.tag == "title" and self._is_heading():
            self._end_title(element)
        elif element.tag in _BLOCKS:
            self._flush(self._kind)
            if element.tag in _SECTIONS:
                del self._path[self._depths.pop() :]
        else:
            self._text.leave(element)

    def _is_heading(self) -> bool:
        """Say whether a title in the elements that are open is a section's, and not that of a list."""
        around = self._open[-2:] if self._open[-1:] == ["caption"] else self._open[-1:]
        return bool(around) and around[0] in _SECTIONS

    def _end_title(self, title: Element) -> None:
        del self._path[self._depths[-1] :]
        section = tuple(self._path)
        if text := title.text.rstrip(" .:"):
            self._path.append(text)
        if self._kind is Kind.ABSTRACT and len(self._depths) > 1:
            self._lead(": ")
        else:
            self._flush(Kind.HEADING, section)

    def _lead(self, mark: str) -> None:
        if self._text.is_empty:
            return
        self._text.end_lead(mark)
        self._is_lead = True

    def _flush(self, kind: Kind, section: tuple[str, ...] | None = None) -> None:
        text = self._text.finish()
        self._text = RunningText()
        self._is_lead = False
        if text.text:
            without_marks = "".join(text.text[run.at : run.end] for run in text.runs if run.start < run.stop)
            self._count.keep(self._part, without_marks)
            self._blocks.append(Block(text=text, kind=kind, section=tuple(self._path) if section is None else section))

    def _forms(self, alternatives: Element) -> list[Element | Characters]:
        """Return the best of several forms of the same thing, and count the others."""
        forms = list(alternatives.elements)
        best = min(forms, key=lambda form: _FORMS.index(form.tag) if form.tag in _FORMS else len(_FORMS), default=None)
        for form in forms:
            if form is not best:
                leave_out(form, LEFT_OUT.get(form.tag, _OTHER_FORMS), self._count)
        return [best] if best else []


def leave_out(element: Element, sort: str, count: Loss) -> None:
    """Count an element that is left out, or the parts that it consists of."""
    unit = _UNITS.get(sort)
    n_units = 0 if unit is None else sum(1 for _ in element.all(unit))
    count.leave_out(sort, element.raw_text, n_elements=n_units or 1)


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
        within = [child for child in article.elements if child.tag in _WITHIN and _child(child, "body")]
        articles.extend([article] if _child(article, "body") or not within else within)
    return articles


def read_article(article: Element, name: str) -> Paper:
    """Return the paper in an ``article``, ``sub-article`` or ``response``."""
    count = Loss()
    meta = _meta(article)
    title = _title(meta, count)
    blocks = [*title, *_abstract(meta, count)]
    for part in article.elements:
        if part.tag == "body":
            blocks.extend(BlockReader(Kind.BODY, count).read(part))
        elif part.tag in ("back", "floats-group", "floats-wrap"):
            for inner in part.elements:
                leave_out(inner, LEFT_OUT.get(inner.tag) or _BACK.get(inner.tag, "other back matter"), count)
                for tag in ("table-wrap", "fig") if inner.tag not in LEFT_OUT else ():  # of a section such as "Tables"
                    if n_within := sum(1 for _ in inner.all(tag)):
                        count.leave_out(LEFT_OUT[tag], "", n_elements=n_within)
        elif part.tag in _WITHIN:
            leave_out(part, _BACK[part.tag], count)
    paper = paper_of(
        blocks,
        name=name,
        file_format=FORMAT,
        title=title[0].text.text if title else "",
        ids=ids_of_article(article),
        loss=count,
    )
    return replace(paper, year=_year(meta))


def ids_of_article(article: Element) -> dict[str, str]:
    ids = (element for element in _meta(article).elements if element.tag == "article-id")
    return ids_of_pairs((element.attributes.get("pub-id-type", ""), element.text) for element in ids)


def _year(meta: Element) -> int | None:
    """Return the first year of publication, as online ahead of print."""
    dates = (element for element in meta.elements if element.tag == "pub-date")
    texts = (child.text.strip() for date in dates for child in date.elements if child.tag == "year")
    return min((int(text) for text in texts if re.fullmatch("[0-9]{4}", text)), default=None)


def _meta(article: Element) -> Element:
    """Return what holds the title and the abstract: a ``front`` can do without ``article-meta``."""
    front = _child(article, "front") or _child(article, "front-stub") or Element("front")
    return _child(front, "article-meta") or front


def _title(meta: Element, count: Loss) -> list[Block]:
    group = _child(meta, "title-group") or Element("title-group")
    parts = [part for part in group.elements if part.tag in ("article-title", "subtitle")]
    for part in group.elements:
        if part.tag in ("trans-title-group", "trans-title", "trans-subtitle"):
            leave_out(part, "translated title", count)
    # A colon stands between title and subtitle, as between a term and what it means.
    line: list[Element | Characters] = [Element("term", children=part.children) for part in parts[:-1]]
    line += [Element("p", children=part.children) for part in parts[-1:]]
    return BlockReader(Kind.HEADING, count).read(Element("title-group", children=line))[:1]


def _abstract(meta: Element, count: Loss) -> list[Block]:
    abstracts = [part for part in meta.elements if part.tag == "abstract"]
    primary = [part for part in abstracts if part.attributes.get("abstract-type", "").lower() not in _SECONDARY]
    main = next(iter(primary or abstracts), None)
    for part in meta.elements:
        if part.tag in ("abstract", "trans-abstract") and part is not main:
            leave_out(part, "further abstract", count)
        elif part.tag in ("kwd-group", "author-notes"):
            leave_out(part, LEFT_OUT.get(part.tag, "author note"), count)
    return BlockReader(Kind.ABSTRACT, count).read(main) if main else []


def _child(element: Element, tag: str) -> Element | None:
    return next((child for child in element.elements if child.tag == tag), None)
