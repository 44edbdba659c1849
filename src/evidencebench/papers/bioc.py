"""Papers in BioC, as JSON and as XML, as the service of PubMed Central gives them. Offsets are BioC's own."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Annotated, Any, TypeAlias

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.papers.blocks import each_paper, paper_of
from evidencebench.papers.ids import ids_of_pairs
from evidencebench.papers.jats import PARTS, BlockReader, UnitReader
from evidencebench.papers.paper import Loss, Paper
from evidencebench.papers.tree import Characters, Element, beginning, decoded, parse_xml
from evidencebench.query import Kind

# section_type, or else the beginning of type -> the sort that it is counted as.
_LEFT_OUT = {
    "fig": "figure",
    "table": "table",
    "ref": "references",
    "suppl": "supplementary material",
    "ack_fund": "acknowledgements",
    "abbr": "glossary",
    "keyword": "keyword",
    "appendix": "appendix",
    "auth_cont": "other back matter",
    "comp_int": "other back matter",
    "review_info": "other back matter",
    "footnote": "footnote",
}
# section_type of end matter -> the element of JATS that holds such.
_END_MATTER = {"ack_fund": "ack", "abbr": "glossary", "keyword": "kwd", "appendix": "app", "auth_cont": "contribution",
               "comp_int": "conflict", "footnote": "fn"}  # fmt: skip
_NUMBER_IN_ID = re.compile(r"(?i)(?:^|[-_.])(?:t|tab|tbl|table|f|fig|figure)[-_.]?0*(\d{1,3})$")
_TITLE = re.compile(r"(?:abstract_)?title(?:_(\d))?")
_ID_PREFIX = "article-id_"
_Offset: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=10**12)]


class _Sentence(msgspec.Struct):
    offset: _Offset = 0
    text: str | None = None


class _Passage(_Sentence):
    infons: dict[str, Any] = {}
    sentences: list[_Sentence] = []


class _Document(msgspec.Struct):
    id: str | int = ""
    passages: list[_Passage] = []


def is_bioc_json(content: bytes) -> bool:
    return beginning(content[:100]).lstrip().startswith(("{", "[")) and '"passages"' in beginning(content)


def read_bioc_json(content: bytes, name: str) -> Sequence[Paper | UnreadableError]:
    text = decoded(content, name=name)
    try:
        documents = [msgspec.convert(value, _Document) for value in _documents(msgspec.json.decode(text))]
    except BROKEN_JSON as error:
        raise UnreadableError(f"{name}: expected BioC JSON: {error}; get the file again") from error
    return _papers(documents, name, "BioC JSON")


def read_bioc_xml(root: Element, name: str) -> Sequence[Paper | UnreadableError]:
    documents = [root] if root.tag == "document" else list(root.all("document"))
    return _papers([_document(document, name) for document in documents], name, "BioC XML")


def _documents(root: Any) -> Iterator[Any]:
    """Yield the documents in decoded JSON: those of collections, or in a list of either."""
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict) and "passages" in value:
            yield value
        elif isinstance(value, dict):
            waiting.extend(reversed([inner for inner in value.values() if isinstance(inner, list | dict)]))


def _document(document: Element, name: str) -> _Document:
    passages = [
        _Passage(
            offset=_offset(passage, name),
            text=_direct(passage, "text") or None,
            infons={infon.attributes.get("key", ""): infon.text for infon in passage.elements if infon.tag == "infon"},
            sentences=[
                _Sentence(offset=_offset(sentence, name), text=_direct(sentence, "text"))
                for sentence in passage.elements
                if sentence.tag == "sentence"
            ],
        )
        for passage in document.elements
        if passage.tag == "passage"
    ]
    return _Document(id=_direct(document, "id").strip(), passages=passages)


def _direct(element: Element, tag: str) -> str:
    return next((child.raw_text for child in element.elements if child.tag == tag), "")


def _offset(element: Element, name: str) -> int:
    text = _direct(element, "offset").strip()
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise UnreadableError(f"{name}: BioC XML: expected a number as offset of a passage, got {text[:20]!r}")
    return int(text)


def _papers(documents: Sequence[_Document], name: str, file_format: str) -> list[Paper | UnreadableError]:
    if not documents:
        raise UnreadableError(f"{name}: expected {file_format} with documents, got none; get the file again")
    ids = [str(document.id) for document in documents]
    return each_paper(documents, ids, partial(_paper, file_format=file_format), name)


def _paper(document: _Document, name: str, file_format: str) -> Paper:
    """Return the paper of passages, which are put into the elements of JATS."""
    count, title = Loss(), ""
    parts: list[tuple[Kind, list[Element]]] = []  # each with its element and the sections in it that are open
    for passage in document.passages:
        section, sort = _types(passage)
        paragraph, kind = Element("p", children=_characters(passage)), _kind(section, sort)
        if left_out := _sort_left_out(passage):
            count.leave_out(left_out, paragraph.raw_text)
            continue
        heading = None if kind is Kind.HEADING else _TITLE.fullmatch(sort)
        title = title or (paragraph.text.rstrip(" .:") if kind is Kind.HEADING else "")
        if kind is Kind.HEADING or not parts or parts[-1][0] is not kind:
            parts.append((kind, [Element(PARTS[kind])]))
        around = parts[-1][1]
        if heading is None:
            around[-1].children.append(paragraph)
            continue
        if kind is Kind.ABSTRACT and len(around) > 1:
            if len(around[1].children) == 1:  # a label without a paragraph is one
                around[1].children[:] = [Element("p", children=list(around[1].elements))]
            del around[1:]
        del around[max(1, int(heading[1] or 1)) :]
        new = Element("sec", children=[Element("title", children=paragraph.children)])
        around[-1].children.append(new)
        around.append(new)
    blocks = [block for kind, (element, *_) in parts for block in BlockReader(kind, count).read(element)]
    units = _units(document.passages, name)
    infons = [pair for passage in document.passages for pair in passage.infons.items()]
    ids = [(key.removeprefix(_ID_PREFIX), str(value)) for key, value in infons if key.startswith(_ID_PREFIX)]
    if str(document.id).upper().startswith("PMC"):
        ids.append(("pmcid", str(document.id).upper()))
    return paper_of(
        blocks,
        name=name,
        file_format=file_format,
        title=title,
        ids=ids_of_pairs(ids),
        loss=count,
        units=tuple(units.units),
        warnings=units.warnings,
    )


def _types(passage: _Passage) -> tuple[str, str]:
    section, sort = (str(passage.infons.get(key, "")).lower() for key in ("section_type", "type"))
    return section, sort


def _sort_left_out(passage: _Passage) -> str | None:
    section, sort = _types(passage)
    return _LEFT_OUT.get(section) or _LEFT_OUT.get(sort.partition("_")[0])


def _units(passages: Sequence[_Passage], name: str) -> UnitReader:
    """Read the passages that are no running text; those of one table, figure or section are one element."""
    units = UnitReader()
    for passage in passages[:1]:
        if keywords := passage.infons.get("kwd"):
            units.read(Element("kwd", children=[Characters(str(keywords), 0, 0)]))

    def belongs_to(passage: _Passage) -> tuple[str | None, str, str]:
        return _sort_left_out(passage), str(passage.infons.get("id", "")), _types(passage)[0]

    for (left_out, own_id, section), group in groupby(passages, belongs_to):
        if left_out in (None, "references"):
            continue
        children = [child for passage in group for child in _unit_parts(passage, name)]
        number = _NUMBER_IN_ID.search(own_id)
        label = [Element("label", children=[Characters(number[1], 0, 0)])] if number else []
        if left_out in ("table", "figure"):
            units.read(Element("table-wrap" if left_out == "table" else "fig", children=[*label, *children]))
        else:
            units.read(
                Element(_END_MATTER.get(section, "fn" if left_out == "footnote" else "notes"), children=children)
            )
    return units


def _unit_parts(passage: _Passage, name: str) -> list[Element | Characters]:
    """Return what a passage of a table, figure or note is in JATS; a table's rows come from its XML, else its tabs."""
    sort, characters = _types(passage)[1], _characters(passage)
    if "footnote" in sort and _types(passage)[0] in ("table", "fig"):
        return [Element("table-wrap-foot", children=[Element("p", children=characters)])]
    if "caption" in sort:
        return [Element("caption", children=[Element("p", children=characters)])]
    if sort == "table":
        try:
            return [Element("table", children=[parse_xml(str(passage.infons.get("xml", "")).encode(), name=name)])]
        except UnreadableError:
            text = "".join(piece.text for piece in characters if isinstance(piece, Characters))
            cells = (
                [Element("td", children=[Characters(cell, 0, 0)]) for cell in line.split("\t")]
                for line in text.splitlines()
            )
            return [Element("table", children=[Element("tr", children=list(row)) for row in cells])]
    return [Element("title" if _TITLE.fullmatch(sort) else "p", children=characters)]


def _kind(section: str, sort: str) -> Kind:
    if section == "title" or (not section and sort in ("front", "title")):
        return Kind.HEADING
    return Kind.ABSTRACT if section == "abstract" or sort.startswith("abstract") else Kind.BODY


def _characters(passage: _Passage) -> list[Element | Characters]:
    """Return the text of a passage by its offset, or that of its sentences, with a space that the file lacks behind."""
    characters: list[Element | Characters] = []
    for piece in [passage] if passage.text is not None else passage.sentences:
        if text := piece.text:
            stop = piece.offset + len(text)
            characters += [Characters(text, piece.offset, stop), Characters(" ", stop, stop)]
    return characters
