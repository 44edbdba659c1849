"""Papers in ZIP archives: Word's .docx and EPUB, made here as Word, Pandoc and shops write them."""

import io
import sys
import zipfile
from collections.abc import Mapping

import pytest

from doors import UnreadableError, read_content
from evidencebench import Kind, Paper

_W = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)
_STYLES = "".join(  # as a German Word has them: ids in German, names in English
    f'<w:style w:type="paragraph" w:styleId="{style}"><w:name w:val="{name}"/></w:style>'
    for style, name in (
        ("Titel", "Title"),
        ("berschrift1", "heading 1"),
        ("berschrift2", "heading 2"),
        ("Beschriftung", "caption"),
        ("Verzeichnis1", "toc 1"),
    )
)


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return held.getvalue()


def paragraph(text: str, style: str = "", *, bold: bool = False, more: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    run = f"<w:r>{'<w:rPr><w:b/></w:rPr>' * bold}<w:t>{text}</w:t></w:r>"
    return f"<w:p>{properties}{run}{more}</w:p>"


def docx(*paragraphs: str, **parts: str | bytes) -> bytes:
    return zipped(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
            "word/document.xml": f"<w:document {_W}><w:body>{''.join(paragraphs)}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {_W}>{_STYLES}</w:styles>",
            "word/media/image1.png": b"\x89PNG",
            **{f"word/{name}.xml": text for name, text in parts.items()},
        }
    )


def shown(paper: Paper) -> list[str]:
    signs = {Kind.HEADING: "#", Kind.ABSTRACT: ">", Kind.BODY: " "}
    rows = zip(paper.sentences, paper.kinds, paper.places, strict=True)
    return [f"{signs[kind]}{'  ' * len(place.section)} {text}" for text, kind, place in rows]


_NOTE = '<w:r><w:footnoteReference w:id="2"/></w:r>'
_RAISED = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>{}</w:t></w:r>'
_FORMULA = (
    "<m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
)
_TABLE = f"<w:tbl><w:tr><w:tc>{paragraph('Results', bold=True)}</w:tc><w:tc>{paragraph('128')}</w:tc></w:tr></w:tbl>"


def test_a_word_document_has_headings_by_style_or_alone_in_bold_and_no_notes_tables_or_captions_in_its_text() -> None:
    paper = read_content(
        docx(
            paragraph("Tea and pressure: a trial", "Titel"),
            paragraph("A. Writer"),
            paragraph("Methods\t3", "Verzeichnis1"),
            paragraph("ABSTRACT", bold=True),
            paragraph("Tea lowered pressure by 3.1 mmHg."),
            paragraph("Keywords: tea"),
            paragraph("Methods", "berschrift1"),
            paragraph("Participants", "berschrift2"),
            paragraph("We asked 120 adults of 25 kg/m", more=_RAISED.format("2") + "<w:r><w:t>.</w:t></w:r>" + _NOTE),
            paragraph("Who was left out", bold=True),
            paragraph("Nobody was.", more=_RAISED.format("3,4") + "<w:r><w:t> Here one is.</w:t></w:r>"),
            paragraph("We fitted ", more=_FORMULA + "<w:r><w:t> to all.</w:t></w:r>"),
            paragraph("Table 1. Pressure.", "Beschriftung"),
            _TABLE,
            paragraph("2. Results"),
            paragraph("Pressure fell.", more="<w:del><w:r><w:delText> Not.</w:delText></w:r></w:del>"),
            paragraph("References", "berschrift1"),
            paragraph("1. Smith J. Tea. BMJ 2010."),
            footnotes=f'<w:footnotes {_W}><w:footnote w:id="2">{paragraph("Paid by tea.")}</w:footnote></w:footnotes>',
        ),
        name="tea.docx",
    )
    assert (paper.format, paper.title) == ("Word (.docx)", "Tea and pressure: a trial")
    assert shown(paper)[1:] == [
        "# ABSTRACT",
        ">   Tea lowered pressure by 3.1 mmHg.",
        "# Methods",
        "#   Participants",
        "      We asked 120 adults of 25 kg/m2.[1]",
        "#     Who was left out",
        "        Nobody was.[3,4]",
        "        Here one is.",
        "        We fitted x^2 to all.",
        "# 2. Results",
        "    Pressure fell.",
    ]
    assert [unit.text for unit in paper.units][1:3] == ["Table 1. Pressure.", "Table 1. Pressure. Results. 128"]
    left_out = {sort: out.n_elements for sort, out in paper.loss.left_out.items()}
    assert left_out == {"footnote": 1, "front matter": 1, "keyword": 1, "references": 1, "table": 1}


def test_a_word_document_without_styles_has_its_first_line_as_title() -> None:
    text = [paragraph(one) for one in ("Tea and pressure", "Introduction", "Tea is drunk by many adults.")]
    assert shown(read_content(docx(*text), name="x")) == [
        "# Tea and pressure",
        "# Introduction",
        "    Tea is drunk by many adults.",
    ]


_DEEP = "<w:p>" + "<w:hyperlink>" * 5000 + "</w:hyperlink>" * 5000 + "</w:p>"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (docx(footnotes=f'<!DOCTYPE a [<!ENTITY e "e">]><w:footnotes {_W}/>'), "without declarations"),
        (docx(footnotes=f'<!DOCTYPE a [<!ENTITY e "e">]><a {_W}/>'.encode("utf-16")), "without declarations"),
        (docx(styles=" " * (60 << 20)), "bytes of text in the archive, got 62,9"),
        (docx(_DEEP), "damaged"),
        (docx(numbering="<w:numb"), "Word document, got a damaged one .*ExpatError.*save it again"),
        (docx(paragraph("Tea"))[:-30], "no whole .docx or .epub"),
        (docx(paragraph("Tea")).replace(b"<w:p>", b"<w:q>"), "metadata only"),
        (zipped({"META-INF/container.xml": "<container/>"}), "well-formed XML"),
    ],
    ids=["entities", "in UTF-16", "a bomb", "deep", "damaged XML", "cut off", "no text", "no package"],
)
def test_a_hostile_or_damaged_archive_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        read_content(content, name="x.docx")


def test_without_mammoth_a_word_document_is_told_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mammoth", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UnreadableError, match=r"x: .*mammoth.*'evidencebench\[docx\]'"):
        read_content(docx(paragraph("Tea")), name="x")


def epub(opf: str, **chapters: str) -> bytes:
    rootfile = '<rootfile full-path="OEBPS/a.opf"/>'
    pages = {f"OEBPS/text {name}.xhtml": f"<?xml version='1.0'?><html>{text}</html>" for name, text in chapters.items()}
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f"<container><rootfiles>{rootfile}</rootfiles></container>",
            "OEBPS/a.opf": f"<package xmlns:dc='http://purl.org/dc/elements/1.1/'>{opf}</package>",
            **pages,
        }
    )


_OPF = """<metadata><dc:title>Tea &amp; pressure</dc:title><dc:identifier>doi:10.1000/tea.1</dc:identifier></metadata>
<manifest><item id="n" href="text%20n.xhtml" properties="nav"/><item id="a" href="text%20a.xhtml#start"/>
<item id="b" href="../OEBPS/text%20b.xhtml"/><item id="c" href="../../../../etc/passwd"/></manifest>
<spine><itemref idref="n"/><itemref idref="b"/><itemref idref="a"/><itemref idref="c"/><itemref idref="d"/></spine>"""


def test_an_epub_is_read_in_the_order_of_its_spine_with_its_title_and_doi() -> None:
    content = epub(
        _OPF,
        n="<body><p>Contents of this book, which nobody asks for.</p></body>",
        a="<head><title>a</title></head><body><h2>Results</h2><p>Pressure fell.</p><aside>A note.</aside></body>",
        b="<body><h2>Methods</h2><p>We asked adults<a id='x'/> of any age.</p></body>",
    )
    paper = read_content(content, name="tea.epub")
    assert (paper.format, dict(paper.ids)) == ("EPUB", {"doi": "10.1000/tea.1"})
    assert shown(paper) == [
        "# Tea & pressure",
        "# Methods",
        "    We asked adults of any age.",
        "# Results",
        "    Pressure fell.",
    ]


def _run(text: str, properties: str) -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


_SYMBOL = '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>'


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (_run("\uf0b1", _SYMBOL), "\u00b1"),
        (_run("\uf0a3", _SYMBOL), "\u2264"),
        (_run("a", _SYMBOL), "\u03b1"),
        (_run("m", _SYMBOL), "\u03bc"),
        (_run("Not this. ", "<w:vanish/>"), ""),
        (_run("This too. ", '<w:vanish w:val="0"/>'), "This too."),
    ],
)
def test_signs_that_are_letters_of_a_font_and_text_that_is_hidden(run: str, text: str) -> None:
    paper = read_content(docx(paragraph("Tea"), f"<w:p>{run}<w:r><w:t> 5 mg was given.</w:t></w:r></w:p>"), name="x")
    assert " ".join(paper.sentences[1:]) == f"{text} 5 mg was given.".strip()
    assert ("hidden text" in paper.loss.left_out) == ("Not" in run)


def test_the_large_first_letter_of_a_paragraph_belongs_to_its_word() -> None:
    cap = '<w:p><w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr><w:r><w:t>P</w:t></w:r></w:p>'
    paper = read_content(docx(paragraph("Tea"), cap, paragraph("ressure fell.")), name="x")
    assert paper.sentences == ("Tea", "Pressure fell.")


def test_the_title_of_a_document_without_styles_is_what_is_largest_before_the_abstract() -> None:
    large = '<w:p><w:r><w:rPr><w:sz w:val="32"/></w:rPr><w:t>Tea and pressure</w:t></w:r></w:p>'
    text = [paragraph(one) for one in ("Abstract", "It fell.", "Introduction", "Tea is drunk.")]
    paper = read_content(docx(paragraph("Running head: TEA"), large, paragraph("A. Writer"), *text), name="x")
    assert paper.title == "Tea and pressure"
    assert paper.loss.left_out["front matter"].n_elements == 2


def test_a_display_formula_of_word_is_counted() -> None:
    display = f"<w:p><m:oMathPara>{_FORMULA}</m:oMathPara></w:p>"
    paper = read_content(docx(paragraph("Tea"), paragraph("It fell."), display), name="x")
    assert paper.loss.left_out["display formula"].n_elements == 1


@pytest.mark.parametrize("n", [10, 20_000])
def test_formulas_that_are_not_closed_are_a_damaged_document(n: int) -> None:
    broken = zipped({"word/document.xml": f"<w:document {_W}>{'<m:oMath>' * n}</w:document>"})
    with pytest.raises(UnreadableError, match=r"word/document.xml: .*a damaged one .*save it again"):
        read_content(broken, name="tea.docx")


def test_a_chapter_that_a_book_names_often_is_read_once() -> None:
    book = zipped(
        {
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>',
            "c.opf": '<package><manifest><item id="i" href="a.xhtml"/></manifest><spine>'
            + '<itemref idref="i"/>' * 4000
            + "</spine></package>",
            "a.xhtml": f"<html><body><p>{'Tea lowered blood pressure. ' * 20}</p></body></html>",
        }
    )
    assert len(read_content(book, name="tea.epub").sentences) == 20
