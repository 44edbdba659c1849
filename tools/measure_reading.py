"""Measure what is kept of the articles of the shared data, and what is found of other people's text of them.

    python tools/measure_reading.py ../shared/data

Printed are, over all articles in JATS XML:

* the share of the characters of title, main abstract and body, without the elements that are left out by design, that
  stand in our sentences. They are counted in the tree of another parser, `xml.etree`, white space apart;
* the share of articles whose letters and digits are, in order, exactly those of our sentences;
* the share of our sentences whose letters and digits are those of the article's text between their offsets, without
  that of elements that are left out;
* the share of the sentences of the data set's own plain texts that stand in our sentences too, by letters and digits.
  Sentences of under 20 letters and digits, and those that stand in elements that are left out, are not counted.
"""

import re
import sys
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evidencebench.papers.jats import articles_in, read_article
from evidencebench.papers.paper import Paper
from evidencebench.papers.tree import parse_xml

# Written down again here, so that a mistake in the reader's own table shows.
_LEFT_OUT = frozenset(
    {"alt-text", "array", "chem-struct", "chem-struct-wrap", "code", "disp-formula", "disp-formula-group", "fig",
     "fig-group", "fn", "fn-group", "graphic", "inline-graphic", "inline-media", "kwd-group", "long-desc", "media",
     "object-id", "permissions", "ref-list", "supplementary-material", "table", "table-wrap", "table-wrap-group"}
)  # fmt: skip
_ELSEWHERE = _LEFT_OUT | {"abstract", "trans-abstract", "alt-title", "back", "floats-group", "tex-math"}
_SECONDARY = frozenset({"author-highlights", "editor", "graphical", "LongSummary", "short", "summary", "toc"})
_OUTSIDE = frozenset({"fig", "table-wrap", "disp-formula", "fn", "supplementary-material", "inline-formula"})
_LEAST_LETTERS = 20
_WIDTHLESS = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"


@dataclass(slots=True)
class Figures:
    """What was counted over articles."""

    n_articles: int = 0
    n_characters: int = 0
    n_kept: int = 0
    n_exact: int = 0
    n_spans: int = 0
    n_same: int = 0
    n_sentences: int = 0
    n_found: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    missed: list[tuple[str, str]] = field(default_factory=list)


def measure(xml: Path, text: Path | None, figures: Figures) -> None:
    """Count one article; ``text`` is the data set's own plain text of it."""
    root = ET.parse(xml).getroot()  # noqa: S314 - the shared data
    (article,) = articles_in(parse_xml(xml.read_bytes(), name=str(xml)), name=str(xml))
    paper = read_article(article, str(xml))  # also one without its body
    ours = "".join(paper.sentences)
    theirs = "".join(_running_text(root))
    counted, kept = Counter(_visible(theirs)), Counter(_visible(ours))
    figures.n_articles += 1
    figures.n_characters += counted.total()
    figures.n_kept += (counted & kept).total()
    figures.n_exact += letters(theirs) == letters(ours)
    _measure_spans("".join(_text_in_place(root)), paper, figures)
    for sort, out in paper.loss.left_out.items():
        figures.left_out[sort] += out.n_characters
    if text is not None:
        _measure_sentences(text, root, paper, figures)


def letters(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))


def _measure_spans(text: str, paper: Paper, figures: Figures) -> None:
    for sentence, span in zip(paper.sentences, paper.spans, strict=True):
        figures.n_spans += 1
        figures.n_same += letters(text[span.start : span.stop]) == letters(sentence)


def _text_in_place(element: ET.Element, *, is_outside: bool = False) -> Iterator[str]:
    """Yield all text of an article, with spaces in place of what our sentences leave out."""
    is_outside = is_outside or element.tag in _OUTSIDE
    text = element.text or ""
    yield " " * len(text) if is_outside else text
    for child in element:
        yield from _text_in_place(child, is_outside=is_outside)
        tail = child.tail or ""
        yield " " * len(tail) if is_outside else tail


def _measure_sentences(text: Path, root: ET.Element, paper: Paper, figures: Figures) -> None:
    ours = letters("".join(paper.sentences))
    elsewhere = letters("".join(_left_out_text(root)))
    for sentence in _sentences(text.read_text(encoding="utf-8")):
        bare = letters(sentence)
        if len(bare) < _LEAST_LETTERS:
            continue
        running = _running_part(bare, ours, elsewhere)
        if running is None:
            figures.missed.append((paper.name, sentence))
        if running != "":
            figures.n_sentences += 1
            figures.n_found += running is not None


def _running_part(bare: str, ours: str, elsewhere: str) -> str | None:
    """Return the part of a sentence that stands in ours: none if all of it is left out by design, None if it is missed.

    The plain texts lack the break between a sentence and the caption behind it, so that one can end with the other.
    """
    if bare in ours:
        return bare
    if bare in elsewhere:
        return ""
    for cut in range(1, len(bare)):
        for running, other in ((bare[:cut], bare[cut:]), (bare[cut:], bare[:cut])):
            if other in elsewhere and running in ours:
                return running if len(running) >= _LEAST_LETTERS else ""
    return None


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a plain text by a plain rule, without the names of its parts."""
    for line in text.splitlines():
        if not re.search(r"(?:ABSTRACT|BODY)\.\S|TITLE:", line):
            yield from re.split(r"(?<=[a-z)\]][.?!])\s+(?=[A-Z])", line)


def _running_text(root: ET.Element) -> Iterator[str]:
    meta = root.find("front/article-meta")
    assert meta is not None
    for path in ("title-group/article-title", "title-group/subtitle"):
        for title in meta.findall(path):
            yield from _text(title, _LEFT_OUT | {"xref"})
    abstracts = meta.findall("abstract")
    first = [one for one in abstracts if one.get("abstract-type") not in _SECONDARY] or abstracts
    for part in [*first[:1], *root.findall("body")]:
        yield from _text(part, _LEFT_OUT)


def _text(element: ET.Element, left_out: frozenset[str]) -> Iterator[str]:
    yield element.text or ""
    forms = list(element) if element.tag == "alternatives" else []
    best = [one for one in forms if one.tag.endswith("}math")] or forms
    for child in element:
        if child.tag not in left_out and (not forms or child is best[0]):
            yield from _text(child, left_out)
        yield child.tail or ""


def _left_out_text(root: ET.Element) -> Iterator[str]:
    inside: set[ET.Element] = set()
    for element in root.iter():
        if element not in inside and element.tag in _ELSEWHERE:
            inside.update(element.iter())
            yield from element.itertext()


def _visible(text: str) -> Iterator[str]:
    return (character for character in text if not character.isspace() and character not in _WIDTHLESS)


def main(folder: Path) -> None:
    """Print the figures."""
    figures = Figures()
    ours = folder / "evidence_inference"
    for path in [*sorted((ours / "xml").glob("*.nxml")), *sorted((folder / "jats").glob("*.nxml"))]:
        text = ours / "txt" / f"{path.stem}.txt"
        measure(path, text if text.is_file() else None, figures)
    print(f"articles read without an error: {figures.n_articles:,}")
    print(f"characters of title, abstract and body: {figures.n_characters:,}")
    print(f"  kept: {figures.n_kept:,} ({figures.n_kept / figures.n_characters:.3%})")
    print(f"  articles with the same letters and digits in the same order: {figures.n_exact:,}")
    print(f"our sentences: {figures.n_spans:,}")
    print(
        f"  the same as the source between their offsets: {figures.n_same:,} ({figures.n_same / figures.n_spans:.3%})"
    )
    print("left out by design, characters:")
    for sort, n in figures.left_out.most_common():
        print(f"  {sort}: {n:,}")
    print(f"sentences of the data set's plain texts: {figures.n_sentences:,}")
    print(f"  found: {figures.n_found:,} ({figures.n_found / figures.n_sentences:.3%})")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
