"""The drafts that may become instances: what is held of each in memory, and which of them speak of the same paper."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from evidencebench.construction.assembly.instances import require_judged_paper
from evidencebench.construction.assembly.paper_texts import PaperStore
from evidencebench.construction.assembly.same_text import TextIndex, normalised
from evidencebench.construction.assembly.splits import linked_groups
from evidencebench.construction.draft import Draft
from evidencebench.construction.draft_file import DraftFile
from evidencebench.construction.harvest.paper_names import names_of_paper
from evidencebench.errors import RunFormatError

DUPLICATE = "same paper and summary as another draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What of a draft is held in memory; ``names`` are those of its paper, ``text`` is its position in the index."""

    draft: Draft  # its ids, paper's file and hypothesis alone
    names: frozenset[str]
    text: int
    summary: bytes  # digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Why a candidate becomes no instance, and what it met: an instance of other data, or another draft."""

    reason: str
    detail: str


def read_candidates(source: DraftFile, store: PaperStore) -> tuple[list[Candidate], str]:
    """Return what is held of the drafts, in the order of their ids, and a checksum of all that they have.

    Raises `ChangedDataError` if a paper is not the one that was judged, and `RunFormatError` if a draft is not whole.
    """
    position = {paper_file: number for number, paper_file in enumerate(store.papers)}
    found = []
    digest = hashlib.sha256()
    for draft in source.drafts():
        digest.update(msgspec.json.encode(draft) + b"\n")
        paper = store.papers[draft.paper_file]
        require_judged_paper(draft, sha256=paper.sha256, n_sentences=paper.n_sentences)
        if not draft.hypothesis.strip():
            raise RunFormatError(f"draft '{draft.id}': expected a hypothesis, got none")
        if not draft.aspects:
            raise RunFormatError(f"draft '{draft.id}': expected aspects, got none; run 'construct filter' first")
        kept = Draft(
            id=draft.id,
            review_id=draft.review_id,
            paper_id=draft.paper_id,
            paper_file=draft.paper_file,
            hypothesis=draft.hypothesis,
        )
        names = names_of_paper(draft.paper_id, draft.paper_ids) | names_of_paper("", paper.ids)
        said = normalised(draft.summary) or normalised(draft.hypothesis)
        summary = hashlib.sha256(said.encode(errors="surrogatepass")).digest()
        found.append(Candidate(draft=kept, names=frozenset(names), text=position[draft.paper_file], summary=summary))
    return found, digest.hexdigest()


def same_papers(candidates: Sequence[Candidate], store: PaperStore, index: TextIndex) -> list[int]:
    """Return a number for each candidate, equal for those of one paper: by a name, or by the text."""
    texts = [
        [index.first[number], *(same.position for same in index.same_papers(paper.hashes))]
        for number, paper in enumerate(store.papers.values())
    ]
    groups = linked_groups([[*one.names, *texts[one.text]] for one in candidates])
    numbers = [0] * len(candidates)
    for number, members in enumerate(groups):
        for member in members:
            numbers[member] = number
    return numbers


def duplicates(candidates: Sequence[Candidate], papers: Sequence[int], among: Iterable[int]) -> dict[int, Met]:
    """Return, by position, those that have the paper and the summary of one before them."""
    first: dict[tuple[int, bytes], int] = {}
    found = {}
    for position in among:
        before = first.setdefault((papers[position], candidates[position].summary), position)
        if before != position:
            found[position] = Met(reason=DUPLICATE, detail=candidates[before].draft.id)
    return found
