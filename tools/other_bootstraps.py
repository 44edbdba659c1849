"""Two bootstraps that others report, for a table of the docs: over sentences, and over papers and then sentences.

The first takes no account of papers, and its intervals are too narrow where errors differ between papers. The second
draws the sentences of a paper anew although drawing the paper varies them already, and its intervals are too wide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.construction.people.agreement.marks import MISSING, Marks
from evidencebench.construction.people.agreement.studentised import Statistic
from evidencebench.scoring.resampling import Floats, Resampling

_BLOCK_NUMBERS = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """How often each combination of answers occurs in each paper.

    ``counts`` is papers x patterns; ``columns`` is patterns x columns: what one sentence of the pattern adds to the
    totals that a `Statistic` takes.
    """

    counts: Floats
    columns: Floats


def patterns_of(marks: Marks, pairs: Sequence[tuple[int, int]]) -> Patterns:
    """Return the patterns of the raters' answers; the columns are the tables of the pairs, one after the other."""
    patterns, places = np.unique(marks.values, axis=1, return_inverse=True)
    n_patterns = patterns.shape[1]
    counts = np.bincount(marks.paper_of * n_patterns + places.ravel(), minlength=marks.n_papers * n_patterns)
    columns = np.zeros((n_patterns, len(pairs), 4))
    for number, (first, second) in enumerate(pairs):
        one, other = patterns[first], patterns[second]
        judged = np.flatnonzero((one != MISSING) & (other != MISSING))
        columns[judged, number, 2 * one[judged] + other[judged]] = 1
    return Patterns(
        counts=counts.reshape(marks.n_papers, n_patterns).astype(np.float64), columns=columns.reshape(n_patterns, -1)
    )


def draw_over_pairs(patterns: Patterns, statistic: Statistic, resampling: Resampling) -> Floats:
    """Return the statistic of draws (draws x values) of as many sentences, from all papers alike."""
    total = patterns.counts.sum(0)
    drawn = resampling.generator().multinomial(int(total.sum()), total / total.sum(), size=resampling.n_draws)
    return statistic(drawn @ patterns.columns)


def draw_hierarchically(patterns: Patterns, statistic: Statistic, resampling: Resampling) -> Floats:
    """Return the statistic of draws (draws x values) of papers, and of as many sentences of each drawn paper."""
    generator, n_papers = resampling.generator(), len(patterns.counts)
    sizes = patterns.counts.sum(1)
    shares = patterns.counts / np.maximum(sizes, 1)[:, None]
    shares[sizes == 0, 0] = 1  # nothing is drawn of it
    rows = max(1, _BLOCK_NUMBERS // patterns.counts.size)
    found = []
    for start in range(0, resampling.n_draws, rows):
        n_rows = min(rows, resampling.n_draws - start)
        weights = generator.multinomial(n_papers, np.full(n_papers, 1 / n_papers), size=n_rows)
        drawn = generator.multinomial((weights * sizes).astype(np.int64), shares)
        found.append(statistic(drawn.sum(1) @ patterns.columns))
    return np.concatenate(found)
