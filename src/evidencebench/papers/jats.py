"""JATS XML and its forerunner NLM, as PubMed Central and publishers give them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from evidencebench.errors import UnreadableError
from evidencebench.papers.blocks import Block, paper_of
from evidencebench.papers.formulas import UNKNOWN
from evidencebench.papers.ids import ids_of_pairs
from evidencebench.papers.lines import split_caption
from evidencebench.papers.paper import Loss, Paper, Part, Place, UnitKind, n_visible
from evidencebench.papers.sections import BACK_MATTER_STEMS
from evidencebench.papers.text import RunningText
from evidencebench.papers.tree import FORMULAS, NAMES, Characters, Element, ElementEnd, lists_of
from evidencebench.papers.units import Cell, UnitWriter
from evidencebench.query import Kind
from evidencebench.tables import shortened

LEFT_OUT = lists_of("jats_left_out")
"""Element -> the sort that it is counted as where it is left out."""

# What is counted of a sort, where several stand in what is left out.
_UNITS = {"references": "ref", "footnote": "fn", "table": "table-wrap", "figure": "fig", "keyword": "kwd"}

_SETS = {name: frozenset(tags) for name, tags in NAMES["jats"].items()}
_SECTIONS, _BLOCKS = _SETS["sections"], _SETS["blocks"]

# Elements whose text begins the paragraph behind them, and what stands between.
_LEADS = {"label": " ", "term": ": ", "speaker": ": "}

OTHER_FORMS = "other form of a formula"

# Kind of blocks -> the part of the paper that they count to.
PARTS: dict[Kind, Part] = {Kind.HEADING: "title", Kind.ABSTRACT: "abstract", Kind.BODY: "body"}


class BlockReader:
    """Reads the blocks of an element; in an abstract, titles begin a paragraph: ``Results: Pressure fell``."""

    def __init__(self, kind: Kind, count: Loss, units: "UnitReader | None" = None) -> None:
        self._kind, self._part, self._count, self._units = kind, PARTS[kind], count, units
        # In a title, references lead to footnotes.
        self._left_out = LEFT_OUT | {"xref": "footnote"} if kind is Kind.HEADING else LEFT_OUT
        self._blocks: list[Block] = []
        self._path: list[str] = ["Abstract"] if kind is Kind.ABSTRACT else []
        self._depths: list[int] = []  # for each open section, how many titles are around it
        self._open: list[str] = []
        self._text = RunningText()
        self._is_lead = False  # whether all that was written leads the paragraph to come

    def read(self, root: Element) -> list[Block]:
        n_before, n_added = self._count.n_counted, 0  # by writing formulas otherwise
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
                if self._units:
                    self._units.read(node, tuple(self._path))
                self._text.add_mark("" if sort == "footnote" else " ")
            elif node.tag in FORMULAS:
                self._is_lead = False
                n_less = n_visible(node.raw_text) - n_visible(kept := self._text.add_formula(node))
                self._count.read(self._part, kept)
                for sign in UNKNOWN.findall(kept):
                    self._count.leave_out("unknown sign of a formula", sign)
                    n_added += len(sign)
                if n_less > 0:
                    self._count.leave_out(OTHER_FORMS, "x" * n_less)
                n_added += max(0, -n_less)
            else:
                self._enter(node)
                self._open.append(node.tag)
                waiting.append(ElementEnd(node))
                waiting.extend(reversed(self._shown(node)))
        self._flush(self._kind)
        self._count.check(n_placed(root) + n_added, n_before=n_before)
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
        without_marks = "".join(text.text[run.at : run.end] for run in text.runs if run.start < run.stop)
        if without_marks:
            self._count.keep(self._part, without_marks)
            if self._units and kind is not Kind.HEADING:
                self._units.n_paragraphs += 1
            self._blocks.append(Block(text=text, kind=kind, section=tuple(self._path) if section is None else section))

    def _shown(self, element: Element) -> Sequence[Element | Characters]:
        """Return what is read of an element: of several forms the best, and a label once that its title repeats."""
        if element.tag == "alternatives":
            return self._forms(element)
        label, title = element.child("label"), element.child("title")
        number = label.text.rstrip(" .") if label else ""
        if not label or not number or not title or not re.match(rf"{re.escape(number)}(?!\w)", title.text):
            return element.children
        self._count.leave_out("number given twice", label.raw_text)
        return [child for child in element.children if child is not label]

    def _forms(self, alternatives: Element) -> list[Element | Characters]:
        """Return the best of several forms of the same thing, and count the others."""
        forms = list(alternatives.elements)
        best = min(
            forms, key=lambda form: FORMULAS.index(form.tag) if form.tag in FORMULAS else len(FORMULAS), default=None
        )
        for form in forms:
            if form is not best:
                leave_out(form, LEFT_OUT.get(form.tag, OTHER_FORMS), self._count)
        return [best] if best else []


def n_placed(element: Element) -> int:
    """Count the characters of an element that the file has, white space apart."""
    return n_visible("".join(piece.text for piece in element.characters() if piece.start < piece.stop))


def leave_out(element: Element, sort: str, count: Loss) -> None:
    """Count an element that is left out, or the parts that it consists of."""
    unit = _UNITS.get(sort)
    n_units = 0 if unit is None else sum(1 for _ in element.all(unit))
    count.leave_out(sort, element.raw_text, n_elements=n_units or 1)


_SAID_META = re.compile(r"(?i)avail|regist|fund|ethic|interest")  # in names of metadata that are of the paper itself
_SET_IN = "\u00a0\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_NO_CAPTION = re.compile(r"(?i)click here for|open in a new tab|full size (?:table|image)")
_LEAD = re.compile(
    rf"(?i)(?:{BACK_MATTER_STEMS}|sources? of (?:funding|support)|abbreviations)\b[^.:]{{0,40}}(?:[.:]|$)"
)
_LONGEST_LEAD, _MOST_LEADS = 80, 50
_MOST_NESTED = 4  # notes within notes
_MOST_DIGITS = 7  # of the columns that a cell spans
_TABLES, _ROWS, _CELLS = _SETS["tables"], frozenset({"tr", "row"}), frozenset({"td", "th", "cell", "entry"})


class UnitReader(UnitWriter):
    """Makes units of elements that are no running text, by their names in JATS."""

    def __init__(self) -> None:
        super().__init__()
        self.n_paragraphs: int = 0  # before what is read now
        self._place = Place()
        self._depth = 0

    def paper(
        self, blocks: list[Block], loss: Loss, *, name: str, file_format: str, title: str, ids: Mapping[str, str]
    ) -> Paper:
        """Return the paper of blocks, and of the units so far."""
        told = f"Only the first {len(self.units):,} table rows, captions and notes are searched."
        return paper_of(
            blocks,
            name=name,
            file_format=file_format,
            title=title,
            ids=ids,
            loss=loss,
            units=tuple(self.units),
            warnings=(told,) if self.is_full else (),
        )

    def read(self, root: Element, section: tuple[str, ...] = (), paragraph: int | None = None) -> None:
        """Read an element behind the paragraphs so far, unless told; what stands within one has its place."""
        if not self._depth:
            self._place = Place(section=section, paragraph=self.n_paragraphs if paragraph is None else paragraph)
        waiting = [(root, "")]  # with the title of the group that it is in
        self._depth += 1
        while waiting and self._depth <= _MOST_NESTED and not self.is_full:
            element, title = waiting.pop()
            if element.tag in _TABLES:
                self._read_table(element)
            elif element.tag in _SETS["captioned"]:
                self._read_caption(element)
            elif element.tag in _SETS["lists"]:
                self._read_list(element)
            elif element.tag in _SETS["groups"]:
                title = _title_of(element)
                waiting += [(child, title) for child in element.elements][::-1]
            elif element.tag not in _SETS["no_units"]:
                self._read_notes(element, title)
        self._depth -= 1

    def _read_table(self, wrap: Element) -> None:
        label, captions = self._read_caption(wrap)
        for table in outermost(wrap, "table") if wrap.tag == "table-wrap" else [wrap]:
            rows = list(_rows(table))
            n_heads = next((n for n, (_, is_head) in enumerate(rows) if not is_head), 0) or None
            cells = [[self._cell(cell) for cell in row] for row, _ in rows]
            self.add_table(cells, n_heads=n_heads, label=label, caption="".join(captions[:1]), place=self._place)
        notes = (note for foot in outermost(wrap, "table-wrap-foot") for note in outermost(foot, "fn", "p", "attrib"))
        texts = [text for note in notes for text in self._paragraphs(note)]
        self.add_notes(texts, UnitKind.FOOTNOTE, label=label, place=self._place)

    def _cell(self, cell: Element) -> Cell:
        given, raw = cell.attributes, cell.raw_text.lstrip("\n")
        text = " ".join(self._paragraphs(cell) if any(cell.elements) else raw.split())
        n_columns, n_rows = (_number(given.get(f"{name}span") or given.get(f"{name}s")) for name in ("col", "row"))
        indent = len(raw) - len(raw.lstrip(_SET_IN)) + ("padding-left" in given.get("style", ""))
        return Cell(text, n_columns, n_rows, indent)

    def _read_caption(self, element: Element) -> tuple[str, list[str]]:
        """Return the label of a table or figure, and the paragraphs of its caption."""
        label = _label(element)
        parts = outermost(element, "caption", "title")
        texts = [text for part in parts for text in self._paragraphs(part) if not _NO_CAPTION.match(text)]
        texts = [text for text in texts if text.rstrip(" .:") != label and split_caption(text)[1]]
        if texts and not label:
            label, texts[0] = split_caption(texts[0])
        self.add_notes(texts, UnitKind.CAPTION, label=label, place=self._place)
        return label, texts

    def _read_list(self, element: Element) -> None:
        name = element.child("meta-name")  # of metadata of any sort
        if name is None or _SAID_META.search(name.text):
            label = name.text if name else _title_of(element) or _end_title(element)
            values = [part.text for part in element.all(*_SETS["items"])] or [element.text]
            self.add_notes(["; ".join(filter(None, values))], UnitKind.END_MATTER, label=label, place=self._place)

    def _read_notes(self, element: Element, title: str) -> None:
        """Read notes below their titles, which may be their first words; a note without one is a footnote."""
        label = _title_of(element) or _end_title(element) or title or ("" if element.tag == "fn" else "Notes")
        bold = [part.first("bold") for part in islice(element.all("p"), _MOST_LEADS)]
        leads = [part.text for part in bold if part and 0 < len(part.text) <= _LONGEST_LEAD]
        paragraphs: list[str] = []
        for block in [*self._blocks(element), None]:
            text = block.text.text if block else ""
            known = _LEAD.match(text)
            lead = next((lead for lead in leads if text.startswith(lead)), known[0] if known else "")
            lead = text if block and block.kind is Kind.HEADING else lead
            rest = text[len(lead) :].lstrip(" .:")
            if paragraphs and (lead or not block):
                kind = UnitKind.END_MATTER if label else UnitKind.FOOTNOTE
                self.add_notes(paragraphs, kind, label=label, place=self._place)
                paragraphs = []
            label = lead.rstrip(" .:") or label
            paragraphs += [rest] if rest else []

    def _paragraphs(self, element: Element) -> list[str]:
        return [block.text.text for block in self._blocks(element)]

    def _blocks(self, element: Element) -> list[Block]:
        """Return what an element says; what is no running text in it, such as a table of an appendix, is read apart."""
        n_paragraphs = self.n_paragraphs
        blocks = BlockReader(Kind.BODY, Loss(), self).read(Element("sec", children=element.children))
        self.n_paragraphs = n_paragraphs
        return blocks


def outermost(element: Element, *tags: str) -> Iterator[Element]:
    """Yield the elements of these names that are in none of them, in order."""
    waiting = list(element.elements)[::-1]
    while waiting:
        child = waiting.pop()
        if child.tag in tags:
            yield child
        elif child.tag not in _ROWS:  # no row has captions, tables of their own, or notes of the table
            waiting.extend(list(child.elements)[::-1])


def _rows(table: Element) -> Iterator[tuple[list[Element], bool]]:
    """Yield the cells of each row, and whether it is a head."""
    waiting = [(table, False)]
    while waiting:
        part, is_head = waiting.pop()
        if part.tag in _ROWS:
            cells = [cell for cell in part.elements if cell.tag in _CELLS]
            yield cells, is_head or part.attributes.get("role") == "label" or all(cell.tag == "th" for cell in cells)
        elif part.tag != "caption":
            waiting += [(child, is_head or part.tag == "thead") for child in part.elements][::-1]


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS else 1


def _label(element: Element) -> str:
    """Return the label of a table or figure, such as "Table 2", also where the file has its number alone."""
    label = element.child("label")
    text = label.text.rstrip(" .:|") if label else ""
    name = "Table" if element.tag in _TABLES else "Figure" if element.tag == "fig" else ""
    return f"{name} {text}".strip() if text.isdigit() else text


def _title_of(element: Element) -> str:
    return " ".join(part.text.rstrip(" .:") for part in element.elements if part.tag in ("label", "title"))


def _end_title(element: Element) -> str:
    """Return the title of end matter by the names that the file has for it."""
    types = (element.attributes.get(key, "") for key in ("fn-type", "notes-type", "sec-type", "type"))
    words = [word for name in (*types, element.tag) for word in name.lower().split("-")]
    titles = NAMES["jats_end_titles"].items()
    return next((title for word in words for title, starts in titles if word.startswith(starts)), "")


FORMAT = "JATS XML"
_LONGEST_LIST = 100  # characters

_WITHIN = frozenset({"sub-article", "response"})

_BACK = lists_of("jats_back")


def articles_in(root: Element, *, name: str) -> list[Element]:
    """Return the articles of a file, and chapters; one without a body stands for its sub-articles that have one."""
    articles: list[Element] = []
    for article in outermost(Element("", children=[root]), "article", "book-part"):
        if others := {part.tag for part in article.elements} - _SETS["parts"]:
            got = shortened(", ".join(sorted(others)), _LONGEST_LIST)
            raise UnreadableError(
                f"{name}: expected an article in JATS, got XML of another DTD, whose <{article.tag}> has: {got}; give "
                "its JATS or PDF"
            )
        within = [child for child in article.elements if child.tag in _WITHIN and child.child("body")]
        translated = [child for child in within if _is_english_of(child, article)]
        if translated:
            articles.append(_as_article(translated[0], article))
        else:
            articles.extend([article] if article.child("body") or not within else within)
    return articles


def _is_english_of(part: Element, article: Element) -> bool:
    """Say whether a sub-article is the English translation of its article, as journals of SciELO have it."""
    language = article.attributes.get("lang", "en")
    is_english = part.attributes.get("lang", "").startswith("en") and not language.startswith("en")
    return is_english and part.attributes.get("article-type") == "translation"


def _as_article(translated: Element, article: Element) -> Element:
    """Return a translation with the ids and the dates of its article."""
    own = translated.child("front-stub") or Element("front-stub")
    shared = [part for part in _meta(article).elements if part.tag in ("article-id", "pub-date")]
    front = Element("front-stub", children=[*own.children, *shared])
    rest = [part for part in translated.elements if part is not own]
    return Element("article", translated.attributes, [front, *rest])


def read_article(article: Element, name: str) -> Paper:
    """Return the paper in an ``article``, ``sub-article`` or ``response``."""
    count, units = Loss(), UnitReader()
    meta = _meta(article)
    title = _title(meta, count)
    blocks = [*title, *_abstract(meta, count, units)]
    for notes in (part for part in (article.child("front") or meta).elements if part.tag == "notes"):
        units.read(notes)
    for part in article.elements:
        if part.tag == "body":
            blocks += BlockReader(Kind.BODY, count, units).read(part)
        elif part.tag in ("back", "floats-group", "floats-wrap"):
            for inner in part.elements:
                if _is_body(inner):
                    blocks += BlockReader(Kind.BODY, count, units).read(inner)
                    continue
                units.read(inner)
                leave_out(inner, LEFT_OUT.get(inner.tag) or _BACK.get(inner.tag, "other back matter"), count)
                for tag in ("table-wrap", "fig") if inner.tag not in LEFT_OUT else ():  # of a section such as "Tables"
                    if n_within := sum(1 for _ in inner.all(tag)):
                        count.leave_out(LEFT_OUT[tag], "", n_elements=n_within)
        elif part.tag in _WITHIN:
            leave_out(part, _BACK[part.tag], count)
    text, ids = title[0].text.text if title else "", ids_of_article(article)
    paper = units.paper(blocks, count, name=name, file_format=FORMAT, title=text, ids=ids)
    return replace(paper, year=_year(meta), about=_about(article, meta))


_METHODS = re.compile(r"(?i)\b(?:methods?|methodology|experimental (?:section|procedures?))\b")
_OF_BODY = frozenset({"methods", "materials", "results", "subjects", "cases", "intro", "discussion", "conclusions"})


def _is_body(part: Element) -> bool:
    """Say whether a section behind the body is of the paper itself, as the methods of some journals are."""
    if part.tag not in ("sec", "app"):
        return False
    title = part.child("title")
    sorts = part.attributes.get("sec-type", "").lower().split("|")
    return not _OF_BODY.isdisjoint(sorts) or (title is not None and _METHODS.search(title.text) is not None)


def ids_of_article(article: Element) -> dict[str, str]:
    ids = (element for element in _meta(article).elements if element.tag == "article-id")
    return ids_of_pairs((element.attributes.get("pub-id-type", ""), element.text) for element in ids)


def _about(article: Element, meta: Element) -> dict[str, tuple[str, ...]]:
    """Return the authors, the journal and its volume, as far as the file names them."""
    journal = next((article.child("front") or meta).all("journal-title"), None)
    volume = meta.child("volume")
    found = {
        "authors": [
            _person(contrib) for group in meta.elements if group.tag == "contrib-group" for contrib in _authors(group)
        ],
        "journal": [] if journal is None else [journal.text.strip()],
        "volume": [] if volume is None else [volume.text.strip()],
    }
    named = {name: tuple(filter(None, texts)) for name, texts in found.items()}
    return {name: texts for name, texts in named.items() if texts}


def _authors(group: Element) -> Iterator[Element]:
    for contrib in group.elements:
        if contrib.tag == "contrib" and contrib.attributes.get("contrib-type", "author") == "author":
            yield contrib


def _person(contrib: Element) -> str:
    """Return an author as lists of references write it: ``Bean, Ada``; a group by its name."""
    name = next(contrib.all("name"), None)
    if name is None:
        return " ".join(part.text.strip() for part in contrib.elements if part.tag in ("collab", "string-name"))
    parts = (name.child("surname"), name.child("given-names"))
    return ", ".join(part.text.strip() for part in parts if part is not None)


def _year(meta: Element) -> int | None:
    """Return the first year of publication, as online ahead of print."""
    dates = (element for element in meta.elements if element.tag == "pub-date")
    texts = (child.text.strip() for date in dates for child in date.elements if child.tag == "year")
    return min((int(text) for text in texts if re.fullmatch("[0-9]{4}", text)), default=None)


def _meta(article: Element) -> Element:
    """Return what holds the title and the abstract: a ``front`` can do without ``article-meta``."""
    fronts = (article.child(tag) for tag in ("front", "front-stub", "book-part-meta"))
    front = next(filter(None, fronts), Element("front"))
    return front.child("article-meta") or front


def _title(meta: Element, count: Loss) -> list[Block]:
    group = meta.child("title-group") or Element("title-group")
    parts = [part for part in group.elements if part.tag in ("article-title", "title", "subtitle")]
    for part in group.elements:
        if part.tag in ("trans-title-group", "trans-title", "trans-subtitle"):
            leave_out(part, "translated title", count)
    # A colon stands between title and subtitle, as between a term and what it means.
    line: list[Element | Characters] = [Element("term", children=part.children) for part in parts[:-1]]
    line += [Element("p", children=part.children) for part in parts[-1:]]
    return BlockReader(Kind.HEADING, count).read(Element("title-group", children=line))[:1]


def _abstract(meta: Element, count: Loss, units: UnitReader) -> list[Block]:
    abstracts = [part for part in meta.elements if part.tag == "abstract"]
    primary = [part for part in abstracts if part.attributes.get("abstract-type", "").lower() not in _SETS["secondary"]]
    main = next(iter(primary or abstracts), None)
    blocks = BlockReader(Kind.ABSTRACT, count, units).read(main) if main else []
    for part in meta.elements:
        if part.tag in ("abstract", "trans-abstract") and part is not main:
            leave_out(part, "further abstract", count)
        elif part.tag in ("kwd-group", "author-notes"):
            leave_out(part, LEFT_OUT.get(part.tag, "author note"), count)
        elif part.tag not in ("notes", "funding-group", "custom-meta-group", "custom-meta-wrap"):
            continue
        units.read(part)
    return blocks
