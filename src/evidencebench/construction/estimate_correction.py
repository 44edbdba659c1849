"""From what drafts of a sample were rehearsed to ask, and what drafts that are done asked, to what the others will."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from evidencebench.construction.model_use import NOTHING, ModelUse, Uses, joined

_NORMAL_95 = 1.96

Floats = NDArray[np.float64]


@dataclass(slots=True, kw_only=True)
class StepSums:
    """What drafts asked of one step: as rehearsed with stand-ins, and for drafts that are done as it was."""

    rehearsed: list[ModelUse] = field(default_factory=list)  # a draft
    was: list[Uses] = field(default_factory=list)  # of the same drafts, where they are done
    repeated_tokens: float = 0


def corrected(model: str, todo: StepSums, done: StepSums, weights: Floats, n_all: int) -> tuple[Uses, float | None]:
    """Return what the drafts of a group will ask, by model, and half of the 95 % interval as a share of it."""
    total = sum((use.times(w, w, w) for use, w in zip(todo.rehearsed, weights.tolist(), strict=True)), NOTHING)
    before = sum(done.rehearsed, NOTHING)
    if not done.was or not before.requests:
        return ({model: total} if total.requests else {}), None
    was: Uses = {}
    for one in done.was:
        was = joined(was, one)
    per_request, per_token = total.requests / before.requests, total.prompt_tokens / before.prompt_tokens
    uses = {name: use.times(per_request, per_token, per_request) for name, use in was.items()}
    piloted = _relative_error(
        [
            (sum(use.prompt_tokens for use in uses_of.values()), one.prompt_tokens)
            for uses_of, one in zip(done.was, done.rehearsed, strict=True)
        ]
    )
    if piloted is None:
        return uses, None
    sampled = _sampling_error(np.array([one.prompt_tokens for one in todo.rehearsed]), weights, n_all)
    return uses, _NORMAL_95 * sqrt(sampled**2 + piloted**2)


def _sampling_error(tokens: Floats, weights: Floats, n_all: int) -> float:
    """Return the standard error of a total from a sample of so many drafts, as a share of it.

    What the weights follow is no error: they are linear in the size that is known of all.
    """
    n = len(tokens)
    if n == n_all or n < 3 or not tokens.any():  # noqa: PLR2004 - two parameters are fitted
        return 0.0
    apart = weights - weights.mean()
    slope = float(apart @ tokens / (apart @ apart)) if apart.any() else 0.0
    residuals = tokens - tokens.mean() - slope * apart
    return sqrt(float(residuals @ residuals) / (n - 2) / n * (1 - n / n_all)) / float(tokens.mean())


def _relative_error(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the standard error of a ratio of sums, as a share of it; None for fewer than two pairs or nothing."""
    n, above, below = len(pairs), sum(one for one, _ in pairs), sum(other for _, other in pairs)
    if n < 2 or not above or not below:  # noqa: PLR2004 - one says nothing of how they differ
        return None
    ratio = above / below
    variance = sum((one - ratio * other) ** 2 for one, other in pairs) / (n - 1)
    return sqrt(variance * n) / above
