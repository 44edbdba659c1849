"""Papers in ZIP archives: Word's .docx, and EPUB."""

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Mapping
from html import escape
from urllib.parse import unquote

from evidencebench.errors import MissingExtraError, UnreadableError
from evidencebench.papers.html import SCHEME_PATTERNS, paper_of_page, title_in
from evidencebench.papers.paper import Paper
from evidencebench.papers.sections import is_known_title, level_of, number_of, section_of
from evidencebench.papers.tree import Element, decoded, parse_html, parse_xml
from evidencebench.provenance import require_extra

# Of an archive: the most files, the most bytes of those that are read, and how much larger than the archive those may
# be. Word's own XML is packed to a tenth or a thirtieth.
_MOST_MEMBERS, _MOST_BYTES, _MOST_RATIO, _SMALL = 10_000, 48 << 20, 250, 4 << 20
_BROKEN = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error)
_DOCUMENT = re.compile(r"word/document\d*\.xml")
_OF_WORD = re.compile(r"(?:word/|_rels/)(?:_rels/)?[\w.]*\.(?:xml|rels)|\[Content_Types\]\.xml")
_OF_EPUB = re.compile(r"(?i).*\.(?:xml|opf|x?html?)")
_CONTAINER = "META-INF/container.xml"


def is_docx(content: bytes) -> bool:
    return any(map(_DOCUMENT.fullmatch, _names(content)))


def is_epub(content: bytes) -> bool:
    return _CONTAINER in _names(content)


def _names(content: bytes) -> list[str]:
    if not content.startswith(b"PK\x03\x04"):
        return []
    try:
        return zipfile.ZipFile(io.BytesIO(content)).namelist()
    except _BROKEN:
        return []


def _members(content: bytes, wanted: re.Pattern[str], name: str) -> dict[str, bytes]:
    """Return what an archive holds under the wanted names, in memory; a bomb is refused before it is unpacked."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    members = {member.filename: member for member in archive.infolist() if wanted.fullmatch(member.filename)}
    n_bytes = sum(member.file_size for member in members.values())  # no more is unpacked of any than it says here
    most = min(_MOST_BYTES, max(_SMALL, _MOST_RATIO * len(content)))
    if len(members) > _MOST_MEMBERS or n_bytes > most:
        raise UnreadableError(
            f"{name}: expected an archive with at most {_MOST_MEMBERS:,} files and {most:,} bytes of text, got "
            f"{len(members):,} and {n_bytes:,}; it is no paper, or save the paper alone"
        )
    try:
        return {path: archive.read(member) for path, member in members.items()}
    except _BROKEN as error:
        raise UnreadableError(f"{name}: its archive is damaged or has a password: {error}; save it again") from error


# What becomes of Word's styles. The names are Word's own, in whatever language it is used; case does not count.
_STYLES = "\n".join(
    [
        "p[style-name='Title'] => h1:fresh",
        *(f"p[style-name='Heading {level}'] => h{min(6, level + 1)}:fresh" for level in range(1, 10)),
        "p[style-name='Abstract Title'] => h2:fresh",
        *(f"p[style-name='{style}'] => figcaption:fresh" for style in ("Caption", "Table Caption", "Image Caption")),
        *(f"p[style-name='{style}'] => div.references > p:fresh" for style in ("Bibliography", "EndNote Bibliography")),
        *(f"p[style-name='{style}'] => !" for style in ("TOC Heading", *(f"TOC {level}" for level in range(1, 10)))),
    ]
)
_FORMULA = re.compile(r"<m:oMath\b.*?</m:oMath>", re.DOTALL)
_FORMULA_PIECE = re.compile(r"<m:t(?:\s[^>]*)?>([^<]*)|<m:(sup|den)\b")
_NOTES = re.compile(r'<ol><li id="(?:foot|end)note-')
_BACK = re.compile(r' ?<a href="#(?:foot|end)note-ref-\d+">[^<]*</a>')
_ALONE = re.compile(r"(?s)<table>.*?</table>|<p>(?P<bold><strong>)?(?P<title>[^<>]{3,150})(?(bold)</strong>)</p>")
_FIRST = re.compile(r"(?:<a id=\"[^\"]*\"></a>)*<(?P<tag>h2|p)>(?P<text>.*?)</(?P=tag)>")
_KEYWORDS = re.compile(r"(?i)<p>(?=(?:<strong>|<em>)*key ?-?words?\b)")
# Raised numbers that are sources, no powers: several of them, or one behind a stop.
_CITED = re.compile(r"<sup>(\d+(?:[,\u2013-]\s?\d+)+)</sup>|(?<=[.,;:)])<sup>(\d+)</sup>")
_LONGEST_TITLE, _MOST_WORDS = 300, 12
_STOPPED = re.compile(r"[.!;:,]$")


def read_docx(content: bytes, name: str) -> Paper:
    """Return the paper of a Word document, by way of the HTML that mammoth makes of it."""
    try:
        require_extra(f"{name}: reading .docx", "docx", "mammoth")
    except MissingExtraError as error:
        raise UnreadableError(str(error)) from error  # the other papers are read
    import mammoth  # noqa: PLC0415 - an extra

    members = _members(content, _OF_WORD, name)
    held = (
        io.BytesIO()
    )  # mammoth gets the text alone: no pictures, nothing embedded, no map of styles of the file's own
    with zipfile.ZipFile(held, "w") as archive:
        for path, member in members.items():
            if b"<!" in member.replace(b"\0", b"").replace(b"<!--", b""):  # in UTF-16 too; Word writes none
                raise UnreadableError(f"{name}: {path}: expected XML without declarations, got one; save it again")
            archive.writestr(path, _with_formulas(member) if _DOCUMENT.fullmatch(path) else member)
    held.seek(0)
    try:
        html = mammoth.convert_to_html(
            held, style_map=_STYLES, convert_image=lambda _: [], include_embedded_style_map=False
        ).value
    except Exception as error:  # a damaged file can make it fail in any way
        problem = f"{type(error).__name__}: {error}"
        raise UnreadableError(
            f"{name}: expected a Word document, got a damaged one ({problem}); save it again"
        ) from error
    if notes := _NOTES.search(html):
        html = f'{html[: notes.start()]}<section role="doc-endnotes">{_BACK.sub("", html[notes.start() :])}</section>'
    page = parse_html(_with_headings(html), name=name)
    return paper_of_page(page, page.first("h1"), name=name, file_format="Word (.docx)")


def _with_formulas(document: bytes) -> bytes:
    """Return a document with its formulas, which mammoth would drop, as text; those on a line of their own go."""

    def as_run(formula: re.Match[str]) -> str:
        marks = {"sup": "^", "den": "/", None: ""}
        pieces = (marks[piece[2]] + (piece[1] or "") for piece in _FORMULA_PIECE.finditer(formula[0]))
        return f'<w:r><w:t xml:space="preserve">{"".join(pieces)}</w:t></w:r>'

    if b"<m:oMath" not in document:
        return document
    text = document.decode(errors="replace")
    return _FORMULA.sub(as_run, re.sub(r"<m:oMathPara\b.*?</m:oMathPara>", "", text, flags=re.DOTALL)).encode()


def _with_headings(html: str) -> str:
    """Return a page whose titles are headings where no style says so: known and bold ones alone, and the paper's."""

    def as_heading(match: re.Match[str]) -> str:
        title = (match["title"] or "").strip()  # none in a table
        is_title = match["bold"] and len(title.split()) <= _MOST_WORDS and not _STOPPED.search(title)
        if not is_title and not is_known_title(title):
            return match[0]
        level = level_of(title) + 1 if number_of(title) or section_of(title) else 6  # below those that have a style
        return f"<h{level}>{match['title']}</h{level}>"

    first = _FIRST.match(html)
    if first and "<h1>" not in html:
        title = re.sub(r"<[^>]*>", "", first["text"]).strip()
        if 0 < len(title) <= _LONGEST_TITLE and not _STOPPED.search(title) and not is_known_title(title):
            html = f"<h1>{first['text']}</h1>{html[first.end() :]}"
    html = _CITED.sub(lambda cited: f'<sup><a href="#cited">{cited[1] or cited[2]}</a></sup>', html)
    return _ALONE.sub(as_heading, _KEYWORDS.sub('<p class="keywords">', html))


def read_epub(content: bytes, name: str) -> Paper:
    """Return the paper of an EPUB: its chapters in reading order, joined into one page."""
    members = _members(content, _OF_EPUB, name)
    package = _xml(members, _CONTAINER, name).first("rootfile")
    path = package.attributes.get("full-path", "") if package else ""
    book = _xml(members, path, name)
    items = {item.attributes.get("id", ""): item.attributes for item in book.all("item")}
    chapters = []
    for entry in book.all("itemref"):
        item = items.get(entry.attributes.get("idref", ""), {})
        if entry.attributes.get("linear") == "no" or "nav" in item.get("properties", "").split():
            continue
        chapter = posixpath.normpath(
            posixpath.join(posixpath.dirname(path), unquote(item.get("href", "").partition("#")[0]))
        )
        if chapter.encode() in members.get("META-INF/encryption.xml", b""):
            raise UnreadableError(
                f"{name}: {chapter}: is encrypted, as shops do; expected an EPUB that anybody can read"
            )
        if chapter in members:
            chapters.append(decoded(members[chapter], name=f"{name}: {chapter}"))
    text = decoded("\n".join(chapters).encode(), name=name)
    title = next((element.text for element in book.all("title")), "")
    page = parse_html(f"<?xml version='1.0'?>{text}", name=name)
    heading = title_in(page, page, {"dc.title": title})
    if title and (heading is None or heading.text != title):
        page = parse_html(f"<?xml version='1.0'?><h1>{escape(title)}</h1>{text}", name=name)
        heading = page.first("h1")
    identifiers = " ".join(element.text for element in book.all("identifier", "source"))
    ids = {scheme: match[0] for scheme in ("doi", "pmcid") if (match := SCHEME_PATTERNS[scheme].search(identifiers))}
    return paper_of_page(page, heading, name=name, file_format="EPUB", ids=ids)


def _xml(members: Mapping[str, bytes], path: str, name: str) -> Element:
    if path not in members:
        raise UnreadableError(f"{name}: expected an EPUB with {path or 'a rootfile'}, got none; get the file again")
    return parse_xml(members[path], name=f"{name}: {path}")
