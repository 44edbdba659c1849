"""The examples of a finder: features and evidence of each sentence of a paper, alone and beside a stranger's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.query import AspectScope, Query, Wish
from evidencebench.systems.changed_queries import draw_strangers, with_stranger
from evidencebench.systems.selectors.finder_model import Table, finder_table
from evidencebench.systems.selectors.hypothesis_parts import parts_of
from evidencebench.systems.selectors.paper_columns import Floats, columns_of
from evidencebench.training.selector_table import SCOPES

_VERBS = ("increases", "affects", "reduces")


@dataclass(frozen=True, slots=True, kw_only=True)
class FinderExample:
    """The sentences of one query as training reads them.

    ``shares`` maps each scope that has aspects to the share of them that each sentence states.
    """

    table: Table
    shares: dict[AspectScope, Floats]

    def targets(self, wish: Wish, scope: AspectScope) -> Floats:
        """Return what is predicted: whether it answers, or its share of aspects relative to the highest."""
        shares = self.shares[scope]
        return (shares > 0).astype(float) if wish == "answer" else shares / max(shares.max(), 1e-9)


def wish_of(instance: Instance) -> Wish:
    """Return what an instance's makers marked; the published files say nothing, and are of the sort ``"study"``."""
    return instance.query.wish or "study"


def in_other_words(hypothesis: str) -> str:
    """Return a hypothesis of the form that comparisons are converted to as a person would write it, without comparator.

    Any other is returned as it is. The verb is that of the words' number, so that all are met.

    >>> in_other_words("Tea, compared with water, changes blood pressure.")
    'Tea affects blood pressure.'
    """
    parts = parts_of(hypothesis)
    if not parts.comparator:
        return hypothesis
    return f"{parts.intervention} {_VERBS[len(hypothesis.split()) % len(_VERBS)]} {parts.outcome}."


def finder_examples(instances: Sequence[Instance], *, mixed: bool, seed: int) -> Iterator[list[FinderExample]]:
    """Yield the examples of each instance: its paper alone and, if asked, with another one's sentences beside.

    Then one of the two is asked in other words.
    """
    queries = {instance.id: instance.query for instance in instances}
    strangers = draw_strangers(queries.values(), np.random.default_rng(seed)) if mixed else {}
    for number, instance in enumerate(instances):
        query = instance.query
        if mixed:
            reworded = replace(query, hypothesis=in_other_words(query.hypothesis))
            # Of every second instance the paper alone is asked in other words, of the others the mixed one.
            query, beside = (reworded, query) if number % 2 else (query, reworded)
            stranger = strangers[instance.id]
            pool = with_stranger(beside, queries[stranger.instance_id], is_before=stranger.is_before)
            yield [_example(instance, query, offset=0), _example(instance, pool.query, offset=pool.offset)]
        else:
            yield [_example(instance, query, offset=0)]


def _example(instance: Instance, query: Query, *, offset: int) -> FinderExample:
    shares = {}
    for scope in SCOPES:
        if aspects := instance.labels.that_count(scope):
            shares[scope] = np.zeros(len(query.sentences))
            for aspect in aspects:
                places = np.array(sorted(set(instance.labels.sources.get(aspect, ()))), dtype=np.intp)
                shares[scope][places + offset] += 1 / len(aspects)
    return FinderExample(table=finder_table(columns_of(query)), shares=shares)
