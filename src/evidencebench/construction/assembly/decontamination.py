"""Which drafts are in other data sets already: by the paper's id, by its text, or by the hypothesis."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from evidencebench.construction.assembly.candidates import Candidate, Met
from evidencebench.construction.assembly.same_text import Hashes, TextIndex, normalised, sentence_hashes
from evidencebench.construction.draft_file import DraftFile
from evidencebench.construction.harvest.paper_names import names_of_paper
from evidencebench.construction.paper_files import PaperFolder
from evidencebench.data.dataset import Dataset
from evidencebench.errors import DataError

_Key = TypeVar("_Key")

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
    by_name = _positions((name, n) for n, candidate in enumerate(candidates) for name in candidate.names)
    by_text = _positions((index.first[candidate.text], n) for n, candidate in enumerate(candidates))
    by_hypothesis = _positions((normalised(candidate.draft.hypothesis), n) for n, candidate in enumerate(candidates))
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
    return {n: Met(reason=reason, detail=met[reason][n]) for reason in reversed(met) for n in met[reason]}


def papers_elsewhere(
    source: DraftFile, papers: Path, others: Iterable[Dataset], on_progress: Callable[[int, int], None]
) -> dict[str, Met]:
    """Return, by id, the drafts whose paper other data sets have, as far as their files can be read."""
    folder, place, texts, names_in = PaperFolder(papers), dict[str, int](), list[Hashes](), list[set[str]]()
    candidates = []
    for draft in source.drafts():
        if draft.paper_file not in place:
            place[draft.paper_file], hashes, named = len(place), np.empty(0, dtype=np.uint64), set[str]()
            with suppress(DataError):  # told when it is judged
                paper = folder.paper_of(draft).paper
                hashes, named = sentence_hashes(paper.sentences, paper.kinds), names_of_paper("", paper.ids)
            texts.append(hashes)
            names_in.append(named)
        text = place[draft.paper_file]
        names = frozenset(names_of_paper(draft.paper_id, draft.paper_ids) | names_in[text])
        candidates.append(Candidate(draft=draft, names=names, text=text, summary=b""))
    met = met_elsewhere(candidates, TextIndex(texts), others, on_progress)
    return {candidates[n].draft.id: why for n, why in met.items() if why.reason != BY_HYPOTHESIS}


def _positions(pairs: Iterable[tuple[_Key, int]]) -> dict[_Key, list[int]]:
    positions: dict[_Key, list[int]] = {}
    for key, position in pairs:
        positions.setdefault(key, []).append(position)
    return positions
