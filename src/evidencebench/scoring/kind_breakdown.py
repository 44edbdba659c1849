"""Where in a paper a system looks, and what it finds there."""

from evidencebench.data.dataset import Dataset
from evidencebench.data.optimum.cover import Coverage, coverage_of
from evidencebench.query import Kind
from evidencebench.scoring.measures import aspect_recall
from evidencebench.scoring.selection import Selection
from evidencebench.scoring.task_scores import TaskScores


def kind_breakdown(scores: TaskScores, dataset: Dataset) -> dict[str, dict[str, float]]:
    """Return, for each kind of sentence (``abstract``, ``heading``, ``body``), where a system looks and what it finds.

    ``selected`` is its share of all selected sentences, ``recall`` the mean aspect recall of its selected sentences
    alone, ``available`` that of all its sentences.
    """
    table = {kind.name.lower(): {"selected": 0.0, "recall": 0.0, "available": 0.0} for kind in Kind}
    n_selected = 0.0
    for instance_id, selection in zip(scores.ids, scores.selections, strict=True):
        instance = dataset[instance_id]
        coverage = coverage_of(instance.labels, scores.task.scope)
        n_selected += selection.size
        for kind in Kind:
            indices = frozenset(instance.query.indices_of(kind))
            masks = {index: mask for index, mask in coverage.masks.items() if index in indices}
            of_kind = Coverage(n_aspects=coverage.n_aspects, masks=masks)
            row = table[kind.name.lower()]
            row["selected"] += selection.expected_within(indices)
            row["recall"] += aspect_recall(selection, of_kind) / len(scores.ids)
            row["available"] += aspect_recall(Selection(certain=tuple(indices)), of_kind) / len(scores.ids)
    for row in table.values():
        row["selected"] = row["selected"] / n_selected if n_selected else 0.0
    return table
