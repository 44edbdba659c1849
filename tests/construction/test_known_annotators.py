"""Annotators whose rates of errors are known: the report finds the agreement that follows from these.

``tools/make_agreement_table.py`` counts over more studies, and writes the table of docs/construction.md.
"""

from dataclasses import replace

import numpy as np
import pytest

from examples import IS_THOROUGH
from make_agreement_table import MARGIN, STATISTIC, WORLDS, studied, with_difference

N_STUDIES = 100 if IS_THOROUGH else 24


@pytest.mark.parametrize("name", WORLDS)
def test_the_true_values_are_those_of_a_study_without_end(name: str) -> None:
    world = with_difference(WORLDS[name], "kappa", -MARGIN)
    endless = replace(world, n_papers=60_000).study(np.random.default_rng(0))
    np.testing.assert_allclose(STATISTIC(endless.counts.sum(0) @ endless.columns), world.truth(), atol=0.005)


@pytest.mark.parametrize("name", ["differ", "alike"] if IS_THOROUGH else ["differ"])
def test_intervals_hold_what_is_true_and_no_study_claims_too_much(name: str) -> None:
    world = WORLDS[name]
    equal = studied(world, range(N_STUDIES), methods=["studentised"])
    apart = studied(with_difference(world, "kappa", -MARGIN), range(N_STUDIES), methods=["studentised"])
    # Where each holds it by a chance of 95 %, fewer than 19 of 24 do so once in 1,000, fewer than 87 of 100 in 2,000.
    least = 100 * (0.87 if IS_THOROUGH else 19 / 24)
    for which in (-3, -2, -1):
        for tally in (equal, apart):
            assert tally.share(tally.held["studentised"], "kappa", which) >= least
    assert apart.share(apart.claimed["studentised"], "kappa", -1) <= 100 - least
    assert equal.share(equal.claimed["studentised"], "kappa", -1) >= 75
