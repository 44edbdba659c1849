"""Tests of the draws that intervals share: how they are counted and multiplied, whatever the number of papers."""

import numpy as np
import pytest

from doors import draw_counts, products


@pytest.mark.parametrize("shape", [(1, 1), (1, 10_001), (3, 20_000), (8, 50_000), (8, 60_001), (9, 60_001), (128, 7)])
def test_products_of_whole_numbers_are_exact_for_any_shape(shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(0)
    rows, column = generator.integers(0, 9, shape), generator.integers(0, 1_000, shape[1])
    expected = [sum(row * column) for row in rows]
    assert products(rows.astype(float), column.astype(float)).tolist() == expected


@pytest.mark.parametrize("n_clusters", [1, 10, 5_000, 40_000])
def test_a_draw_holds_each_cluster_as_often_as_it_was_drawn(n_clusters: int) -> None:
    n_draws = 9
    drawn = np.random.default_rng(3).integers(0, n_clusters, size=(n_draws, n_clusters), dtype=np.int32)
    expected = np.zeros((n_draws, n_clusters))
    np.add.at(expected, (np.arange(n_draws)[:, None], drawn), 1)
    counted = np.concatenate(list(draw_counts(n_clusters, np.random.default_rng(3), n_draws)))
    assert (counted == expected).all()
