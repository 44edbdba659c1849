"""How much of articles is found again in PDFs that Chromium prints of them, in one, two and three columns.

    .venv/bin/python benchmarks/reading_pdfs.py ../shared/data/evidence_inference/xml --every 25

Every 25th article of a folder of JATS files is printed with running heads, page numbers, hyphens, tables, figures and
references. Sentences are compared by their letters and digits; those of tables, captions, references and back matter
are not wanted. Real PDFs come from other programs, so that these figures are a ceiling.
"""

import argparse
import html
import re
import shutil
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import sync_playwright

from evidencebench.papers.blocks import sentence_spans
from evidencebench.papers.pdf.paragraphs import section_of
from evidencebench.papers.pdf.reader import read_pdf
from evidencebench.papers.sections import SectionSort
from evidencebench.query import Kind

_CHROMIUM = "chromium"
_LEFT_OUT = frozenset(
    {
        *("table-wrap", "table-wrap-group", "fig", "fig-group", "graphic", "media", "supplementary-material", "array"),
        *("disp-formula", "disp-formula-group", "inline-formula", "tex-math", "alternatives", "label", "object-id"),
        *("fn", "fn-group", "boxed-text", "disp-quote", "verse-group", "def-list"),
        "{http://www.w3.org/1998/Math/MathML}math",
    }
)
_INLINE = {"italic": "i", "bold": "b", "sup": "sup", "sub": "sub"}
_HEAD = "<div style='font-size: 7pt; width: 100%; text-align: center'>Journal of Examples 2019, 12:345</div>"
_FOOT = "<div style='font-size: 7pt; width: 100%; text-align: center'>Page <span class=pageNumber></span></div>"
_WORD = re.compile(r"[A-Za-z]{7,}")
_SYLLABLE = re.compile(
    r"(?<=[a-z]{2}[aeiou])(?=[b-df-hj-np-tv-z][aeiou][a-z])|(?<=[a-z]{2}[b-df-hlmnprst])(?=[b-df-hlmnprst][aeiou][a-z])"
)
_SHARED = """
h1 {line-height: 1.15} .front {margin: .2em 0} td {vertical-align: top} figure {margin: 1em 0; break-inside: avoid}
table {border-top: 1px solid; border-bottom: 1px solid; border-spacing: 8px 1px; overflow-wrap: anywhere}
h2, h3, h4, h5 {break-after: avoid; margin: .9em 0 .3em} .references {overflow-wrap: anywhere}
"""
_LAYOUTS: Mapping[str, str] = {
    "one column": """
    @page {size: A4; margin: 22mm 25mm} body {font: 11pt/1.35 'Liberation Serif'} h1 {font-size: 18pt}
    h2 {font-size: 14pt} h3 {font-size: 12pt} h4 {font-size: 11pt; font-style: italic}
    p {margin: 0 0 .7em; text-align: justify} .front, .references, .notes {font-size: 9pt}
    .caption, table {font-size: 9.5pt}""",
    "two columns": """
    @page {size: letter; margin: 18mm 16mm} body {font: 9.5pt/1.2 'Liberation Serif'} h1 {font-size: 17pt}
    h2 {font-size: 11pt} h3 {font-size: 9.5pt} h4 {font-size: 9.5pt; font-style: italic; font-weight: normal}
    .columns {columns: 2; column-gap: 6mm} p {margin: 0; text-indent: 1em; text-align: justify}
    .abstract {margin: 1em 3em} .abstract p {font-size: 9pt; text-indent: 0} .wide {column-span: all}
    .front, .references p, .notes {font-size: 7.5pt; text-indent: 0} .caption, table {font-size: 8pt}""",
    "three columns": """
    @page {size: A4; margin: 15mm 12mm} body {font: 8.5pt/1.25 'Liberation Sans'} h2 {font-size: 10pt}
    h1 {font-size: 20pt; font-weight: normal} h2 {text-transform: uppercase} h3 {font-size: 8.5pt}
    h4 {font-size: 8.5pt; font-weight: normal; font-style: italic} .columns {columns: 3; column-gap: 5mm}
    p {margin: 0; text-indent: 1em} h2 + p, h3 + p {text-indent: 0} .abstract p {font-weight: bold}
    .abstract h2 {display: none} .front, .references p, .notes {font-size: 7pt} .caption, table {font-size: 7pt}""",
}


@dataclass(slots=True)
class Article:
    """The HTML of an article, and what it says: (``heading``, ``label``, ``abstract`` or ``body``, text)."""

    title: str
    markup: list[str] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)


def article_of(path: Path) -> Article:
    """Return an article from a JATS file."""
    root = ET.fromstring(path.read_bytes())  # noqa: S314 files that we trust
    meta = _found(root, "front/article-meta")
    title = _found(meta, "title-group/article-title")
    article = Article(_plain(title), [f"<h1>{_inline(title)}</h1>"])
    names = (" ".join(filter(None, map(one.findtext, ("given-names", "surname")))) for one in meta.iter("name"))
    front = (", ".join(names), *map(_plain, meta.iter("aff")))
    article.markup += [f"<p class=front>{html.escape(text)}</p>" for text in front]
    abstract = next((one for one in meta.findall("abstract") if not one.get("abstract-type")), None)
    if abstract is not None:
        article.markup.append("<div class=abstract><h2>Abstract</h2>")
        article.said.append(("heading", "Abstract"))
        _add_section(abstract, article, 4, "abstract")
        article.markup.append("</div>")
    if words := [_plain(one) for one in meta.iter("kwd")]:
        article.markup.append(f"<p class=front><b>Keywords:</b> {html.escape(', '.join(words))}</p>")
    article.markup.append("<div class=columns>")
    _add_section(_found(root, "body"), article, 2, "body")
    article.markup.append("<h2>References</h2><div class=references>")
    article.markup += [f"<p>{n}. {html.escape(_plain(one))}</p>" for n, one in enumerate(root.iter("ref"), 1)]
    article.markup.append("</div></div>")
    return article


def _found(node: ET.Element, path: str) -> ET.Element:
    found = node.find(path)
    return ET.Element("none") if found is None else found


def _add_section(node: ET.Element, article: Article, level: int, kind: str) -> None:
    for child in node:
        if child.tag == "title" and _plain(child):
            article.said.append(("label" if kind == "abstract" else "heading", _plain(child)))
            article.markup.append(f"<h{min(level, 5)}>{_inline(child)}</h{min(level, 5)}>")
        elif child.tag == "sec":
            _add_section(child, article, level + (node.tag == "sec"), kind)
        elif child.tag == "p":
            _add_paragraph(child, article, kind)
        elif child.tag == "list":
            for paragraph in child.findall("list-item/p"):
                _add_paragraph(paragraph, article, kind)
        elif child.tag in ("fig", "table-wrap"):
            article.markup.append(_float(child))


def _add_paragraph(node: ET.Element, article: Article, kind: str) -> None:
    article.said.append((kind, _plain(node)))
    article.markup.append(f"<p>{_inline(node)}</p>")
    article.markup += [_float(one) for one in node.iter() if one.tag in ("fig", "table-wrap")]


def _float(node: ET.Element) -> str:
    label = (node.findtext("label") or ("Table 1" if node.tag == "table-wrap" else "Figure 1")).strip().rstrip(".")
    caption = f"<p class=caption><b>{html.escape(label)}.</b> {html.escape(_plain(_found(node, 'caption')))}</p>"
    if node.tag == "fig":
        marks = "".join(f"<text x={20 + 40 * n} y={100 - 12 * n} font-size=7>{10 * n}</text>" for n in range(6))
        return f"<figure><svg width=240 height=110>{marks}</svg>{caption}</figure>"
    cells = [[f"<td>{html.escape(_plain(cell))}" for cell in row] for row in node.iter("tr")]
    rows = "".join(f"<tr>{''.join(row)}" for row in cells)
    wide = " class=wide" if max(map(len, cells), default=0) > 4 else ""
    notes = f"<p class=notes>{html.escape(_plain(_found(node, 'table-wrap-foot')))}</p>"
    return f"<figure{wide}>{caption}<table>{rows}</table>{notes}</figure>"


def _plain(node: ET.Element) -> str:
    return " ".join("".join(_texts(node)).split())


def _texts(node: ET.Element) -> Iterator[str]:
    yield node.text or ""
    for child in node:
        if child.tag not in _LEFT_OUT:
            yield from _texts(child)
        yield child.tail or ""


def _inline(node: ET.Element) -> str:
    parts = [_hyphenated(node.text)]
    for child in node:
        if child.tag not in _LEFT_OUT:
            tag = _INLINE.get(child.tag, "span")
            parts.append(f"<{tag}>{_inline(child)}</{tag}>")
        parts.append(_hyphenated(child.tail))
    return "".join(parts)


def _hyphenated(text: str | None) -> str:
    return _WORD.sub(lambda found: _SYLLABLE.sub("\u00ad", found[0]), html.escape(text or "", quote=False))


def counts_of(article: Article, content: bytes) -> Counter[str]:
    """Return how many sentences and headings were wanted, read, and both."""
    paper = read_pdf(content, "paper.pdf")
    headings, wanted, label, is_body = [_letters(article.title)], [], "", True
    for kind, text in article.said:
        if kind == "heading":
            is_body = section_of(text) is not SectionSort.BACK_MATTER
            headings += [_letters(text)] if is_body else []
        elif kind == "label":
            label = f"{text}: "
        elif is_body or kind == "abstract":
            whole, label = label + text, ""
            wanted += [_letters(whole[start:stop]) for start, stop in sentence_spans(whole)]
    parts = list(zip(paper.sentences, paper.kinds, strict=True))
    read = [_letters(text) for text, kind in parts if kind is not Kind.HEADING]
    read_headings = [_letters(text) for text, kind in parts if kind is Kind.HEADING]
    return Counter(
        papers=1,
        titles=_letters(paper.title) == headings[0],
        wanted=len(wanted),
        read=len(read),
        both=(Counter(wanted) & Counter(read)).total(),
        wanted_headings=len(headings),
        read_headings=len(read_headings),
        both_headings=(Counter(headings) & Counter(read_headings)).total(),
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def main() -> None:
    """Print and read the articles; print a row a layout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of JATS files")
    parser.add_argument("--every", type=int, default=25, help="read one in so many")
    parser.add_argument("--layout", action="append", choices=_LAYOUTS, help="one that is printed; default: all three")
    options = parser.parse_args()
    totals: dict[str, Counter[str]] = {layout: Counter() for layout in options.layout or _LAYOUTS}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        page = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"]).new_page()
        for path in sorted(options.folder.glob("*.nxml"))[:: options.every]:
            article = article_of(path)
            for layout in totals:
                style = _LAYOUTS[layout]
                page.set_content(f"<style>{_SHARED}{style}</style>{''.join(article.markup)}")
                target = Path(folder) / "paper.pdf"
                page.pdf(
                    path=target,
                    prefer_css_page_size=True,
                    display_header_footer=True,
                    header_template=_HEAD,
                    footer_template=_FOOT,
                )
                totals[layout] += counts_of(article, target.read_bytes())
    for layout, n in totals.items():
        print(
            f"{layout}: {n['papers']} papers, {n['titles']} titles; of the sentences {n['both'] / n['wanted']:.1%} are "
            f"found, and {n['both'] / n['read']:.1%} of what is read are such; of the headings "
            f"{n['both_headings'] / n['wanted_headings']:.1%} and {n['both_headings'] / n['read_headings']:.1%}"
        )


def _chromium() -> str:
    path = shutil.which(_CHROMIUM)
    if path is None:
        raise SystemExit("expected Chromium (apt-get install chromium), found none")
    return path


if __name__ == "__main__":
    main()
