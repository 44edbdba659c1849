"""The contract of everything that answers: a query and a brief in, a ranking out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from evidencebench.query import AspectScope, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What the task tells a system about the answer it wants.

    Attributes
    ----------
    budget
        How many sentences count; None when any number may be selected.
    scope
        Whether evidence of every sort is wanted (``"all"``) or outcomes and analyses only (``"results"``).
    """

    budget: int | None
    scope: AspectScope = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """One system's answer to one query.

    Attributes
    ----------
    sentences
        0-based indices into the query's sentences, best first.
    scores
        One score a sentence, descending; None when the system only orders or only selects.
    ordered
        False when the order means nothing, as in a set of sentences that a language model names. A budget then cuts
        the set by exact expectation, not by order.
    """

    sentences: tuple[int, ...]
    scores: tuple[float, ...] | None = None
    ordered: bool = True


class System(Protocol):
    """Anything that finds evidence.

    A system is a frozen dataclass whose fields are its options. Two optional class attributes describe its answers:

    ``reads_brief``
        True when the answer depends on the brief, so that each task needs an answer of its own. Default False: one
        ranking serves every budget.
    ``selects``
        True when an answer ends by itself, so that tasks without a budget can be answered. Default False.
    """

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return the answer to a query; it may read everything in both arguments and nothing else."""
        ...


def rank_by_score(scores: Sequence[float]) -> Ranking:
    """Return all sentences, the highest score first, ties in paper order.

    Parameters
    ----------
    scores
        One finite number a sentence, in paper order.

    Raises
    ------
    ValueError
        If a score is not finite.

    Examples
    --------
    >>> rank_by_score([0.1, 0.7, 0.1]).sentences
    (1, 0, 2)
    """
    values = [float(score) for score in scores]
    for index, value in enumerate(values):
        if not math.isfinite(value):
            raise ValueError(f"sentence {index}: expected a finite score, got {value}")
    order = sorted(range(len(values)), key=lambda index: -values[index])
    return Ranking(sentences=tuple(order), scores=tuple(values[index] for index in order))
