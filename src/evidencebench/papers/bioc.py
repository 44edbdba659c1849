"""Papers in BioC, as JSON and as XML, as the service of PubMed Central gives them. Offsets are BioC's own."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Annotated, Any, TypeAlias

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import UnreadableError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.papers.blocks import each_paper
from evidencebench.papers.ids import ids_of_pairs
from evidencebench.papers.jats import PARTS, BlockReader, UnitReader
from evidencebench.papers.paper import Loss, Paper
from evidencebench.papers.tree import (
    NAMES,
    Characters,
    Element,
    beginning,
    decoded,
    parse_xml,
    unplaced,
    without_ligatures,
)
from evidencebench.query import Kind

# section_type, or else the beginning of type -> the sort that it is counted as, and the element of JATS for it.
_LEFT_OUT = NAMES["bioc"]
_NUMBER_IN_ID = re.compile(r"(?i)(?:^|[-_.])(?:t|tab|tbl|table|f|fig|figure)[-_.]?0*(\d{1,3})$")
_TITLE = re.compile(r"(?:abstract_)?title(?:_(\d))?")
_MOST_LEVELS = 7  # of sections
_ID_PREFIX = "article-id_"
_Offset: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=10**12)]


class _Sentence(msgspec.Struct):
    offset: _Offset = 0
    text: str | None = None


class _Passage(_Sentence):
    infons: dict[str, Any] = {}
    sentences: list[_Sentence] = []

    def infon(self, key: str) -> str:
        return str(self.infons.get(key, "")).lower()

    @property
    def left_out(self) -> tuple[str, ...] | None:
        return _LEFT_OUT.get(self.infon("section_type")) or _LEFT_OUT.get(self.infon("type").partition("_")[0])


class _Document(msgspec.Struct):
    id: str | int = ""
    passages: list[_Passage] = []


def is_bioc_json(content: bytes) -> bool:
    return beginning(content[:100]).lstrip().startswith(("{", "[")) and '"passages"' in beginning(content)


def read_bioc_json(content: bytes, name: str) -> Sequence[Paper | UnreadableError]:
    text = decoded(content, name=name)
    try:
        documents = [msgspec.convert(value, prepared(_Document)) for value in _documents(_values(text))]
    except BROKEN_JSON as error:
        raise UnreadableError(f"{name}: expected BioC JSON: {error}; get the file again") from error
    return _papers([_as_pmc(document) for document in documents], name, "BioC JSON")


def read_bioc_xml(root: Element, name: str) -> Sequence[Paper | UnreadableError]:
    documents = [root] if root.tag == "document" else list(root.all("document"))
    return _papers([_as_pmc(_document(document, name)) for document in documents], name, "BioC XML")


def _values(text: str) -> Any:
    """Decode a file of JSON, or one with a document a line."""
    try:
        return msgspec.json.decode(text)
    except BROKEN_JSON:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines):
            return [msgspec.json.decode(line) for line in lines]
        raise


# Beginning of a section's name in another dialect -> its section_type in that of PubMed Central.
_TYPES = NAMES["bioc_types"]


def _as_pmc(document: _Document) -> _Document:
    """Return a document of another dialect with the infons of PubMed Central, and its titles as passages."""
    if any(passage.infon("section_type") for passage in document.passages):
        return document
    passages: list[_Passage] = []
    path: list[str] = []
    for passage in document.passages:
        given = [str(passage.infons.get(f"section_title_{level}") or "").strip() for level in range(1, _MOST_LEVELS)]
        titles = [title for title in given if title] or list(filter(None, [str(passage.infons.get("section") or "")]))
        name = passage.infon("iao_name_1") or (titles[0].lower() if titles else "")
        sort = next((sort for sort, starts in _TYPES.items() if name.startswith(tuple(starts))), "")
        for level, title in enumerate(titles, 1):
            if path[:level] != titles[:level] and sort not in ("title", "abstract"):
                infons = {"section_type": sort or "body", "type": f"title_{level}"}
                passages.append(_Passage(offset=passage.offset, text=title, infons=infons))
        path = titles or path
        infons = passage.infons | {"section_type": sort} if sort else passage.infons
        passages.append(msgspec.structs.replace(passage, infons=infons))
    return _Document(id=document.id, passages=passages)


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
    child = element.child(tag)
    return child.raw_text if child else ""


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
        paragraph, kind = Element("p", children=_characters(passage)), _kind(passage)
        if passage.left_out:
            count.leave_out(passage.left_out[0], paragraph.raw_text)
            continue
        heading = None if kind is Kind.HEADING else _TITLE.fullmatch(passage.infon("type"))
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
    infons = [pair for passage in document.passages for pair in passage.infons.items()]
    ids = [(key.removeprefix(_ID_PREFIX), str(value)) for key, value in infons if key.startswith(_ID_PREFIX)]
    if str(document.id).upper().startswith("PMC"):
        ids.append(("pmcid", str(document.id).upper()))
    units = _units(document.passages)
    return units.paper(blocks, count, name=name, file_format=file_format, title=title, ids=ids_of_pairs(ids))


def _units(passages: Sequence[_Passage]) -> UnitReader:
    """Read the passages that are no running text; those of one table, figure or section are one element."""
    units = UnitReader()
    units.read(Element("kwd", children=[unplaced(str(passage.infons.get("kwd", ""))) for passage in passages[:1]]))

    def belongs_to(passage: _Passage) -> tuple[tuple[str, ...] | None, str, str]:
        return passage.left_out, passage.infon("id"), passage.infon("section_type")

    for (left_out, own_id, _), group in groupby(passages, belongs_to):
        if left_out:
            number = _NUMBER_IN_ID.search(own_id) if left_out[1] in ("table-wrap", "fig") else None
            label = [Element("label", children=[unplaced(number[1])])] if number else []
            units.read(Element(left_out[1], children=[*label, *map(_unit_part, group)]))
    return units


def _unit_part(passage: _Passage) -> Element:
    """Return what a passage of a table, figure or note is in JATS; a table's rows come from its XML, else its tabs."""
    sort, characters = passage.infon("type"), _characters(passage)
    is_foot = "footnote" in sort and passage.infon("section_type") in ("table", "fig")
    if is_foot or "caption" in sort:
        return Element("table-wrap-foot" if is_foot else "caption", children=[Element("p", children=characters)])
    if sort != "table":
        return Element("title" if _TITLE.fullmatch(sort) else "p", children=characters)
    try:
        return Element("table", children=[parse_xml(str(passage.infons.get("xml", "")).encode(), name="")])
    except UnreadableError:
        rows = (
            [Element("td", children=[unplaced(cell)]) for cell in row.split("\t")]
            for row in (passage.text or "").splitlines()
        )
        return Element("table", children=[Element("tr", children=[*row]) for row in rows])


def _kind(passage: _Passage) -> Kind:
    section, sort = passage.infon("section_type"), passage.infon("type")
    if section == "title" or (not section and sort in ("front", "title")):
        return Kind.HEADING
    return Kind.ABSTRACT if section == "abstract" or sort.startswith("abstract") else Kind.BODY


def _characters(passage: _Passage) -> list[Element | Characters]:
    """Return the text of a passage by its offset, or that of its sentences, with a space that the file lacks behind."""
    characters: list[Element | Characters] = []
    for piece in [passage] if passage.text is not None else passage.sentences:
        if text := piece.text:
            stop = piece.offset + len(text)
            characters += [Characters(without_ligatures(text), piece.offset, stop), Characters(" ", stop, stop)]
    return characters
