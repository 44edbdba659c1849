"""Queries changed on purpose, to measure what of a system's answers comes from the hypothesis."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from evidencebench.query import Query
from evidencebench.system import Ranking
from evidencebench.systems.derangement import derange


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedQuery:
    """A query with a second paper's sentences, the stranger's, in front of its own or behind them.

    Its own sentences are ``query.sentences[offset : offset + n_own]``; all others are the stranger's.
    """

    query: Query
    offset: int  # index of the first own sentence
    n_own: int

    def own_answer(self, answer: Ranking) -> Ranking:
        """Return an answer with its own sentences as 0..n_own-1, and the stranger's, in their order, behind these."""
        return replace(answer, sentences=tuple(map(self._own_index, answer.sentences)))

    def _own_index(self, index: int) -> int:
        if index < self.offset:
            return self.n_own + index
        return index - self.offset if index < self.offset + self.n_own else index


def with_stranger(query: Query, stranger: Query, *, is_before: bool) -> MixedQuery:
    """Return a query with the sentences and kinds of another paper, ``stranger``, before or behind its own."""
    first, second = (stranger, query) if is_before else (query, stranger)
    mixed = replace(query, sentences=first.sentences + second.sentences, kinds=first.kinds + second.kinds)
    return MixedQuery(query=mixed, offset=len(stranger.sentences) * is_before, n_own=len(query.sentences))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """The paper that is put beside a query's own: whose it is, its length, and whether it stands before the own one."""

    instance_id: str
    n_sentences: int
    is_before: bool


def draw_strangers(queries: Iterable[Query], generator: np.random.Generator) -> dict[str, Stranger]:
    """Return instance id -> another paper, of no query with the same paper or hypothesis.

    Every instance's paper is a stranger once; half of the strangers stand before the own paper (of an odd number, one
    less). It raises `UndefinedScoreError` as `derange` does.
    """
    others = derange(queries, generator, "papers cannot be mixed")
    before = set(generator.permutation(len(others))[: len(others) // 2].tolist())
    return {
        instance_id: Stranger(instance_id=other.instance_id, n_sentences=other.n_sentences, is_before=index in before)
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
