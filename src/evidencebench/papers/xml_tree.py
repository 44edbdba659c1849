"""XML into a tree whose text knows where it stands in the file. No entity, DTD or other file is ever loaded.

expat is used, from the standard library, because it tells the place of each piece of text; lxml does not.
"""

from html.entities import html5
from typing import Never
from xml.parsers import expat

from evidencebench.errors import UnreadableError
from evidencebench.papers.markup_tree import MOST_DEPTH, MOST_NODES, Characters, Element
from evidencebench.papers.xml_text import xml_text

_AMPERSAND = ord("&")
_CUT_OFF = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
)


def parse_xml(content: bytes, *, name: str) -> Element:
    """Return the outermost element of an XML file; undeclared named characters are read as in HTML."""
    text = xml_text(content, name=name)
    builder = _XmlBuilder(text, name)
    try:
        builder.parser.Parse(builder.bytes, True)  # noqa: FBT003 - this is all of it
    except expat.ExpatError as error:
        raise builder.malformed(error) from error
    return builder.root


class _XmlBuilder:
    def __init__(self, text: str, name: str) -> None:
        self.bytes = text.encode()
        self._name = name
        self._top = Element("")
        self._open = [self._top]
        self._n_nodes = 0
        self._names: dict[str, str] = {}
        self._in_cdata = False
        # Text that stands one by one in the file, character after character, and where it begins and ends.
        self._pieces: list[str] = []
        self._start = self._stop = 0
        # The place up to which bytes were turned into characters; expat's places only grow.
        self._n_bytes = self._n_characters = 0
        self._ascii = len(self.bytes) == len(text)
        self.parser = expat.ParserCreate(encoding="utf-8")
        self.parser.specified_attributes = True  # default values of a DTD could be repeated without end
        self.parser.UseForeignDTD()  # so that undeclared entities are reported as skipped, not as errors
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartElementHandler = self._on_start
        self.parser.EndElementHandler = self._on_end
        self.parser.CharacterDataHandler = self._on_text
        self.parser.SkippedEntityHandler = self._on_skipped_entity
        self.parser.EntityDeclHandler = self._on_entity_declaration
        self.parser.StartCdataSectionHandler = lambda: setattr(self, "_in_cdata", True)
        self.parser.EndCdataSectionHandler = lambda: setattr(self, "_in_cdata", False)

    @property
    def root(self) -> Element:
        return next(self._top.elements)

    def malformed(self, error: expat.ExpatError) -> UnreadableError:
        where = f"{self._name}: line {error.lineno}, column {error.offset + 1}"
        if error.code in _CUT_OFF and self._open[-1] is not self._top:
            return UnreadableError(
                f"{where}: expected </{self._open[-1].tag}>, got the end of the file; the file is cut off: get it again"
            )
        return UnreadableError(
            f"{where}: expected well-formed XML, got an error: {expat.ErrorString(error.code)}; get the file again, or "
            "correct it there"
        )

    def _on_start(self, name: str, attributes: dict[str, str]) -> None:
        self._end_text()
        if len(self._open) > MOST_DEPTH:
            self._refuse(f"expected at most {MOST_DEPTH} elements within each other", "no paper is built like this")
        element = Element(
            self._plain(name),
            {self._plain(key): value for key, value in attributes.items() if not key.startswith("xmlns")},
        )
        self._add(element)
        self._open.append(element)

    def _on_end(self, _: str) -> None:
        self._end_text()
        self._open.pop()

    def _on_text(self, text: str) -> None:
        at = self.parser.CurrentByteIndex
        start = self._character_at(at)
        if self.bytes[at] == _AMPERSAND and not self._in_cdata:
            self._end_text()
            stop = self._character_at(self.bytes.index(b";", at) + 1)
            self._add(Characters(text, start, stop))
            return
        if start != self._stop:
            self._end_text()
        if not self._pieces:
            self._start = start
        self._pieces.append(text)
        self._stop = start + len(text)

    def _on_skipped_entity(self, name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat calls it
        if is_parameter:
            return
        self._end_text()
        start = self._character_at(self.parser.CurrentByteIndex)
        reference = f"&{name};"
        self._add(Characters(html5.get(f"{name};", reference), start, start + len(reference)))

    def _on_entity_declaration(self, name: str, *_: object) -> None:
        self._refuse(
            f"expected XML that declares no entities, got one named {name!r}",
            "remove its <!ENTITY ...> lines and write the characters themselves",
        )

    def _end_text(self) -> None:
        if self._pieces:
            self._add(Characters("".join(self._pieces), self._start, self._stop))
            self._pieces.clear()

    def _add(self, node: Element | Characters) -> None:
        self._n_nodes += 1
        if self._n_nodes > MOST_NODES:
            self._refuse(f"expected at most {MOST_NODES:,} elements and pieces of text", "split the file")
        self._open[-1].children.append(node)

    def _plain(self, name: str) -> str:
        plain = self._names.get(name)
        if plain is None:
            plain = self._names[name] = name.rpartition(":")[2].lower()
        return plain

    def _character_at(self, at: int) -> int:
        """Return which character begins at a byte; calls come in order of their places."""
        if self._ascii:
            return at
        self._n_characters += len(self.bytes[self._n_bytes : at].decode())
        self._n_bytes = at
        return self._n_characters

    def _refuse(self, rule: str, advice: str) -> Never:
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        raise UnreadableError(f"{self._name}: line {line}, column {column}: {rule}; {advice}")
