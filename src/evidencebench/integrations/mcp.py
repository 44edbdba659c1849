"""A server for assistants (Model Context Protocol): the papers of some folders, and the evidence in them."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any

from evidencebench.errors import DataError, EvidenceBenchError
from evidencebench.files.disk import read_bytes
from evidencebench.papers.fetching import INDEX_NAME, EuropePmc, fetch_papers
from evidencebench.papers.ids import public_id
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_content
from evidencebench.query import Kind
from evidencebench.version import __version__

if TYPE_CHECKING:  # an extra
    from mcp.server.mcpserver import MCPServer

_WORDS = tomllib.loads((files(__package__) / "mcp.toml").read_text(encoding="utf-8"))
_MOST_LISTED, _MOST_SENTENCES, _MOST_FOUND = 500, 200, 50  # in one answer
_LONGEST = 2_000  # of a hypothesis
_N_KEPT = 8  # papers that were read last
Folders = Mapping[str, Path]


def named_folders(folders: Sequence[Path]) -> Folders:
    """Return folders by their names; where several have the same one, it gets a number."""
    named: dict[str, Path] = {}
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        n_same = sum(other.name == folder.name for other in named.values())
        named[f"{folder.name}-{n_same + 1}" if n_same else folder.name] = folder
    return named


def _files(folders: Folders) -> dict[str, Path]:
    """Return files by folder, slash and path in it; none that is hidden or lies elsewhere, as behind a link."""
    files = {}
    for name, folder in folders.items():
        for path in sorted(folder.rglob("*")):
            inside, file = path.relative_to(folder), path.resolve()
            is_hidden = path.name == INDEX_NAME or any(part.startswith(".") for part in inside.parts)
            if not is_hidden and file.is_relative_to(folder) and file.is_file():
                files[f"{name}/{inside.as_posix()}"] = file
    return files


def _read(folders: Folders, paper: str) -> Paper:
    file = _files(folders).get(paper)
    if file is None:
        raise DataError(f"{paper!r}: expected a paper as list_papers names it, got another name")
    return _read_once(file, file.stat().st_mtime_ns, paper)


@lru_cache(_N_KEPT)
def _read_once(file: Path, _changed: int, name: str) -> Paper:
    return read_content(read_bytes(file), name=name)


def _excerpt(paper: Paper, first: int, n: int) -> dict[str, Any]:
    rows = list(zip(range(len(paper.sentences)), paper.kinds, paper.sentences, strict=True))
    headings = [{"sentence": index, "text": text} for index, kind, text in rows if kind is Kind.HEADING]
    return {
        "paper": paper.name,
        **{field: getattr(paper, field) for field in ("title", "format", "warnings")},
        "ids": dict(paper.ids),
        "headings": headings[:_MOST_SENTENCES],
        "n_sentences": len(rows),
        "sentences": [
            {"sentence": index, "kind": kind, **asdict(paper.place(index)), "text": text}
            for index, kind, text in rows[first : first + n]
        ],
        "next": first + n if first + n < len(rows) else None,
    }


def make_server(
    folders: Folders, answer: Callable[[Paper, str, int], dict[str, Any]], service: EuropePmc, fetch_to: str | None
) -> "MCPServer":
    """Return a server whose tools read the papers of folders, and fetch papers into the one named ``fetch_to``.

    ``answer`` gives what is told of a paper, a hypothesis and a budget.
    """
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - an extra
    from mcp.types import ToolAnnotations  # noqa: PLC0415
    from pydantic import Field  # noqa: PLC0415

    server = MCPServer("evidencebench", instructions=_WORDS["instructions"], version=__version__, log_level="WARNING")
    one_by_one = Lock()  # each tool runs in a thread of its own

    def list_papers(first: Annotated[int, Field(ge=0)] = 0) -> dict[str, Any]:
        names = list(_files(folders))
        return {"papers": names[first : first + _MOST_LISTED], "n_papers": len(names)}

    def read_paper(
        paper: str, first: Annotated[int, Field(ge=0)] = 0, n: Annotated[int, Field(ge=1, le=_MOST_SENTENCES)] = 100
    ) -> dict[str, Any]:
        return _excerpt(_read(folders, paper), first, n)

    def find_evidence(
        paper: str,
        hypothesis: Annotated[str, Field(min_length=1, max_length=_LONGEST)],
        budget: Annotated[int, Field(ge=1, le=_MOST_FOUND)] = 10,
    ) -> dict[str, Any]:
        with one_by_one:
            return answer(_read(folders, paper), hypothesis, budget)

    def fetch_paper(paper_id: Annotated[str, Field(max_length=_LONGEST)]) -> dict[str, Any]:
        with one_by_one:
            fetched = fetch_papers(service, [public_id(paper_id)], folders[str(fetch_to)])[0]
        if fetched.reason:
            raise DataError(f"{fetched.id}: not fetched: {fetched.reason}")
        return {"paper": f"{fetch_to}/{fetched.file}", "title": fetched.title, "licence": fetched.licence}

    tools: list[Callable[..., dict[str, Any]]] = [list_papers, read_paper, find_evidence]
    for do in [*tools, fetch_paper] if fetch_to is not None else tools:
        reads, fetches = do is not fetch_paper, do is fetch_paper
        hints = ToolAnnotations(
            read_only_hint=reads, destructive_hint=False, idempotent_hint=True, open_world_hint=fetches
        )
        server.tool(description=_WORDS["tools"][do.__name__], annotations=hints)(_errors_told()(do))
    return server


@contextmanager
def _errors_told() -> Iterator[None]:
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415 - an extra

    try:
        yield
    except EvidenceBenchError as error:
        raise ToolError(str(error)) from error
