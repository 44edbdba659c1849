"""Swap hypotheses between papers, to measure whether a system reads the hypothesis."""

from collections.abc import Iterable, Sequence

import numpy as np

from evidencebench.errors import UndefinedScoreError
from evidencebench.query import Query


def derange_hypotheses(queries: Iterable[Query], generator: np.random.Generator) -> dict[str, str]:
    """Return instance id -> the hypothesis of another paper.

    Every hypothesis is used once. Queries that share a paper or a hypothesis form a group. The groups are put in random
    order. Each query then takes the hypothesis of the query that stands n places later, where n is the size of the
    largest group. So no query gets its own hypothesis, nor one of its own paper.

    It raises `UndefinedScoreError` if more than half of the queries share one paper or one hypothesis.
    """
    members = [(query.paper_id, query.hypothesis, query.instance_id) for query in queries]
    groups: dict[str, list[tuple[str, str]]] = {}
    for (_, hypothesis, instance_id), group in zip(members, _group_names(members), strict=True):
        groups.setdefault(group, []).append((instance_id, hypothesis))
    together = list(groups.values())
    order = [member for position in generator.permutation(len(together)) for member in together[position]]
    shift = max(map(len, together), default=0)
    if 2 * shift > len(order) or not order:
        raise UndefinedScoreError(
            "hypotheses cannot be swapped between papers: "
            f"{shift} of {len(order)} instances share one paper or one hypothesis"
        )
    return {instance_id: order[(position + shift) % len(order)][1] for position, (instance_id, _) in enumerate(order)}


def _group_names(members: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return each member's group, by name; members with the same paper or the same hypothesis are in one group."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for paper, hypothesis, _ in members:
        parent[root(f"paper {paper}")] = root(f"hypothesis {hypothesis}")
    return [root(f"paper {paper}") for paper, _, _ in members]
