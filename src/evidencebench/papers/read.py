"""Read_paper, read_all_content; formats told by content; refusals."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from evidencebench.errors import UnreadableError
from evidencebench.files.disk import PathText, read_bytes
from evidencebench.papers.bioc import is_bioc_json, read_bioc_json, read_bioc_xml
from evidencebench.papers.blocks import each_paper, metadata_only
from evidencebench.papers.html import is_html, read_html
from evidencebench.papers.jats import articles_in, ids_of_article, read_article
from evidencebench.papers.language import language_of
from evidencebench.papers.lists import is_list
from evidencebench.papers.markdown import is_markdown, read_markdown
from evidencebench.papers.paper import Paper
from evidencebench.papers.pdf.reader import is_pdf, read_pdf
from evidencebench.papers.plain import read_plain
from evidencebench.papers.sample import paper_path
from evidencebench.papers.tei import read_tei
from evidencebench.papers.tree import beginning, parse_xml, root_tag
from evidencebench.papers.word import is_docx, read_docx
from evidencebench.papers.zipped import is_epub, read_epub
from evidencebench.query import Kind
from evidencebench.tables import shortened
from evidencebench.wording import counted

# The outermost elements of papers in XML.
_ROOTS = re.compile(
    r"articles?|(?:pmc-)?article-?set|book-part(?:-wrapper)?|oai-pmh|pubmedarticleset|tei(?:corpus)?|collection|document"
)


def is_xml_paper(content: bytes) -> bool:
    """Say whether content is XML, HTML apart."""
    tag = root_tag(content) or ""
    if beginning(content[:1024]).lstrip().lower().startswith("<!doctype html"):  # whose first element may be an article
        return False
    is_declared = content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml")
    return _ROOTS.fullmatch(tag) is not None or (is_declared and tag not in ("html", "svg"))


def read_xml(content: bytes, name: str) -> Sequence[Paper | UnreadableError]:
    root = parse_xml(content, name=name)
    if root.first("pubmedarticle", "pubmedbookarticle", "medlinecitation"):
        raise metadata_only(name, "XML of PubMed", "titles and abstracts")
    if articles := articles_in(root, name=name):
        ids = [next(iter(ids_of_article(article).values()), "") for article in articles]
        return each_paper(articles, ids, read_article, name)
    if papers := ([root] if root.tag == "tei" else list(root.all("tei"))):
        return each_paper(papers, [""] * len(papers), read_tei, name)
    if root.first("passage"):
        return read_bioc_xml(root, name)
    raise UnreadableError(
        f"{name}: expected a paper in JATS, TEI or BioC, got XML that begins with <{root.tag}>; give its JATS or PDF"
    )


MOST_SENTENCES = 50_000
"""The most sentences of one paper: the time that many systems take grows with their square."""

LONGEST_SENTENCE = 100_000
"""The most characters of one sentence; a whole paper without any stop has fewer."""


_Read = Callable[[bytes, str], Paper | Sequence[Paper | UnreadableError]]

# For each format: what recognises it by its content, what reads it (from the content, and the name for messages), and
# whether it also holds papers without their body, which are refused as metadata only. The first that recognises a file
# reads it. Plain text comes last: it takes every file or refuses it. To add a format, write a reader in a file beside
# this one, and name it here.
READERS: tuple[tuple[Callable[[bytes], bool], _Read, bool], ...] = (
    (is_pdf, read_pdf, False),
    (is_list, lambda _, name: [metadata_only(name, "a list of papers", "records of papers")], False),
    (is_docx, read_docx, False),
    (is_epub, read_epub, False),
    (is_bioc_json, read_bioc_json, True),
    (is_xml_paper, read_xml, True),
    (is_html, read_html, True),
    (is_markdown, read_markdown, False),
    (lambda _: True, read_plain, False),
)


def read_paper(source: PathText | bytes, *, name: str = "paper") -> Paper:
    r"""Read one paper from a file, or from its content.

    Parameters
    ----------
    source
        Path of a file, or the bytes of one; ``"sample"`` is a paper that comes with the package. The content decides
        on the format, never the name; but a file named ``.pdf`` must be a PDF.
    name
        What messages and outputs call the paper, where ``source`` is bytes; a file is called by its path.

    Returns
    -------
    Paper
        Its title, sentences in order with kinds, places and spans, and its units: rows of tables, captions, notes.

    Raises
    ------
    EvidenceBenchError
        If the content is no paper, or several, or cannot be read; the message says where, and what to give instead.

    Examples
    --------
    >>> paper = read_paper(b"# Results\nTea lowered blood pressure.\n", name="tea.txt")
    >>> paper, paper.sentences[1], paper.places[1].section
    (Paper('tea.txt', 2 sentences), 'Tea lowered blood pressure.', ('Results',))
    """
    if isinstance(source, bytes):
        return read_content(source, name=name)
    path = paper_path(str(source))
    return read_content(read_bytes(path), name=str(path))


def read_content(content: bytes, *, name: str) -> Paper:
    papers = read_all_content(content, name=name)
    if len(papers) > 1:
        names = ", ".join(paper.name for paper in papers if isinstance(paper, Paper))
        raise UnreadableError(
            f"{name}: expected one paper, got {counted(len(papers), 'paper')} ({shortened(names, 200)}); write each "
            "into a file of its own"
        )
    if isinstance(papers[0], UnreadableError):
        raise papers[0]
    return papers[0]


def read_all_content(content: bytes, *, name: str) -> list[Paper | UnreadableError]:
    if name.lower().endswith(".pdf") and not is_pdf(content):
        got = "it is a web page" if is_html(content) else "" if content else "it is empty"
        why = f"no %PDF header{got and f': {got}'}"
        raise UnreadableError(f"{name} is named .pdf but is not a PDF ({why}); download it again, or rename it")
    reader, needs_body = next((reader, needs_body) for is_its, reader, needs_body in READERS if is_its(content))
    papers = reader(content, name)
    return [checked(paper, needs_body=needs_body) for paper in ([papers] if isinstance(papers, Paper) else papers)]


def checked(paper: Paper | UnreadableError, *, needs_body: bool = True) -> Paper | UnreadableError:
    if isinstance(paper, UnreadableError):
        return paper
    if needs_body and Kind.BODY not in paper.kinds:
        return metadata_only(paper.name, paper.format, "its abstract, but no body")
    if len(paper.sentences) > MOST_SENTENCES:
        return UnreadableError(
            f"{paper.name}: expected at most {MOST_SENTENCES:,} sentences, got {len(paper.sentences):,}; a paper has "
            "hundreds: ask about its papers or parts one by one"
        )
    longest = max(map(len, paper.sentences))
    if longest > LONGEST_SENTENCE:
        return UnreadableError(
            f"{paper.name}: expected sentences of at most {LONGEST_SENTENCE:,} characters, got one of {longest:,}; it "
            "may be data and no text: give the text of a paper"
        )
    if language := language_of(" ".join(paper.sentences)):
        said = f"The paper reads as {language}; the finder was trained on English."
        return replace(paper, warnings=(*paper.warnings, said))
    return paper
