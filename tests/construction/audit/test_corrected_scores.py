"""The corrected score of an audit: against the bootstrap, the exact interval, and worlds where the truth is known."""

import numpy as np
import pytest

from evidencebench.construction.audit import AuditedMiss, AuditedRun, corrected_score
from evidencebench.errors import UndefinedScoreError
from evidencebench.scoring.resampling import Resampling, bootstrap, proportion
from measure_audits import World

FEW = Resampling(n_draws=400)
WORLD = World(n_papers=60, excused=0.2, likeness=0.2)


def test_where_every_miss_is_audited_the_interval_is_the_bootstrap_of_the_true_scores() -> None:
    papers = WORLD.draw(np.random.default_rng(0))
    audited, all_audited = papers.audit(10_000, np.random.default_rng(1))
    found = corrected_score(papers.run, audited, all_audited=all_audited, resampling=Resampling(n_draws=50_000))
    covered = found.readings["covered"]
    expected = bootstrap((papers.n_covered + papers.n_excused) / papers.n_aspects, papers.run.clusters)
    assert all_audited
    assert covered.mean == pytest.approx(papers.covered) == pytest.approx(expected.mean)
    assert covered.interval == pytest.approx(expected.interval, abs=0.004)
    assert found.plain.mean == pytest.approx((papers.n_covered / papers.n_aspects).mean())
    assert found.plain.mean < found.readings["taken out"].mean < found.readings["covered"].mean
    assert found.readings["taken out"].mean == pytest.approx(papers.taken_out, abs=0.02)


@pytest.mark.parametrize("k", [0, 1, 10, 49, 50])
def test_where_each_paper_holds_one_miss_the_share_has_the_exact_interval(k: int) -> None:
    n_papers = 500
    nothing = np.zeros(n_papers)
    run = AuditedRun(
        recalls=nothing, losses=nothing + 1, n_aspects=nothing + 1, clusters=[str(n) for n in range(n_papers)]
    )
    audited = [AuditedMiss(place=place, stands_for=1 / 50, excused=float(place < k)) for place in range(50)]
    found = corrected_score(run, audited, all_audited=False, resampling=Resampling(n_draws=3_000))
    exact = proportion(k, 50)
    assert found.excused.mean == k / 50
    assert found.excused.interval == pytest.approx((exact.low, exact.high), abs=0.02)
    assert found.readings["covered"].interval == found.excused.interval  # nothing else is covered
    assert found.readings["taken out"].mean == 0  # of nothing covered


def test_no_excused_miss_leaves_the_score_as_it_is_but_not_the_upper_end() -> None:
    papers = World(n_papers=60, excused=0.0).draw(np.random.default_rng(0))
    audited, _ = papers.audit(50, np.random.default_rng(1))
    found = corrected_score(papers.run, audited, all_audited=False, resampling=FEW)
    for reading in found.readings.values():
        assert reading.mean == found.plain.mean
        assert reading.low == found.plain.low
        assert reading.high > found.plain.high  # type: ignore[operator]


def test_one_paper_has_no_interval_and_no_audited_miss_no_score() -> None:
    run = AuditedRun(
        recalls=np.array([0.5]), losses=np.array([0.5]), n_aspects=np.array([2.0]), clusters=["the only paper"]
    )
    found = corrected_score(run, [AuditedMiss(place=0, stands_for=0.5, excused=1.0)], all_audited=True)
    assert found.readings["covered"].mean == 1
    assert found.readings["covered"].interval is None
    with pytest.raises(UndefinedScoreError, match="none is audited"):
        corrected_score(run, [], all_audited=False)


@pytest.mark.parametrize("world", [World(n_papers=40, excused=0.2, likeness=0.3), World(n_papers=100, excused=0.03)])
def test_the_interval_holds_the_score_of_the_world(world: World) -> None:
    """A small look; `tools/measure_audits.py` has the table of docs/construction.md."""
    truth = World(n_papers=5_000, excused=world.excused, likeness=world.likeness).draw(np.random.default_rng(7)).covered
    held = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        papers = world.draw(generator)
        audited, all_audited = papers.audit(50, generator)
        found = corrected_score(papers.run, audited, all_audited=all_audited, resampling=FEW).readings["covered"]
        assert found.interval is not None
        held += found.interval[0] <= truth <= found.interval[1]
    assert held >= 51  # 95 % give fewer once in 300 times
