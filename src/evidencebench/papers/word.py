"""Papers in Word's .docx: its XML made ready for mammoth, and the page that mammoth makes of it."""

import io
import re
import zipfile
from collections.abc import Iterator

from lxml import etree

from evidencebench.errors import MissingExtraError, UnreadableError
from evidencebench.papers.formulas import formula_text
from evidencebench.papers.html import paper_of_page
from evidencebench.papers.paper import Loss, Paper
from evidencebench.papers.sections import is_known_title, level_of, number_of, section_of
from evidencebench.papers.tree import parse_html
from evidencebench.papers.word_formulas import OFF, from_word, local_name
from evidencebench.papers.zipped import members_of, names_in
from evidencebench.provenance import require_extra

_DOCUMENT = re.compile(r"word/document\d*\.xml")
_WITH_TEXT = re.compile(r"word/(?:document\d*|footnotes|endnotes)\.xml")
_OF_WORD = re.compile(r"(?:word/|_rels/)(?:_rels/)?[\w.]*\.(?:xml|rels)|\[Content_Types\]\.xml")


def is_docx(content: bytes) -> bool:
    return any(map(_DOCUMENT.fullmatch, names_in(content)))


# What becomes of Word's styles. The names are Word's own, in whatever language it is used; case does not count.
_STYLES = {
    "Title": "h1:fresh",
    **{f"Heading {level}": f"h{min(6, level + 1)}:fresh" for level in range(1, 10)},
    "Abstract Title": "h2:fresh",
    **dict.fromkeys(("Caption", "Table Caption", "Image Caption"), "figure:fresh > figcaption:fresh"),
    **dict.fromkeys(("Bibliography", "EndNote Bibliography"), "div.references > p:fresh"),
    **dict.fromkeys(("TOC Heading", *(f"TOC {level}" for level in range(1, 10))), "!"),
}
_NOTES = re.compile(r'<ol><li id="(?:foot|end)note-')
_BACK = re.compile(r' ?<a href="#(?:foot|end)note-ref-\d+">[^<]*</a>')


def read_docx(content: bytes, name: str) -> Paper:
    """Return the paper of a Word document, by way of the HTML that mammoth makes of it."""
    try:
        require_extra(f"{name}: reading .docx", "docx", "mammoth")
    except MissingExtraError as error:
        raise UnreadableError(str(error)) from error  # the other papers are read
    import mammoth  # noqa: PLC0415 - an extra

    count, held = Loss(), io.BytesIO()  # mammoth gets the text alone: no pictures, nothing embedded
    with zipfile.ZipFile(held, "w") as archive:
        for path, member in members_of(content, _OF_WORD, name).items():
            if b"<!" in member.replace(b"\0", b"").replace(b"<!--", b""):  # in UTF-16 too; Word writes none
                raise UnreadableError(f"{name}: {path}: expected XML without declarations, got one; save it again")
            is_text = _WITH_TEXT.fullmatch(path) is not None
            archive.writestr(path, _made_ready(member, count, f"{name}: {path}") if is_text else member)
    held.seek(0)
    styles = "\n".join(f"p[style-name='{style}'] => {element}" for style, element in _STYLES.items())
    styles += f"\np.{_GUESSED} => h1.{_GUESSED}:fresh"
    try:
        html = mammoth.convert_to_html(held, style_map=styles, convert_image=lambda _: []).value
    except Exception as error:  # a damaged file can make it fail in any way
        got = f"a damaged one ({type(error).__name__}: {error})"
        raise UnreadableError(f"{name}: expected a Word document, got {got}; save it again") from error
    if notes := _NOTES.search(html):
        html = f'{html[: notes.start()]}<section role="doc-endnotes">{_BACK.sub("", html[notes.start() :])}</section>'
    page = parse_html(_with_headings(html), name=name)
    return paper_of_page(page, page.first("h1"), name=name, file_format="Word (.docx)", count=count)


_SYMBOL_FONTS = ("Symbol", "Wingdings", "Webdings")
_LAST = 0xFF  # place of a sign in a font
_PRIVATE = 0xF000  # where a font of signs has them, from here on; a letter stands for the sign at its place


def _made_ready(member: bytes, count: Loss, where: str) -> bytes:
    """Return XML in which stands as text what mammoth would drop, and no longer what a reader does not see."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(member, parser)
    except etree.XMLSyntaxError as error:
        got = f"a damaged one ({error})"
        raise UnreadableError(f"{where}: expected a Word document, got {got}; save it again") from error
    for formula in list(root.iter("{*}oMathPara")):
        count.leave_out("display formula", "".join(formula.itertext()))
        _replace(formula, [])
    for formula in list(root.iter("{*}oMath")):
        _replace(formula, [_run(formula, formula_text(from_word(formula)))])
    for run in list(root.iter("{*}r")):
        _read_properties(run, count)
    for frame in list(root.iter("{*}framePr")):
        if _value(frame, "dropCap") in ("drop", "margin"):
            _join_to_next(frame.getparent().getparent())
    _mark_title(root)
    written: bytes = etree.tostring(root)
    return written


def _read_properties(run: etree._Element, count: Loss) -> None:
    """Leave a hidden run out, and make signs of the letters of one in a font of signs."""
    hidden, fonts = run.find("{*}rPr/{*}vanish"), run.find("{*}rPr/{*}rFonts")
    font = "" if fonts is None else _value(fonts, "ascii") or _value(fonts, "hAnsi")
    if hidden is not None and _value(hidden, "val") not in OFF:
        count.leave_out("hidden text", "".join(run.itertext()))
        _replace(run, [])
    elif font.startswith(_SYMBOL_FONTS):
        for text in run.findall("{*}t"):
            _replace(text, list(_signs(text, font)))


_GUESSED = "evidencebenchTitle"  # the style that we give to a title that has none
_MOST_FRONT = 12  # paragraphs up to the abstract, among which the title is


def _mark_title(root: etree._Element) -> None:
    """Give a style to the paragraph before the first known title whose type is larger than that of all others there."""
    body = root.find("{*}body")
    front: list[tuple[tuple[int, bool], etree._Element]] = []
    for paragraph in body.iterchildren("{*}p") if body is not None else ():
        text = "".join(paragraph.itertext()).strip()
        if is_known_title(text) or len(front) == _MOST_FRONT:
            break
        if text:
            front.append((_type_of(paragraph), paragraph))
    front.sort(key=lambda one: one[0], reverse=True)
    if len(front) < 2 or front[0][0] == front[1][0]:  # noqa: PLR2004 - the first and another
        return
    title = front[0][1]
    properties = title.find("{*}pPr")
    if properties is None:
        properties = etree.Element(_beside(title, "pPr"))
        title.insert(0, properties)
    if properties.find("{*}pStyle") is None:
        etree.SubElement(properties, _beside(title, "pStyle")).set(_beside(title, "val"), _GUESSED)


def _type_of(paragraph: etree._Element) -> tuple[int, bool]:
    """Return how large the type of a paragraph is, in half points, 0 where that is not said, and whether it is bold."""
    sizes = [_value(size, "val") for size in paragraph.findall("{*}r/{*}rPr/{*}sz")]
    runs = paragraph.findall("{*}r")
    is_bold = bool(runs) and all(run.find("{*}rPr/{*}b") is not None for run in runs)
    return max((int(size) for size in sizes if size.isdigit()), default=0), is_bold


def _beside(element: etree._Element, name: str) -> etree.QName:
    """Return a name in the namespace of an element: Word has two."""
    return etree.QName(etree.QName(element).namespace, name)


def _value(element: etree._Element, name: str) -> str:
    """Return an attribute of Word's, in whichever of its namespaces."""
    return next((value for key, value in element.attrib.items() if etree.QName(key).localname == name), "")


def _replace(element: etree._Element, others: list[etree._Element]) -> None:
    """Put others in the place of an element; what stands behind it stays."""
    parent = element.getparent()
    if parent is None:
        return
    place = parent.index(element)
    if element.tail:  # white space between elements, which is nothing to Word
        element.tail = None
    parent[place : place + 1] = others


def _run(near: etree._Element, text: str) -> etree._Element:
    """Return a run of text, in the namespace of the paragraph that a formula is in."""
    paragraph = next((around for around in near.iterancestors() if local_name(around) == "p"), etree.Element("p"))
    run = etree.Element(_beside(paragraph, "r"))
    run.append(_text(paragraph, text))
    return run


def _text(near: etree._Element, text: str) -> etree._Element:
    written = etree.Element(_beside(near, "t"))
    written.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    written.text = text
    return written


def _signs(text: etree._Element, font: str) -> Iterator[etree._Element]:
    """Yield a sign of a font for each character, which mammoth turns into Unicode; white space stays text."""
    for character in text.text or "":
        place = ord(character) - _PRIVATE if ord(character) >= _PRIVATE else ord(character)
        if character.isspace() or place > _LAST:
            yield _text(text, character)
        else:
            sign = etree.Element(_beside(text, "sym"))
            sign.set(_beside(text, "font"), font)
            sign.set(_beside(text, "char"), f"{_PRIVATE + place:04X}")
            yield sign


def _join_to_next(paragraph: etree._Element) -> None:
    """Put the large first letter of a paragraph, which Word keeps in one of its own, before the rest."""
    following = paragraph.getnext()
    if following is None or local_name(following) != "p":
        return
    place = int(len(following) > 0 and local_name(following[0]) == "pPr")
    for run in reversed(paragraph.findall("{*}r")):
        following.insert(place, run)
    _replace(paragraph, [])


_FIRST = re.compile(r"(?:<a id=\"[^\"]*\"></a>)*<(?P<tag>h2|p)>(?P<text>.*?)</(?P=tag)>")
_ALONE = re.compile(r"(?s)<table>.*?</table>|<p>(?P<bold><strong>)?(?P<title>[^<>]{3,150})(?(bold)</strong>)</p>")
_CAPTION = re.compile(r"<figure><figcaption>((?:(?!<figure>).)*?)</figcaption></figure><table>")
_KEYWORDS = re.compile(r"(?i)<p>(?=(?:<strong>|<em>)*key ?-?words?\b)")
# Raised numbers that are sources, no powers: several of them, or one behind a stop.
_CITED = re.compile(r"(?<!\b10)<sup>(\d+(?:[,\u2013-]\s?\d+)+|(?<=[.,;:)]<sup>)\d+)</sup>")
_GUESSED_TITLE = re.compile(rf'<h1 class="{_GUESSED}">(?P<text>.*?)</h1>')
_LONGEST_TITLE, _MOST_WORDS = 300, 12
_STOPPED = re.compile(r"[.!;:,]$")


def _with_headings(html: str) -> str:
    """Return a page whose titles are headings where no style says so: known and bold ones alone, and the paper's."""

    def as_heading(match: re.Match[str]) -> str:
        title = (match["title"] or "").strip()  # none in a table
        is_title = match["bold"] and len(title.split()) <= _MOST_WORDS and not _STOPPED.search(title)
        level = level_of(title) + 1 if number_of(title) or section_of(title) else 6  # below those that have a style
        return f"<h{level}>{match['title']}</h{level}>" if is_title or is_known_title(title) else match[0]

    if "<h1>" in html:
        html = _GUESSED_TITLE.sub(r"<p>\g<text></p>", html)
    html = html.replace(f'<h1 class="{_GUESSED}">', "<h1>")
    first = _FIRST.match(html)
    if first and "<h1>" not in html:
        title = re.sub(r"<[^>]*>", "", first["text"]).strip()
        if 0 < len(title) <= _LONGEST_TITLE and not _STOPPED.search(title) and not is_known_title(title):
            html = f"<h1>{first['text']}</h1>{html[first.end() :]}"
    html = _CAPTION.sub(r"<table><caption>\1</caption>", html)
    html = _CITED.sub(r'<sup><a href="#cited">\1</a></sup>', html)
    return _ALONE.sub(as_heading, _KEYWORDS.sub('<p class="keywords">', html))
