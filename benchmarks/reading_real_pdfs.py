"""What is read from real PDFs: short "sentences", abstracts, seconds a page, and the sentences of a TEI beside each.

    .venv/bin/python benchmarks/reading_real_pdfs.py ../shared/data/pdf

A row a PDF. A sentence of fewer than four words is mostly none: a cell, a label, a formula. Where NAME.tei.xml lies
beside NAME.pdf, its sentences of four words and more are looked for. They are compared by letters, without citations,
which GROBID, whose TEI that is, often drops; a sentence of it that holds a heading or a label counts as not found.
"""

import argparse
import re
import time
from pathlib import Path

from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read
from evidencebench.query import Kind
from evidencebench.tables import Cell, Table, as_markdown

_WORD = re.compile(r"\w*[A-Za-z]\w*")
_CITATION = re.compile(r"\s*(?:\[[\d,\s\u2013-]+\]|\((?:[^()]*\b(?:19|20)\d\d[a-z]?;?)+[^()]*\))")
_LEAST_WORDS = 4


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of PDFs")
    rows: list[list[Cell]] = []
    n_short = n_all = 0
    for path in sorted(parser.parse_args().folder.glob("*.pdf")):
        started = time.perf_counter()
        paper = read(path)
        seconds = time.perf_counter() - started
        said = _sentences(paper)
        short = [text for text in said if len(_WORD.findall(text)) < _LEAST_WORDS]
        n_short, n_all = n_short + len(short), n_all + len(said)
        n_pages = max(place.page or 1 for place in paper.places)
        share = f"{100 * len(short) / len(said):.1f}"
        n_abstract = paper.kinds.count(Kind.ABSTRACT)
        n_headings = paper.kinds.count(Kind.HEADING)
        rows.append(
            [path.name, len(said), share, n_abstract, n_headings, f"{seconds / n_pages:.3f}", _found(path, said)]
        )
    columns = ["PDF", "sentences", "short, %", "of the abstract", "headings", "s a page", "of the TEI's, %"]
    print(as_markdown(Table(columns=columns, rows=rows)))
    print(f"\nOf {n_all:,} sentences, {100 * n_short / n_all:.1f} % are short.")


def _sentences(paper: Paper) -> list[str]:
    return [text for text, kind in zip(paper.sentences, paper.kinds, strict=True) if kind is not Kind.HEADING]


def _found(path: Path, said: list[str]) -> str | None:
    beside = path.with_suffix(".tei.xml")
    if not beside.is_file():
        return None
    read_here = set(map(_letters, said))
    wanted = [text for text in _sentences(read(beside)) if len(text.split()) >= _LEAST_WORDS]
    return f"{100 * sum(_letters(text) in read_here for text in wanted) / len(wanted):.1f}"


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, _CITATION.sub("", text).lower()))


if __name__ == "__main__":
    main()
