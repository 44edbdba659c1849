"""Train a finder: boosted trees for each wish, on papers alone and beside another's sentences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, get_args

import msgspec
import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.models.model_card import require_replaceable
from evidencebench.query import AspectScope, Wish
from evidencebench.storage.reading import PathText
from evidencebench.systems.selectors.finder_model import (
    FINDER_FEATURES,
    Calibration,
    FinderCard,
    FinderMember,
    FinderModel,
    Regression,
)
from evidencebench.systems.selectors.paper_columns import Flags, Floats
from evidencebench.systems.selectors.selector_model import require_lightgbm
from evidencebench.systems.selectors.trees import Forest, mean_forest
from evidencebench.training.card_entries import data_entries, version_entries
from evidencebench.training.finder_examples import FinderExample, finder_examples, wish_of
from evidencebench.training.folds import inner_folds, split_at_fold
from evidencebench.training.progress import TrainingProgress
from evidencebench.training.selector import write_trees
from evidencebench.training.selector_fitting import fit_ridges, name_trees
from evidencebench.training.selector_table import SCOPES

STRENGTHS: Mapping[Wish, float] = {"answer": 0.0, "study": 0.85}
"""How much of its score a sentence loses that repeats a chosen one: an answer that is given twice was marked twice."""

MIXED: Mapping[Wish, bool] = {"answer": True, "study": False}
"""Whether papers are trained on beside another's sentences too. It helps to find what answers."""

LINEAR: Mapping[Wish, bool] = {"answer": False, "study": True}
"""Whether a ridge regression stands beside the trees. A hundred papers are few for trees alone."""

# Small trees whose thresholds are drawn at random, as in the selector: larger or more trees found no more.
_PARAMETERS: Mapping[str, Any] = {
    "objective": "regression",
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "extra_trees": True,
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
}
# The mean of several, since what is drawn at random moves recall by a point or two.
_N_TREES, _N_FORESTS = 200, 3
# Of more sentences, those that are no evidence are sampled.
_MOST_ROWS = 150_000

# The table of chances: steps of at least 2 percent, of at least so many sentences.
_STEPS, _LEAST_OF_STEP = 50, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class FinderTraining:
    """The training of a finder, for each wish that the data holds.

    Attributes
    ----------
    figures
        Whether scores are calibrated on held-back folds, which takes a third of the time.
    """

    system: ClassVar[str] = "finder"

    figures: bool = True

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: TrainingProgress | None = None,
    ) -> FinderCard:
        """Fit a model and write it into a folder; an older model there is replaced once the new one is complete.

        ``seed`` decides the folds, the strangers, and the sentences and features of each tree. ``data`` is written into
        the card. ``on_progress`` is called with (instances read, instances in all), then with (times fitted, times in
        all, ``"fitting trees"``). It raises `DataError` if a wish has fewer than six papers.
        """
        folder = Path(folder)
        require_lightgbm("train finder")
        require_replaceable(folder, FinderCard)
        examples: dict[Wish, list[list[FinderExample]]] = {}
        folds: dict[Wish, list[tuple[int, ...]]] = {}
        report: TrainingProgress = on_progress or (lambda *_: None)
        n_read = 0
        for wish in _wishes(instances):
            of_wish = [instance for instance in instances if wish_of(instance) == wish]
            papers = [instance.query.paper_id for instance in of_wish]
            of_papers = inner_folds(papers, seed=seed, what=f"training: wish '{wish}'")
            folds[wish] = of_papers if self.figures else []
            examples[wish] = []
            for found in finder_examples(of_wish, mixed=MIXED[wish], seed=seed):
                examples[wish].append(found)
                n_read += 1
                report(n_read, len(instances))
        model = fit_finder(examples, folds=folds, seed=seed, on_progress=report)
        card = msgspec.structs.replace(
            model.card,
            data=data_entries([instance.query.paper_id for instance in instances], data),
            versions=version_entries("lightgbm", "numpy"),
        )
        write_finder(FinderModel(card, model.forests), folder)
        return card


def fit_finder(
    examples: Mapping[Wish, Sequence[Sequence[FinderExample]]],
    *,
    folds: Mapping[Wish, Sequence[Sequence[int]]] = MappingProxyType({}),
    seed: int,
    most_rows: int = _MOST_ROWS,
    on_progress: TrainingProgress = lambda *_: None,
) -> FinderModel:
    """Return the model that is fitted to the examples of each wish, some an instance.

    ``folds`` are the positions of instances that are held back together, to calibrate scores; none: not calibrated.
    Of more sentences than ``most_rows``, those that are no evidence are sampled. ``on_progress`` is called with (times
    fitted, times in all, ``"fitting trees"``).
    """
    n_all = sum(1 + len(folds.get(wish, ())) for wish in examples)
    numbers = count()

    def tell_fitted() -> None:
        on_progress(next(numbers), n_all, "fitting trees")

    tell_fitted()
    members: list[FinderMember] = []
    forests: dict[str, Forest] = {}
    for wish, of_wish in examples.items():
        for scope, fitted in fit_regressions(of_wish, wish, seed=seed, most_rows=most_rows).items():
            name, sha256 = name_trees(fitted.forest.text())
            forests[name] = fitted.forest
            members.append(FinderMember(wish=wish, scope=scope, file=name, sha256=sha256, weights=fitted.weights))
        tell_fitted()
    card = FinderCard(
        features=tuple(feature.name for feature in FINDER_FEATURES),
        members=tuple(members),
        strengths={wish: STRENGTHS[wish] for wish in examples},
        calibrations={
            wish: _calibrate(of_wish, folds[wish], wish, seed=seed, most_rows=most_rows, tell_fitted=tell_fitted)
            for wish, of_wish in examples.items()
            if folds.get(wish)
        },
        training={"seed": seed, "n_trees": _N_TREES, "n_forests": _N_FORESTS, "parameters": dict(_PARAMETERS)},
    )
    return FinderModel(card, forests)


def write_finder(model: FinderModel, folder: Path) -> None:
    """Write a finder into a folder."""
    write_trees(model.card, {name: forest.text() for name, forest in model.forests.items()}, folder)


def fit_regressions(
    examples: Sequence[Sequence[FinderExample]],
    wish: Wish,
    *,
    seed: int,
    scopes: Sequence[AspectScope] = SCOPES,
    most_rows: int,
) -> dict[AspectScope, Regression]:
    """Return what is fitted for each scope that the examples, some an instance, have labels of.

    What answers a hypothesis is a result, so of such judgments all evidence is the only scope.
    """
    found: dict[AspectScope, Regression] = {}
    for scope in scopes if wish == "study" else ("all",):
        labelled = [example for together in examples for example in together if scope in example.shares]
        if labelled:
            found[scope] = _fit_regression(labelled, wish, scope, seed, most_rows)
    if "all" in scopes and "all" not in found:
        raise DataError("training: no instance has an aspect")
    return found


def _fit_regression(
    examples: Sequence[FinderExample], wish: Wish, scope: AspectScope, seed: int, most_rows: int
) -> Regression:
    lightgbm = require_lightgbm("train finder")
    generator = np.random.default_rng(seed)
    share = min(1.0, most_rows / sum(len(example.table) for example in examples))
    kept = [(example.shares[scope] > 0) | (generator.random(len(example.table)) < share) for example in examples]
    table = np.concatenate([example.table[rows] for example, rows in zip(examples, kept, strict=True)])
    values = np.concatenate([example.targets(wish, scope)[rows] for example, rows in zip(examples, kept, strict=True)])
    dataset = lightgbm.Dataset(table, values, params=dict(_PARAMETERS))
    boosters = [
        lightgbm.train({**_PARAMETERS, "seed": seed * _N_FORESTS + number}, dataset, _N_TREES)
        for number in range(_N_FORESTS)
    ]
    forest = mean_forest([Forest.from_lightgbm(booster.model_to_string()) for booster in boosters])
    if not LINEAR[wish]:
        return Regression(forest)
    ridge = fit_ridges(scope, table.astype(float), {"relative": values})[0]
    return Regression(forest, tuple(np.divide(ridge.weights, ridge.scale).tolist()))


def _calibrate(
    examples: Sequence[Sequence[FinderExample]],
    folds: Sequence[Sequence[int]],
    wish: Wish,
    *,
    seed: int,
    most_rows: int,
    tell_fitted: Callable[[], None],
) -> Calibration:
    """Return the share of evidence by score, from models that were not trained on the paper.

    They see as large a share of the sentences that are no evidence as the model itself: with more of them, scores fall.
    """
    scores, is_evidence = [], []
    for fold in folds:
        seen, held_back = split_at_fold(examples, fold)
        most = most_rows * len(seen) // len(examples)
        fitted = fit_regressions(seen, wish, seed=seed, scopes=("all",), most_rows=most)["all"]
        tell_fitted()
        for together in held_back:
            alone = together[0]
            scores.append(fitted.predict(alone.table))
            is_evidence.append(alone.shares["all"] > 0 if "all" in alone.shares else np.zeros(len(alone.table), bool))
    return calibrated(np.concatenate(scores), np.concatenate(is_evidence))


def calibrated(scores: Floats, is_evidence: Flags, *, least: int = _LEAST_OF_STEP) -> Calibration:
    """Return a table from score to the share of evidence: isotonic regression in steps of at least so many sentences.

    >>> calibrated(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True]), least=1).shares
    (0.0, 0.5, 1.0)
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - comes with LightGBM, and is slow to import

    order = np.argsort(scores, kind="stable")
    starts = isotonic_regression(is_evidence[order].astype(float)).blocks[:-1]
    sums = (
        np.add.reduceat(column[order].astype(float), starts) for column in (np.ones_like(scores), scores, is_evidence)
    )
    blocks = zip(*(column.tolist() for column in sums), strict=True)  # number of sentences, sum of scores, of evidence
    merged: list[tuple[float, float, float]] = []
    for one in blocks:
        block = one
        if merged and (min(merged[-1][0], block[0]) < least or _step(block) == _step(merged[-1])):
            last = merged.pop()
            block = (last[0] + block[0], last[1] + block[1], last[2] + block[2])
        merged.append(block)
    return Calibration(
        scores=tuple(score / n for n, score, _ in merged), shares=tuple(hits / n for n, _, hits in merged)
    )


def _step(block: tuple[float, float, float]) -> int:
    return round(block[2] / block[0] * _STEPS)


def _wishes(instances: Sequence[Instance]) -> list[Wish]:
    there = {wish_of(instance) for instance in instances}
    return [wish for wish in get_args(Wish) if wish in there]
