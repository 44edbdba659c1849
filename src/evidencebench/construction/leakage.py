"""Which papers are the same, splits that share none, and drafts that other data sets have already."""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import lcm, prod
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from evidencebench.construction.draft import Draft, DraftFile, judging_of
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.harvest.references import names_of_paper
from evidencebench.data.dataset import Dataset, write_dataset
from evidencebench.data.instance import Instance, Labels
from evidencebench.engine.protocol import Engine, map_in_order
from evidencebench.errors import ChangedDataError, DataError, RunFormatError
from evidencebench.query import Kind, Query

Hashes = NDArray[np.uint64]
_Progress = Callable[[int, int], None]

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 5  # a shorter sentence, such as a list of names, stands in many papers
_LEAST_SHARED_SHARE = 0.25
_FEWEST_SHARED = 5  # sentences; two short papers may have the same declarations
_MOST_PAPERS = 20  # with one sentence: what more papers say is no sign of any


def normalised(text: str) -> str:
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def sentence_hashes(sentences: Sequence[str], kinds: Sequence[Kind]) -> Hashes:
    """Return a hash for each distinct sentence that tells papers apart, ascending: headings and short ones do not."""
    words = {normalised(sentence) for sentence, kind in zip(sentences, kinds, strict=True) if kind is not Kind.HEADING}
    digests = (
        hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
        for text in words
        if text.count(" ") >= _FEWEST_WORDS - 1
    )
    return np.array(sorted({int.from_bytes(digest, "big") for digest in digests}), dtype=np.uint64)


class TextIndex:
    """Finds the papers of a list that are the same as any; equal ones under the first of their positions, ``first``."""

    def __init__(self, papers: Sequence[Hashes]) -> None:
        by_text: dict[bytes, int] = {}
        self.first: list[int] = [
            by_text.setdefault(hashes.tobytes() or str(n).encode(), n) for n, hashes in enumerate(papers)
        ]
        distinct = sorted(set(self.first))
        owners = np.repeat(np.array(distinct, dtype=np.uint32), [len(papers[number]) for number in distinct])
        hashes = np.concatenate([np.empty(0, dtype=np.uint64), *(papers[number] for number in distinct)])
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        _, n_papers = np.unique(hashes, return_counts=True)
        tells = np.repeat(n_papers <= _MOST_PAPERS, n_papers)
        self._hashes, self._owners = hashes[tells], owners[tells]
        self._n_sentences = np.bincount(self._owners, minlength=len(papers))

    def same_papers(self, hashes: Hashes) -> Iterator[tuple[int, float]]:
        """Yield the positions of papers, and the share of the shorter paper's sentences that both have."""
        begins = np.searchsorted(self._hashes, hashes, side="left")
        n_each = np.searchsorted(self._hashes, hashes, side="right") - begins
        places = np.arange(n_each.sum()) + np.repeat(begins - (np.cumsum(n_each) - n_each), n_each)
        positions, n_shared = np.unique(self._owners[places], return_counts=True)
        shorter = np.minimum(self._n_sentences[positions], len(hashes))
        is_same = (n_shared > _LEAST_SHARED_SHARE * shorter) & (n_shared >= _FEWEST_SHARED)
        for position, shared, all_of_them in zip(positions[is_same], n_shared[is_same], shorter[is_same], strict=True):
            yield int(position), float(shared / all_of_them)


class ReadPaper(NamedTuple):
    """What of a paper becomes part of instances, and what shows that it is the paper that was judged."""

    query: Query  # without a hypothesis, named as the file is
    sha256: str
    ids: Mapping[str, str]  # that the file names
    hashes: Hashes


class Candidate(NamedTuple):
    """What of a draft is held in memory; ``names`` are those of its paper, ``text`` is its position in the index."""

    id: str
    review_id: str
    hypothesis: str
    names: frozenset[str]
    text: int
    summary: bytes = b""  # digest


def read_candidates(
    source: DraftFile, folder: Path, path: Path, engine: Engine, on_progress: _Progress
) -> tuple[list[Candidate], TextIndex, dict[str, int], str]:
    """Read drafts, and their papers into the data set ``path``; the numbers by id are equal for those of one paper."""
    candidates, hashes = list[Candidate](), list[Hashes]()
    ids_of, digest = defaultdict[str, list[str]](list), hashlib.sha256()  # paper -> its drafts
    for draft in source.drafts():
        digest.update(msgspec.json.encode(draft) + b"\n")
        ids_of[draft.paper_file].append(draft.id)
    names = sorted(ids_of)

    def papers() -> Iterator[Instance]:
        read_papers = map_in_order(engine, _reader, (source, folder), [ids_of[name][0] for name in names])
        for number, (name, paper) in enumerate(zip(names, read_papers, strict=True)):
            candidates.extend(_candidate(source[draft_id], paper, number) for draft_id in ids_of[name])
            hashes.append(paper.hashes)
            yield Instance(query=paper.query, labels=Labels(aspects=(), sources={}))
            on_progress(number + 1, len(names))

    write_dataset(path, papers())
    candidates.sort(key=lambda candidate: candidate.id)
    index = TextIndex(hashes)
    texts = [[index.first[n], *(other for other, _ in index.same_papers(own))] for n, own in enumerate(hashes)]
    groups = linked_groups([[*candidate.names, *texts[candidate.text]] for candidate in candidates])
    paper_of = {candidates[member].id: number for number, members in enumerate(groups) for member in members}
    return candidates, index, paper_of, digest.hexdigest()


def _reader(source: DraftFile, folder: Path) -> Callable[[str], ReadPaper]:
    papers = PaperFolder(folder)

    def read_paper(draft_id: str) -> ReadPaper:
        draft = source[draft_id]
        paper, sha256 = papers.paper_of(draft)
        name, sentences, kinds = draft.paper_file, paper.sentences, paper.kinds
        query = Query(instance_id=name, paper_id=name, hypothesis="", sentences=sentences, kinds=kinds)
        return ReadPaper(query, sha256, paper.ids, sentence_hashes(sentences, kinds))

    return read_paper


def _candidate(draft: Draft, paper: ReadPaper, position: int) -> Candidate:
    judging, n_sentences, changed = judging_of(draft), len(paper.query.sentences), ""
    if paper.sha256 != judging.paper_sha256:
        was = f"expected the file with SHA-256 {judging.paper_sha256[:12]}…, got {paper.sha256[:12]}…"
        changed = f"has changed since it was judged: {was}; put the former file back"
    elif n_sentences != judging.n_sentences:
        was = f"is read as {n_sentences} sentences, and had {judging.n_sentences} when it was judged"
        changed = f"{was}; use the evidencebench that judged it"
    if changed:
        changed += ", or delete judgments.jsonl, which the next run makes again"
        raise ChangedDataError(f"draft '{draft.id}': paper '{draft.paper_file}' {changed}")
    for what, is_there in (("a hypothesis", draft.hypothesis.strip()), ("aspects", draft.aspects)):
        if not is_there:
            raise RunFormatError(f"draft '{draft.id}': expected {what}, got none; run the step that makes it first")
    names = names_of_paper(draft.paper_id, draft.paper_ids) | names_of_paper("", paper.ids)
    text = normalised(draft.summary) or normalised(draft.hypothesis)
    summary = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
    return Candidate(draft.id, draft.review_id, draft.hypothesis, frozenset(names), position, summary)


_MOST_STEPS = 500_000_000  # of the exact search; a second or two


def linked_groups(keys: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """Return positions in groups: those that share a key, directly or through others, are together."""
    groups, first = [[position] for position in range(len(keys))], dict[Hashable, int]()
    for position, of_position in enumerate(keys):
        for key in of_position:
            small, large = sorted((groups[position], groups[first.setdefault(key, position)]), key=len)
            if small is not large:
                large += small
                for member in small:
                    groups[member] = large
    return [sorted(group) for group in {id(group): group for group in groups}.values()]


def assign_groups(sizes: Sequence[int], shares: Mapping[str, Fraction], *, seed: int) -> list[str]:
    """Return the split of each group: drawn at random, the largest first; where that misses the shares, the closest."""
    names, n_all = list(shares), sum(sizes)
    scale = lcm(*(share.denominator for share in shares.values()))
    targets = [int(share * n_all * scale) for share in shares.values()]  # in 1/scale of an instance, so that all is int
    random = Random(seed)  # noqa: S311 - no secret
    order = list(range(len(sizes)))
    random.shuffle(order)
    order.sort(key=sizes.__getitem__, reverse=True)
    weights = [sizes[group] for group in order]
    rooms, places = list(targets), []
    for weight in weights:
        fitting = [split for split, room in enumerate(rooms) if room >= scale * weight]
        odds = [rooms[split] for split in fitting]
        place = random.choices(fitting, odds)[0] if fitting else rooms.index(max(rooms))
        rooms[place] -= scale * weight
        places.append(place)
    missed = sum(map(abs, rooms))
    # What the best whole numbers miss: where all groups have one instance, they are reached.
    rest = n_all - sum(target // scale for target in targets)
    parts = sorted((target % scale for target in targets), reverse=True)
    if missed > sum(scale - part for part in parts[:rest]) + sum(parts[rest:]):
        places = _closest_places(weights, targets, scale, missed) or places
    return [names[place] for _, place in sorted(zip(order, places, strict=True))]


def _closest_places(weights: Sequence[int], targets: Sequence[int], scale: int, missed: int) -> list[int] | None:
    """Return the places whose sizes are closest to the targets, by dynamic programming; None where it takes too long.

    A state is the sizes of all splits but the roomiest; no split of a closest choice misses its target by more than
    ``missed``, which a drawn one does.
    """
    rest, n_groups = targets.index(max(targets)), len(weights)
    axes = [split for split in range(len(targets)) if split != rest]
    shape = tuple((targets[split] + missed) // scale + 1 for split in axes)
    if not axes or prod(shape) * n_groups * len(axes) > _MOST_STEPS:
        return None
    reached_by = np.full(shape, n_groups, dtype=np.int32)  # the first group with which a state is reached, or none
    reached_by[(0,) * len(axes)] = start = -1
    for group, weight in enumerate(weights):
        before = reached_by < group
        for axis in range(len(axes)):
            states = np.moveaxis(reached_by, axis, 0)[weight:]
            from_states = np.moveaxis(before, axis, 0)[: max(0, shape[axis] - weight)]
            states[from_states & (states == n_groups)] = group
    sizes = np.argwhere(reached_by < n_groups)
    of_all = np.insert(sizes, rest, sum(weights) - sizes.sum(axis=1), axis=1)
    if 2 * scale * sum(weights) > np.iinfo(np.int64).max:  # shares of many digits
        of_all = of_all.astype(object)
    state = sizes[np.abs(scale * of_all - targets).sum(axis=1).argmin()].tolist()
    places = [rest] * n_groups
    while (group := int(reached_by[tuple(state)])) != start:
        for axis, split in enumerate(axes):
            state[axis] -= weights[group]
            if state[axis] >= 0 and reached_by[tuple(state)] < group:
                places[group] = split
                break
            state[axis] += weights[group]
    return places


class Met(NamedTuple):
    """Why a candidate becomes no instance, and what it met: an instance of other data, or another draft."""

    reason: str
    detail: str


BY_ID = "paper is in another data set, by its id"
BY_TEXT = "paper is in another data set, by its text"
BY_HYPOTHESIS = "hypothesis is in another data set"


def met_elsewhere(
    candidates: Sequence[Candidate], index: TextIndex, others: Iterable[Dataset], on_progress: _Progress
) -> dict[str, Met]:
    """Return, by id, the candidates that other data sets have: by an id, else a text, else a hypothesis."""
    ids = defaultdict[tuple[str, str | int], list[str]](list)
    for candidate in candidates:
        for name in candidate.names:
            ids[BY_ID, name].append(candidate.id)
        ids[BY_TEXT, index.first[candidate.text]].append(candidate.id)
        ids[BY_HYPOTHESIS, normalised(candidate.hypothesis)].append(candidate.id)
    met: dict[str, dict[str, Met]] = {BY_HYPOTHESIS: {}, BY_TEXT: {}, BY_ID: {}}
    for dataset in others:
        for n_done, instance in enumerate(dataset, 1):
            query, where = instance.query, f"{instance.id} of {dataset.name}"
            details: dict[tuple[str, str | int], str] = {(BY_HYPOTHESIS, normalised(query.hypothesis)): where}
            details |= {(BY_ID, name): f"{where}: {name}" for name in names_of_paper(query.paper_id)}
            for position, share in index.same_papers(sentence_hashes(query.sentences, query.kinds)):
                details[BY_TEXT, position] = f"{where}: {100 * share:.0f} % of the shorter paper's sentences"
            for (reason, key), detail in details.items():
                for draft_id in ids.get((reason, key), ()):
                    met[reason].setdefault(draft_id, Met(reason, detail))
            on_progress(n_done, len(dataset))
    return met[BY_HYPOTHESIS] | met[BY_TEXT] | met[BY_ID]


def papers_elsewhere(
    source: DraftFile, papers: Path, others: Iterable[Dataset], on_progress: _Progress
) -> dict[str, Met]:
    """Return, by id, the drafts whose paper other data sets have, as far as their files can be read."""
    folder, hashes, candidates = PaperFolder(papers), list[Hashes](), list[Candidate]()
    read: dict[str, tuple[int, set[str]]] = {}  # paper -> its position in `hashes`, and its names in its file
    for draft in source.drafts():
        if draft.paper_file not in read:
            read[draft.paper_file] = len(hashes), set()
            hashes.append(sentence_hashes((), ()))
            with suppress(DataError):  # told when it is judged
                paper, _ = folder.paper_of(draft)
                hashes[-1] = sentence_hashes(paper.sentences, paper.kinds)
                read[draft.paper_file][1].update(names_of_paper("", paper.ids))
        position, names = read[draft.paper_file]
        names = names | names_of_paper(draft.paper_id, draft.paper_ids)
        candidates.append(Candidate(draft.id, draft.review_id, draft.hypothesis, frozenset(names), position))
    met = met_elsewhere(candidates, TextIndex(hashes), others, on_progress)
    return {draft_id: why for draft_id, why in met.items() if why.reason != BY_HYPOTHESIS}
