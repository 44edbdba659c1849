"""The only table of what can be trained, and how a training is made from a specification."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from evidencebench.instance import Instance
from evidencebench.specification import parse_specification, write_specification
from evidencebench.systems import make_options
from evidencebench.training.best import BestTraining
from evidencebench.training.selector import Progress, SelectorTraining
from evidencebench.training.set_model import SetTraining


class Training(Protocol):
    """How a model is trained: a frozen dataclass whose fields are its options."""

    def fit(
        self,
        instances: Sequence[Instance],
        folder: Path,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: Progress | None = None,
    ) -> object:
        """Fit a model to instances, labels included, and write it into a folder, whole or not at all."""
        ...


TRAININGS: Mapping[str, tuple[Callable[..., Training], str]] = MappingProxyType(
    {
        "selector": (SelectorTraining, "selector"),
        "set_selector": (SetTraining, "set_selector"),
        "best": (BestTraining, "best"),
    }
)
"""Name -> how it is trained, and the system that answers with the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainable:
    """A training together with the system that answers with what it makes.

    Attributes
    ----------
    name
        A name of `TRAININGS`.
    training
        How the model is trained.
    system, options
        The system that answers, and its options but for ``model``.
    """

    name: str
    training: Training
    system: str
    options: Mapping[str, str]

    @property
    def can_be_blind(self) -> bool:
        """Whether it can be trained without the hypothesis, and is not."""
        return bool(getattr(self.training, "hypothesis", False))

    def specification(self, model: Path) -> str:
        """Return the specification of the system with a model."""
        given = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{write_specification(self.system, {'model': str(model)})}{',' if given else ''}{given}"


def trainable(spec: str) -> Trainable | None:
    """Return what a specification says to train; None where it names a system that needs no training.

    Options of the training and of the system stand side by side, as in ``selector:embedding=true,hypothesis_weight=1``.
    A specification that names its ``model`` is trained already.

    Raises
    ------
    SystemSpecError
        If an option or its value does not fit.
    """
    found = parse_specification(spec)
    if found.name not in TRAININGS or "model" in found.options:
        return None
    factory, system = TRAININGS[found.name]
    own = {field.name for field in fields(factory)}  # type: ignore[arg-type]
    mine = {key: value for key, value in found.options.items() if key in own}
    rest = {key: value for key, value in found.options.items() if key not in own}
    return Trainable(
        name=found.name, training=factory(**make_options(found.name, factory, mine)), system=system, options=rest
    )
