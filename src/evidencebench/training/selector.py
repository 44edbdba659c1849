"""Train a selector: fit linear models and boosted trees, whose scores are averaged, and choose the strength."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import coverage_of
from evidencebench.data.tasks import TASKS
from evidencebench.errors import DataError, SystemSpecError
from evidencebench.models.model_card import CARD, ModelCard, require_replaceable
from evidencebench.query import AspectScope
from evidencebench.scoring.measures import aspect_recall
from evidencebench.scoring.selection import Selection
from evidencebench.storage.reading import PathText
from evidencebench.storage.whole_file import write_folder
from evidencebench.systems.retrievers.dense import MiniLM
from evidencebench.systems.selectors.features import Feature, chosen_features
from evidencebench.systems.selectors.paper_columns import Floats
from evidencebench.systems.selectors.selector import order_by_scores
from evidencebench.systems.selectors.selector_model import Linear, SelectorCard, SelectorModel, Trees, require_lightgbm
from evidencebench.training.card_entries import data_entries, version_entries
from evidencebench.training.folds import inner_folds, split_at_fold
from evidencebench.training.selector_examples import SCOPES, SelectorExample, Target, examples_of

STRENGTH = 0.85
"""The default strength of the discount for repetition; on the train split, 0.5 to 1 score about the same."""

STRENGTHS = (0.3, 0.5, 0.7, 0.85, 1.0)
"""The strengths that cross-validation within the training data compares."""

TUNED_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")
"""The strength is chosen by the mean aspect recall on these tasks."""

_TARGETS: tuple[Target, ...] = ("share", "relative", "any")
_RANKING_OBJECTIVES = ("lambdarank", "rank_xendcg")

_RIDGE = 1000.0

# Small trees, a low learning rate and few features a tree: with some hundred papers, larger trees would overfit.
_TREES: Mapping[str, Any] = {
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
}
_N_TREES = 200
_RANKING_TREES: Mapping[str, Any] = {"num_leaves": 8, "lambdarank_truncation_level": 20}
_N_RANKING_TREES = 100
_GRADES = 20  # the grade of a sentence that states every aspect, for objectives that need whole numbers


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
        on_progress: Callable[[int, int], None] | None = None,
    ) -> SelectorCard:
        """Fit a model and write it into a folder; an older model there is replaced once the new one is complete.

        ``seed`` decides the folds, and the sentences and features of each tree. ``data`` is written into the card.
        ``on_progress`` is called with (models fitted, models in all). It raises `DataError` if there are fewer than six
        papers, or no instance has an aspect.
        """
        folder = Path(folder)
        require_lightgbm("train selector")
        require_replaceable(folder, SelectorCard)
        folds = inner_folds([instance.query.paper_id for instance in instances], seed=seed)
        folds = folds if self.figures or self.strength is None else []
        features = chosen_features(hypothesis=self.hypothesis, embedding=self.embedding)
        examples = examples_of(instances, features, MiniLM() if self.embedding else None)
        report = on_progress or (lambda *_: None)

        out_of_fold: dict[int, dict[AspectScope, Floats]] = {}
        for number, fold in enumerate(folds):
            report(number, len(folds) + 1)
            model = _fit_model(split_at_fold(examples, fold)[0], features, strength=STRENGTH, seed=seed)
            out_of_fold |= {place: model.scores(examples[place].paper) for place in fold}
        tried = STRENGTHS if self.strength is None else (self.strength,)
        recalls = {strength: _recalls(examples, out_of_fold, strength) for strength in tried}
        strength = max(tried, key=lambda one: sum(recalls[one].values()))
        report(len(folds), len(folds) + 1)
        model = _fit_model(examples, features, strength=strength, seed=seed)
        report(len(folds) + 1, len(folds) + 1)
        card = msgspec.structs.replace(
            model.card,
            data=data_entries(instances, data),
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
        on_progress: Callable[[int, int], None] | None = None,
    ) -> SelectorCard:
        """Fit a model and write it into a folder; see `SelectorTraining.fit`."""
        training = SelectorTraining(hypothesis=self.hypothesis, embedding=True, figures=self.figures)
        return training.fit(instances, folder, seed=seed, data=data, on_progress=on_progress)


# Files that a killed training leaves in the folder of a selector.
_LEFT = (".*.json.*.part", ".trees-*.part", ".weights-*.part")


def write_model(model: SelectorModel, folder: Path) -> None:
    """Write a selector into a folder."""
    write_trees(model.card, model.trees, folder)


def name_trees(text: str) -> tuple[str, str]:
    """Return the name of a file of trees, which its content gives, and the SHA-256 of that."""
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return f"trees-{sha256[:16]}.txt", sha256


def write_trees(card: ModelCard, trees: Mapping[str, str], folder: Path) -> None:
    """Write a card and its files of trees, the card last: it names the other files, so a model with it is complete."""
    content = msgspec.json.format(msgspec.json.encode(card), indent=1)
    files = {name: text.encode() for name, text in trees.items()}
    write_folder(folder, {**files, CARD: content}, names_all=CARD, owned=("trees-*.txt", *_LEFT))


def _fit_model(
    examples: Sequence[SelectorExample], features: tuple[Feature, ...], *, strength: float, seed: int
) -> SelectorModel:
    """Return the model whose members are fitted to the examples."""
    members: list[Linear | Trees] = []
    trees: dict[str, str] = {}

    def add_trees(scope: AspectScope, target: str, text: str) -> None:
        name, sha256 = name_trees(text)
        trees[name] = text
        members.append(Trees(scope=scope, target=target, file=name, sha256=sha256))

    for scope in SCOPES:
        labelled = [example for example in examples if scope in example.shares]
        if not labelled and scope == "results":
            continue  # EvidenceBench-100k labels no results; the members for all aspects then serve both scopes
        if not labelled:
            raise DataError("training: no instance has an aspect")
        table = np.concatenate([example.table for example in labelled])
        for target in _TARGETS:
            values = np.concatenate([example.target(scope, target) for example in labelled])
            members.append(fit_ridge(scope, target, table, values))
            parameters = {**_TREES, "extra_trees": True}
            add_trees(scope, target, _fit_trees(table, values, parameters, n_trees=_N_TREES, seed=seed))
        grades = np.rint(_GRADES * np.concatenate([example.shares[scope] for example in labelled]))
        groups = [len(example.table) for example in labelled]
        for objective in _RANKING_OBJECTIVES:
            parameters = {**_TREES, **_RANKING_TREES, "objective": objective}
            text = _fit_trees(table, grades, parameters, n_trees=_N_RANKING_TREES, seed=seed, groups=groups)
            add_trees(scope, objective, text)
    card = SelectorCard(features=tuple(feature.name for feature in features), strength=strength, members=tuple(members))
    return SelectorModel(card, trees)


def fit_ridge(scope: AspectScope, target: Target, table: Floats, values: Floats) -> Linear:
    """Return a ridge regression on standardised columns, solved by the normal equations."""
    center, scale = table.mean(axis=0), table.std(axis=0)
    scale[scale < 1e-9] = 1.0  # noqa: PLR2004 - a constant column, up to rounding, says nothing and gets no weight
    standard = (table - center) / scale
    squares = standard.T @ standard + _RIDGE * np.eye(len(center))
    weights = np.linalg.solve(squares, standard.T @ (values - values.mean()))
    return Linear(
        scope=scope,
        target=target,
        center=tuple(center.tolist()),
        scale=tuple(scale.tolist()),
        weights=tuple(weights.tolist()),
    )


def _fit_trees(
    table: Floats,
    values: Floats,
    parameters: Mapping[str, Any],
    *,
    n_trees: int,
    seed: int,
    groups: Sequence[int] | None = None,
) -> str:
    """Return boosted trees, fitted to the values, in LightGBM's text format."""
    lightgbm = require_lightgbm("train selector")
    full = {"objective": "regression", **parameters, "seed": seed, "label_gain": list(range(_GRADES + 1))}
    dataset = lightgbm.Dataset(table, values, group=groups, free_raw_data=True)
    text: str = lightgbm.train(full, dataset, n_trees).model_to_string()
    return text


def _recalls(
    examples: Sequence[SelectorExample], scores: Mapping[int, Mapping[AspectScope, Floats]], strength: float
) -> dict[str, float]:
    """Return task name -> mean aspect recall of the selections made from these scores; ``scores`` is by example."""
    found: dict[str, list[float]] = {}
    for place, example in enumerate(examples) if scores else ():
        orders = {scope: order_by_scores(example.paper, values, strength) for scope, values in scores[place].items()}
        for task in (TASKS[name] for name in TUNED_TASKS if TASKS[name].applies_to(example.instance.labels)):
            coverage = coverage_of(example.instance.labels, task.scope)
            chosen = Selection(certain=orders[task.scope][: task.budget_for(example.instance)])
            found.setdefault(task.name, []).append(aspect_recall(chosen, coverage))
    return {name: float(np.mean(values)) for name, values in found.items()}
