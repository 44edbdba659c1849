"""Folds of papers, their instances, and what a model's card says of them."""

import operator
import platform
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, overload

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError, UndefinedScoreError
from evidencebench.provenance import library_versions
from evidencebench.version import __version__
from evidencebench.wording import first_few, name_of

Item = TypeVar("Item")

Splitter = Callable[[Sequence[str], int, np.random.Generator], Sequence[Sequence[int]]]
"""The paper of each instance, the number of folds, a generator -> the places of the instances of each fold."""

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


def folds_by(
    splitter: Splitter, papers: Sequence[str], n_folds: int, generator: np.random.Generator
) -> tuple[tuple[int, ...], ...]:
    """Return the folds of a user's splitter; raise unless each instance is in one, and no paper in two."""
    folds = tuple(tuple(map(operator.index, fold)) for fold in splitter(tuple(papers), n_folds, generator))
    is_whole = len(folds) == n_folds and all(folds) and sorted(chain(*folds)) == [*range(len(papers))]
    if not is_whole or sum(len({papers[place] for place in fold}) for fold in folds) > len(set(papers)):
        raise ValueError(
            f"splitter '{name_of(splitter)}': expected {n_folds} folds that hold each of 0..{len(papers) - 1}, the "
            f"places of the instances, once, and no paper in two, got {first_few(folds)}"
        )
    return folds


def inner_folds(papers: Sequence[str], *, seed: int, what: str = "training") -> list[tuple[int, ...]]:
    """Return three folds within training data; raise `DataError`, which ``what`` begins, if the papers are too few."""
    n_papers = len(set(papers))
    if n_papers < _LEAST_PAPERS:
        raise DataError(f"{what}: expected at least {_LEAST_PAPERS} papers, got {n_papers}")
    return paper_folds(papers, 3, np.random.default_rng(seed))


def split_at_fold(items: Sequence[Item], fold: Sequence[int]) -> tuple[list[Item], list[Item]]:
    held_out = frozenset(fold)
    seen = [item for position, item in enumerate(items) if position not in held_out]
    return seen, [items[position] for position in fold]


class LazyInstances(Sequence[Instance]):
    """The first ``limit`` instances (None: all) of each data set, one after the other; decoded when they are read."""

    def __init__(self, datasets: Sequence[Dataset], limit: int | None = None) -> None:
        self._places = [(dataset, instance_id) for dataset in datasets for instance_id in dataset.ids[:limit]]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, key: int) -> Instance: ...

    @overload
    def __getitem__(self, key: slice) -> list[Instance]: ...

    def __getitem__(self, key: int | slice) -> Instance | list[Instance]:
        if isinstance(key, slice):
            return [dataset[instance_id] for dataset, instance_id in self._places[key]]
        dataset, instance_id = self._places[key]
        return dataset[instance_id]


def data_entries(papers: Sequence[str], given: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"n_instances": len(papers), "n_papers": len(set(papers)), **(given or {})}


def version_entries(*libraries: str) -> dict[str, str]:
    return {"evidencebench": __version__, **library_versions(*libraries), "python": platform.python_version()}


TrainingProgress = Callable[..., object]
"""Is called with what is done, of all, and perhaps with of what, such as ``"fitting trees"``, in work of parts."""
