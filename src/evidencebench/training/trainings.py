"""Train(), the table of trainings, and how a training is made from a specification."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError, SystemSpecError
from evidencebench.execution.making import find_code, make_options, options_of
from evidencebench.execution.own_code import find_own_code, is_file
from evidencebench.execution.system_table import PACKAGED, SYSTEMS, TAKEN_AWAY, plugin_named
from evidencebench.files.disk import PathText
from evidencebench.models.model_card import FineTunedCard
from evidencebench.specification import parse_specification, write_specification
from evidencebench.systems.finder import FinderCard
from evidencebench.training.finder import FinderTraining
from evidencebench.training.fine_tuning import EmbedderTraining, RerankerTraining
from evidencebench.training.folds import LazyInstances, TrainingProgress
from evidencebench.wording import did_you_mean


class Training(Protocol):
    """The protocol of trainings: a training is a frozen dataclass whose fields are its options.

    The class attribute ``system`` names the system that answers with the model. Two options have a fixed meaning, if
    there are such: ``hypothesis`` says whether the model reads the hypothesis; ``figures`` says whether to compute the
    card's figures, and false is faster. Two properties are optional: ``n_tried``, the number of configurations that the
    training compares, and ``answers_with``, the options that the system needs beside ``model``, the folder.
    """

    def fit(
        self,
        instances: Sequence[Instance],
        folder: Path,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: TrainingProgress | None = None,
    ) -> object:
        """Fit a model to instances, labels included, and write it into a folder, whole or not at all."""
        ...


TRAININGS: Mapping[str, Any] = MappingProxyType(
    {
        "finder": FinderTraining,
        "embedder": EmbedderTraining,
        "reranker": RerankerTraining,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainable:
    """A training with its name, the system that answers with its model, and that system's other options."""

    name: str
    training: Training
    system: str
    options: Mapping[str, str]

    def without(self, option: str) -> "Trainable | None":
        """Return the same training with an option false; None if it has no such option, or it is false already."""
        if not getattr(self.training, option, False):
            return None
        return replace(self, training=replace(self.training, **{option: False}))  # type: ignore[type-var]

    def specification(self, model: Path) -> str:
        needed = {"model": str(model), **getattr(self.training, "answers_with", {})}
        given = "".join(f",{key}={value}" for key, value in self.options.items())
        return f"{write_specification(self.system, needed)}{given}"


def trainable(spec: str) -> Trainable | None:
    """Return the training of ``finder:figures=false,goal=study``; None for a system without one, or with a model."""
    parsed = parse_specification(spec)
    factory = None if "model" in parsed.options else _find_training(parsed.name)
    if factory is None:
        return None
    of_training = [field.name for field in fields(factory)]
    mine = {key: value for key, value in parsed.options.items() if key in of_training}
    rest = {key: value for key, value in parsed.options.items() if key not in of_training}
    system = factory.system
    if parsed.name not in TRAININGS:
        file, (module, _, attribute) = parsed.name.rpartition(":")[0], system.partition(":")
        if is_file(file) and module == find_own_code(parsed.name)[1].__name__:
            system = f"{file}:{attribute}"
    _require_options(parsed.name, of_training, system, rest)
    training = factory(**make_options(parsed.name, factory, mine))
    return Trainable(name=parsed.name, training=training, system=system, options=rest)


def _find_training(name: str) -> Any:
    """Return the class of the training of this name; None if it names a system."""
    if name in TRAININGS:
        return TRAININGS[name]
    if name in TAKEN_AWAY:
        raise SystemSpecError(TAKEN_AWAY[name])
    if ":" in name:
        factory = find_code(name).factory
        if not (isinstance(getattr(factory, "system", None), str) and hasattr(factory, "fit")):
            return None
        if not is_dataclass(factory):
            raise SystemSpecError(f"{name}: expected a dataclass, whose fields are its options")
        return factory
    if name not in PACKAGED and not is_file(name) and plugin_named(name) is None:
        instead = did_you_mean(name, [*SYSTEMS, *TRAININGS]) or (
            f"; expected a training, {', '.join(TRAININGS)}, or a system, such as {', '.join([*SYSTEMS][:2])}"
        )
        raise SystemSpecError(f"no system or training '{name}'{instead}; 'evidencebench systems' lists the systems")
    return None


def _require_options(name: str, of_training: Sequence[str], system: str, options: Mapping[str, str]) -> None:
    factory = find_code(system).factory
    if not is_dataclass(factory):
        return
    of_system = [name for name in options_of(factory) if name != "model"]
    for key in options:
        if key not in of_system:
            meant = did_you_mean(key, [*of_training, *of_system])
            raise SystemSpecError(
                f"{name}: no option '{key}'{meant}; training takes {', '.join(of_training) or 'none'}, answering "
                f"{', '.join(of_system) or 'none'}"
            )
    make_options(name, factory, options)


def train(
    what: str,
    data: Dataset | PathText | Iterable[Dataset | PathText],
    folder: PathText,
    *,
    limit: int | None = None,
    seed: int = 0,
    overwrite: bool = False,
    on_progress: TrainingProgress | None = None,
) -> FinderCard | FineTunedCard | Any:
    """Fit a model to labelled data, write it into a folder, and return its card, which has the figures.

    Parameters
    ----------
    what
        A training by its name, such as ``"finder"`` or with options ``"finder:figures=false"``; or own code as
        ``"file.py:Training"``, whose ``fit`` decides what is returned.
    data
        One data set or several, each as itself, its path or its catalogue name.
    folder
        The folder of the model, which answers as ``"finder:model=FOLDER"``.
    limit
        Only the first so many instances of each data set; None: all.
    seed
        What is drawn follows from it.
    overwrite
        Whether to replace a model that is there.
    on_progress
        Called with (parts done, parts in all).

    Raises
    ------
    SystemSpecError
        If there is no such training, or an option is not one of its.
    DataError
        If the folder holds something, and ``overwrite`` is not given.

    Examples
    --------
    >>> import tempfile
    >>> from evidencebench import execute, load_sample
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     card = train("finder:figures=false", load_sample(), f"{folder}/model")
    ...     execute(f"finder:model={folder}/model", load_sample(), f"{folder}/run.jsonl").n_failed
    0
    """
    trained, folder = trainable(what), Path(folder)
    if trained is None:
        raise SystemSpecError(f"train: expected one of {', '.join(TRAININGS)}, without a model; got '{what}'")
    if trained.options:
        raise SystemSpecError(f"train: '{next(iter(trained.options))}' is an option of answering, not of training")
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise DataError(f"{folder}: exists; choose another folder, or replace the model with --overwrite")
    given = [data] if isinstance(data, Dataset | str | os.PathLike) else data
    datasets = list({(dataset.sha256, dataset.ids): dataset for dataset in map(dataset_from, given)}.values())
    digests = list(dict.fromkeys(dataset.sha256 for dataset in datasets))
    about = {
        "name": ", ".join(dataset.name for dataset in datasets),
        "sha256": digests if len(digests) > 1 else digests[0],
    }
    instances = LazyInstances(datasets, limit)
    return trained.training.fit(instances, folder, seed=seed, data=about, on_progress=on_progress)
