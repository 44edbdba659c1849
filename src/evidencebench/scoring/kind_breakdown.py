"""The breakdown of a system's scores by kind of sentence: abstract, heading or body."""

from evidencebench.data.dataset import Dataset
from evidencebench.data.optimum.cover import Coverage, coverage_of
from evidencebench.query import Kind
from evidencebench.scoring.measures import aspect_recall
from evidencebench.scoring.selection import Selection
from evidencebench.scoring.task_scores import TaskScores


def kind_breakdown(scores: TaskScores, dataset: Dataset) -> dict[str, dict[str, float]]:
    """Return kind of sentence (``abstract``, ``heading``, ``body``) -> its share of the selections, and its recall.

    ``selected`` is the kind's share of all selected sentences. ``recall`` is the mean aspect recall of the selected
    sentences of the kind alone, ``available`` that of all the paper's sentences of the kind.
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
