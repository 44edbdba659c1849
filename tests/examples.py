"""How many random examples a test draws: few by default, all of them in the thorough profile.

``EVIDENCEBENCH_TESTS=thorough make test`` draws all, as `.ci/run` does.
"""

import os

from hypothesis import HealthCheck, settings

IS_THOROUGH = os.environ.get("EVIDENCEBENCH_TESTS") == "thorough"

SHORTER = 1 if IS_THOROUGH else 10
"""By how much a text that must not take forever is shorter than a megabyte by default."""

_N_EXAMPLES = 100
_FEW = 5  # one in so many is drawn by default


def load_profile() -> None:
    """Set how hypothesis draws where a test says nothing of its own.

    A loaded machine is no failure: no deadline an example, no complaint that data are slow to draw.
    """
    checks = [HealthCheck.too_slow]
    settings.register_profile("thorough", max_examples=_N_EXAMPLES, deadline=None, suppress_health_check=checks)
    settings.register_profile("quick", settings.get_profile("thorough"), max_examples=_N_EXAMPLES // _FEW)
    settings.load_profile("thorough" if IS_THOROUGH else "quick")


def examples(n: int) -> settings:
    """Return a decorator by which a test draws so many examples, or a fifth of them by default."""
    return settings(max_examples=n if IS_THOROUGH else -(-n // _FEW))
