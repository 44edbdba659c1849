"""Measure whether the intervals of an audit's corrected score hold the score of worlds in which it is known.

Prints a Markdown table, by world: how many of the intervals hold the truth, and how wide they are on average.

    python tools/measure_audits.py 500
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from evidencebench.construction.audit import AuditedMiss, AuditedRun, corrected_score, draw_in_proportion
from evidencebench.scoring.resampling import Estimate, Resampling
from evidencebench.tables import Cell, Table, as_markdown

N_AUDITED, N_DRAWS = 50, 1_000
TWICE = 0.15
"""The share of papers of which two summaries stand in reviews."""
N_PAPERS, EXCUSED, LIKENESS = (37, 100, 300), (0.0, 0.02, 0.2, 0.5), (0.0, 0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Papers as they might come about; ``excused`` is the share of misses that are not the system's fault.

    ``likeness`` says how alike the misses of one paper are in that, from 0 (not at all) to 1.
    """

    n_papers: int
    excused: float
    likeness: float = 0.0
    recall: float = 0.45

    def draw(self, generator: np.random.Generator) -> "Papers":
        """Draw papers; some have two instances."""
        rows: list[tuple[int, int, int, int]] = []
        for paper in range(self.n_papers):
            excused = self._excused_in_a_paper(generator)
            recall = generator.beta(self.recall * 3, (1 - self.recall) * 3)
            for _ in range(1 + (generator.random() < TWICE)):
                n_aspects = int(min(30, 2 + generator.negative_binomial(2, 0.25)))
                n_covered = int(generator.binomial(n_aspects, recall))
                rows.append((paper, n_aspects, n_covered, int(generator.binomial(n_aspects - n_covered, excused))))
        return Papers(*np.array(rows).T)

    def _excused_in_a_paper(self, generator: np.random.Generator) -> float:
        if not self.likeness:
            return self.excused
        strength = 1 / self.likeness - 1
        return float(generator.beta(self.excused * strength, (1 - self.excused) * strength))


Integers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Papers:
    """One value an instance: its paper, aspects, covered aspects, and misses that are not the system's fault."""

    papers: Integers
    n_aspects: Integers
    n_covered: Integers
    n_excused: Integers

    @property
    def run(self) -> AuditedRun:
        """The run as an audit finds it."""
        recalls = self.n_covered / self.n_aspects
        return AuditedRun(
            recalls=recalls,
            losses=1 - recalls,
            clusters=[str(paper) for paper in self.papers],
        )

    @property
    def covered(self) -> float:
        """The score where excused misses count as covered."""
        return float(((self.n_covered + self.n_excused) / self.n_aspects).mean())

    def audit(self, n: int, generator: np.random.Generator) -> tuple[Sequence[AuditedMiss], bool]:
        """Draw ``n`` misses and judge them rightly; return them, and whether these are all."""
        misses = [
            (place, number < excused)
            for place, (missed, excused) in enumerate(zip(self.n_aspects - self.n_covered, self.n_excused, strict=True))
            for number in generator.permutation(missed).tolist()
        ]
        turns = generator.permutation(len(self.papers))
        misses.sort(key=lambda miss: turns[miss[0]])
        losses = np.array([1 / self.n_aspects[place] for place, _ in misses]) / len(self.papers)
        places, stands_for = draw_in_proportion(losses, n, generator)
        audited = [
            AuditedMiss(place=misses[place][0], stands_for=weight, excused=float(misses[place][1]))
            for place, weight in zip(places, stands_for.tolist(), strict=True)
        ]
        return audited, len(audited) == len(misses)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_runs", type=int, help="simulations a world")
    n_runs = parser.parse_args().n_runs
    columns = ("papers", "not its fault, %", "alike", "held, %", "width", "share held, %")
    rows = [
        _row(World(n_papers=n_papers, excused=excused, likeness=likeness), n_runs)
        for n_papers, excused, likeness in product(N_PAPERS, EXCUSED, LIKENESS)
        if excused or not likeness
    ]
    print(as_markdown(Table(columns=columns, rows=rows)))


def _row(world: World, n_runs: int) -> list[Cell]:
    truth = replace(world, n_papers=40_000).draw(np.random.default_rng(1_000_000))
    truths = {"covered": truth.covered, "excused": world.excused}
    held, width = dict.fromkeys(truths, 0), 0.0
    for seed in range(n_runs):
        generator = np.random.default_rng(seed)
        papers = world.draw(generator)
        audited, all_audited = papers.audit(N_AUDITED, generator)
        resampling = Resampling(seed=seed, n_draws=N_DRAWS)
        found = corrected_score(papers.run, audited, all_audited=all_audited, resampling=resampling)
        figures: list[tuple[str, Estimate]] = [("excused", found.excused), ("covered", found.covered)]
        for name, estimate in figures:
            assert estimate.low is not None, "there are several papers"
            assert estimate.high is not None, "as above"
            held[name] += estimate.low <= truths[name] <= estimate.high
            width += (estimate.high - estimate.low) * (name == "covered")
    shares = {name: round(100 * n / n_runs, 1) for name, n in held.items()}
    return [
        *(world.n_papers, round(100 * world.excused), world.likeness, shares["covered"], 100 * width / n_runs),
        shares["excused"],
    ]


if __name__ == "__main__":
    main()
