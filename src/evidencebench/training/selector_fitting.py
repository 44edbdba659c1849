"""Fit the models of a selector, whose scores are averaged: linear models and boosted trees."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np

from evidencebench.errors import DataError
from evidencebench.query import AspectScope
from evidencebench.systems.selectors.features import Feature
from evidencebench.systems.selectors.paper_columns import Floats
from evidencebench.systems.selectors.selector_model import Linear, SelectorCard, SelectorModel, Trees, require_lightgbm
from evidencebench.training.progress import TrainingProgress
from evidencebench.training.selector_table import SCOPES, SelectorTable, TableRows, Target, targets_of

STRENGTH = 0.85
"""The default strength of the discount for repetition; on the train split, 0.5 to 1 score about the same."""

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
# With more sentences than this, one part of a model is fitted at a time, so that memory holds a single table's bins.
_MOST_ROWS_AT_ONCE = 500_000
_BLOCK = 100_000  # how many sentences a ridge regression reads at a time
_GRADES = 20  # the grade of a sentence that states every aspect, for objectives that need whole numbers


def fit_models(
    table: SelectorTable,
    groups: Sequence[Sequence[int]],
    features: tuple[Feature, ...],
    *,
    seed: int,
    most_rows: int = _MOST_ROWS_AT_ONCE,
    on_progress: TrainingProgress = lambda *_: None,
) -> list[SelectorModel]:
    """Return a model for each group of instances, given by their places in the table; it is fitted to them.

    Of a table of more rows than ``most_rows``, one model's part is fitted at a time, and its rows are read from the
    disk. ``on_progress`` is called with (parts fitted, parts in all, ``"fitting"``). Raises `DataError` if no instance
    of a group has an aspect.
    """
    parts = []
    for number, group in enumerate(groups):
        for scope in SCOPES:
            if labelled := table.labelled(group, scope):
                parts.append((number, scope, labelled))
            elif scope == "all":
                raise DataError("training: no instance has an aspect")
            # EvidenceBench-100k labels no results; the members for all aspects then serve both scopes
    is_small = len(table.features) <= most_rows
    n_threads = (os.cpu_count() or 1) if is_small else 1
    members: list[list[Linear | Trees]] = [[] for _ in groups]
    texts: list[dict[str, str]] = [{} for _ in groups]
    on_progress(0, len(parts), "fitting")
    with ThreadPoolExecutor(min(n_threads, len(parts))) as pool:
        fitted = pool.map(lambda part: _fit_part(table, part[2], part[1], seed=seed, is_small=is_small), parts)
        for n_fitted, ((number, _, _), (found, trees)) in enumerate(zip(parts, fitted, strict=True), start=1):
            members[number] += found
            texts[number] |= trees
            on_progress(n_fitted, len(parts), "fitting")
    names = tuple(feature.name for feature in features)
    return [
        SelectorModel(SelectorCard(features=names, strength=STRENGTH, members=tuple(found)), trees)
        for found, trees in zip(members, texts, strict=True)
    ]


def _fit_part(
    table: SelectorTable, places: Sequence[int], scope: AspectScope, *, seed: int, is_small: bool
) -> tuple[list[Linear | Trees], dict[str, str]]:
    """Return the members of a scope that are fitted to some instances, and the texts of their trees by file name."""
    lightgbm = require_lightgbm("train selector")
    lightgbm.Sequence.register(TableRows)
    rows, shares = table.rows(places), table.shares_of(places, scope)
    values = {target: targets_of(shares, target) for target in _TARGETS}
    memory = {} if is_small else {"force_row_wise": False, "force_col_wise": True}  # one copy of the bins, not two
    always = {**_TREES, **memory, "seed": seed, "label_gain": list(range(_GRADES + 1))}
    # Of an array, but not of a sequence, LightGBM leaves out columns that can split nothing: an array is kept where it
    # fits, so that models stay those of earlier versions.
    data = rows[:] if is_small else rows
    dataset = lightgbm.Dataset(data, values["share"], group=list(map(len, shares)), params=always)
    members: list[Linear | Trees] = []
    trees: dict[str, str] = {}

    def add_trees(target: str, labels: Floats, parameters: Mapping[str, Any], n_trees: int) -> None:
        dataset.set_label(labels)
        text: str = lightgbm.train(
            {"objective": "regression", **always, **parameters}, dataset, n_trees
        ).model_to_string()
        name, sha256 = name_trees(text)
        trees[name] = text
        members.append(Trees(scope=scope, target=target, file=name, sha256=sha256))

    for ridge in fit_ridges(scope, rows, values):
        members.append(ridge)
        add_trees(ridge.target, values[cast("Target", ridge.target)], {"extra_trees": True}, _N_TREES)
    grades = np.rint(_GRADES * values["share"])
    for objective in _RANKING_OBJECTIVES:
        add_trees(objective, grades, {**_RANKING_TREES, "objective": objective}, _N_RANKING_TREES)
    return members, trees


def fit_ridges(scope: AspectScope, table: TableRows | Floats, values: Mapping[Target, Floats]) -> list[Linear]:
    """Return ridge regressions on standardised columns, solved by the normal equations; the table is read in blocks."""
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(table), _BLOCK)]
    center = sum(table[block].sum(axis=0) for block in blocks) / len(table)
    scale = np.sqrt(sum(np.square(table[block] - center).sum(axis=0) for block in blocks) / len(table))
    scale[scale < 1e-9] = 1.0  # noqa: PLR2004 - a constant column, up to rounding, says nothing and gets no weight
    squares: Floats = np.zeros((len(center), len(center)))
    products = {target: np.zeros(len(center)) for target in values}
    for block in blocks:
        standard = (table[block] - center) / scale
        squares += standard.T @ standard
        for target, wanted in values.items():
            products[target] += standard.T @ (wanted[block] - wanted.mean())
    squares += _RIDGE * np.eye(len(center))
    return [
        Linear(
            scope=scope,
            target=target,
            center=tuple(center.tolist()),
            scale=tuple(scale.tolist()),
            weights=tuple(np.linalg.solve(squares, product).tolist()),
        )
        for target, product in products.items()
    ]


def name_trees(text: str) -> tuple[str, str]:
    """Return the name of a file of trees, which its content gives, and the SHA-256 of that."""
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return f"trees-{sha256[:16]}.txt", sha256
