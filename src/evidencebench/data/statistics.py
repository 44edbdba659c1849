"""What a data set holds, in numbers."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.query import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Least, mean and most of a count over instances."""

    minimum: int
    mean: float
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The numbers of a data set.

    Per instance: sentences of the paper, aspects, those labelled Results, sentences that are a source of any aspect
    (``evidence``), and the stored optimum (None where none is stored). A duplicate repeats an earlier sentence of its
    paper word for word. ``kinds``: kind -> share of all sentences, and share of them that are evidence.
    """

    n_instances: int
    n_papers: int
    sentences: Spread
    aspects: Spread
    results: Spread
    evidence: Spread
    optimum: Spread | None
    n_without_results: int
    n_uncoverable_aspects: int
    n_uncoverable_instances: int
    n_duplicate_sentences: int
    kinds: dict[str, dict[str, float]]


def describe(dataset: Dataset, on_progress: Callable[[int, int], None] | None = None) -> Description:
    """Return the numbers of a data set, in one pass."""
    rows: list[dict[str, Any]] = []
    kinds: Counter[Kind] = Counter()
    evidence_kinds: Counter[Kind] = Counter()
    for n_done, instance in enumerate(dataset, 1):
        evidence = {index for indices in instance.labels.sources.values() for index in indices}
        kinds.update(instance.query.kinds)
        evidence_kinds.update(instance.query.kinds[index] for index in evidence)
        rows.append(_row(instance, evidence))
        if on_progress is not None:
            on_progress(n_done, len(dataset))
    optima = [row["optimum"] for row in rows if row["optimum"] is not None]
    return Description(
        n_instances=len(rows),
        n_papers=len({row["paper"] for row in rows}),
        **{name: _spread([row[name] for row in rows]) for name in ("sentences", "aspects", "results", "evidence")},
        optimum=_spread(optima) if optima else None,
        n_without_results=sum(not row["results"] for row in rows),
        n_uncoverable_aspects=sum(row["uncoverable"] for row in rows),
        n_uncoverable_instances=sum(not row["evidence"] for row in rows),
        n_duplicate_sentences=sum(row["duplicates"] for row in rows),
        kinds={
            kind.name.lower(): {
                "share": kinds[kind] / max(1, kinds.total()),
                "evidence": evidence_kinds[kind] / kinds[kind] if kinds[kind] else 0.0,
            }
            for kind in Kind
        },
    )


def _row(instance: Instance, evidence: Iterable[int]) -> dict[str, Any]:
    labels, sentences = instance.labels, instance.query.sentences
    stored = labels.evaluations.get("er_at_optimal")
    return {
        "paper": instance.query.paper_id,
        "sentences": len(sentences),
        "aspects": len(labels.aspects),
        "results": len(labels.results),
        "evidence": len(set(evidence)),
        "optimum": None if stored is None else stored.optimal,
        "uncoverable": sum(not labels.sources.get(aspect) for aspect in labels.aspects),
        "duplicates": len(sentences) - len(set(sentences)),
    }


def _spread(values: Sequence[int]) -> Spread:
    return Spread(minimum=min(values), mean=float(np.mean(values)), maximum=max(values))
