"""Results on the Hub of Hugging Face: a file ``.eval_results/*.yaml`` of a model's repository.

`Source <https://huggingface.co/docs/hub/eval-results>`_: a list of entries, one a task.
"""

from typing import Any

from evidencebench.data.dataset import Dataset
from evidencebench.integrations.score_records.scored_task import ScoredTask


def hub_entries(
    scores: list[ScoredTask], dataset: Dataset, *, dataset_id: str, evaluated: str | None
) -> list[dict[str, Any]]:
    """Return the entries of scores, aspect recall in %; ``evaluated`` is when the run was made, None: not known."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml  # noqa: PLC0415 - an extra

    data = f"{dataset.name}, sha256 {dataset.sha256}, {len(dataset):,} instances"
    entries = []
    for score in scores:
        ends = [f"{100 * end:.1f}" for end in score.recall.interval or ()]
        interval = f", interval [{', '.join(ends)}]" if ends else ""
        notes = f"aspect recall in %{interval}; n={score.recall.n}; data: {data}; {score.signature}"
        value = round(100 * score.recall.mean, 4)
        task_id, date = score.task.name, evaluated or None
        entries.append(EvalResultEntry(dataset_id=dataset_id, task_id=task_id, value=value, date=date, notes=notes))
    return eval_result_entries_to_yaml(entries)


def as_yaml(entries: list[dict[str, Any]]) -> str:
    """Return entries as YAML."""
    import yaml  # noqa: PLC0415 - an extra

    text: str = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=10**6)  # no line is broken
    return text
