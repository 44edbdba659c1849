"""The only table of what can be trained, and how a training is made from a specification."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from evidencebench.data.instance import Instance
from evidencebench.errors import SystemSpecError
from evidencebench.execution.making import factory_of, make_options
from evidencebench.execution.options import options_of
from evidencebench.execution.own_code import find_own_code, is_file
from evidencebench.execution.system_table import SYSTEMS, TAKEN_AWAY
from evidencebench.specification import parse_specification, write_specification
from evidencebench.training.embedder import EmbedderTraining
from evidencebench.training.reranker import RerankerTraining
from evidencebench.training.selector import BestTraining, SelectorTraining
from evidencebench.wording import did_you_mean


class Training(Protocol):
    """How a model is trained: a frozen dataclass whose fields are its options.

    Its class attribute ``system`` names the system that answers. With an option ``hypothesis`` it can be trained
    without the hypothesis, where that is false; with an option ``figures`` it does work for its model's card alone,
    which it can be spared. Optional properties are ``n_tried``, how many configurations it compares within its
    instances, and ``answers_with``, the options that the system needs beside the folder, its ``model``. Own code is
    named ``package.module:factory`` or ``file.py:factory``.
    """

    def fit(
        self,
        instances: Sequence[Instance],
        folder: Path,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> object:
        """Fit a model to instances, labels included, and write it into a folder, whole or not at all."""
        ...


TRAININGS: Mapping[str, Any] = MappingProxyType(
    {"selector": SelectorTraining, "best": BestTraining, "embedder": EmbedderTraining, "reranker": RerankerTraining}
)
"""Name -> the `Training`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainable:
    """A training under its name, the system that answers with its model, and that system's other options."""

    name: str
    training: Training
    system: str
    options: Mapping[str, str]

    @property
    def blind(self) -> "Trainable | None":
        """The same training without the hypothesis; None if it has no such option, or is without it already."""
        if not getattr(self.training, "hypothesis", False):
            return None
        return replace(self, training=replace(self.training, hypothesis=False))  # type: ignore[type-var]

    @property
    def quick(self) -> "Trainable":
        """The same training without the work that is for the model's card only."""
        if not hasattr(self.training, "figures"):
            return self
        return replace(self, training=replace(self.training, figures=False))  # type: ignore[type-var]

    @property
    def n_tried(self) -> int:
        """Configurations that it compares within the instances that it is trained on; 1 where it tunes nothing."""
        return int(getattr(self.training, "n_tried", 1))

    def specification(self, model: Path) -> str:
        """Return the specification of the system with a model."""
        needed = {"model": str(model), **getattr(self.training, "answers_with", {})}
        given = "".join(f",{key}={value}" for key, value in self.options.items())
        return f"{write_specification(self.system, needed)}{given}"


def trainable(spec: str) -> Trainable | None:
    """Return the training in a specification; None for a system that needs none, or whose ``model`` is given.

    Options of the training and of the system stand side by side, as in ``selector:embedding=true,hypothesis_weight=1``.
    Raises `SystemSpecError` if one does not fit.
    """
    found = parse_specification(spec)
    factory = None if "model" in found.options else _training_named(found.name)
    if factory is None:
        return None
    of_training = [field.name for field in fields(factory)]
    mine = {key: value for key, value in found.options.items() if key in of_training}
    rest = {key: value for key, value in found.options.items() if key not in of_training}
    system = factory.system if found.name in TRAININGS else _beside(found.name, factory.system)
    _require_options(found.name, of_training, system, rest)
    training = factory(**make_options(found.name, factory, mine))
    return Trainable(name=found.name, training=training, system=system, options=rest)


def _training_named(name: str) -> Any:
    """Return the training of a name, or None where it names a system."""
    if name in TRAININGS:
        return TRAININGS[name]
    if name in TAKEN_AWAY:
        raise SystemSpecError(TAKEN_AWAY[name])
    if ":" in name:
        factory = factory_of(name)
        if not (isinstance(getattr(factory, "system", None), str) and hasattr(factory, "fit")):
            return None
        if not is_dataclass(factory):
            raise SystemSpecError(f"{name}: expected a dataclass, whose fields are its options")
        return factory
    if name not in SYSTEMS and not is_file(name):
        meant = did_you_mean(name, [*SYSTEMS, *TRAININGS])
        raise SystemSpecError(
            f"no system or training '{name}'{meant}; expected one of {', '.join(TRAININGS)}, or a system: one of "
            f"{', '.join(SYSTEMS)}, or package.module:factory or file.py:factory"
        )
    return None


def _beside(training: str, system: str) -> str:
    """Return the name of the own system that answers: by the training's file, if it lies there and that is so named."""
    file, module = training.rpartition(":")[0], system.partition(":")[0]
    is_there = is_file(file) and module == find_own_code(training)[1].__name__
    return f"{file}:{system.partition(':')[2]}" if is_there else system


def _require_options(name: str, of_training: Sequence[str], system: str, options: Mapping[str, str]) -> None:
    """Raise unless the system has these options, before anything is trained for it."""
    factory = factory_of(system)
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
