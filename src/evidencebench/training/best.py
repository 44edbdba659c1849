"""Fit `best`: its two parts, each in a folder of its own."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidencebench.instance import Instance
from evidencebench.selectors.best import SELECTOR, SET_MODEL
from evidencebench.selectors.model import Card
from evidencebench.training.selector import Progress, SelectorTraining
from evidencebench.training.set_model import SetTraining


@dataclass(frozen=True, slots=True, kw_only=True)
class BestTraining:
    """How `best` is trained: as `SelectorTraining` with vectors, and as `SetTraining`.

    Attributes
    ----------
    hypothesis
        Whether the models may read the hypothesis.
    """

    hypothesis: bool = True

    @property
    def n_tried(self) -> int:
        """Configurations that are compared in cross-validation within the training data."""
        return self._selector.n_tried

    @property
    def _selector(self) -> SelectorTraining:
        return SelectorTraining(hypothesis=self.hypothesis, embedding=True)

    def fit(
        self,
        instances: Sequence[Instance],
        folder: Path,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: Progress | None = None,
    ) -> Card:
        """Fit both parts beside the folder, then put them in its place; see the two trainings' own `fit`.

        Returns
        -------
        The card of the selector.
        """
        draft, old = (folder.with_name(f"{folder.name}.{ending}") for ending in ("part", "old"))
        for left in (draft, old):
            shutil.rmtree(left, ignore_errors=True)
        SetTraining(hypothesis=self.hypothesis).fit(
            instances, draft / SET_MODEL, seed=seed, data=data, on_progress=on_progress
        )
        card = self._selector.fit(instances, draft / SELECTOR, seed=seed, data=data, on_progress=on_progress)
        if folder.exists():
            folder.rename(old)
        draft.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
        return card
