"""What `find` is asked about: papers from files, folders and standard input; hypotheses from a file."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from evidencebench.cli.standard_input import STANDARD_INPUT, read_lines, read_standard_input
from evidencebench.errors import UnreadableError
from evidencebench.papers.fetching import INDEX_NAME
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_all, read_all_content

MOST_HYPOTHESES = 1_000


def paper_names(given: Iterable[str]) -> Iterator[str]:
    """Yield the names of the papers' files; a folder stands for all files in it and below, in order of their names.

    Hidden files and the list that `papers fetch` writes are left out. Raises `UnreadableError` for an empty folder.
    """
    for name in given:
        folder = Path(name)
        if name == STANDARD_INPUT or not folder.is_dir():
            yield name
            continue
        files = (path for path in folder.rglob("*") if path.is_file() and path.name != INDEX_NAME)
        shown = (path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts))
        inside = sorted(shown)
        if not inside:
            raise UnreadableError(f"{folder}: expected papers, got a folder without files")
        yield from map(str, inside)


def read_papers(name: str) -> list[Paper | UnreadableError]:
    """Return each paper of a file, or of standard input, or why it cannot be read; raises `UnreadableError`."""
    if name != STANDARD_INPUT:
        return read_all(Path(name))
    return read_all_content(read_standard_input(), name="standard input")


def read_hypotheses(path: Path) -> tuple[str, ...]:
    """Return the hypotheses of a text file or standard input, one a line, each once; at least one."""
    lines, name = read_lines(path)
    hypotheses = tuple(dict.fromkeys(filter(None, map(str.strip, lines))))
    n = len(hypotheses)
    if not 0 < n <= MOST_HYPOTHESES:
        raise UnreadableError(f"{name}: expected 1 to {MOST_HYPOTHESES:,} hypotheses, one a line, got {n:,}")
    return hypotheses
