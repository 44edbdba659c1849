"""An instance as a sample of inspect_ai, and the instance behind a sample.

A sample names its data, not what grades it: its metadata has the data file and its checksum, by which the scorer finds
the labels. The message that a model gets names the data too, in metadata which is never sent, so that a system of ours
can be asked the query itself.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser

from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import DataError
from evidencebench.integrations.inspect_ai.replies import PaperReading

KEY = "evidencebench"
"""The key of a message's metadata under which a system of ours finds its query."""


def sample_of(data: str, dataset: Dataset, instance: Instance, task: Task) -> Sample:
    """Return an instance as a sample; ``data`` is how its data set is named, on any machine that has it."""
    origin = {"data": data, "data_sha256": dataset.sha256, "instance_id": instance.id, "task": task.name}
    question = PaperReading(instance.query, task.brief(instance))
    return Sample(
        id=instance.id,
        input=[ChatMessageUser(content=question.text, metadata={KEY: origin})],
        target=target_of(instance, task),
        metadata={**origin, **described(instance)},
    )


def described(instance: Instance) -> dict[str, Any]:
    """Return what a log says of an instance; standard errors are clustered by its ``cluster``."""
    query = instance.query
    return {
        "paper_id": query.paper_id,
        "cluster": instance.cluster,
        "hypothesis": query.hypothesis,
        "n_sentences": len(query.sentences),
    }


def target_of(instance: Instance, task: Task) -> list[str]:
    """Return, for people, the sources of each aspect that counts and its text, such as ``[4, 17] Deaths fell.``."""
    labels = instance.labels
    return [
        f"{list(labels.sources.get(aspect, ()))} {labels.texts.get(aspect, aspect)}"
        for aspect in labels.that_count(task.scope)
    ]


def instance_at(origin: Mapping[str, Any]) -> tuple[Instance, Task]:
    """Return the instance and the task that metadata of a sample or of a message names; raises `DataError`."""
    missing = {"data", "data_sha256", "instance_id", "task"} - origin.keys()
    if missing:
        raise DataError(
            f"expected a sample of an evidencebench task, whose metadata has {', '.join(sorted(missing))}; see "
            "'inspect eval evidencebench/er_at_10'"
        )
    dataset = _opened(str(origin["data"]))
    if dataset.sha256 != origin["data_sha256"]:
        raise DataError(
            f"{dataset.path}: expected the data of the sample, sha256 {origin['data_sha256']}, got {dataset.sha256}"
        )
    return dataset[str(origin["instance_id"])], task_named(str(origin["task"]))


@lru_cache(maxsize=4)  # each sample asks for it
def _opened(data: str) -> Dataset:
    return open_dataset(data)
