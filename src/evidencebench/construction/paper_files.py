"""The files of the papers that drafts are about, in one folder."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evidencebench.construction.draft import Draft
from evidencebench.errors import DataError, UnreadableError
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_content
from evidencebench.storage.text_file import read_bytes

_KEPT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperOnDisk:
    """A paper, and the checksum of the file that it was read from."""

    paper: Paper
    sha256: str


class PaperFolder:
    """A folder of papers; those read last are kept."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UnreadableError(f"{folder}: expected a folder of papers, got none; give it with --papers")
        self.folder = folder
        self._read = lru_cache(maxsize=_KEPT)(self._read_anew)

    def paper_of(self, draft: Draft) -> PaperOnDisk:
        """Return the paper of a draft; raises `DataError` if it names no file that can be read in the folder."""
        if not draft.paper_file:
            raise DataError(f"draft '{draft.id}': expected the file of a paper, got none; fetch it and harvest again")
        return self._read(draft.paper_file)

    def _read_anew(self, name: str) -> PaperOnDisk:
        path = self.folder / name
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise DataError(f"{path}: expected a file within {self.folder}, got one outside of it")
        content = read_bytes(path)
        return PaperOnDisk(paper=read_content(content, name=str(path)), sha256=hashlib.sha256(content).hexdigest())
