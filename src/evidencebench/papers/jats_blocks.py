"""Headings and paragraphs out of the elements of a JATS article.

No text is lost by the way that an article is built: all that stands in the element is read, in order, except what
`LEFT_OUT` names. An element of `_BLOCKS` begins and ends a paragraph, and any other stands within one.
"""

from evidencebench.papers.blocks import Block
from evidencebench.papers.losses import LossCount, Part, n_visible
from evidencebench.papers.markup_tree import Characters, Element, ElementEnd
from evidencebench.papers.running_text import RunningText
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


class BlockReader:
    """Reads the blocks of an element; in an abstract, titles begin a paragraph: ``Results: Pressure fell``."""

    def __init__(self, kind: Kind, *, part: Part, count: LossCount) -> None:
        self._kind, self._part, self._count = kind, part, count
        # In a title, references lead to footnotes.
        self._left_out = LEFT_OUT | {"xref": "footnote"} if kind is Kind.HEADING else LEFT_OUT
        self._blocks: list[Block] = []
        self._path: list[str] = ["Abstract"] if kind is Kind.ABSTRACT else []
        self._depths: list[int] = []  # for each open section, how many titles are around it
        self._open: list[str] = []
        self._text = RunningText()
        self._is_lead = False  # whether all that was written leads the paragraph to come

    def read(self, root: Element) -> list[Block]:
        """Return the blocks of an element, in order."""
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
                self._add_formula(node)
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
            self._count.keep(self._part, text.without_marks)
            self._blocks.append(Block(text=text, kind=kind, section=tuple(self._path) if section is None else section))

    def _forms(self, alternatives: Element) -> list[Element | Characters]:
        """Return the best of several forms of the same thing, and count the others."""
        forms = list(alternatives.elements)
        best = min(forms, key=lambda form: _FORMS.index(form.tag) if form.tag in _FORMS else len(_FORMS), default=None)
        for form in forms:
            if form is not best:
                leave_out(form, LEFT_OUT.get(form.tag, _OTHER_FORMS), self._count)
        return [best] if best else []

    def _add_formula(self, formula: Element) -> None:
        self._is_lead = False
        n_before, kept = n_visible(formula.raw_text), self._text.add_formula(formula)
        self._count.read(self._part, kept)
        if n_before > n_visible(kept):
            self._count.leave_out(_OTHER_FORMS, "x" * (n_before - n_visible(kept)), n_elements=1)


def leave_out(element: Element, sort: str, count: LossCount) -> None:
    """Count an element that is left out, or the parts that it consists of."""
    unit = _UNITS.get(sort)
    n_units = 0 if unit is None else sum(1 for _ in element.all(unit))
    count.leave_out(sort, element.raw_text, n_elements=n_units or 1)
