"""Archives of ZIP, and papers as EPUB."""

import io
import posixpath
import re
import zipfile
import zlib
from html import escape
from urllib.parse import unquote

from evidencebench.errors import UnreadableError
from evidencebench.papers.html import SCHEME_PATTERNS, paper_of_page, title_in
from evidencebench.papers.paper import Paper
from evidencebench.papers.tree import decoded, parse_html, parse_xml

# Of text in an archive, and how much larger than the archive; Word's own XML is packed to a thirtieth at most.
_MOST_BYTES, _MOST_RATIO, _SMALL = 48 << 20, 250, 4 << 20
_BROKEN = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error)
_OF_EPUB = re.compile(r"(?i).*\.(?:xml|opf|x?html?)")
_CONTAINER, _XML = "META-INF/container.xml", "<?xml version='1.0'?>"


def is_epub(content: bytes) -> bool:
    return _CONTAINER in names_in(content)


def names_in(content: bytes) -> list[str]:
    try:
        return zipfile.ZipFile(io.BytesIO(content)).namelist() if content.startswith(b"PK\x03\x04") else []
    except _BROKEN:
        return []


def members_of(content: bytes, wanted: re.Pattern[str], name: str) -> dict[str, bytes]:
    """Return what an archive holds under the wanted names, in memory; a bomb is refused before it is unpacked."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    members = [member for member in archive.infolist() if wanted.fullmatch(member.filename)]
    size = sum(member.file_size for member in members)  # no more is unpacked of any than it says here
    most = min(_MOST_BYTES, max(_SMALL, _MOST_RATIO * len(content)))
    if size > most:
        raise UnreadableError(f"{name}: expected at most {most:,} bytes of text in the archive, got {size:,}; split it")
    try:
        return {member.filename: archive.read(member) for member in members}
    except _BROKEN as error:
        raise UnreadableError(f"{name}: its archive is damaged or has a password: {error}; save it again") from error


def read_epub(content: bytes, name: str) -> Paper:
    """Return the paper of an EPUB: its chapters in reading order, joined into one page."""
    members = members_of(content, _OF_EPUB, name)
    root = parse_xml(members[_CONTAINER], name=name).first("rootfile")
    path = root.attributes.get("full-path", "") if root else ""
    book = parse_xml(members.get(path, b""), name=f"{name}: {path}")
    items = {item.attributes.get("id", ""): item.attributes for item in book.all("item")}
    chapters: dict[str, str] = {}  # each once, however often the book names it
    for entry in book.all("itemref"):
        item = items.get(entry.attributes.get("idref", ""), {})
        target = unquote(item.get("href", "").partition("#")[0])
        chapter = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if chapter.encode() in members.get("META-INF/encryption.xml", b""):
            raise UnreadableError(f"{name}: {chapter}: expected an EPUB for everybody, got one that is encrypted")
        is_shown = entry.attributes.get("linear") != "no" and "nav" not in item.get("properties", "")
        if is_shown and chapter in members and chapter not in chapters:
            chapters[chapter] = decoded(members[chapter], name=f"{name}: {chapter}")
    title = next((element.text for element in book.all("title")), "")
    text = "\n".join(chapters.values())
    page = parse_html(_XML + text, name=name)
    heading = title_in(page, page, {"dc.title": title})
    if title and (heading is None or heading.text != title):
        page = parse_html(f"{_XML}<h1>{escape(title)}</h1>{text}", name=name)
        heading = page.first("h1")
    identifiers = " ".join(element.text for element in book.all("identifier", "source"))
    ids = {scheme: match[0] for scheme in ("doi", "pmcid") if (match := SCHEME_PATTERNS[scheme].search(identifiers))}
    return paper_of_page(page, heading, name=name, file_format="EPUB", ids=ids)
