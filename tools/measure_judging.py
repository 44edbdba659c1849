"""Measure cheaper ways to judge: windows left out by a ranking, several votes, and a dear model for doubtful windows.

    python tools/measure_judging.py train.json ei.json

Prints three tables. The first is of real labels: a data set is one that `data convert` writes, or the published file.
The others are simulated: every vote errs by itself, with the rates that stand in the table. Votes of a real model on
the same sentence err together, so that there they gain less.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from evidencebench.construction.steps.windows import windows_of_paper
from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.query import Query
from evidencebench.system import Brief
from evidencebench.systems.controls import AbstractFirst, Lead
from evidencebench.systems.retrievers.bm25 import BM25
from evidencebench.systems.selectors.finder import Finder
from evidencebench.tables import Cell, Table, as_markdown
from evidencebench.training.finder import FinderTraining
from evidencebench.training.finder_examples import wish_of
from evidencebench.training.folds import paper_folds, split_at_fold

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WINDOW, OVERLAP = 10, 5
N_FOLDS, SEED = 5, 0

Rank = Callable[[Query], Sequence[int]]


def windows_kept(ranked: Sequence[int], n_sentences: int, share: float) -> set[int]:
    """Return the sentences of the windows that are asked: those that hold the first sentences of a ranking."""
    windows = windows_of_paper(n_sentences, WINDOW, OVERLAP)
    place_of = {index: place for place, index in enumerate(ranked)}
    best = [min(place_of.get(index, n_sentences) for index in window) for window in windows]
    asked = sorted(range(len(windows)), key=lambda place: (best[place], place))[: max(1, round(share * len(windows)))]
    return {index for place in asked for index in windows[place]}


def sentences_kept(ranked: Sequence[int], n_sentences: int, share: float) -> set[int]:
    """Return the first sentences of a ranking, which are judged in windows of their own, at the same cost."""
    return set(ranked[: max(1, round(share * n_sentences))])


class Lost:
    """What a filter loses, in shares of the pairs of an aspect and a source, and of the aspects that have one."""

    def __init__(self) -> None:
        self.n_pairs = self.n_pairs_lost = self.n_aspects = self.n_aspects_lost = 0

    def add(self, instance: Instance, kept: set[int]) -> None:
        """Count the labels of an instance."""
        for sources in map(set, instance.labels.sources.values()):
            if sources:
                self.n_pairs += len(sources)
                self.n_pairs_lost += len(sources - kept)
                self.n_aspects += 1
                self.n_aspects_lost += not sources & kept

    @property
    def cell(self) -> str:
        """Both shares in %, as a cell of a table."""
        return f"{100 * self.n_pairs_lost / self.n_pairs:.1f} / {100 * self.n_aspects_lost / self.n_aspects:.1f}"


def ranked_by(system: Finder | BM25 | Lead | AbstractFirst) -> Rank:
    """Return the function that orders the sentences of a paper as a system does."""
    return lambda query: system.rank(query, Brief(budget=None)).sentences


def ranked_at_random(query: Query) -> Sequence[int]:
    """Return the sentences of a paper in an order that its id decides."""
    drawn = np.random.default_rng([SEED, *query.instance_id.encode()])
    return [int(index) for index in drawn.permutation(len(query.sentences))]


def ways_of(instances: Sequence[Instance]) -> Iterator[tuple[str, Iterable[tuple[Instance, Sequence[int]]]]]:
    """Yield the name of each order, and each instance with its sentences in it.

    The finder is trained on the other four folds of papers. The one that comes with the package was trained on
    Evidence Inference, and for "study" it is the rules of `cues`, whose few weights were set by hand.
    """
    yield "at random", ((one, ranked_at_random(one.query)) for one in instances)
    for name, system in (("lead", Lead()), ("abstract_first", AbstractFirst()), ("bm25", BM25())):
        yield name, zip(instances, map(ranked_by(system), [one.query for one in instances]), strict=True)
    if wish_of(instances[0]) == "study":
        yield "finder (shipped)", ((one, ranked_by(Finder(wish="study"))(one.query)) for one in instances)
    yield "finder (trained on the other papers)", cross_validated(instances)


def cross_validated(instances: Sequence[Instance]) -> Iterator[tuple[Instance, Sequence[int]]]:
    """Yield each instance with its sentences as a finder orders them that has not seen its paper."""
    for fold in paper_folds([one.query.paper_id for one in instances], N_FOLDS, np.random.default_rng(SEED)):
        seen, held_back = split_at_fold(instances, fold)
        with TemporaryDirectory() as folder:
            FinderTraining(figures=False).fit(seen, Path(folder) / "model", seed=SEED)
            rank = ranked_by(Finder(model=Path(folder) / "model", wish=wish_of(instances[0])))
            yield from ((one, rank(one.query)) for one in held_back)


def lost_by_filters(data: str) -> Table:
    """Return what is lost of the labels of a data set, for each order and share of windows or sentences."""
    instances = list(open_dataset(data))
    rows: list[list[Cell]] = []
    for name, ranked in ways_of(instances):
        lost = {(keep, share): Lost() for keep in (windows_kept, sentences_kept) for share in SHARES}
        for instance, order in ranked:
            for (keep, share), counts in lost.items():
                counts.add(instance, keep(order, len(instance.query.sentences), share))
        for keep, what in ((windows_kept, "windows"), (sentences_kept, "sentences")):
            rows.append([name, what, *(lost[keep, share].cell for share in SHARES)])
    return Table(columns=["order by", "of", *(f"{100 * share:.0f} %" for share in SHARES)], rows=rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="files of data sets")
    for data in parser.parse_args().data:
        print(f"{Path(data).name}: lost pairs / aspects without any source left, in %\n")
        print(as_markdown(lost_by_filters(data)), end="\n\n")


if __name__ == "__main__":
    main()
