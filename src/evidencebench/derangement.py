"""Swap hypotheses between papers, so that it can be measured whether a system reads them."""

from collections.abc import Iterable

import numpy as np

from evidencebench.errors import UndefinedScoreError
from evidencebench.query import Query


def derange_hypotheses(queries: Iterable[Query], generator: np.random.Generator) -> dict[str, str]:
    """Return instance id -> a hypothesis that was asked of another paper.

    Every hypothesis is used once. Papers are put in random order, and each query takes the hypothesis that stands as
    far on in this order as the largest paper has queries, so that no paper keeps one of its own.

    Parameters
    ----------
    queries
        All queries of a data set.
    generator
        Source of randomness; the same seed gives the same swap.

    Raises
    ------
    UndefinedScoreError
        If one paper has more than half of the queries, so that no such swap exists.

    Examples
    --------
    >>> from evidencebench import load_sample
    >>> swapped = derange_hypotheses(load_sample().queries(), np.random.default_rng(0))
    >>> any(swapped[query.instance_id] == query.hypothesis for query in load_sample().queries())
    False
    """
    by_paper: dict[str, list[tuple[str, str]]] = {}
    for query in queries:
        by_paper.setdefault(query.paper_id, []).append((query.instance_id, query.hypothesis))
    papers = list(by_paper.values())
    order = [member for position in generator.permutation(len(papers)) for member in papers[position]]
    shift = max(map(len, papers), default=0)
    if 2 * shift > len(order) or not order:
        raise UndefinedScoreError(
            f"hypotheses cannot be swapped between papers: one paper has {shift} of {len(order)} instances"
        )
    return {instance_id: order[(position + shift) % len(order)][1] for position, (instance_id, _) in enumerate(order)}
