"""Changed queries over a data set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.hypotheses import read_hypotheses, write_hypotheses
from evidencebench.data.instance import Instance
from evidencebench.errors import RunMismatchError, UnreadableError
from evidencebench.files.disk import PathText, file_sha256, why_unreadable
from evidencebench.query import Query
from evidencebench.runs.header import ControlName, QueryControl
from evidencebench.runs.run import Answer, Failure
from evidencebench.systems.changed_queries import (
    Distractor,
    MixedQuery,
    derange_hypotheses,
    draw_distractors,
    shuffle_words,
    with_distractor,
)
from evidencebench.wording import check_type, name_of, or_one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """By instance id: other hypotheses to ask, or another paper of the data to put beside the own; None: neither."""

    hypotheses: Mapping[str, str] | None = None
    distractors: Mapping[str, Distractor] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedInstance:
    """An instance as it is asked. ``mixed`` is its query where a second paper's sentences are in it, else None."""

    instance: Instance
    mixed: MixedQuery | None = None

    def own_answer(self, answer: Answer) -> Answer:
        return answer if self.mixed is None or isinstance(answer, Failure) else self.mixed.own_answer(answer)


def changed_instance(instance: Instance, changes: Changes | None, dataset: Dataset) -> ChangedInstance:
    if changes is None:
        return ChangedInstance(instance=instance)
    instance = with_hypothesis(instance, changes.hypotheses)
    if changes.distractors is None:
        return ChangedInstance(instance=instance)
    distractor = changes.distractors[instance.id]
    mixed = with_distractor(instance.query, dataset.whole[distractor.instance_id].query, is_before=distractor.is_before)
    labels = instance.labels  # only the oracles see them
    sources = {aspect: tuple(index + mixed.offset for index in indices) for aspect, indices in labels.sources.items()}
    stored = {
        task: msgspec.structs.replace(optimum, sentences=tuple(index + mixed.offset for index in optimum.sentences))
        for task, optimum in labels.evaluations.items()
    }
    labels = replace(labels, sources=sources, evaluations=stored)
    return ChangedInstance(instance=replace(instance, query=mixed.query, labels=labels), mixed=mixed)


def with_hypothesis(instance: Instance, hypotheses: Mapping[str, str] | None) -> Instance:
    """Return the instance with the hypothesis that ``hypotheses`` has for its id; None: the instance unchanged."""
    if hypotheses is None:
        return instance
    return replace(instance, query=replace(instance.query, hypothesis=hypotheses[instance.id]))


QUERY_CONTROLS: Mapping[ControlName, str] = MappingProxyType(
    {
        "wrong_hypothesis": "another paper's hypothesis",
        "two_papers": "a distractor paper's sentences before or after its own",
        "negated": "the hypothesis negated, from a file",
        "paraphrased": "the hypothesis in other words, from a file",
        "shuffled_words": "the words of the hypothesis in another order",
        "changed": "a hypothesis of your own, from a file",
    }
)
"""Every query control, and what each paper is asked instead of its own query."""

FROM_FILE = ("negated", "paraphrased", "changed")
"""The controls whose hypotheses come from a file, since code cannot write them."""


HypothesisFunction = Callable[[Query], str]
"""A control of your own: a query -> the hypothesis to ask in place of its own one."""


def control_of(function: HypothesisFunction, dataset: Dataset | PathText, path: PathText) -> QueryControl:
    """Write the hypotheses of a control of your own to a file, and return the control: ``changed=FILE`` of commands.

    ``function`` takes a `Query` and returns the hypothesis to ask in place of its own one; ``TypeError`` is raised
    where that is no text. ``path`` ends in ``.jsonl``, is replaced, and holds a line for each instance of the data,
    with its own hypothesis beside the new one. Tables call the control by the file's name.

    >>> import tempfile
    >>> from evidencebench import load_sample
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     control_of(lambda query: query.hypothesis.upper(), load_sample(), f"{folder}/upper_case.jsonl").words
    'changed: upper_case'
    """
    dataset, path = dataset_from(dataset).whole, Path(path)
    if path.suffix != ".jsonl":
        raise ValueError(f"{path}: expected a name that ends in .jsonl")
    hypotheses: dict[str, str] = {}
    for query in dataset.queries():
        text = function(query)
        if not isinstance(text, str) or not text.strip():
            raise TypeError(
                f"control '{name_of(function)}': {query.instance_id}: expected a hypothesis as text, got {text!r}"
            )
        hypotheses[query.instance_id] = text.strip()
    write_hypotheses(path, hypotheses, {query.instance_id: query.hypothesis for query in dataset.queries()})
    return QueryControl(name="changed", path=str(path))


def query_control(given: str | QueryControl) -> QueryControl:
    """Return the control that a text names: ``wrong_hypothesis``, or with its file ``negated=negated.jsonl``."""
    if isinstance(given, QueryControl):
        return given
    check_type(given, str, "the name of a query control, or what control_of(function, data, path) returns")
    name, _, file = given.partition("=")
    if name not in get_args(ControlName):
        raise ValueError(f"no query control '{name}'{or_one_of(name, QUERY_CONTROLS)}")
    if (name in FROM_FILE) != bool(file):
        if file:
            raise ValueError(f"query control '{name}' takes no file, got '{file}'")
        writer = "control_of(function, data, FILE)" if name == "changed" else f"'evidencebench llm rewrite {name}'"
        raise ValueError(f"query control '{name}' needs a file of hypotheses: {name}=FILE; {writer} writes one")
    return QueryControl(name=name, path=file or None)  # type: ignore[arg-type] # checked above


def unchanged_control(control: QueryControl | None) -> QueryControl | None:
    """Return the control of a run's header; raise unless its file still is the one that was asked."""
    if control is not None and control.path is not None:
        try:
            now = file_sha256(Path(control.path))
        except OSError as error:
            raise UnreadableError(f"{control.path}: {why_unreadable(Path(control.path), error)}") from error
        if now != control.sha256:
            raise RunMismatchError(
                f"{control.path}: has changed since the run was made, so what was asked is not known"
            )
    return control


def changes_of(control: QueryControl | None, dataset: Dataset, seed: int, limit: int | None = None) -> Changes | None:
    """Return what a control changes in a data set, drawn over all of it whatever the limit; None without a control."""
    if control is None:
        return None
    generator = np.random.default_rng(seed)
    match control.name:
        case "wrong_hypothesis":
            return Changes(hypotheses=derange_hypotheses(dataset.whole.queries(), generator))
        case "two_papers":
            return Changes(distractors=draw_distractors(dataset.whole.queries(), generator))
        case "shuffled_words":
            return Changes(hypotheses=shuffle_words(dataset.whole.queries(), generator))
    if control.path is None:
        raise ValueError(f"query control '{control.name}' needs a file of hypotheses")
    return Changes(hypotheses=read_hypotheses(Path(control.path), dataset, limit))
