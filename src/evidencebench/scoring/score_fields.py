"""Scores and comparisons as JSON objects."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evidencebench.scoring.compare import Comparison
from evidencebench.scoring.measures import MEASURES
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.task_scores import TaskScores


def score_fields(scores: TaskScores, estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return one task's scores: every measure with its interval, the counts, and each instance.

    ``estimates`` are those of all measures; one that is undefined on every instance is null.
    """
    return {
        **{key: asdict(estimates[key]) if key in estimates else None for key in MEASURES},
        "n": len(scores.ids),
        **asdict(scores.counts),
        "notes": dict(scores.notes),
        "per_instance": dict(zip(scores.ids, scores.recalls.tolist(), strict=True)),
    }


def comparison_fields(comparison: Comparison, names: tuple[str, str] = ("first", "second")) -> dict[str, Any]:
    """Return a comparison; ``names`` end the keys of each system, such as ``recall_first`` and ``counts_first``."""
    test = comparison.test
    return {
        f"recall_{names[0]}": asdict(comparison.first),
        f"recall_{names[1]}": asdict(comparison.second),
        "difference": asdict(test.difference),
        "p_value": test.p_value,
        "p_value_is_exact": test.exact,
        "minimum_detectable_difference": test.minimum_detectable,
        "n_better": test.n_better,
        "n_equal": test.n_equal,
        "n_worse": test.n_worse,
        "overlap": None if comparison.overlap is None else asdict(comparison.overlap),
        f"counts_{names[0]}": asdict(comparison.first_counts),
        f"counts_{names[1]}": asdict(comparison.second_counts),
    }
