"""What is asked in place of a data set's own queries, and how the answers map back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance, Labels
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.systems.changed_queries import MixedQuery, Stranger, with_stranger


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """By instance id: other hypotheses to ask, or another paper of the data to put beside the own; None: neither."""

    hypotheses: Mapping[str, str] | None = None
    strangers: Mapping[str, Stranger] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedInstance:
    """An instance as it is asked. ``mixed`` is its query where a second paper's sentences are in it, else None."""

    instance: Instance
    mixed: MixedQuery | None = None

    def own_answer(self, answer: Answer) -> Answer:
        """Return an answer with the indices of the own paper; see `MixedQuery.own_answer`."""
        return answer if self.mixed is None or isinstance(answer, Failure) else self.mixed.own_answer(answer)


def changed_instance(instance: Instance, changes: Changes | None, dataset: Dataset) -> ChangedInstance:
    """Return an instance as it is asked; ``dataset`` holds the papers that are put beside others."""
    if changes is None:
        return ChangedInstance(instance=instance)
    instance = with_hypothesis(instance, changes.hypotheses)
    if changes.strangers is None:
        return ChangedInstance(instance=instance)
    stranger = changes.strangers[instance.id]
    mixed = with_stranger(instance.query, dataset[stranger.instance_id].query, is_before=stranger.is_before)
    labels = _moved(instance.labels, mixed.offset)  # only the oracles see them
    return ChangedInstance(instance=replace(instance, query=mixed.query, labels=labels), mixed=mixed)


def with_hypothesis(instance: Instance, hypotheses: Mapping[str, str] | None) -> Instance:
    """Return the instance with the hypothesis that ``hypotheses`` has for its id; None: the instance unchanged."""
    if hypotheses is None:
        return instance
    return replace(instance, query=replace(instance.query, hypothesis=hypotheses[instance.id]))


def _moved(labels: Labels, offset: int) -> Labels:
    sources = {aspect: tuple(index + offset for index in places) for aspect, places in labels.sources.items()}
    stored = {
        task: replace(one, sentences=tuple(index + offset for index in one.sentences))
        for task, one in labels.evaluations.items()
    }
    return replace(labels, sources=sources, evaluations=stored)
