"""The papers at hand in a folder, by their ids and with their licences; only their heads are read at first."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.construction.harvest.references import UNKNOWN, licence_named, licence_of, normal_ids
from evidencebench.errors import DataError, UnreadableError
from evidencebench.files.disk import open_file, read_bytes, read_stream
from evidencebench.papers.fetching import files_below, read_index
from evidencebench.papers.jats import articles_in, ids_of_article
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_content
from evidencebench.papers.tree import parse_xml, root_tag

HEAD_BYTES = 1 << 18
"""How much of a file is read at first; the head of an article, with its abstract, nearly always ends there."""

_HEAD_END = b"</front>"
_NAMED = re.compile(r"pmc_?(\d{1,10})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperAtHand:
    file: str  # relative to the folder
    ids: Mapping[str, str]  # in their normal spelling
    licence: str  # as `licence_of` has it


class PapersAtHand:
    def __init__(self, papers: Sequence[PaperAtHand], unreadable: dict[str, str]) -> None:
        self.unreadable = unreadable  # files, relative to the folder, and why they cannot be read
        self.papers: dict[str, PaperAtHand] = {paper.file: paper for paper in papers}
        self._by_id = {pair: paper for paper in reversed(papers) for pair in paper.ids.items()}
        content = [(paper.file, dict(paper.ids), paper.licence) for paper in papers]
        self.sha256: str = hashlib.sha256(msgspec.json.encode([*content, *unreadable.items()])).hexdigest()

    def find(self, ids: Mapping[str, str]) -> PaperAtHand | None:
        return next((self._by_id[pair] for pair in ids.items() if pair in self._by_id), None)


def papers_in(folder: Path, *, on_paper: Callable[[int, int], object] = lambda *_: None) -> PapersAtHand:
    """Return the papers of a folder and the folders in it, hidden ones left out."""
    files = files_below(folder)
    fetched = {paper.file: paper for paper in read_index(folder).values() if paper.file}
    papers, unreadable = list[PaperAtHand](), dict[str, str]()
    for number, path in enumerate(files, 1):
        file = path.relative_to(folder).as_posix()
        try:
            ids, licence = _read_head(path) if path.suffix.lower() in (".xml", ".nxml", ".jats") else ({}, UNKNOWN)
        except DataError as error:
            unreadable[file] = str(error).removeprefix(f"{path}: ")
        else:
            if (row := fetched.get(file)) is not None:
                ids = normal_ids([("pmcid", row.pmcid), ("pmid", row.pmid), ("doi", row.doi)]) | ids
                licence = licence_named(row.licence) if licence == UNKNOWN else licence
            if named := _NAMED.fullmatch(path.stem):
                ids = normal_ids([("pmcid", named[1])]) | ids
            papers.append(PaperAtHand(file=file, ids=ids, licence=licence))
        on_paper(number, len(files))
    return PapersAtHand(papers, unreadable)


def _read_head(path: Path) -> tuple[dict[str, str], str]:
    def stated(content: bytes) -> tuple[dict[str, str], str]:
        articles = articles_in(parse_xml(content, name=str(path)), name=str(path))
        if len(articles) != 1:
            return {}, UNKNOWN
        return normal_ids(ids_of_article(articles[0]).items()), licence_of(articles[0])

    try:
        with open_file(path) as file:
            head = file.read(HEAD_BYTES)
            end = head.find(_HEAD_END)
            if root_tag(head) == "article" and end > 0:
                with suppress(UnreadableError):  # a prefix before "article", or a comment with the tag in it
                    return stated(head[: end + len(_HEAD_END)] + b"</article>")
            return stated(head + read_stream(file, name=path))
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error


class PaperFolder:
    """The folder of the papers that drafts are about; those read last are kept."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UnreadableError(f"{folder}: expected a folder of papers, got none; give it with --papers")
        self._folder = folder
        self._read = lru_cache(maxsize=32)(self._read_anew)

    def paper_of(self, draft: Draft) -> tuple[Paper, str]:
        """Return the paper of a draft, and the checksum of its file; raises `DataError` if none can be read there."""
        if not draft.paper_file:
            raise DataError(f"draft '{draft.id}': expected the file of a paper, got none; fetch it and harvest again")
        return self._read(draft.paper_file)

    def _read_anew(self, name: str) -> tuple[Paper, str]:
        path = self._folder / name
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise DataError(f"{path}: expected a file within {self._folder}, got one outside of it")
        content = read_bytes(path)
        return read_content(content, name=str(path)), hashlib.sha256(content).hexdigest()
