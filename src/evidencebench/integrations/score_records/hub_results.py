"""Results on the Hub of Hugging Face: a file ``.eval_results/*.yaml`` of a model's repository.

`Source <https://huggingface.co/docs/hub/eval-results>`_: a list of entries, one a task.
"""

import json
from typing import Any

from evidencebench.data.dataset import Dataset
from evidencebench.integrations.score_records.scored_task import ScoredTask, data_words
from evidencebench.scoring.resampling import Estimate
from evidencebench.tables import printable


def hub_entries(
    scores: list[ScoredTask], dataset: Dataset, *, dataset_id: str, evaluated: str | None
) -> list[dict[str, Any]]:
    """Return the entries of scores, aspect recall in %; ``evaluated`` is when the run was made, None: not known."""
    return [
        {
            "dataset": {"id": dataset_id, "task_id": one.task.name},
            "value": round(100 * one.recall.mean, 4),
            **({"date": evaluated} if evaluated else {}),
            "notes": f"aspect recall in %{_interval_words(one.recall)}; n={one.recall.n}; data: {data_words(dataset)}; "
            f"{one.signature}",
        }
        for one in scores
    ]


def _interval_words(recall: Estimate) -> str:
    if recall.interval is None:
        return ""
    low, high = recall.interval
    return f", interval [{100 * low:.1f}, {100 * high:.1f}]"


def as_yaml(entries: list[dict[str, Any]]) -> str:
    """Return entries as YAML; every text is quoted as in JSON, which YAML reads the same.

    >>> print(as_yaml([{"dataset": {"id": "a/b", "task_id": "er_at_10"}, "value": 41.5, "notes": "n: 3"}]), end="")
    - dataset:
        id: "a/b"
        task_id: "er_at_10"
      value: 41.5
      notes: "n: 3"
    """
    lines = []
    for entry in entries:
        for number, (key, value) in enumerate(entry.items()):
            mark = "  " if number else "- "
            if isinstance(value, dict):
                lines += [f"{mark}{key}:", *(f"    {inner}: {_scalar(one)}" for inner, one in value.items())]
            else:
                lines.append(f"{mark}{key}: {_scalar(value)}")
    return "".join(f"{line}\n" for line in lines)


def _scalar(value: Any) -> str:
    return json.dumps(printable(value) if isinstance(value, str) else value, ensure_ascii=False)
