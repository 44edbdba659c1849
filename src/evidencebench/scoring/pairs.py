"""Many comparisons together: every p-value adjusted for how many tests there are."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evidencebench.scoring.compare import Comparison, compare_all
from evidencebench.scoring.ranks import enough_draws, holm
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.task_scores import TaskScores


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two systems on one task; the p-value is adjusted by Holm over all pairs that were compared together."""

    first: str
    second: str
    comparison: Comparison
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs that were compared together, task by task, with as many draws as Holm over so many needs."""

    members: tuple[Pair, ...]
    resampling: Resampling


def adjusted(compared: Iterable[tuple[str, str, Comparison]]) -> tuple[Pair, ...]:
    """Return comparisons of (first, second) with their p-values adjusted by Holm over all of them."""
    compared = list(compared)
    p_values = holm([comparison.test.p_value for *_, comparison in compared])
    return tuple(
        Pair(first=first, second=second, comparison=comparison, p_value=p_value)
        for (first, second, comparison), p_value in zip(compared, p_values, strict=True)
    )


def compare_pairs(
    asked: Sequence[tuple[Mapping[str, TaskScores], Sequence[tuple[str, str]]]],
    resampling: Resampling,
    *,
    with_overlaps: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
) -> Pairs:
    """Compare pairs of systems on several tasks: for each, system -> its scores, and the pairs.

    More is drawn than ``resampling`` says where Holm over so many tests needs it.
    """
    n_pairs = sum(len(pairs) for _, pairs in asked)
    resampling = replace(resampling, n_draws=max(resampling.n_draws, enough_draws(n_pairs)))
    compared: list[tuple[str, str, Comparison]] = []
    for scores, pairs in asked:
        found = compare_all(scores, pairs, resampling=resampling, with_overlaps=with_overlaps)
        compared += [(*pair, comparison) for pair, comparison in zip(pairs, found, strict=True)]
        if on_progress is not None:
            on_progress(len(compared), n_pairs)
    return Pairs(members=adjusted(compared), resampling=resampling)
