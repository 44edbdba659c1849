"""``find``: what it takes in processor time and memory, in a process of its own.

First many papers and questions, as the real articles and PDFs of the data folder, where it is there: 200 articles with
12 hypotheses made of their prompts, in at most 60 s and 300 MB; a PDF of 24 pages, in at most 2.5 s. Then papers
far longer than any: the sentences of the train split one after the other, over and over, else those of the sample.
Goals there: an answer for every paper that is not refused, in at most 1 GB, and memory that does not grow with the
length's square.
"""

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from pypdfium2 import PdfDocument

from evidencebench.data.dataset import open_dataset
from evidencebench.data.sample import load_sample
from evidencebench.errors import UnreadableError
from evidencebench.papers.read import read_paper
from timing import REPOSITORY, Figure, main_of

_DATA = REPOSITORY.parent / "shared" / "data"
_REAL = _DATA / "evidencebench_train_set.json"
_ARTICLES, _PDFS = _DATA / "evidence_inference", _DATA / "pdf"
_LENGTHS = (1_000, 10_000, 30_000, 50_000)
_SYSTEMS = ("finder", "cues")
_GOAL_MB = 1000
_N_ARTICLES, _N_QUESTIONS = 200, 12
_GOAL_SECONDS_OF_MANY, _GOAL_MB_OF_MANY = 60, 300
_N_PAGES, _GOAL_SECONDS_OF_PDF = 24, 2.5
_HYPOTHESIS = "Alcohol raises the risk of gastric cancer."


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:  # noqa: ARG001 - the papers are of fixed lengths
    """Yield processor time and peak memory: of many papers, of PDFs, and for each system and length."""
    yield from _of_many(folder)
    yield from _of_pdfs(folder)
    instances = list(open_dataset(_REAL) if _REAL.is_file() else load_sample())
    sentences = [" ".join(text.split()).lstrip("#") for one in instances for text in one.query.sentences]
    for n in _LENGTHS:
        paper = folder / f"{n}.txt"
        paper.write_text("\n".join(islice(cycle(sentences), n)), encoding="utf-8")
        for system in _SYSTEMS:
            seconds, megabytes = _measured(["find", _HYPOTHESIS, str(paper), "--system", system])
            yield Figure(name=f"{system}: {n:,} sentences", ours=f"{seconds:.1f} s")
            yield Figure(
                name=f"{system}: {n:,} sentences",
                ours=f"{megabytes:.0f} MB",
                goal=f"{_GOAL_MB} MB",
                reached=megabytes <= _GOAL_MB,
            )


def _of_many(folder: Path) -> Iterator[Figure]:
    if not _ARTICLES.is_dir():
        return
    with (_ARTICLES / "prompts.csv").open(encoding="utf-8", newline="") as file:
        prompts = list(csv.DictReader(file))
    steps = prompts[:: len(prompts) // _N_QUESTIONS][:_N_QUESTIONS]
    questions = folder / "questions.txt"
    lines = [f"{row['Intervention']}, compared with {row['Comparator']}, changes {row['Outcome']}." for row in steps]
    questions.write_text("\n".join(" ".join(line.split()) for line in lines), encoding="utf-8")
    articles = list(islice(filter(_is_readable, sorted((_ARTICLES / "xml").iterdir())), _N_ARTICLES))
    names = map(str, articles)
    seconds, megabytes = _measured(["find", "--hypotheses", str(questions), *names, "--json"])
    name = f"{_N_ARTICLES} articles x {_N_QUESTIONS} questions"
    yield _within(name, seconds, _GOAL_SECONDS_OF_MANY, "s")
    yield _within(name, megabytes, _GOAL_MB_OF_MANY, "MB")


def _is_readable(path: Path) -> bool:
    try:
        read_paper(path)
    except UnreadableError:  # a scan: its XML has no body
        return False
    return True


def _of_pdfs(folder: Path) -> Iterator[Figure]:
    """Yield the seconds of a paper of 24 pages, which are those of the real PDFs, one after the other."""
    if not _PDFS.is_dir():
        return
    paper = PdfDocument.new()
    for path in sorted(_PDFS.glob("*.pdf"), reverse=True):
        source = PdfDocument(path)
        if n_more := min(len(source), _N_PAGES - len(paper)):  # of no numbers, all pages would be taken
            paper.import_pages(source, list(range(n_more)))
    paper.save(folder / "long.pdf")
    seconds, _ = _measured(["find", _HYPOTHESIS, str(folder / "long.pdf")])
    yield _within(f"a PDF of {_N_PAGES} pages", seconds, _GOAL_SECONDS_OF_PDF, "s")


def _within(name: str, got: float, goal: float, unit: str) -> Figure:
    return Figure(name=name, ours=f"{got:.1f} {unit}", goal=f"{goal:.1f} {unit}", reached=got <= goal)


def _measured(arguments: list[str]) -> tuple[float, float]:
    """Return the seconds of the processor and the megabytes at the peak that a command takes."""
    process = subprocess.Popen([sys.executable, "-m", "evidencebench", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"finding.py: expected an answer, got exit status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main_of("finding.py", __doc__, figures)
