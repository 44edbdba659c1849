"""What is read from real PDFs: short "sentences", abstracts, seconds a page, and the sentences of a TEI beside each.

    .venv/bin/python benchmarks/reading_real_pdfs.py ../shared/data/pdf

A row a PDF. A sentence of fewer than four words is mostly none: a cell, a label, a formula. Where NAME.tei.xml lies
beside NAME.pdf, its sentences of four words and more are looked for, by letters alone: white space, hyphens, quotes
and ligatures differ. GROBID, whose TEI that is, often drops citations, takes a heading into the sentence behind it, and
notes and captions for sentences: "alike" is without citations and behind its heading, "with units" in units too.
A sentence that begins in a small letter, or ends without a stop, is mostly a half.
"""

import argparse
import re
import time
import unicodedata
from itertools import pairwise
from pathlib import Path

from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_paper
from evidencebench.query import Kind
from evidencebench.tables import Cell, Table, as_markdown

_WORD = re.compile(r"\w*[A-Za-z]\w*")
_YEAR = r"(?:19|20)\d\d[a-z]?"
_CITATION = re.compile(
    rf"\s*(?:\[[\d,\s\u2013-]+\]|[(\[][^()\[\]]*{_YEAR}[^()\[\]]*(?:[)\]]|$)|[A-Z][\w-]+ (?:et al\.|and [A-Z][\w-]+),? "
    rf"(?:\({_YEAR}\)|{_YEAR}[;,)]*))"
)
_LEAST_WORDS = 4


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of PDFs")
    rows: list[list[Cell]] = []
    n_short = n_half = n_all = 0
    for path in sorted(parser.parse_args().folder.glob("*.pdf")):
        started = time.perf_counter()
        paper = read_paper(path)
        seconds = time.perf_counter() - started
        said = _sentences(paper)
        short = [text for text in said if len(_WORD.findall(text)) < _LEAST_WORDS]
        half = [text for text in said if text[0].islower() or text[-1].isalnum() or text[-1] == ","]
        n_short, n_half, n_all = n_short + len(short), n_half + len(half), n_all + len(said)
        n_pages = max(place.page or 1 for place in paper.places)
        kinds = [paper.kinds.count(kind) for kind in (Kind.ABSTRACT, Kind.HEADING)]
        share = f"{100 * len(short) / len(said):.1f}"
        found = _found(path, paper)
        rows.append(
            [path.name, len(said), share, len(half), *kinds, len(paper.units), f"{seconds / n_pages:.3f}", *found]
        )
    columns = ["PDF", "sentences", "short, %", "halves", "of the abstract", "headings", "units", "s a page"]
    print(as_markdown(Table(columns=[*columns, "of the TEI's, %", "alike, %", "with units, %"], rows=rows)))
    shares = [f"{100 * n / n_all:.1f} %" for n in (n_short, n_half)]
    print(f"\nOf {n_all:,} sentences, {shares[0]} are short, {shares[1]} look like halves.")


def _sentences(paper: Paper) -> list[str]:
    return [text for text, kind in zip(paper.sentences, paper.kinds, strict=True) if kind is not Kind.HEADING]


def _found(path: Path, paper: Paper) -> list[str | None]:
    """Return which shares of the TEI's sentences are found: by all letters, alike, and in units too."""
    beside = path.with_suffix(".tei.xml")
    if not beside.is_file():
        return [None, None, None]
    wanted = [text for text in _sentences(read_paper(beside)) if len(text.split()) >= _LEAST_WORDS]
    exact = set(map(_letters, _sentences(paper)))
    alike = {_letters(_CITATION.sub("", text)) for text in paper.sentences}
    alike |= {_letters(_CITATION.sub("", f"{above} {text}")) for above, text in pairwise(paper.sentences)}
    units = _letters(_CITATION.sub("", " ".join(unit.text.removeprefix(f"{unit.label}. ") for unit in paper.units)))
    n_exact = n_alike = n_units = 0
    for text in wanted:
        bare = _letters(_CITATION.sub("", text))
        is_alike = bare in alike
        n_exact += _letters(text) in exact
        n_alike += is_alike
        n_units += is_alike or bare.removeprefix("figure").removeprefix("table") in units
    return [f"{100 * n / len(wanted):.1f}" for n in (n_exact, n_alike, n_units)]


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, unicodedata.normalize("NFKD", text).lower().replace("\u0153", "oe")))


if __name__ == "__main__":
    main()
