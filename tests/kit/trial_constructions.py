"""Small constructions for tests: papers in a folder, and drafts as the step before `filter` leaves them."""

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

from doors import AssemblySettings, DraftFile, DraftHeader, Judging, file_sha256, writing_drafts
from evidencebench import Draft, open_drafts, read_paper

DAY = date(2026, 11, 22)
SETTINGS = AssemblySettings(made_on=DAY)
WHOLE = AssemblySettings(made_on=DAY, shares={"test": 1})

_WORDS = tuple(
    """
    tea coffee water cup leaf brew pressure plasma heart kidney liver sleep mood weight glucose fell rose stayed was
    measured given randomly weekly trial cohort control placebo patients adults children group mean dose effect risk
    """.split()  # noqa: SIM905 - a word list is read more easily
)


def sentence(random: Random) -> str:
    """Return a random sentence of nine words."""
    return f"The {' '.join(random.choice(_WORDS) for _ in range(8))}."


def paper_text(sentences: Iterable[str]) -> str:
    """Return the file of a paper with these sentences, some in its abstract."""
    abstract, *body = sentences
    return f"A study of tea\n\nAbstract\n\n{abstract}\n\nResults\n\n{' '.join(body)}\n"


def judged_draft(folder: Path, paper_file: str, random: Random, *, n_aspects: int = 4, **fields: Any) -> Draft:
    """Return a draft of a paper in the folder, each aspect with one or two sources; ``fields`` replace its own."""
    n_sentences = len(read_paper(folder / paper_file).sentences)
    sources = tuple(tuple(sorted(random.sample(range(n_sentences), random.randint(1, 2)))) for _ in range(n_aspects))
    own: dict[str, Any] = {
        "review_id": "review",
        "paper_id": paper_file,
        "paper_file": paper_file,
        "summary": sentence(random),
        "hypothesis": sentence(random),
        "aspects": tuple(sentence(random) for _ in range(n_aspects)),
        "results": tuple(sorted(random.sample(range(n_aspects), random.randint(0, n_aspects)))),
        "judging": Judging(
            paper_sha256=file_sha256(folder / paper_file),
            n_sentences=n_sentences,
            window=10,
            overlap=5,
            rounds=(),
            sources=sources,
        ),
    }
    return Draft(**(own | fields))


def make_papers(folder: Path, n: int, random: Random) -> list[str]:
    """Write papers of random sentences into the folder, made if missing, and return their names."""
    folder.mkdir(exist_ok=True)
    names = [f"paper{number}.txt" for number in range(n)]
    for name in names:
        (folder / name).write_text(paper_text(sentence(random) for _ in range(random.randint(12, 20))))
    return names


def random_drafts(folder: Path, random: Random, *, n_papers: int = 8, n_reviews: int = 4) -> list[Draft]:
    """Return drafts of random papers and reviews, one to three a paper."""
    found = []
    for paper_file in make_papers(folder, n_papers, random):
        for number in range(random.randint(1, 3)):
            review = f"review{random.randrange(n_reviews)}"
            draft_id = f"{review}:{paper_file}:{number}"
            found.append(judged_draft(folder, paper_file, random, id=draft_id, review_id=review))
    return found


def write_drafts(path: Path, drafts: Iterable[Draft], *, step: str = "filter", reads: str = "") -> DraftFile:
    """Write drafts into a finished file, in the given order, and return it."""
    path.unlink(missing_ok=True)
    with writing_drafts(path, DraftHeader(step=step, reads=reads)) as writer:
        for draft in drafts:
            writer.append(draft)
        writer.finish()
    return open_drafts(path)


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
