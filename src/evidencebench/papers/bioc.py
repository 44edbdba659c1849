"""Papers in BioC, as JSON and as XML, as the service of PubMed Central gives them. Offsets are BioC's own."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, TypeAlias

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.papers.blocks import Block, each_paper, paper_of
from evidencebench.papers.ids import ids_of_pairs
from evidencebench.papers.paper import LossCount, Paper, Part, TextWriter
from evidencebench.papers.text import LABEL_STOPS
from evidencebench.papers.tree import Element, beginning, decoded
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
_TITLE = re.compile(r"(?:abstract_)?title(?:_(\d))?")
_ID_PREFIX = "article-id_"
_HEAD_BYTES = 100


_Pieces: TypeAlias = list[tuple[str, int]]  # texts, each with its offset
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
    """Say whether content is JSON with passages."""
    return beginning(content[:_HEAD_BYTES]).lstrip().startswith(("{", "[")) and '"passages"' in beginning(content)


def read_bioc_json(content: bytes, name: str) -> Sequence[Paper | UnreadableError]:
    """Return each paper of a file, or why it cannot be read; raises `UnreadableError` if the file is no BioC."""
    text = decoded(content, name=name)
    try:
        documents = [msgspec.convert(value, _Document) for value in _documents(msgspec.json.decode(text))]
    except BROKEN_JSON as error:
        raise UnreadableError(f"{name}: expected BioC JSON: {error}; get the file again") from error
    return _papers(documents, name, "BioC JSON")


def read_bioc_xml(root: Element, name: str) -> Sequence[Paper | UnreadableError]:
    """Return each paper of a parsed file, or why it cannot be read; raises `UnreadableError` if it has none."""
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
    reader = _PassageReader()
    for passage in document.passages:
        reader.read(passage)
    reader.flush()
    infons = [pair for passage in document.passages for pair in passage.infons.items()]
    ids = [(key.removeprefix(_ID_PREFIX), str(value)) for key, value in infons if key.startswith(_ID_PREFIX)]
    if str(document.id).upper().startswith("PMC"):
        ids.append(("pmcid", str(document.id).upper()))
    return paper_of(
        reader.blocks,
        name=name,
        file_format=file_format,
        title=reader.title,
        ids=ids_of_pairs(ids),
        loss=reader.count.loss,
        is_record=True,
    )


class _PassageReader:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.title = ""
        self.count = LossCount()
        self._path: list[str] = []
        self._label: _Pieces = []  # the title of a part of the abstract, which begins the paragraph behind it

    def read(self, passage: _Passage) -> None:
        section, sort = (str(passage.infons.get(key, "")).lower() for key in ("section_type", "type"))
        if passage.text is None:
            pieces = [(sentence.text or "", sentence.offset) for sentence in passage.sentences]
        else:
            pieces = [(passage.text, passage.offset)]
        if left_out := _LEFT_OUT.get(section) or _LEFT_OUT.get(sort.partition("_")[0]):
            self.count.leave_out(left_out, "".join(text for text, _ in pieces))
        elif section == "title" or (not section and sort in ("front", "title")):
            self._add(pieces, Kind.HEADING, "title")
            self.title = self.title or _title_of(pieces)
        elif section == "abstract" or sort.startswith("abstract"):
            self._read_abstract(pieces, is_label=_TITLE.fullmatch(sort) is not None)
        else:
            self._read_body(pieces, _TITLE.fullmatch(sort))

    def flush(self) -> None:
        """Take a label without a paragraph for a paragraph."""
        if self._label:
            pieces, self._label = self._label, []
            self._add(pieces, Kind.ABSTRACT, "abstract")

    def _read_abstract(self, pieces: _Pieces, *, is_label: bool) -> None:
        if is_label:
            self.flush()
            self._path = ["Abstract", _title_of(pieces)]
            self._label = pieces
        else:
            self._path = self._path if self._path[:1] == ["Abstract"] else ["Abstract"]
            label, self._label = self._label, []
            self._add(pieces, Kind.ABSTRACT, "abstract", label=label)

    def _read_body(self, pieces: _Pieces, heading: re.Match[str] | None) -> None:
        self.flush()
        if self._path[:1] == ["Abstract"]:
            self._path = []
        if heading:
            del self._path[max(0, int(heading[1] or 1) - 1) :]
            self._add(pieces, Kind.HEADING, "body")
            self._path.append(_title_of(pieces))
        else:
            self._add(pieces, Kind.BODY, "body")

    def _add(self, pieces: _Pieces, kind: Kind, part: Part, label: _Pieces | None = None) -> None:
        label = label or []
        writer = TextWriter()
        for text, start in label:
            writer.add(text.rstrip(), start=start)
            writer.add_mark(" " if text.rstrip()[-1:] in LABEL_STOPS else ": ")
        for text, start in pieces:
            writer.add(text, start=start)
            writer.add_mark(" ")
        written = writer.finish()
        self.count.read(part, "".join(text for text, _ in [*label, *pieces]))
        self.count.keep(part, written.without_marks)
        if written.text:
            self.blocks.append(Block(text=written, kind=kind, section=tuple(self._path)))


def _title_of(pieces: _Pieces) -> str:
    return " ".join(" ".join(text for text, _ in pieces).split()).rstrip(" .:")
