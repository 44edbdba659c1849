"""The exact interval of a share, beside scipy's."""

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from doors import UndefinedScoreError, proportion

shares = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(shares, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_interval_is_that_of_scipy(share: tuple[int, int], level: float) -> None:
    found = proportion(*share, level=level)
    theirs = scipy.stats.binomtest(*share).proportion_ci(level, "exact")
    assert (found.low, found.high) == pytest.approx(theirs, abs=1e-9)


def test_a_share_of_nothing_is_an_error() -> None:
    with pytest.raises(UndefinedScoreError):
        proportion(0, 0)
    with pytest.raises(ValueError, match=r"k = 3.*n = 2"):
        proportion(3, 2)
