"""How much the tests read and draw: little by default, more in the thorough profile, all real papers in the whole one.

``EVIDENCEBENCH_TESTS=thorough make test`` draws all random examples, as `.ci/run` does. With ``whole`` in its place,
tests of the real papers read all of them, which adds about ten minutes.
"""

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

_LEVEL = os.environ.get("EVIDENCEBENCH_TESTS")
IS_THOROUGH = _LEVEL in {"thorough", "whole"}

SHORTER = 1 if IS_THOROUGH else 10
"""By how much a text that must not take forever is shorter than a megabyte by default."""

T = TypeVar("T")
_N_EXAMPLES = 100
_FEW = 10  # one in so many is drawn by default


thorough_only = pytest.mark.skipif(not IS_THOROUGH, reason="takes long: EVIDENCEBENCH_TESTS=thorough tests it")
"""Marks a test that the default profile leaves to CI."""


def load_profile() -> None:
    """Set how hypothesis draws where a test says nothing of its own.

    A loaded machine is no failure: no deadline an example, no complaint that data are slow to draw.
    """
    checks = [HealthCheck.too_slow]
    settings.register_profile("thorough", max_examples=_N_EXAMPLES, deadline=None, suppress_health_check=checks)
    settings.register_profile("quick", settings.get_profile("thorough"), max_examples=_N_EXAMPLES // _FEW)
    settings.load_profile("thorough" if IS_THOROUGH else "quick")


def examples(n: int) -> settings:
    """Return a decorator by which a test draws so many examples, or a tenth of them by default."""
    return settings(max_examples=n if IS_THOROUGH else -(-n // _FEW))


def pairs_of(first: Iterable[T], second: Iterable[T]) -> list[tuple[T, T]]:
    """Return all pairs of two lists of four or more; by default every fourth, in which each of both still stands."""
    return [
        (one, other)
        for place, one in enumerate(first)
        for other_place, other in enumerate(second)
        if IS_THOROUGH or (place + other_place) % 4 == 0
    ]


def some_of(found: Sequence[T], *, thorough: int, quick: int) -> Sequence[T]:
    """Return every so-manieth, such as of the real papers; all of them where ``EVIDENCEBENCH_TESTS=whole``."""
    return found[:: 1 if _LEVEL == "whole" else thorough if IS_THOROUGH else quick]
