"""Papers in TEI XML, as GROBID makes them from PDF files."""

from evidencebench.papers.blocks import Block
from evidencebench.papers.ids import ids_of_pairs
from evidencebench.papers.jats import BlockReader, UnitReader, leave_out
from evidencebench.papers.paper import Loss, Paper
from evidencebench.papers.text import NUMBERS
from evidencebench.papers.tree import Characters, Element, lists_of
from evidencebench.query import Kind

FORMAT = "TEI XML"

_NAMES = lists_of("tei")  # as JATS has them, so that one reader reads both
_BACK = {"references": "references", "acknowledgement": "acknowledgements", "annex": "appendix"}


def read_tei(tei: Element, name: str) -> Paper:
    count, units = Loss(), UnitReader()
    header = tei.first("teiheader") or Element("teiheader")
    title, abstract = (header.first("titlestmt") or header).first("title"), header.first("abstract")
    blocks = _blocks(title, Kind.HEADING, count, None)[:1] + _blocks(abstract, Kind.ABSTRACT, count, units)
    for keywords in header.all("keywords"):
        units.read(_renamed(keywords))
    blocks += _blocks(tei.first("body"), Kind.BODY, count, units)
    for back in tei.all("back"):
        for part in back.elements:
            renamed, sort = _renamed(part), part.attributes.get("type", "")
            leave_out(renamed, _BACK.get(sort, "other back matter"), count)
            if sort != "references":
                units.read(Element(sort or "notes", children=renamed.children))
    ids = ((idno.attributes.get("type", ""), idno.text) for idno in header.all("idno"))
    text = title.text if title else ""
    return units.paper(blocks, count, name=name, file_format=FORMAT, title=text, ids=ids_of_pairs(ids))


def _blocks(element: Element | None, kind: Kind, count: Loss, units: UnitReader | None) -> list[Block]:
    return BlockReader(kind, count, units).read(_renamed(element)) if element else []


def _renamed(root: Element) -> Element:
    renamed = _as_jats(root)
    waiting = [(root, renamed)]
    while waiting:
        source, target = waiting.pop()
        if number := source.attributes.get("n") if source.tag == "head" else None:
            # A heading's number, which the file has in an attribute, is text that the source lacks.
            at = next((piece.start for piece in source.characters()), 0)
            target.children.append(Characters(f"{number} ", at, at))
        for child in source.children:
            if isinstance(child, Characters):
                target.children.append(child)
                continue
            copy = _as_jats(child)
            # GROBID does not say that a reference is raised; one in brackets of its own has them in its text.
            is_raised = copy.attributes.get("ref-type") == "bibr" and NUMBERS.fullmatch(child.text)
            target.children.append(Element("sup", children=[copy]) if is_raised else copy)
            if child.tag == "s":
                target.children.append(Element("break"))  # between sentences there may be no space
            waiting.append((child, copy))
    return renamed


def _as_jats(element: Element) -> Element:
    """Return an empty element by its name in JATS, with what a reference leads to."""
    if element.tag == "ref":
        return Element("xref", {"ref-type": element.attributes.get("type", "")})
    if element.tag == "figure":
        return Element("table-wrap" if element.attributes.get("type") == "table" else "fig")
    if element.tag == "hi":
        rend = element.attributes.get("rend", "")
        return Element("sup" if rend.startswith("sup") else "sub" if rend.startswith("sub") else "italic")
    return Element(_NAMES.get(element.tag, element.tag), element.attributes)
