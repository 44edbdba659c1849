"""Boosted trees as plain text, predicting with numpy alone the very numbers that LightGBM predicts."""

from collections.abc import Sequence
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from evidencebench.decoding import prepared
from evidencebench.errors import ModelError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.systems.words import Floats

Table = NDArray[np.float32] | NDArray[np.float64]

# How many (sentence, tree) pairs are followed at a time: so few that they stay in the processor's cache.
_MOST_PAIRS = 1 << 14


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """One tree. Node i goes to ``left[i]`` where the feature is at most the threshold, else to ``right[i]``.

    A child of at least 0 is a node, and one further down; a child below 0 is a leaf: -1 is leaf 0, -2 is leaf 1. A tree
    of a single leaf has no node.
    """

    feature: tuple[int, ...] = ()
    threshold: tuple[float, ...] = ()
    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    leaf: tuple[float, ...]


class Forest:
    """Trees whose leaves are summed, in their order."""

    def __init__(self, trees: list[Tree], n_features: int) -> None:
        self.trees: tuple[Tree, ...] = tuple(trees)
        self.n_features = n_features
        for number, tree in enumerate(self.trees):
            _require_sound(number, tree, n_features)
        # All trees in one array of nodes; a leaf is a node that leads to itself.
        sizes = [len(tree.feature) + len(tree.leaf) for tree in self.trees]
        n_nodes = sum(sizes)
        self._roots = np.cumsum([0, *sizes[:-1]], dtype=np.intp)[: len(sizes)]
        self._feature = np.zeros(n_nodes, np.intp)
        self._threshold = np.zeros(n_nodes)
        self._children = np.repeat(np.arange(n_nodes, dtype=np.intp)[:, None], 2, axis=1)
        self._value = np.zeros(n_nodes)
        for start, tree in zip(self._roots.tolist(), self.trees, strict=True):
            n = len(tree.feature)
            self._feature[start : start + n] = tree.feature
            self._threshold[start : start + n] = tree.threshold
            for side, children in enumerate((tree.right, tree.left)):
                places = np.array(children, np.intp)
                self._children[start : start + n, side] = start + np.where(places >= 0, places, n - 1 - places)
            self._value[start + n : start + n + len(tree.leaf)] = tree.leaf

    def predict(self, table: Table) -> Floats:
        """Return the sum of the leaves that each row of a table falls into; the table holds no NaN."""
        sums = np.zeros(len(table))
        size = max(1, _MOST_PAIRS // max(1, len(self.trees)))
        for start in range(0, len(table), size):
            block = table[start : start + size]
            # One index into each array, which `take` reads in half the time that pairs of indices take.
            values, firsts = block.ravel(), self.n_features * np.arange(len(block))[:, None]
            nodes = np.repeat(self._roots[None, :], len(block), axis=0)
            while True:
                goes_left = values.take(firsts + self._feature.take(nodes)) <= self._threshold.take(nodes)
                after = self._children.take(2 * nodes + goes_left)
                if (after == nodes).all():
                    break
                nodes = after
            # cumsum adds one tree after another, as LightGBM does; sum would add in another order.
            sums[start : start + size] = np.cumsum(self._value[nodes], axis=1)[:, -1]
        return sums

    def text(self) -> str:
        """Return the trees as text: the number of features, then one line of JSON a tree."""
        lines = [msgspec.json.encode(tree).decode() for tree in self.trees]
        return "\n".join([str(self.n_features), *lines, ""])

    @classmethod
    def from_text(cls, text: str) -> Self:
        first, *lines = text.splitlines() or [""]
        try:
            return cls([msgspec.json.decode(line, type=prepared(Tree)) for line in lines], int(first))
        except (*BROKEN_JSON, ValueError) as error:
            raise ModelError(f"trees: {error}") from error

    @classmethod
    def from_lightgbm(cls, text: str) -> Self:
        """Return the trees of a model in LightGBM's text format, with numeric features and without missing values."""
        head, *blocks = text.split("\nTree=")
        n_features = int(_fields(head)["max_feature_idx"]) + 1
        return cls([_tree(_fields(block.split("\nend of trees")[0])) for block in blocks], n_features)


def mean_forest(forests: Sequence[Forest]) -> Forest:
    trees = [
        msgspec.structs.replace(tree, leaf=tuple(value / len(forests) for value in tree.leaf))
        for forest in forests
        for tree in forest.trees
    ]
    return Forest(trees, forests[0].n_features)


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _tree(fields: dict[str, str]) -> Tree:
    leaf = tuple(map(float, fields["leaf_value"].split()))
    if len(leaf) == 1:
        return Tree(leaf=leaf)
    if int(fields["num_cat"]) or fields.get("is_linear", "0") != "0":
        raise ModelError("trees: expected numeric splits and constant leaves")
    return Tree(
        feature=tuple(map(int, fields["split_feature"].split())),
        threshold=tuple(map(float, fields["threshold"].split())),
        left=tuple(map(int, fields["left_child"].split())),
        right=tuple(map(int, fields["right_child"].split())),
        leaf=leaf,
    )


def _require_sound(number: int, tree: Tree, n_features: int) -> None:
    """Raise `ModelError` unless every path through a tree ends in a leaf."""
    n, n_leaves = len(tree.feature), len(tree.leaf)
    is_whole = n_leaves == n + 1 and n == len(tree.threshold) == len(tree.left) == len(tree.right)
    if not is_whole or not all(0 <= feature < n_features for feature in tree.feature):
        raise ModelError(
            f"trees: tree {number}: expected {n} nodes on features 0..{n_features - 1}, and {n + 1} leaves"
        )
    for children in (tree.left, tree.right):
        if not all(node < child < n if child >= 0 else child >= -n_leaves for node, child in enumerate(children)):
            raise ModelError(f"trees: tree {number}: a child is no later node and no leaf")
    if not np.isfinite([*tree.leaf, *tree.threshold]).all():
        raise ModelError(f"trees: tree {number}: a number is not finite")
