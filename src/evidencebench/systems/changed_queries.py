"""Queries changed on purpose, to measure what of a system's answers comes from the hypothesis."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evidencebench.errors import UndefinedScoreError
from evidencebench.query import Query
from evidencebench.system import Ranking


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
    """Swap queries between papers and hypotheses, each used once: instance id -> the other query.

    Raises `UndefinedScoreError`, which begins with ``refusal``, if more than half share one paper or one hypothesis.
    """
    members = [Member(query.instance_id, query.paper_id, query.hypothesis, len(query.sentences)) for query in queries]
    # Queries that share a paper or a hypothesis form a group. The groups are put in random order, and each query takes
    # the one that stands as many places later as the largest group has members.
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for member in members:
        parent[root(f"paper {member.paper_id}")] = root(f"hypothesis {member.hypothesis}")
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(root(f"paper {member.paper_id}"), []).append(member)
    together = list(groups.values())
    order = [member for position in generator.permutation(len(together)) for member in together[position]]
    shift = max(map(len, together), default=0)
    if 2 * shift > len(order) or not order:
        raise UndefinedScoreError(f"{refusal}: {shift} of {len(order)} instances share one paper or one hypothesis")
    return {member.instance_id: order[(index + shift) % len(order)] for index, member in enumerate(order)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedQuery:
    """A query whose own sentences, ``query.sentences[offset : offset + n_own]``, stand beside another paper's."""

    query: Query
    offset: int  # index of the first own sentence
    n_own: int

    def own_answer(self, answer: Ranking) -> Ranking:
        """Return an answer with its own sentences as 0..n_own-1, and the distractor's, in their order, behind these."""
        order = [*range(self.offset, self.offset + self.n_own), *range(self.offset)]
        own_index = {index: place for place, index in enumerate(order)}
        return replace(answer, sentences=tuple(own_index.get(index, index) for index in answer.sentences))


def with_distractor(query: Query, distractor: Query, *, is_before: bool) -> MixedQuery:
    first, second = (distractor, query) if is_before else (query, distractor)
    mixed = replace(query, sentences=first.sentences + second.sentences, kinds=first.kinds + second.kinds)
    offset = len(distractor.sentences) if is_before else 0
    return MixedQuery(query=mixed, offset=offset, n_own=len(query.sentences))


class Distractor(NamedTuple):
    instance_id: str
    n_sentences: int
    is_before: bool


def draw_distractors(queries: Iterable[Query], generator: np.random.Generator) -> dict[str, Distractor]:
    """Draw a second paper for each query by `derange`: instance id -> distractor; half of them come first."""
    others = derange(queries, generator, "papers cannot be mixed")
    before = set(generator.permutation(len(others))[: len(others) // 2].tolist())
    return {
        instance_id: Distractor(other.instance_id, other.n_sentences, index in before)
        for index, (instance_id, other) in enumerate(others.items())
    }


def shuffle_words(queries: Iterable[Query], generator: np.random.Generator) -> dict[str, str]:
    """Return instance id -> its hypothesis with the words in another order; of equal words there is no other."""
    shuffled: dict[str, str] = {}
    for query in queries:
        order = words = query.hypothesis.split()
        while order == words and len(set(words)) > 1:
            order = [words[index] for index in generator.permutation(len(words))]
        shuffled[query.instance_id] = " ".join(order)
    return shuffled
