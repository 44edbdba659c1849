"""All measures of all pairs of raters at once, as one function of the papers' counts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.construction.people.agreement.marks import Marks, PairSort
from evidencebench.construction.people.agreement.pair_measures import PAIR_MEASURES, alpha_of_counts
from evidencebench.scoring.resampling import Floats


@dataclass(frozen=True, kw_only=True)
class PairStatistic:
    """Turns totals (... x columns: the pairs' tables, then counts for alpha) into values.

    The values are measure by measure: each pair, then the mean human-human, the mean human-model and the difference;
    behind these each alpha of many raters.
    """

    pairs: Sequence[tuple[PairSort, int, int]]
    measures: Sequence[str] = tuple(PAIR_MEASURES)
    n_alphas: int = 0

    @property
    def n_of_measure(self) -> int:
        """How many values each measure has."""
        return len(self.pairs) + 3

    def place(self, measure: str, which: int) -> int:
        """Return where a measure's value stands; -3, -2 and -1 are the means and the difference."""
        return self.measures.index(measure) * self.n_of_measure + which % self.n_of_measure

    def __call__(self, totals: Floats) -> Floats:
        """Return the values (... x values)."""
        n_cells = 4 * len(self.pairs)
        tables = totals[..., :n_cells].reshape(*totals.shape[:-1], len(self.pairs), 4)
        people = [number for number, (sort, _, _) in enumerate(self.pairs) if sort == "human-human"]
        model = [number for number, (sort, _, _) in enumerate(self.pairs) if sort == "human-model"]
        figures = []
        for measure in self.measures:
            values = PAIR_MEASURES[measure](tables)
            means = [_mean(values[..., people]), _mean(values[..., model])]
            figures += [values, *(mean[..., None] for mean in (*means, means[1] - means[0]))]
        alphas = alpha_of_counts(totals[..., n_cells:].reshape(*totals.shape[:-1], self.n_alphas, 3))
        return np.concatenate([*figures, alphas], axis=-1)


def sums_of(marks: Marks) -> tuple[Floats, PairStatistic]:
    """Return each paper's counts (papers x columns), and the statistic of their totals."""
    pairs = marks.pairs
    people = range(len(marks.people))
    everybody = [*people, *([len(marks.raters) - 1] if marks.model is not None else [])]
    tables = [marks.tables(first, second) for _, first, second in pairs]
    sums = np.concatenate([*tables, marks.alpha_counts(people), marks.alpha_counts(everybody)], axis=1)
    return sums, PairStatistic(pairs=pairs, n_alphas=2)


def _mean(values: Floats) -> Floats:
    """Return the mean over the last axis; NaN where it has no values, or one of them is undefined."""
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    means: Floats = values.mean(-1)
    return means
