"""The paper that ships with the package, to try `find` on: named ``sample`` where a paper is expected.

Lema SC, Dickey JT, Schultz IR, Swanson P (2008). Dietary exposure to 2,2',4,4'-tetrabromodiphenyl ether (PBDE-47)
alters thyroid status and thyroid hormone-regulated gene transcription in the pituitary and brain. Environmental Health
Perspectives 116(12):1694-1699, doi:10.1289/ehp.11570, PMC2599765. Reproduced with permission from Environmental Health
Perspectives; the article is in the public domain. The file is JATS XML as PubMed Central has it, unchanged.
"""

from pathlib import Path

SAMPLE_NAME = "sample"
SAMPLE_PAPER = Path(__file__).with_name("ehp-116-1694.xml")


def paper_path(name: str) -> Path:
    """Return the path of a paper; ``sample`` is the one of the package, where no file or folder has that name."""
    path = Path(name)
    return SAMPLE_PAPER if name == SAMPLE_NAME and not path.exists() else path
