"""Measure what `find` says of whole papers, of their abstracts alone and of a few sentences in a row.

Each question is put to its own paper and to the most similar other one. Of an own abstract, only questions count that
have a mark in it, and own sentences in a row hold a mark. A data set of comparisons, which the package's finder was
trained on, is asked with --held-out: of a fifth of its papers, by a finder trained on the others.

    python tools/measure_verdicts.py train.json
    python tools/measure_verdicts.py ei.json --held-out [--every 1]
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.execution.finding import LEAST_BEST
from evidencebench.query import Kind, Query
from evidencebench.systems.finder import Finder
from evidencebench.tables import Cell, Table, as_markdown
from evidencebench.training.finder import FinderTraining
from evidencebench.training.folds import paper_folds, split_at_fold
from evidencebench.training.verdicts import foreign_papers

N_FOLDS, SEED = 5, 0
IN_A_ROW = (15, 40)


def verdict(finder: Finder, query: Query, indices: Sequence[int]) -> str:
    """Return what `find` says of some sentences of a paper."""
    sentences, kinds = (tuple(query.sentences[at] for at in indices), tuple(query.kinds[at] for at in indices))
    part = replace(query, sentences=sentences, kinds=kinds)
    told, chances = finder.answers(part), finder.chances(part)
    assert told
    assert chances
    if told.chance < told.none_below:
        return "none"
    return "found" if told.chance >= told.found_from and max(chances) >= LEAST_BEST else "unsure"


def parts(query: Query, marked: set[int], generator: np.random.Generator) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield the parts of a paper; of an own one, those that hold a mark."""
    n = len(query.sentences)
    yield "paper", range(n)
    abstract = [index for index, kind in enumerate(query.kinds) if kind is Kind.ABSTRACT]
    if abstract and (not marked or not marked.isdisjoint(abstract)):
        yield "abstract", abstract
    for size in IN_A_ROW:
        held = int(generator.choice(sorted(marked))) if marked else int(generator.integers(n))
        start = max(0, min(n - size, held - int(generator.integers(size))))
        yield f"{size} sentences", range(start, min(n, start + size))


def rows_of(finder: Finder, instances: Sequence[Instance]) -> list[list[Cell]]:
    """Return a row for each part of papers, own and other."""
    others = foreign_papers([[one.query for one in instances]]).others
    generator = np.random.default_rng(SEED)
    said: dict[tuple[str, str], list[str]] = {}
    for instance in instances:
        query = replace(instance.query, goal="answer")
        marked = {index for source in instance.labels.sources.values() for index in source}
        other = replace(others[query.paper_id], goal="answer", hypothesis=query.hypothesis)
        for whose, asked, marks in (("own", query, marked), ("other", other, set[int]())):
            for part, indices in parts(asked, marks, generator) if marked else ():
                said.setdefault((part, whose), []).append(verdict(finder, asked, indices))
    return [
        [*case, len(words), *(f"{100 * words.count(word) / len(words):.1f}" for word in ("none", "unsure", "found"))]
        for case, words in sorted(said.items())
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="a data set file")
    parser.add_argument("--held-out", action="store_true", help="train on four fifths of the papers, ask the others")
    parser.add_argument("--every", type=int, default=1, help="ask, and train on, each nth instance")
    given = parser.parse_args()
    instances = list(open_dataset(given.data))[:: given.every]
    with TemporaryDirectory() as folder:
        if given.held_out:
            fold = paper_folds([one.query.paper_id for one in instances], N_FOLDS, np.random.default_rng(SEED))[0]
            seen, instances = split_at_fold(instances, fold)
            FinderTraining().fit(seen, Path(folder) / "model", seed=SEED)
        finder = Finder(model=Path(folder) / "model" if given.held_out else None, goal="answer")
        rows = rows_of(finder, instances)
    print(as_markdown(Table(columns=["read", "whose", "questions", "none, %", "unsure, %", "found, %"], rows=rows)))


if __name__ == "__main__":
    main()
