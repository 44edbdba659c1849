"""Split instances into folds, so that no paper is in two folds."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from evidencebench.errors import DataError, UndefinedScoreError

Item = TypeVar("Item")

_N_INNER_FOLDS, _LEAST_PAPERS = 3, 6


def paper_folds(papers: Sequence[str], n_folds: int, generator: np.random.Generator) -> list[tuple[int, ...]]:
    """Return the positions of the instances of each fold, so that no paper is in two folds."""
    names = sorted(set(papers))
    if not 2 <= n_folds <= len(names):  # noqa: PLR2004 - one fold leaves nothing to train on
        raise UndefinedScoreError(f"folds: expected 2..{len(names)}, the number of papers, got {n_folds}")
    order = np.arange(len(names))
    generator.shuffle(order)
    fold_of = {names[position]: place % n_folds for place, position in enumerate(order.tolist())}
    folds: list[list[int]] = [[] for _ in range(n_folds)]
    for position, paper in enumerate(papers):
        folds[fold_of[paper]].append(position)
    return [tuple(fold) for fold in folds]


def inner_folds(papers: Sequence[str], *, seed: int, what: str = "training") -> list[tuple[int, ...]]:
    """Return folds within training data, whose papers are held back in turn; ``what`` begins an error.

    Raises `DataError` if there are too few papers to train on.
    """
    n_papers = len(set(papers))
    if n_papers < _LEAST_PAPERS:
        raise DataError(f"{what}: expected at least {_LEAST_PAPERS} papers, got {n_papers}")
    return paper_folds(papers, _N_INNER_FOLDS, np.random.default_rng(seed))


def split_at_fold(items: Sequence[Item], fold: Sequence[int]) -> tuple[list[Item], list[Item]]:
    """Return the items outside a fold, to train on, and the items of the fold; both in order."""
    held_out = frozenset(fold)
    seen = [item for position, item in enumerate(items) if position not in held_out]
    return seen, [items[position] for position in fold]
