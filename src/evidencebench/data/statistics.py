"""Statistics of a data set: its sentences, aspects, evidence and kinds."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.query import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    minimum: int
    mean: float
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The statistics of a data set.

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
    papers: set[str] = set()
    counts: dict[str, list[int]] = defaultdict(list)  # one an instance
    kinds: Counter[Kind] = Counter()
    evidence_kinds: Counter[Kind] = Counter()
    for n_done, instance in enumerate(dataset, 1):
        query, labels = instance.query, instance.labels
        evidence = {index for indices in labels.sources.values() for index in indices}
        papers.add(query.paper_id)
        kinds.update(query.kinds)
        evidence_kinds.update(query.kinds[index] for index in evidence)
        counts["sentences"].append(len(query.sentences))
        counts["aspects"].append(len(labels.aspects))
        counts["results"].append(len(labels.results))
        counts["evidence"].append(len(evidence))
        counts["uncoverable"].append(sum(not labels.sources.get(aspect) for aspect in labels.aspects))
        counts["duplicates"].append(len(query.sentences) - len(set(query.sentences)))
        stored = labels.evaluations.get("er_at_optimal")
        if stored is not None and stored.optimal is not None:
            counts["optimum"].append(stored.optimal)
        if on_progress is not None:
            on_progress(n_done, len(dataset))
    return Description(
        n_instances=len(dataset),
        n_papers=len(papers),
        **{name: _spread(counts[name]) for name in ("sentences", "aspects", "results", "evidence")},
        optimum=_spread(counts["optimum"]) if "optimum" in counts else None,
        n_without_results=counts["results"].count(0),
        n_uncoverable_aspects=sum(counts["uncoverable"]),
        n_uncoverable_instances=counts["evidence"].count(0),
        n_duplicate_sentences=sum(counts["duplicates"]),
        kinds={
            kind.name.lower(): {
                "share": kinds[kind] / max(1, kinds.total()),
                "evidence": evidence_kinds[kind] / kinds[kind] if kinds[kind] else 0.0,
            }
            for kind in Kind
        },
    )


def _spread(values: Sequence[int]) -> Spread:
    return Spread(minimum=min(values), mean=float(np.mean(values)), maximum=max(values))
