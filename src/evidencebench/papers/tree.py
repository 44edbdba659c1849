"""XML and HTML into one tree, safe and in linear time."""

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.entities import html5
from sys import intern
from typing import Never
from unicodedata import normalize
from xml.sax.saxutils import escape

from lxml import etree

from evidencebench.errors import UnreadableError
from evidencebench.files import disk
from evidencebench.files.disk import packaged_table
from evidencebench.tables import shortened

NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    table: {name: tuple(words.split() if isinstance(words, str) else words) for name, words in lists.items()}
    for file in ("names.toml", "html_parts.toml")
    for table, lists in packaged_table(__file__, file).items()
}
"""The tables of these files: what each of them lists."""


def lists_of(table: str) -> dict[str, str]:
    """Return each word of a table with the list that has it."""
    return {word: name for name, words in NAMES[table].items() for word in words}


FORMULAS = ("math", "tex-math")
"""Elements of a formula, the best form first."""

MOST_DEPTH = 256
"""The most elements around one; articles have about 20."""

MOST_NODES = 2_000_000
"""The most elements and pieces of text of one file; an article has some thousands."""


@dataclass(frozen=True, slots=True)
class Characters:
    """Text that stands in start..stop-1 of all text of the file, one by one or as a whole; nowhere if start is stop."""

    text: str
    start: int
    stop: int


def unplaced(text: str) -> Characters:
    """Return text that the file has nowhere, or elsewhere."""
    return Characters(text, 0, 0)


@dataclass(frozen=True, slots=True)
class Element:
    """An element: its name without a namespace, in lower case; its attributes, likewise; what it holds, in order."""

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: list["Element | Characters"] = field(default_factory=list)

    @property
    def elements(self) -> Iterator["Element"]:
        """The elements directly in it."""
        return (child for child in self.children if isinstance(child, Element))

    def all(self, *tags: str) -> Iterator["Element"]:
        """Return the elements of these names at any depth, in order, itself apart."""
        waiting = [child for child in reversed(self.children) if isinstance(child, Element)]
        while waiting:
            element = waiting.pop()
            if element.tag in tags:
                yield element
            waiting += [child for child in reversed(element.children) if isinstance(child, Element)]

    def first(self, *tags: str) -> "Element | None":
        return next(self.all(*tags), None)

    def child(self, tag: str) -> "Element | None":
        return next((child for child in self.elements if child.tag == tag), None)

    def characters(self) -> Iterator[Characters]:
        waiting: list[Element | Characters] = self.children[::-1]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Characters):
                yield node
            else:
                waiting.extend(node.children[::-1])

    @property
    def raw_text(self) -> str:
        return "".join(piece.text for piece in self.characters())

    @property
    def text(self) -> str:
        """All its text, white space collapsed."""
        return " ".join(self.raw_text.split())


@dataclass(frozen=True, slots=True)
class ElementEnd:
    """Where an element ends, for readers that walk through a tree with a list of what is still to be read."""

    element: Element


MOST_CHARACTERS = 20_000_000
"""The most characters of one file: a paper has about a hundred thousand, a book a million."""


def decoded(content: bytes, *, name: str, declared: str = "utf-8", at_most: int = MOST_CHARACTERS) -> str:
    """Return the text of a file, without its mark; one in another encoding, never guessed, or too long is refused."""
    text = disk.decoded(content, name=name, declared=declared)
    if len(text) > at_most:
        raise UnreadableError(
            f"{name}: expected at most {at_most:,} characters, got {len(text):,}; a paper has about a hundred "
            "thousand: ask about its papers or parts one by one"
        )
    return text


_LIGATURE = re.compile("[\ufb00-\ufb06]")


def without_ligatures(text: str) -> str:
    """Return a text with the letters of which a ligature, such as that of f and i, consists."""
    return _LIGATURE.sub(lambda ligature: normalize("NFKC", ligature[0]), text)


def beginning(content: bytes) -> str:
    """Return the text of a file's first bytes, as UTF-8 where it has no mark; what is broken is replaced."""
    mark, encoding = disk.mark_of(content)
    return content[len(mark) :].decode(encoding or "utf-8", errors="replace")


_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']""")

# Encodings of natural text, as Python names them. Others, such as punycode, are slow to decode, or no text.
_CODECS = re.compile(
    r"utf-(?:8|16|32)(?:-[bl]e)?|ascii|iso8859-\d+|cp125\d|mac-roman|koi8-[ru]|gb2312|gbk|gb18030|big5|shift_jis|euc_(?:jp|kr)|iso2022_jp"
)

# What stands before the first element. A comment or an instruction without an end takes the rest.
_PROLOGUE = re.compile(
    r"\s+|<\?.*?(?:\?>|\Z)|<!--.*?(?:-->|\Z)|<!DOCTYPE(?:[^\[>]|\[[^\]]*\])*>", re.DOTALL | re.IGNORECASE
)
_FIRST_TAG = re.compile(r"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")


def root_tag(content: bytes) -> str | None:
    """Return the name of the outermost element, in lower case and without a namespace; None if it is no markup."""
    head = beginning(content[: 1 << 17])
    position = 0
    while match := _PROLOGUE.match(head, position):
        position = match.end()
    tag = _FIRST_TAG.match(head, position)
    return tag[1].lower() if tag else None


def known_codec(given: str, name: str) -> str:
    """Return Python's name of an encoding of text that a file declares."""
    try:
        codec = codecs.lookup(given).name
    except LookupError:
        codec = ""
    if not _CODECS.fullmatch(codec):
        raise UnreadableError(f"{name}: expected a known encoding, got encoding={given!r}; save the file as UTF-8")
    return codec


# Text in which nothing is markup; one without an end takes the rest, so that the time is linear.
_VERBATIM = re.compile(r"(<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z))", re.DOTALL)
_NAMED = re.compile(r"&([A-Za-z][A-Za-z0-9]*);")
_NAMES_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_LONGEST_ERROR = 200  # characters of the parser's own words
_ENTITY = re.compile(r"<!ENTITY\s+(?:%\s+)?([^\s>]+)")


def parse_xml(content: bytes, *, name: str) -> Element:
    """Return the outermost element of an XML file; undeclared named characters are read as in HTML."""
    declared = _DECLARED.match(content[:1024])
    codec = known_codec(declared[1].decode(), name) if declared else "utf-8"
    if codec.startswith(("utf-16", "utf-32")):  # impossible: the declaration was read as bytes. Such files are UTF-8
        codec = "utf-8"
    text = _with_named_characters(decoded(content, name=name, declared=codec), name)
    builder = _Builder(name, is_deep_refused=True)
    # With a target, a prefix that lacks its namespace, as in parts of articles, is no error that ends the reading.
    parser = etree.XMLParser(target=builder, encoding="utf-8", resolve_entities=False, no_network=True)
    try:
        etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise builder.malformed(max(parser.error_log, key=lambda entry: entry.level), text) from error
    return next(builder.top.elements)


def _with_named_characters(text: str, name: str) -> str:
    """Return XML with the characters that its names stand for in HTML; one that gives names of its own is refused."""
    parts = _VERBATIM.split(text)
    for index in range(0, len(parts), 2):
        if entity := _ENTITY.search(parts[index]):
            line = "".join([*parts[:index], parts[index][: entity.start()]]).count("\n") + 1
            raise UnreadableError(
                f"{name}: line {line}: expected XML that declares no entities, got one named {entity[1]!r}; remove its "
                "<!ENTITY ...> lines and write the characters themselves"
            )
        parts[index] = _NAMED.sub(_character, parts[index])
    return "".join(parts)


def _character(named: re.Match[str]) -> str:
    return named[0] if named[1] in _NAMES_OF_XML else escape(html5.get(f"{named[1]};", named[0]))


def _plain(name: str) -> str:
    """Return a name without its namespace, in lower case; the same text each time, since a file repeats few names."""
    return intern(name.rpartition("}")[2].rpartition(":")[2].lower())


class _Builder:
    """Makes the tree of what lxml reads."""

    def __init__(self, name: str, *, is_deep_refused: bool) -> None:
        self._name = name
        self._is_deep_refused = is_deep_refused
        self.top = Element("")
        self._open = [self.top]
        self._pieces: list[str] = []
        self._n_nodes = self._n_characters = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._end_text()
        if len(self._open) <= MOST_DEPTH:
            element = Element(_plain(name), {_plain(key): value for key, value in attributes.items()})
            self._add(element)
            self._open.append(element)
        elif self._is_deep_refused:
            self._refuse(f"expected at most {MOST_DEPTH} elements within each other", "no paper is built like this")
        else:  # its text belongs to the innermost
            self._open.append(self._open[-1])

    def data(self, text: str) -> None:
        self._pieces.append(text)

    def end(self, _: str) -> None:
        self._end_text()
        self._open.pop()

    def close(self) -> None:
        """End the file; lxml calls it."""
        self._end_text()

    def malformed(self, error: etree._LogEntry, text: str) -> UnreadableError:
        where = f"{self._name}: line {error.line}, column {error.column}"
        is_cut_off = error.type == etree.ErrorTypes.ERR_TAG_NOT_FINISHED or not text.rstrip().endswith(">")
        if is_cut_off and self._open[-1] is not self.top:
            tag = shortened(self._open[-1].tag, _LONGEST_ERROR)
            return UnreadableError(
                f"{where}: expected </{tag}>, got the end of the file; the file is cut off: get it again"
            )
        return UnreadableError(
            f"{where}: expected well-formed XML, got an error: {shortened(error.message, _LONGEST_ERROR)}; get the "
            "file again, or correct it there"
        )

    def _end_text(self) -> None:
        if not self._pieces:
            return
        if text := without_ligatures("".join(self._pieces)):
            start = self._n_characters
            self._n_characters += len(text)
            self._add(Characters(text, start, self._n_characters))
        self._pieces.clear()

    def _add(self, node: Element | Characters) -> None:
        self._n_nodes += 1
        if self._n_nodes > MOST_NODES:
            self._refuse(f"expected at most {MOST_NODES:,} elements and pieces of text", "split the file")
        self._open[-1].children.append(node)

    def _refuse(self, rule: str, advice: str) -> Never:
        raise UnreadableError(f"{self._name}: {rule}, got more; {advice}")


HEADINGS = NAMES["html"]["headings"]

BLOCKS = frozenset({*NAMES["html"]["blocks"], *HEADINGS})
"""Elements that stand for themselves, not within a line of text."""


def parse_html(text: str, *, name: str) -> Element:
    """Return an element that holds all of a page, with the end tags that browsers add; comments are left out."""
    builder = _Builder(name, is_deep_refused=False)
    if text.strip():  # lxml refuses an empty page
        etree.fromstring(text.encode(), etree.HTMLParser(target=builder, encoding="utf-8", huge_tree=True))
    return builder.top
