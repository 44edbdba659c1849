"""Cut instances into folds such that no paper is in two of them."""

from collections.abc import Sequence

import numpy as np

from evidencebench.errors import UndefinedScoreError


def paper_folds(papers: Sequence[str], n_folds: int, generator: np.random.Generator) -> list[tuple[int, ...]]:
    """Return the positions of the instances of each fold.

    Parameters
    ----------
    papers
        What each instance must not be parted from: its paper, or its review.
    n_folds
        At least 2, at most the number of different papers.
    generator
        Shuffles the papers.

    Raises
    ------
    UndefinedScoreError
        If there are fewer papers than folds.

    Examples
    --------
    >>> folds = paper_folds(["a", "a", "b", "c"], 2, np.random.default_rng(0))
    >>> sorted(position for fold in folds for position in fold)
    [0, 1, 2, 3]
    """
    names = np.array(sorted(set(papers)))
    if not 2 <= n_folds <= len(names):  # noqa: PLR2004 - one fold leaves nothing to train on
        raise UndefinedScoreError(f"folds: expected 2..{len(names)}, the number of papers, got {n_folds}")
    generator.shuffle(names)
    fold_of = {name: place % n_folds for place, name in enumerate(names)}
    return [tuple(i for i, paper in enumerate(papers) if fold_of[paper] == fold) for fold in range(n_folds)]
