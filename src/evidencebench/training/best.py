"""Fit `best`: what measured best on the train split, under a name that stays when something better is found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidencebench.data.instance import Instance
from evidencebench.storage.reading import PathText
from evidencebench.systems.selectors.selector_model import SelectorCard
from evidencebench.training.selector import Progress, SelectorTraining


@dataclass(frozen=True, slots=True, kw_only=True)
class BestTraining:
    """How `best` is trained: as `SelectorTraining` with vectors.

    Attributes
    ----------
    hypothesis, figures
        As in `SelectorTraining`.
    """

    hypothesis: bool = True
    figures: bool = True

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: Progress | None = None,
    ) -> SelectorCard:
        """Fit a model and write it into a folder; see `SelectorTraining.fit`."""
        training = SelectorTraining(hypothesis=self.hypothesis, embedding=True, figures=self.figures)
        return training.fit(instances, folder, seed=seed, data=data, on_progress=on_progress)
