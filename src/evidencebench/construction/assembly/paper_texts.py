"""The papers of a construction: each is read once, and its sentences are kept in a file while the data set is made."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from evidencebench.construction.assembly.same_text import Hashes, sentence_hashes
from evidencebench.construction.draft_file import DraftFile
from evidencebench.construction.paper_files import PaperFolder
from evidencebench.engine.protocol import Engine
from evidencebench.engine.results import map_in_order
from evidencebench.query import Kind
from evidencebench.storage.whole_file import write_whole


class PaperText(msgspec.Struct, frozen=True, kw_only=True):
    """What of a paper becomes part of instances, and what shows that it is the paper that was judged."""

    sha256: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]
    ids: Mapping[str, str]  # that the file names


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPaper:
    """What is held in memory of a paper: where its text lies in the file of a `PaperStore`, and what tells it."""

    offset: int
    sha256: str
    n_sentences: int
    ids: Mapping[str, str]
    hashes: Hashes


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperStore:
    """The papers by the names of their files, and the file in which their texts lie."""

    path: Path
    papers: Mapping[str, ReadPaper]

    def text(self, paper_file: str) -> PaperText:
        """Return the text of a paper."""
        with self.path.open("rb") as file:
            file.seek(self.papers[paper_file].offset)
            return msgspec.json.decode(file.readline(), type=PaperText)


def store_papers(
    path: Path, folder: Path, source: DraftFile, engine: Engine, on_progress: Callable[[int, int], None]
) -> PaperStore:
    """Read the papers of drafts, write their texts into the file ``path``, and return what was read, sorted by name."""
    first = {draft.paper_file: draft.id for draft in source.drafts()}  # a draft of each paper
    papers: dict[str, ReadPaper] = {}

    def lines() -> Iterator[bytes]:
        offset = 0
        read_papers = map_in_order(engine, _reader, (source, folder), [first[name] for name in sorted(first)])
        for name, (text, hashes) in zip(sorted(first), read_papers, strict=True):
            papers[name] = ReadPaper(
                offset=offset, sha256=text.sha256, n_sentences=len(text.sentences), ids=text.ids, hashes=hashes
            )
            line = msgspec.json.encode(text) + b"\n"
            offset += len(line)
            yield line
            on_progress(len(papers), len(first))

    write_whole(path, lines())
    return PaperStore(path=path, papers=papers)


def _reader(source: DraftFile, folder: Path) -> Callable[[str], tuple[PaperText, Hashes]]:
    papers = PaperFolder(folder)

    def read_paper(draft_id: str) -> tuple[PaperText, Hashes]:
        on_disk = papers.paper_of(source[draft_id])
        paper = on_disk.paper
        text = PaperText(sha256=on_disk.sha256, sentences=paper.sentences, kinds=paper.kinds, ids=paper.ids)
        return text, sentence_hashes(paper.sentences, paper.kinds)

    return read_paper
