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
from evidencebench.data.dataset import Dataset
from evidencebench.engine.protocol import Engine, map_in_order
from evidencebench.errors import ChangedDataError, DataError, RunFormatError
from evidencebench.files.atomic import write_whole
from evidencebench.query import Kind

Hashes = NDArray[np.uint64]

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 5  # a shorter sentence, such as a list of names, stands in many papers
_LEAST_SHARED_SHARE = 0.25
_FEWEST_SHARED = 5  # sentences; two short papers may have the same declarations
_MOST_PAPERS = 20  # with one sentence: what more papers say is no sign of any


def normalised(text: str) -> str:
    """Return the words of a text in small letters, without marks and spaces."""
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


class SamePaper(NamedTuple):
    """A paper of an index, by its position, and the share of the shorter paper's sentences that both have."""

    position: int
    share: float


class TextIndex:
    """Finds, for the sentences of any paper, those papers of a list that are the same; memory is 12 bytes a sentence.

    Papers of the list with equal sentences are found under the first of their positions: see ``first``.
    """

    def __init__(self, papers: Sequence[Hashes]) -> None:
        by_text: dict[bytes, int] = {}
        self.first = [by_text.setdefault(hashes.tobytes() or str(n).encode(), n) for n, hashes in enumerate(papers)]
        distinct = sorted(set(self.first))
        owners = np.repeat(np.array(distinct, dtype=np.uint32), [len(papers[number]) for number in distinct])
        hashes = np.concatenate([np.empty(0, dtype=np.uint64), *(papers[number] for number in distinct)])
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        _, n_papers = np.unique(hashes, return_counts=True)
        tells = np.repeat(n_papers <= _MOST_PAPERS, n_papers)
        self._hashes, self._owners = hashes[tells], owners[tells]
        self._n_sentences = np.bincount(self._owners, minlength=len(papers))

    def same_papers(self, hashes: Hashes) -> Iterator[SamePaper]:
        begins = np.searchsorted(self._hashes, hashes, side="left")
        n_each = np.searchsorted(self._hashes, hashes, side="right") - begins
        places = np.arange(n_each.sum()) + np.repeat(begins - (np.cumsum(n_each) - n_each), n_each)
        positions, n_shared = np.unique(self._owners[places], return_counts=True)
        shorter = np.minimum(self._n_sentences[positions], len(hashes))
        is_same = (n_shared > _LEAST_SHARED_SHARE * shorter) & (n_shared >= _FEWEST_SHARED)
        for position, shared, all_of_them in zip(positions[is_same], n_shared[is_same], shorter[is_same], strict=True):
            yield SamePaper(int(position), float(shared / all_of_them))


class PaperText(msgspec.Struct, frozen=True, kw_only=True):
    """What of a paper becomes part of instances, and what shows that it is the paper that was judged."""

    sha256: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]
    ids: Mapping[str, str]  # that the file names


class ReadPaper(NamedTuple):
    """What is held in memory of a paper: where its text lies in the file of a `PaperStore`, and what tells it."""

    offset: int
    sha256: str
    n_sentences: int
    ids: Mapping[str, str]
    hashes: Hashes


class PaperStore(NamedTuple):
    path: Path
    papers: Mapping[str, ReadPaper]

    def text(self, paper_file: str) -> PaperText:
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
            papers[name] = ReadPaper(offset, text.sha256, len(text.sentences), text.ids, hashes)
            line = msgspec.json.encode(text) + b"\n"
            offset += len(line)
            yield line
            on_progress(len(papers), len(first))

    write_whole(path, lines())
    return PaperStore(path, papers)


def _reader(source: DraftFile, folder: Path) -> Callable[[str], tuple[PaperText, Hashes]]:
    papers = PaperFolder(folder)

    def read_paper(draft_id: str) -> tuple[PaperText, Hashes]:
        paper, sha256 = papers.paper_of(source[draft_id])
        text = PaperText(sha256=sha256, sentences=paper.sentences, kinds=paper.kinds, ids=paper.ids)
        return text, sentence_hashes(paper.sentences, paper.kinds)

    return read_paper


# Splits without leakage: what shares a paper or a review stays together, and sizes come closest to the shares.

_MOST_STEPS = 500_000_000  # of the exact search; a second or two


def linked_groups(keys: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """Return positions in groups: those that share a key, directly or through others, are together."""
    parents = list(range(len(keys)))

    def root(position: int) -> int:
        while parents[position] != position:
            parents[position] = parents[parents[position]]
            position = parents[position]
        return position

    first: dict[Hashable, int] = {}
    for position, of_position in enumerate(keys):
        for key in of_position:
            roots = root(position), root(first.setdefault(key, position))
            parents[max(roots)] = min(roots)
    groups: dict[int, list[int]] = {}
    for position in range(len(keys)):
        groups.setdefault(root(position), []).append(position)
    return list(groups.values())


def assign_groups(sizes: Sequence[int], shares: Mapping[str, Fraction], *, seed: int) -> list[str]:
    """Return the split of each group, so that the splits' sizes come as close to the shares as whole groups allow.

    They are drawn at random, the largest first, so that each split has groups of all sizes. Where that misses the
    shares, the closest sizes are searched for exactly, unless there are too many groups.
    """
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
        place = max(range(len(rooms)), key=rooms.__getitem__)
        if fitting:
            place = random.choices(fitting, [rooms[split] for split in fitting])[0]
        rooms[place] -= scale * weight
        places.append(place)
    missed = sum(map(abs, rooms))
    # What the best whole numbers miss: where all groups have one instance, they are reached.
    rest = n_all - sum(target // scale for target in targets)
    parts = sorted((target % scale for target in targets), reverse=True)
    if missed > sum(scale - part for part in parts[:rest]) + sum(parts[rest:]):
        places = _closest_places(weights, targets, scale, missed) or places
    split_of = dict(zip(order, places, strict=True))
    return [names[split_of[group]] for group in range(len(sizes))]


def _closest_places(weights: Sequence[int], targets: Sequence[int], scale: int, missed: int) -> list[int] | None:
    """Return the places whose sizes are closest to the targets, by dynamic programming; None where it takes too long.

    A state is the sizes of all splits but the roomiest, which gets the rest. No split of a closest choice misses its
    target by more than what was drawn does, so that larger sizes are left out.
    """
    rest = max(range(len(targets)), key=targets.__getitem__)
    axes = [split for split in range(len(targets)) if split != rest]
    shape = tuple((targets[split] + missed) // scale + 1 for split in axes)
    if not axes or prod(shape) * len(weights) * len(axes) > _MOST_STEPS:
        return None
    never, start = len(weights), -1
    reached_by = np.full(shape, never, dtype=np.int32)  # the first group with which a state is reached
    reached_by[(0,) * len(axes)] = start
    for group, weight in enumerate(weights):
        before = reached_by < group
        for axis in range(len(axes)):
            states = np.moveaxis(reached_by, axis, 0)[weight:]
            from_states = np.moveaxis(before, axis, 0)[: max(0, shape[axis] - weight)]
            states[from_states & (states == never)] = group
    distance = np.zeros(shape, dtype=np.int64)
    left = np.full(shape, sum(weights), dtype=np.int64)
    for split, size in zip(axes, np.indices(shape, sparse=True), strict=True):
        distance += np.abs(scale * size - targets[split])
        left -= size
    distance += np.abs(scale * left - targets[rest])
    distance[reached_by == never] = np.iinfo(np.int64).max
    state = list(map(int, np.unravel_index(int(distance.argmin()), shape)))
    places = [rest] * len(weights)
    while (group := int(reached_by[tuple(state)])) != start:
        for axis, split in enumerate(axes):
            state[axis] -= weights[group]
            if state[axis] >= 0 and reached_by[tuple(state)] < group:
                places[group] = split
                break
            state[axis] += weights[group]
    return places


DUPLICATE = "same paper and summary as another draft"


class Candidate(NamedTuple):
    """What of a draft is held in memory; ``names`` are those of its paper, ``text`` is its position in the index."""

    draft: Draft  # its ids, paper's file and hypothesis alone
    names: frozenset[str]
    text: int
    summary: bytes  # digest


class Met(NamedTuple):
    """Why a candidate becomes no instance, and what it met: an instance of other data, or another draft."""

    reason: str
    detail: str


def read_candidates(source: DraftFile, store: PaperStore) -> tuple[list[Candidate], str]:
    position = {paper_file: number for number, paper_file in enumerate(store.papers)}
    candidates = []
    digest = hashlib.sha256()
    for draft in source.drafts():
        digest.update(msgspec.json.encode(draft) + b"\n")
        judging, paper = judging_of(draft), store.papers[draft.paper_file]
        where = f"draft '{draft.id}': paper '{draft.paper_file}'"
        if paper.sha256 != judging.paper_sha256:
            raise ChangedDataError(
                f"{where} has changed since it was judged: expected the file with SHA-256 "
                f"{judging.paper_sha256[:12]}…, got {paper.sha256[:12]}…; put the former file back, or judge anew"
            )
        if paper.n_sentences != judging.n_sentences:
            raise ChangedDataError(
                f"{where} is read as {paper.n_sentences} sentences, and had {judging.n_sentences} when it was judged; "
                "use the evidencebench that judged it, or judge anew"
            )
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
        text = normalised(draft.summary) or normalised(draft.hypothesis)
        summary = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
        candidates.append(Candidate(kept, frozenset(names), position[draft.paper_file], summary))
    return candidates, digest.hexdigest()


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
            repeated[position] = Met(DUPLICATE, candidates[before].draft.id)
    return repeated


# Which drafts are in other data sets already: by the paper's id, by its text, or by the hypothesis.

BY_ID = "paper is in another data set, by its id"
BY_TEXT = "paper is in another data set, by its text"
BY_HYPOTHESIS = "hypothesis is in another data set"


def met_elsewhere(
    candidates: Sequence[Candidate],
    index: TextIndex,
    others: Iterable[Dataset],
    on_progress: Callable[[int, int], None],
) -> dict[int, Met]:
    """Return, by position, the candidates that other data sets have: by an id, else a text, else a hypothesis."""
    by_name, by_text, by_hypothesis = defaultdict(list), defaultdict(list), defaultdict(list)
    for n, candidate in enumerate(candidates):
        for name in candidate.names:
            by_name[name].append(n)
        by_text[index.first[candidate.text]].append(n)
        by_hypothesis[normalised(candidate.draft.hypothesis)].append(n)
    met: dict[str, dict[int, str]] = {BY_ID: {}, BY_TEXT: {}, BY_HYPOTHESIS: {}}

    def note(reason: str, positions: Sequence[int], detail: str) -> None:
        for position in positions:
            met[reason].setdefault(position, detail)

    for dataset in others:
        for n_done, instance in enumerate(dataset, 1):
            query, where = instance.query, f"{instance.id} of {dataset.name}"
            for name in names_of_paper(query.paper_id):
                note(BY_ID, by_name.get(name, ()), f"{where}: {name}")
            for same in index.same_papers(sentence_hashes(query.sentences, query.kinds)):
                share = f"{100 * same.share:.0f} % of the shorter paper's sentences"
                note(BY_TEXT, by_text.get(same.position, ()), f"{where}: {share}")
            note(BY_HYPOTHESIS, by_hypothesis.get(normalised(query.hypothesis), ()), where)
            on_progress(n_done, len(dataset))
    return {n: Met(reason, met[reason][n]) for reason in reversed(met) for n in met[reason]}


def papers_elsewhere(
    source: DraftFile, papers: Path, others: Iterable[Dataset], on_progress: Callable[[int, int], None]
) -> dict[str, Met]:
    """Return, by id, the drafts whose paper other data sets have, as far as their files can be read."""
    folder, candidates = PaperFolder(papers), []
    texts: dict[str, tuple[int, Hashes, set[str]]] = {}
    for draft in source.drafts():
        if draft.paper_file not in texts:
            texts[draft.paper_file] = len(texts), np.empty(0, dtype=np.uint64), set()
            with suppress(DataError):  # told when it is judged
                paper = folder.paper_of(draft).paper
                hashes = sentence_hashes(paper.sentences, paper.kinds)
                texts[draft.paper_file] = texts[draft.paper_file][0], hashes, names_of_paper("", paper.ids)
        position, _, names = texts[draft.paper_file]
        names = names | names_of_paper(draft.paper_id, draft.paper_ids)
        candidates.append(Candidate(draft, frozenset(names), position, b""))
    met = met_elsewhere(candidates, TextIndex([hashes for _, hashes, _ in texts.values()]), others, on_progress)
    return {candidates[n].draft.id: why for n, why in met.items() if why.reason != BY_HYPOTHESIS}
