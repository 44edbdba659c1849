"""Check the agreement report on annotators whose errors are known, for docs/construction-results.md.

50 papers of about 170 sentences with about 150 sources in all are judged by two people and a model that find a known
share of the sources and mark a known share of the rest, so that the true kappa and F1 follow by a formula. Each row is
so many simulated studies. How often does each interval hold the true value, and how often does the equivalence test
claim what is not true?

    nice python tools/make_agreement_table.py --studies 2000 [--write DAY]
"""

import argparse
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evidencebench.construction.people.agreement import EQUIVALENCE_ALPHA, equivalence_at, studentised
from evidencebench.construction.people.marks import LABELS, PairSort, PairStatistic
from evidencebench.scoring.resampling import Floats, Resampling
from evidencebench.tables import Cell, Table, as_markdown

PAGE = Path(__file__).resolve().parents[1] / "docs" / "construction-results.md"
BEGINS, ENDS = "<!-- begin: tools/make_agreement_table.py -->\n", "<!-- end: tools/make_agreement_table.py -->\n"

PAIRS: tuple[tuple[PairSort, int, int], ...] = (("human-human", 0, 1), ("human-model", 0, 2), ("human-model", 1, 2))
STATISTIC = PairStatistic(pairs=PAIRS, measures=("f1", "kappa"))
ANSWERS = np.array([[n >> 2 & 1, n >> 1 & 1, n & 1] for n in range(8)])
"""Every combination of what two people and the model say."""

N_DRAWS, LEVEL, TEST_LEVEL = 1_000, 0.95, 0.90


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """How often each combination of answers occurs in each paper.

    ``counts`` is papers x patterns; ``columns`` is patterns x columns: what one sentence of the pattern adds to the
    totals that `STATISTIC` takes.
    """

    counts: Floats
    columns: Floats


@dataclass(frozen=True)
class World:
    """How papers and raters are: all shares are of sentences.

    ``concentration`` is that of the beta distribution from which each paper draws what people find of its sources, and
    its share of sources; None: papers are alike. With ``apart``, what the model finds is drawn for itself, so that it
    does not do better on papers on which people do.
    """

    n_papers: int = 50
    n_sentences: float = 170.0
    sources: float = 0.0185
    found: float = 0.81  # of the sources, by a person
    wrong: float = 0.0035  # of the rest, by a person and by the model
    model: float = 1.0  # what the model finds, as a share of what people find
    concentration: float | None = None
    apart: bool = False

    def tables(self) -> Floats:
        """Return the expected tables of the three pairs (3 x 4), exactly."""
        k = self.concentration
        # The mean of the square of a beta variable with mean m and concentration k is m (m k + 1) / (k + 1).
        square = self.found**2 if k is None else self.found * (self.found * k + 1) / (k + 1)
        person = self.sources * self.found + (1 - self.sources) * self.wrong
        model = self.sources * self.found * self.model + (1 - self.sources) * self.wrong
        tables = []
        with_model = (self.found**2 if self.apart else square) * self.model
        for second, found_by_both in ((person, square), (model, with_model), (model, with_model)):
            both = self.sources * found_by_both + (1 - self.sources) * self.wrong**2
            tables.append([1 - person - second + both, second - both, person - both, both])
        return np.array(tables)

    def truth(self) -> Floats:
        """Return the true values, as `STATISTIC` orders them."""
        return STATISTIC(self.tables().ravel())

    def study(self, generator: np.random.Generator) -> Patterns:
        """Return what one study sees."""
        n, k = self.n_papers, self.concentration
        spread = 0.4
        lengths = np.exp(generator.normal(np.log(self.n_sentences) - spread**2 / 2, spread, n)).astype(np.int64)
        sizes = np.maximum(20, lengths)
        sources, found = np.full(n, self.sources), np.full(n, self.found)
        if k is not None:
            sources = generator.beta(self.sources * 5 * k, (1 - self.sources) * 5 * k, n)
            found = generator.beta(self.found * k, (1 - self.found) * k, n)
        by_model = self.model * found
        if k is not None and self.apart:
            mean = self.model * self.found
            by_model = generator.beta(mean * k, (1 - mean) * k, n)
        finds = np.stack([found, found, by_model], axis=1)[:, None, :]  # papers x 1 x raters
        counts = generator.multinomial(sizes, self._shares(sources, finds)).astype(np.float64)
        return Patterns(counts=counts, columns=_columns())

    def _shares(self, sources: Floats, finds: Floats) -> Floats:
        of_source = np.where(ANSWERS == 1, finds, 1 - finds).prod(2)
        of_rest = np.where(ANSWERS == 1, self.wrong, 1 - self.wrong).prod(1)
        shares: Floats = sources[:, None] * of_source + (1 - sources[:, None]) * of_rest
        return shares


@cache
def _columns() -> Floats:
    columns = np.zeros((8, 3, 4))
    for pattern, answers in enumerate(ANSWERS):
        for pair, (_, first, second) in enumerate(PAIRS):
            columns[pattern, pair, 2 * answers[first] + answers[second]] = 1
    return columns.reshape(8, -1)


def with_difference(world: World, measure: str, difference: float) -> World:
    """Return a world whose model agrees so much better or worse with people than they do with each other."""
    low, high = 0.0, 0.999 / world.found
    for _ in range(60):
        middle = (low + high) / 2
        is_below = replace(world, model=middle).truth()[STATISTIC.place(measure, -1)] < difference
        low, high = (middle, high) if is_below else (low, middle)
    return replace(world, model=high)


MARGIN = 0.10

METHODS = ("studentised", "papers")


class Tally:
    """What is counted over the studies of one world, by some methods or all."""

    def __init__(self, world: World, margin: float, methods: Collection[str] = METHODS) -> None:
        self.world, self.truth, self.margin, self.n = world, world.truth(), margin, 0
        self.methods = methods
        n_values = len(self.truth)
        self.held = {method: np.zeros(n_values) for method in METHODS}
        self.width = {method: np.zeros(n_values) for method in METHODS}
        self.claimed = {method: np.zeros(n_values) for method in METHODS}
        self.differing = {method: np.zeros(n_values) for method in METHODS}

    def add(self, seed: int) -> None:
        """Simulate one study."""
        study = self.world.study(np.random.default_rng(seed))
        resampling = Resampling(seed=seed, n_draws=N_DRAWS)
        sums = study.counts @ study.columns
        drawn = studentised(sums, STATISTIC, resampling)
        weights = np.random.default_rng(seed).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=N_DRAWS)
        if "papers" in self.methods:
            draws = STATISTIC(weights @ sums)
            wide, narrow = (np.quantile(draws, _tails(level), axis=0) for level in (LEVEL, TEST_LEVEL))
            self._count("papers", wide, (narrow[0] > -self.margin) & (narrow[1] < self.margin))
        which = range(len(self.truth))
        intervals = [drawn.interval(place, LEVEL) or (np.nan, np.nan) for place in which]
        p_values = [equivalence_at(drawn, place, self.margin).p_value for place in which]
        is_shown = np.array([p_value is not None and p_value < EQUIVALENCE_ALPHA for p_value in p_values])
        self._count("studentised", np.array(intervals).T, is_shown)
        self.n += 1

    def _count(self, method: str, ends: Floats, is_shown: npt.NDArray[np.bool_]) -> None:
        self.held[method] += (ends[0] <= self.truth) & (self.truth <= ends[1])
        self.width[method] += ends[1] - ends[0]
        self.differing[method] += (ends[0] > 0) | (ends[1] < 0)
        self.claimed[method] += is_shown

    def share(self, counts: Floats, measure: str, which: int) -> float:
        """Return a share of the studies in percent."""
        return float(100 * counts[STATISTIC.place(measure, which)] / self.n)


def studied(world: World, seeds: range, methods: Collection[str] = METHODS) -> Tally:
    """Return the tally of simulated studies."""
    tally = Tally(world, MARGIN, methods)
    for seed in seeds:
        tally.add(seed)
    return tally


def _tails(level: float) -> list[float]:
    return [(1 - level) / 2, (1 + level) / 2]


WORLDS = {
    "alike": World(),
    "differ": World(concentration=8.0),
    "differ, the model's for itself": with_difference(World(concentration=8.0, apart=True), "kappa", 0.0),
    "differ, 20 papers": World(concentration=8.0, n_papers=20),
}
"""Whether the raters' rates of errors are alike in all papers. People and the model agree as people do."""


def tables(n_studies: int) -> Iterator[Table]:
    """Yield the tables."""
    coverage: list[list[Cell]] = []
    errors: list[list[Cell]] = []
    for name, world in WORLDS.items():
        equal = studied(world, range(n_studies))
        for measure in STATISTIC.measures:
            apart = studied(with_difference(world, measure, -MARGIN), range(n_studies, 2 * n_studies))
            truth = equal.truth
            for method in METHODS:
                head: list[Cell] = [name, LABELS[measure], method]
                coverage.append(
                    [
                        name,
                        f"{LABELS[measure]} {100 * truth[STATISTIC.place(measure, -3)]:.1f}",
                        method,
                        *(equal.share(equal.held[method], measure, which) for which in (-3, -2, -1)),
                        apart.share(apart.held[method], measure, -1),
                        equal.share(equal.width[method], measure, -1),
                    ]
                )
                errors.append(
                    [
                        *head,
                        equal.share(equal.differing[method], measure, -1),
                        apart.share(apart.differing[method], measure, -1),
                        apart.share(apart.claimed[method], measure, -1),
                        equal.share(equal.claimed[method], measure, -1),
                    ]
                )
            print(coverage[-2:], errors[-2:], flush=True)
    yield Table(
        title="How often 95 % intervals hold the true value, in %",
        columns=[
            "errors of raters",
            "true value",
            "bootstrap",
            "human-human",
            "human-model",
            "difference 0",
            "difference -10",
            "its width, points",
        ],
        rows=coverage,
    )
    yield Table(
        title=f"How often the tests claim something, in %; margin {100 * MARGIN:g} points",
        columns=[
            "errors of raters",
            "measure",
            "bootstrap",
            "different, true 0 (should be 5)",
            "different, true -10",
            "equivalent, true -10 (at most 5)",
            "equivalent, true 0 (power)",
        ],
        rows=errors,
    )


def _is_shown(row: Sequence[Cell]) -> bool:
    """Return whether a row stands on the page: what the report uses, of kappa, which F1 resembles."""
    return "studentised" in row and any(str(cell).startswith(LABELS["kappa"]) for cell in row)


def main() -> None:
    """Print the tables, or write the part of them that is shown into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=500, help="simulated studies a row")
    parser.add_argument("--write", metavar="DAY", help="write them into docs/construction-results.md, with this day")
    given = parser.parse_args()
    made = list(tables(given.studies))
    print("\n\n".join(as_markdown(table) for table in made))
    shown = (replace(table, rows=[row for row in table.rows if _is_shown(row)]) for table in made)
    text = "\n\n".join(as_markdown(table) for table in shown)
    error = 196 * (0.05 * 0.95 / given.studies) ** 0.5
    text += (
        f"\n\n{given.studies:,} simulated studies a row of {N_DRAWS:,} draws each: 5 % is seen as 5 ± {error:.1f}.\n"
    )
    print(text)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGINS)
        after = rest.split(ENDS)[1]
        day = f"Made by `python tools/make_agreement_table.py --studies {given.studies}`, {given.write}.\n\n"
        PAGE.write_text(f"{before}{BEGINS}\n{day}{text}\n{ENDS}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
