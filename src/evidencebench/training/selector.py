"""Train a selector: fit linear models and boosted trees, whose scores are averaged, and choose the strength."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import coverage_of
from evidencebench.data.tasks import TASKS
from evidencebench.errors import SystemSpecError
from evidencebench.models.model_card import CARD, ModelCard, require_replaceable
from evidencebench.scoring.measures import aspect_recall
from evidencebench.scoring.selection import Selection
from evidencebench.storage.reading import PathText
from evidencebench.storage.whole_file import write_folder
from evidencebench.systems.retrievers.dense import MiniLM
from evidencebench.systems.selectors.features import chosen_features
from evidencebench.systems.selectors.paper_columns import columns_of
from evidencebench.systems.selectors.selector import order_by_scores
from evidencebench.systems.selectors.selector_model import SelectorCard, SelectorModel, require_lightgbm
from evidencebench.training.card_entries import data_entries, version_entries
from evidencebench.training.folds import inner_folds, split_at_fold
from evidencebench.training.progress import TrainingProgress
from evidencebench.training.selector_fitting import STRENGTH, fit_models
from evidencebench.training.selector_table import SelectorTable, table_file, write_table

STRENGTHS = (0.3, 0.5, 0.7, 0.85, 1.0)
"""The strengths that cross-validation within the training data compares."""

TUNED_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")
"""The strength is chosen by the mean aspect recall on these tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorTraining:
    """The training of a selector.

    Attributes
    ----------
    hypothesis
        Whether the model may read the hypothesis.
    embedding
        Whether it reads the vectors of `minilm`.
    strength
        How much of its score a sentence loses that repeats a chosen one, in 0..1; None: the best of `STRENGTHS`, by
        cross-validation within the training data.
    figures
        Whether the card gets scores from such a cross-validation, which takes most of the time.
    """

    system: ClassVar[str] = "selector"

    hypothesis: bool = True
    embedding: bool = False
    strength: float | None = STRENGTH
    figures: bool = True

    def __post_init__(self) -> None:
        if self.strength is not None and not 0 <= self.strength <= 1:
            raise SystemSpecError(f"train selector: strength: expected a number in 0..1, got {self.strength}")

    @property
    def n_tried(self) -> int:
        """The number of strengths that cross-validation within the training data compares."""
        return len(STRENGTHS) if self.strength is None else 1

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: TrainingProgress | None = None,
    ) -> SelectorCard:
        """Fit a model and write it into a folder; an older model there is replaced once the new one is complete.

        ``seed`` decides the folds, and the sentences and features of each tree. ``data`` is written into the card. The
        features of all sentences lie in a file beside the folder until the end. ``on_progress`` is called with
        (instances read, instances in all, ``"reading"``), then with (models fitted, models in all, ``"fitting"``). It
        raises `DataError` if there are fewer than six
        papers, or no instance has an aspect.
        """
        folder = Path(folder)
        require_lightgbm("train selector")
        require_replaceable(folder, SelectorCard)
        features = chosen_features(hypothesis=self.hypothesis, embedding=self.embedding)
        tried = STRENGTHS if self.strength is None else (self.strength,)
        report: TrainingProgress = on_progress or (lambda *_: None)
        with table_file(folder) as file:
            table = write_table(file, instances, features, MiniLM() if self.embedding else None, report)
            folds = inner_folds(table.papers, seed=seed)
            folds = folds if self.figures or self.strength is None else []
            everything = range(len(table.papers))
            *of_folds, model = fit_models(
                table,
                [*(split_at_fold(everything, fold)[0] for fold in folds), everything],
                features,
                seed=seed,
                on_progress=report,
            )
            recalls = held_back_recalls(instances, table, dict(zip(folds, of_folds, strict=True)), tried)
        strength = max(tried, key=lambda one: sum(recalls[one].values()))
        card = msgspec.structs.replace(
            model.card,
            strength=strength,
            data=data_entries(table.papers, data),
            training={"hypothesis": self.hypothesis, "embedding": self.embedding, "seed": seed},
            cross_validated={
                "folds": f"{len(folds)}, by paper",
                "aspect_recall": recalls[strength],
                "strengths_tried": tried,
            }
            if folds
            else {},
            versions=version_entries("lightgbm", "numpy"),
        )
        write_model(SelectorModel(card, model.trees), folder)
        return card


@dataclass(frozen=True, slots=True, kw_only=True)
class BestTraining:
    """The training of `best`: `SelectorTraining` with vectors.

    Attributes
    ----------
    hypothesis, figures
        As in `SelectorTraining`.
    """

    system: ClassVar[str] = "best"

    hypothesis: bool = True
    figures: bool = True

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: TrainingProgress | None = None,
    ) -> SelectorCard:
        """Fit a model and write it into a folder; see `SelectorTraining.fit`."""
        training = SelectorTraining(hypothesis=self.hypothesis, embedding=True, figures=self.figures)
        return training.fit(instances, folder, seed=seed, data=data, on_progress=on_progress)


# Files that a killed training leaves in the folder of a selector.
_LEFT = (".*.json.*.part", ".trees-*.part", ".weights-*.part")


def write_model(model: SelectorModel, folder: Path) -> None:
    """Write a selector into a folder."""
    write_trees(model.card, model.trees, folder)


def write_trees(card: ModelCard, trees: Mapping[str, str], folder: Path) -> None:
    """Write a card and its files of trees, the card last: it names the other files, so a model with it is complete."""
    content = msgspec.json.format(msgspec.json.encode(card), indent=1)
    files = {name: text.encode() for name, text in trees.items()}
    write_folder(folder, {**files, CARD: content}, names_all=CARD, owned=("trees-*.txt", *_LEFT))


def held_back_recalls(
    instances: Sequence[Instance],
    table: SelectorTable,
    models: Mapping[tuple[int, ...], SelectorModel],
    strengths: Sequence[float],
) -> dict[float, dict[str, float]]:
    """Return strength -> task name -> mean aspect recall of what the models find in the fold that each has not seen."""
    model_of = {place: model for fold, model in models.items() for place in fold}
    found: dict[float, dict[str, list[float]]] = {strength: {} for strength in strengths}
    for place, instance in enumerate(instances) if models else ():
        tasks = [TASKS[name] for name in TUNED_TASKS if TASKS[name].applies_to(instance.labels)]
        scores = model_of[place].scores_in(table.features[table.rows_of(place)])
        paper = columns_of(instance.query)
        for strength, by_task in found.items():
            orders = {scope: order_by_scores(paper, values, strength) for scope, values in scores.items()}
            for task in tasks:
                coverage = coverage_of(instance.labels, task.scope)
                chosen = Selection(certain=orders[task.scope][: task.budget_for(instance)])
                by_task.setdefault(task.name, []).append(aspect_recall(chosen, coverage))
    return {
        strength: {name: float(np.mean(values)) for name, values in by_task.items()}
        for strength, by_task in found.items()
    }
