"""Split instances into folds, so that no paper is in two folds."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from evidencebench.errors import DataError, UndefinedScoreError

Item = TypeVar("Item")

_LEAST_PAPERS = 6


def paper_folds(papers: Sequence[str], n_folds: int, generator: np.random.Generator) -> list[tuple[int, ...]]:
    """Return the positions of the instances of each fold, so that no paper is in two folds."""
    names = sorted(set(papers))
    if not 2 <= n_folds <= len(names):  # noqa: PLR2004 - one fold leaves nothing to train on
        raise UndefinedScoreError(f"folds: expected 2..{len(names)}, the number of papers, got {n_folds}")
    order = np.arange(len(names))
    generator.shuffle(order)
    fold_of = {names[position]: number % n_folds for number, position in enumerate(order.tolist())}
    folds: list[list[int]] = [[] for _ in range(n_folds)]
    for position, paper in enumerate(papers):
        folds[fold_of[paper]].append(position)
    return [tuple(fold) for fold in folds]


def inner_folds(papers: Sequence[str], *, seed: int, what: str = "training") -> list[tuple[int, ...]]:
    """Return three folds within training data; raise `DataError`, which ``what`` begins, if the papers are too few."""
    n_papers = len(set(papers))
    if n_papers < _LEAST_PAPERS:
        raise DataError(f"{what}: expected at least {_LEAST_PAPERS} papers, got {n_papers}")
    return paper_folds(papers, 3, np.random.default_rng(seed))


def split_at_fold(items: Sequence[Item], fold: Sequence[int]) -> tuple[list[Item], list[Item]]:
    """Return the items outside a fold, to train on, and the items of the fold; both in order."""
    held_out = frozenset(fold)
    seen = [item for position, item in enumerate(items) if position not in held_out]
    return seen, [items[position] for position in fold]
