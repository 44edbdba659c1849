"""Give each query another paper's hypothesis, or another paper, to measure whether a system reads the hypothesis."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from evidencebench.errors import UndefinedScoreError
from evidencebench.query import Query


class Member(NamedTuple):
    """What is kept of a query while queries are deranged: not its text, so that all of a large data set fits."""

    instance_id: str
    paper_id: str
    hypothesis: str
    n_sentences: int


def derange_hypotheses(queries: Iterable[Query], generator: np.random.Generator) -> dict[str, str]:
    """Return instance id -> the hypothesis of another paper; see `derange`."""
    others = derange(queries, generator, "hypotheses cannot be swapped between papers")
    return {instance_id: other.hypothesis for instance_id, other in others.items()}


def derange(queries: Iterable[Query], generator: np.random.Generator, refusal: str) -> dict[str, Member]:
    """Return instance id -> another query, of another paper and with another hypothesis; each is used once.

    Queries that share a paper or a hypothesis form a group. The groups are put in random order. Each query then takes
    the query that stands n places later, where n is the size of the largest group. So no query gets itself, nor one of
    its own paper.

    It raises `UndefinedScoreError` if more than half of the queries share one paper or one hypothesis; its message
    begins with ``refusal``.
    """
    members = [Member(query.instance_id, query.paper_id, query.hypothesis, len(query.sentences)) for query in queries]
    groups: dict[str, list[Member]] = {}
    for member, group in zip(members, _group_names(members), strict=True):
        groups.setdefault(group, []).append(member)
    together = list(groups.values())
    order = [member for position in generator.permutation(len(together)) for member in together[position]]
    shift = max(map(len, together), default=0)
    if 2 * shift > len(order) or not order:
        raise UndefinedScoreError(f"{refusal}: {shift} of {len(order)} instances share one paper or one hypothesis")
    return {member.instance_id: order[(index + shift) % len(order)] for index, member in enumerate(order)}


def _group_names(members: Sequence[Member]) -> list[str]:
    """Return each member's group, by name; members with the same paper or the same hypothesis are in one group."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for member in members:
        parent[root(f"paper {member.paper_id}")] = root(f"hypothesis {member.hypothesis}")
    return [root(f"paper {member.paper_id}") for member in members]
