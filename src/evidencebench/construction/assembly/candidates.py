"""The drafts that may become instances: what is held of each in memory, and which of them speak of the same paper."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from evidencebench.construction.assembly.paper_texts import PaperStore, ReadPaper
from evidencebench.construction.assembly.same_text import TextIndex, normalised
from evidencebench.construction.assembly.splits import linked_groups
from evidencebench.construction.draft import Draft
from evidencebench.construction.draft_file import DraftFile
from evidencebench.construction.harvest.paper_names import names_of_paper
from evidencebench.construction.judged_draft import judging_of
from evidencebench.errors import ChangedDataError, RunFormatError

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
    """Return what is held of the drafts, in the order of their ids, and a checksum of all that they have."""
    position = {paper_file: number for number, paper_file in enumerate(store.papers)}
    candidates = []
    digest = hashlib.sha256()
    for draft in source.drafts():
        digest.update(msgspec.json.encode(draft) + b"\n")
        paper = store.papers[draft.paper_file]
        _require_judged_paper(draft, paper)
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
        candidates.append(
            Candidate(draft=kept, names=frozenset(names), text=position[draft.paper_file], summary=summary)
        )
    return candidates, digest.hexdigest()


def _require_judged_paper(draft: Draft, paper: ReadPaper) -> None:
    judging = judging_of(draft)
    if paper.sha256 != judging.paper_sha256:
        raise ChangedDataError(
            f"draft '{draft.id}': paper '{draft.paper_file}' has changed since it was judged: expected the file with "
            f"SHA-256 {judging.paper_sha256[:12]}…, got {paper.sha256[:12]}…; put the former file back, or judge anew"
        )
    if paper.n_sentences != judging.n_sentences:
        raise ChangedDataError(
            f"draft '{draft.id}': paper '{draft.paper_file}' is read as {paper.n_sentences} sentences, and had "
            f"{judging.n_sentences} when it was judged; use the evidencebench that judged it, or judge anew"
        )


def same_papers(candidates: Sequence[Candidate], store: PaperStore, index: TextIndex) -> list[int]:
    """Return a number for each candidate, equal for those of one paper: by a name, or by the text."""
    texts = [
        [index.first[number], *(same.position for same in index.same_papers(paper.hashes))]
        for number, paper in enumerate(store.papers.values())
    ]
    groups = linked_groups([[*candidate.names, *texts[candidate.text]] for candidate in candidates])
    number_of = {member: number for number, members in enumerate(groups) for member in members}
    return [number_of[position] for position in range(len(candidates))]


def duplicates(candidates: Sequence[Candidate], papers: Sequence[int], among: Iterable[int]) -> dict[int, Met]:
    """Return, by position, those that have the paper and the summary of one before them."""
    first: dict[tuple[int, bytes], int] = {}
    repeated = {}
    for position in among:
        before = first.setdefault((papers[position], candidates[position].summary), position)
        if before != position:
            repeated[position] = Met(reason=DUPLICATE, detail=candidates[before].draft.id)
    return repeated
