"""The examples of a finder: features and evidence of each sentence of a paper, alone and beside another paper's."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.query import AspectScope, Query, Wish
from evidencebench.systems.changed_queries import draw_strangers, with_stranger
from evidencebench.systems.selectors.finder_model import FEATURE_NAMES, Table, finder_table
from evidencebench.systems.selectors.hypothesis_parts import parts_of
from evidencebench.systems.selectors.paper_columns import Floats, columns_of

SCOPES: tuple[AspectScope, ...] = ("all", "results")

_VERBS = ("increases", "affects", "reduces")


@dataclass(frozen=True, slots=True, kw_only=True)
class FinderExample:
    """The sentences of one query as training reads them."""

    table: Table
    shares: dict[AspectScope, Floats]  # for each scope that has aspects, the share of them that each sentence states

    def targets(self, wish: Wish, scope: AspectScope) -> Floats:
        """Return what is predicted: whether it answers, or its share of aspects relative to the highest."""
        shares = self.shares[scope]
        return (shares > 0).astype(float) if wish == "answer" else shares / max(shares.max(), 1e-9)


def wish_of(instance: Instance) -> Wish:
    """Return what an instance's makers marked; the published files say nothing, and are of the sort ``"study"``."""
    return instance.query.wish or "study"


def in_other_words(hypothesis: str) -> str:
    """Return a hypothesis that a comparison was converted to as a person would write it.

    Any other is returned as it is. The verb is that of the words' number, so that all are met.

    >>> in_other_words("Tea, compared with water, changes blood pressure.")
    'Tea affects blood pressure.'
    """
    parts = parts_of(hypothesis)
    if not parts.comparator:
        return hypothesis
    return f"{parts.intervention} {_VERBS[len(hypothesis.split()) % len(_VERBS)]} {parts.outcome}."


def finder_examples(
    instances: Sequence[Instance],
    folder: Path,
    *,
    features: Sequence[str] = FEATURE_NAMES,
    mixed: bool,
    seed: int,
    on_read: Callable[[], None] = lambda: None,
) -> list[list[FinderExample]]:
    """Return the examples of each instance: its paper alone and, if ``mixed``, with another one's sentences beside.

    Then one of the two is asked in other words. The tables lie in a file without a name in the folder, which is free
    again when they are no longer used. Raises `DataError` where it cannot be written.
    """
    columns = [FEATURE_NAMES.index(name) for name in features]
    lengths: list[int] = []
    shares: list[list[dict[AspectScope, Floats]]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            for instance, queries in zip(instances, _queries(instances, mixed=mixed, seed=seed), strict=True):
                for query, _ in queries:
                    file.write(np.ascontiguousarray(finder_table(columns_of(query))[:, columns]).data)
                lengths += [len(query.sentences) for query, _ in queries]
                shares.append([_shares(instance, len(query.sentences), offset) for query, offset in queries])
                on_read()
            file.flush()
            shape = (sum(lengths), len(columns))
            rows = np.memmap(file, np.float32, "r", shape=shape) if shape[0] else np.zeros(shape, np.float32)
    except OSError as error:
        raise DataError(
            f"{folder}: the table of features cannot be written: {error.strerror}; it needs {4 * len(columns)} bytes a "
            "sentence beside the model's folder"
        ) from error
    tables = iter(np.split(rows, np.cumsum(lengths)[:-1]))
    return [[FinderExample(table=next(tables), shares=of_query) for of_query in together] for together in shares]


def _queries(instances: Sequence[Instance], *, mixed: bool, seed: int) -> Iterator[list[tuple[Query, int]]]:
    """Yield the queries of each instance, each with how many sentences stand before its paper's own."""
    if not mixed:
        for instance in instances:
            yield [(instance.query, 0)]
        return
    queries = {instance.id: instance.query for instance in instances}
    strangers = draw_strangers(queries.values(), np.random.default_rng(seed))
    for number, instance in enumerate(instances):
        query = instance.query
        reworded = replace(query, hypothesis=in_other_words(query.hypothesis))
        # Of every second instance the paper alone is asked in other words, of the others the mixed one.
        alone, beside = (reworded, query) if number % 2 else (query, reworded)
        stranger = strangers[instance.id]
        pool = with_stranger(beside, queries[stranger.instance_id], is_before=stranger.is_before)
        yield [(alone, 0), (pool.query, pool.offset)]


def _shares(instance: Instance, n_sentences: int, offset: int) -> dict[AspectScope, Floats]:
    """Return, for each scope that has aspects, the share of them that each sentence states."""
    shares = {}
    for scope in SCOPES:
        if aspects := instance.labels.that_count(scope):
            shares[scope] = np.zeros(n_sentences)
            for aspect in aspects:
                sources = np.array(sorted(set(instance.labels.sources.get(aspect, ()))), dtype=np.intp)
                shares[scope][sources + offset] += 1 / len(aspects)
    return shares
