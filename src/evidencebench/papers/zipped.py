"""Papers in ZIP archives: Word's .docx, and EPUB."""

import io
import posixpath
import re
import zipfile
import zlib
from html import escape
from urllib.parse import unquote

from evidencebench.errors import MissingExtraError, UnreadableError
from evidencebench.papers.html import SCHEME_PATTERNS, paper_of_page, title_in
from evidencebench.papers.paper import Paper
from evidencebench.papers.sections import is_known_title, level_of, number_of, section_of
from evidencebench.papers.tree import decoded, parse_html, parse_xml
from evidencebench.provenance import require_extra

# Of text in an archive, and how much larger than the archive; Word's own XML is packed to a thirtieth at most.
_MOST_BYTES, _MOST_RATIO, _SMALL = 48 << 20, 250, 4 << 20
_BROKEN = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error)
_DOCUMENT = re.compile(r"word/document\d*\.xml")
_OF_WORD = re.compile(r"(?:word/|_rels/)(?:_rels/)?[\w.]*\.(?:xml|rels)|\[Content_Types\]\.xml")
_OF_EPUB = re.compile(r"(?i).*\.(?:xml|opf|x?html?)")
_CONTAINER, _XML = "META-INF/container.xml", "<?xml version='1.0'?>"


def is_docx(content: bytes) -> bool:
    return any(map(_DOCUMENT.fullmatch, _names(content)))


def is_epub(content: bytes) -> bool:
    return _CONTAINER in _names(content)


def _names(content: bytes) -> list[str]:
    try:
        return zipfile.ZipFile(io.BytesIO(content)).namelist() if content.startswith(b"PK\x03\x04") else []
    except _BROKEN:
        return []


def _members(content: bytes, wanted: re.Pattern[str], name: str) -> dict[str, bytes]:
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


# What becomes of Word's styles. The names are Word's own, in whatever language it is used; case does not count.
_STYLES = {
    "Title": "h1:fresh",
    **{f"Heading {level}": f"h{min(6, level + 1)}:fresh" for level in range(1, 10)},
    "Abstract Title": "h2:fresh",
    **dict.fromkeys(("Caption", "Table Caption", "Image Caption"), "figure:fresh > figcaption:fresh"),
    **dict.fromkeys(("Bibliography", "EndNote Bibliography"), "div.references > p:fresh"),
    **dict.fromkeys(("TOC Heading", *(f"TOC {level}" for level in range(1, 10))), "!"),
}
_FORMULA = re.compile(rb"(?s)<m:oMathPara\b.*?</m:oMathPara>|<m:oMath\b.*?</m:oMath>")
_NOTES = re.compile(r'<ol><li id="(?:foot|end)note-')
_BACK = re.compile(r' ?<a href="#(?:foot|end)note-ref-\d+">[^<]*</a>')


def read_docx(content: bytes, name: str) -> Paper:
    """Return the paper of a Word document, by way of the HTML that mammoth makes of it."""
    try:
        require_extra(f"{name}: reading .docx", "docx", "mammoth")
    except MissingExtraError as error:
        raise UnreadableError(str(error)) from error  # the other papers are read
    import mammoth  # noqa: PLC0415 - an extra

    held = io.BytesIO()  # mammoth gets the text alone: no pictures, nothing embedded
    with zipfile.ZipFile(held, "w") as archive:
        for path, member in _members(content, _OF_WORD, name).items():
            if b"<!" in member.replace(b"\0", b"").replace(b"<!--", b""):  # in UTF-16 too; Word writes none
                raise UnreadableError(f"{name}: {path}: expected XML without declarations, got one; save it again")
            archive.writestr(path, _with_formulas(member))
    held.seek(0)
    styles = "\n".join(f"p[style-name='{style}'] => {element}" for style, element in _STYLES.items())
    try:
        html = mammoth.convert_to_html(held, style_map=styles, convert_image=lambda _: []).value
    except Exception as error:  # a damaged file can make it fail in any way
        got = f"a damaged one ({type(error).__name__}: {error})"
        raise UnreadableError(f"{name}: expected a Word document, got {got}; save it again") from error
    if notes := _NOTES.search(html):
        html = f'{html[: notes.start()]}<section role="doc-endnotes">{_BACK.sub("", html[notes.start() :])}</section>'
    page = parse_html(_with_headings(html), name=name)
    return paper_of_page(page, page.first("h1"), name=name, file_format="Word (.docx)")


def _with_formulas(member: bytes) -> bytes:
    """Return XML whose formulas, which mammoth would drop, are text; those on a line of their own go."""

    def as_run(formula: re.Match[bytes]) -> bytes:
        marked = formula[0].replace(b"<m:sup>", b"<m:t>^</m:t>").replace(b"<m:den>", b"<m:t>/</m:t>")
        text = b"".join(re.findall(rb"<m:t(?:\s[^>]*)?>([^<]*)", marked))
        return b"" if marked.startswith(b"<m:oMathPara") else b"<w:r><w:t>%b</w:t></w:r>" % text

    return _FORMULA.sub(as_run, member)


_FIRST = re.compile(r"(?:<a id=\"[^\"]*\"></a>)*<(?P<tag>h2|p)>(?P<text>.*?)</(?P=tag)>")
_ALONE = re.compile(r"(?s)<table>.*?</table>|<p>(?P<bold><strong>)?(?P<title>[^<>]{3,150})(?(bold)</strong>)</p>")
_CAPTION = re.compile(r"<figure><figcaption>((?:(?!<figure>).)*?)</figcaption></figure><table>")
_KEYWORDS = re.compile(r"(?i)<p>(?=(?:<strong>|<em>)*key ?-?words?\b)")
# Raised numbers that are sources, no powers: several of them, or one behind a stop.
_CITED = re.compile(r"<sup>(\d+(?:[,\u2013-]\s?\d+)+|(?<=[.,;:)]<sup>)\d+)</sup>")
_LONGEST_TITLE, _MOST_WORDS = 300, 12
_STOPPED = re.compile(r"[.!;:,]$")


def _with_headings(html: str) -> str:
    """Return a page whose titles are headings where no style says so: known and bold ones alone, and the paper's."""

    def as_heading(match: re.Match[str]) -> str:
        title = (match["title"] or "").strip()  # none in a table
        is_title = match["bold"] and len(title.split()) <= _MOST_WORDS and not _STOPPED.search(title)
        level = level_of(title) + 1 if number_of(title) or section_of(title) else 6  # below those that have a style
        return f"<h{level}>{match['title']}</h{level}>" if is_title or is_known_title(title) else match[0]

    first = _FIRST.match(html)
    if first and "<h1>" not in html:
        title = re.sub(r"<[^>]*>", "", first["text"]).strip()
        if 0 < len(title) <= _LONGEST_TITLE and not _STOPPED.search(title) and not is_known_title(title):
            html = f"<h1>{first['text']}</h1>{html[first.end() :]}"
    html = _CAPTION.sub(r"<table><caption>\1</caption>", html)
    html = _CITED.sub(r'<sup><a href="#cited">\1</a></sup>', html)
    return _ALONE.sub(as_heading, _KEYWORDS.sub('<p class="keywords">', html))


def read_epub(content: bytes, name: str) -> Paper:
    """Return the paper of an EPUB: its chapters in reading order, joined into one page."""
    members = _members(content, _OF_EPUB, name)
    root = parse_xml(members[_CONTAINER], name=name).first("rootfile")
    path = root.attributes.get("full-path", "") if root else ""
    book = parse_xml(members.get(path, b""), name=f"{name}: {path}")
    items = {item.attributes.get("id", ""): item.attributes for item in book.all("item")}
    chapters = []
    for entry in book.all("itemref"):
        item = items.get(entry.attributes.get("idref", ""), {})
        target = unquote(item.get("href", "").partition("#")[0])
        chapter = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if chapter.encode() in members.get("META-INF/encryption.xml", b""):
            raise UnreadableError(f"{name}: {chapter}: expected an EPUB for everybody, got one that is encrypted")
        if chapter in members and entry.attributes.get("linear") != "no" and "nav" not in item.get("properties", ""):
            chapters.append(decoded(members[chapter], name=f"{name}: {chapter}"))
    title = next((element.text for element in book.all("title")), "")
    text = "\n".join(chapters)
    page = parse_html(_XML + text, name=name)
    heading = title_in(page, page, {"dc.title": title})
    if title and (heading is None or heading.text != title):
        page = parse_html(f"{_XML}<h1>{escape(title)}</h1>{text}", name=name)
        heading = page.first("h1")
    identifiers = " ".join(element.text for element in book.all("identifier", "source"))
    ids = {scheme: match[0] for scheme in ("doi", "pmcid") if (match := SCHEME_PATTERNS[scheme].search(identifiers))}
    return paper_of_page(page, heading, name=name, file_format="EPUB", ids=ids)
