"""How often ``find`` says that a paper has nothing on what it says: in rows of its tables, or of who paid for it.

Asked of each article in JATS of a folder are the label of each row of its tables, as it stands; each sentence beside
the running text that names a funder; and "Who funded the study?" where there is one. Labels and sentences are read from
the XML by the standard library, not by the readers of this package. A false "nothing" is an answer without sentences
or the verdict "none". At most 0.5 % of the answers may be one. "Shown" are
answers with a unit or sentence that has the whole label or sentence, or names a funder.
"""

import argparse
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from evidencebench.errors import UnreadableError
from evidencebench.execution.finding import PaperVerdict, find_evidence
from evidencebench.papers.read import read_paper
from evidencebench.tables import Cell, Table, as_markdown

_MOST = 0.005
_FUNDED = re.compile(r"(?i)\b(?:funded|supported|sponsored|financed) by\b|\bgrants? from\b")
_WHO = "Who funded the study?"
_BESIDE = ("ack", "fn", "notes", "funding-statement", "sec", "author-notes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth article")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="name the first N false answers")
    options = parser.parse_args()
    n_asked, n_false, n_shown, n_unreadable = Counter[str](), Counter[str](), Counter[str](), 0
    for path in sorted(options.folder.glob("*.nxml"))[:: options.every]:
        try:
            paper = read_paper(path)
        except UnreadableError:
            n_unreadable += 1
            continue
        article = ET.parse(path).getroot()  # noqa: S314 - a file that its user chose to measure
        for sort, question in dict.fromkeys(_questions(article)):
            found = find_evidence(paper, question)
            n_asked.update((sort, "all"))
            shown = [one.text for one in found.evidence]
            if any(_letters(question) in _letters(text) for text in shown) or (
                sort == _WHO and any(map(_FUNDED.search, shown))
            ):
                n_shown.update((sort, "all"))
            if not found.evidence or found.verdict is PaperVerdict.NONE:
                n_false.update((sort, "all"))
                if n_false["all"] <= options.show:
                    print(f"{path.name}: {sort}: {question}")
    rows: list[Sequence[Cell]] = [
        [sort, n, n_false[sort], f"{100 * n_false[sort] / n:.2f}", f"{100 * n_shown[sort] / n:.1f}"]
        for sort, n in n_asked.items()
    ]
    print(as_markdown(Table(columns=["asked", "questions", "false 'nothing'", "%", "shown, %"], rows=rows)))
    print(f"{n_unreadable} articles could not be read.")
    if n_false["all"] > _MOST * n_asked["all"]:
        raise SystemExit(f"false_absence.py: expected at most {100 * _MOST} %")


def _questions(article: ET.Element) -> Iterator[tuple[str, str]]:
    for body in article.iter("tbody"):
        for row in body.iter("tr"):
            label = _text(row[0]) if len(row) else ""
            if any(map(str.isalpha, label)):
                yield "label of a row", label
    for part in (part for tag in _BESIDE for outer in (article.find("front"), article.find("back")) if outer is not None
                 for part in outer.iter(tag)):  # fmt: skip
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", _text(part)):
            if _FUNDED.search(sentence):
                yield _WHO, _WHO
                yield "sentence that names a funder", sentence


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _text(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


if __name__ == "__main__":
    main()
