"""Results on the Hub of Hugging Face: a file ``.eval_results/*.yaml`` of a model's repository.

`Source <https://huggingface.co/docs/hub/eval-results>`_: a list of entries, one a task.
"""

from typing import Any

from evidencebench.data.dataset import Dataset
from evidencebench.integrations.score_records.scored_task import ScoredTask, data_words
from evidencebench.scoring.resampling import Estimate

_NO_BREAK = 10**6  # no text of an entry is broken into lines


def hub_entries(
    scores: list[ScoredTask], dataset: Dataset, *, dataset_id: str, evaluated: str | None
) -> list[dict[str, Any]]:
    """Return the entries of scores, aspect recall in %; ``evaluated`` is when the run was made, None: not known."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml  # noqa: PLC0415 - an extra

    return eval_result_entries_to_yaml(
        [
            EvalResultEntry(
                dataset_id=dataset_id,
                task_id=one.task.name,
                value=round(100 * one.recall.mean, 4),
                date=evaluated or None,
                notes=f"aspect recall in %{_interval_words(one.recall)}; n={one.recall.n}; "
                f"data: {data_words(dataset)}; {one.signature}",
            )
            for one in scores
        ]
    )


def as_yaml(entries: list[dict[str, Any]]) -> str:
    """Return entries as YAML.

    >>> print(as_yaml([{"dataset": {"id": "a/b", "task_id": "er_at_10"}, "value": 41.5, "notes": "n: 3"}]), end="")
    - dataset:
        id: a/b
        task_id: er_at_10
      value: 41.5
      notes: 'n: 3'
    """
    import yaml  # noqa: PLC0415 - an extra

    text: str = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=_NO_BREAK)
    return text


def _interval_words(recall: Estimate) -> str:
    if recall.interval is None:
        return ""
    low, high = recall.interval
    return f", interval [{100 * low:.1f}, {100 * high:.1f}]"
