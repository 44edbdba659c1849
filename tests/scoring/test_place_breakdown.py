"""Recall by where the evidence lies, and slopes with the length held."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import SHARES, PlaceBreakdown, share_group, slopes
from evidencebench import Instance, Ranking, Resampling, evaluate, load_sample, make_system, place_breakdown
from kit.made_instances import dataset_of, made

SAMPLE = load_sample()
FEW = Resampling(n_draws=200)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_share_is_in_the_group_that_its_name_says(counts: tuple[int, int]) -> None:
    share = Fraction(*counts)
    fits = [share > Fraction(4, 5), *(share >= Fraction(n, 5) for n in (3, 2, 1)), True]
    names = ("over 80 %", "60 to 80 %", "40 to 60 %", "20 to 40 %", "under 20 %")
    assert SHARES[share_group(*counts)] == names[fits.index(True)]


@given(st.integers(0, 2**32 - 1), st.integers(1, 2), st.integers(5, 30))
def test_slopes_are_those_of_least_squares(seed: int, n_predictors: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    predictors, outcomes = generator.random((n, n_predictors)), generator.random(n)
    clusters = [str(number) for number in generator.integers(0, n, n)]
    found = slopes(predictors, outcomes, clusters, FEW)
    if found is None:  # hardly any cluster, so that most draws define no slope
        assert len(set(clusters)) < n
        return
    expected = np.linalg.lstsq(np.column_stack([np.ones(n), predictors]), outcomes, rcond=None)[0][1:]
    assert [one.mean for one in found] == pytest.approx(list(expected), abs=1e-8)
    assert all(one.low is not None and one.high is not None and one.low <= one.high for one in found)
    assert {(one.n, one.n_clusters) for one in found} == {(n, len(set(clusters)))}


def test_a_slope_is_not_defined_where_a_predictor_does_not_vary_or_follows_from_another() -> None:
    outcomes, clusters = np.arange(6.0), list("abcdef")
    assert slopes(np.ones((6, 1)), outcomes, clusters, FEW) is None
    line = np.arange(6.0)
    assert slopes(np.column_stack([line, 2 * line + 1]), outcomes, clusters, FEW) is None
    assert slopes(line[:2, None], outcomes[:2], clusters[:2], FEW) is None
    assert slopes(line[:, None], outcomes, ["one"] * 6, FEW) is not None  # every draw is all the data


def paper(name: str, length: int, sources: list[int]) -> Instance:
    """Give a paper of this length, with one aspect for each source."""
    return made(name, {str(number): (index,) for number, index in enumerate(sources)}, (2,) * length)


def breakdown_of(folder: Path, instances: list[Instance], answers: dict[str, Ranking]) -> PlaceBreakdown:
    dataset = dataset_of(folder, *instances)
    scores = evaluate({"it": answers}, dataset, "er_at_20")["it"]["er_at_20"]
    return place_breakdown(scores, dataset, FEW)


def test_groups_worked_by_hand(tmp_path: Path) -> None:
    instances = [
        paper("first", 40, [0, 9]),  # both at the ends
        paper("last", 60, [10, 29, 50, 59]),  # the first two in the middle
        paper("middle", 80, [10, 69]),
        paper("short", 19, [9, 10]),  # all of it is an end
        made("none", {"a": ()}),
    ]
    answers = {
        "first": Ranking(sentences=(0,)),
        "last": Ranking(sentences=(50, 59, 29)),
        "middle": Ranking(sentences=()),
        "short": Ranking(sentences=(9, 10)),
    }
    found = breakdown_of(tmp_path, instances, answers)
    rows = [(group.share, group.recall.n, group.recall.mean, group.n_sentences) for group in found.groups]
    assert rows == [("over 80 %", 2, 0.75, 29.5), ("40 to 60 %", 1, 0.75, 60), ("under 20 %", 1, 0, 80)]
    assert [(third.shortest, third.longest) for third in found.lengths] == [(19, 40), (60, 60), (80, 80)]


def test_what_only_the_length_does_is_nothing_once_the_length_is_held(tmp_path: Path) -> None:
    """Short papers, whose ends are much of them, are answered whole; each doubling of the length costs a quarter."""
    instances, answers = [], {}
    for n_middle in range(5):
        for doublings in range(4):
            name, length = f"p{n_middle}_{doublings}", 40 * 2**doublings
            n_moved = min(4, n_middle + doublings) if n_middle else doublings
            sources = [*range(4 - n_moved), *range(15, 15 + n_moved)]
            instances.append(paper(name, length, sources))
            answers[name] = Ranking(sentences=tuple(sources[: 4 - doublings]))
    found = breakdown_of(tmp_path, instances, answers)
    assert found.slope is not None
    assert found.slope_at_length is not None
    assert found.per_doubling is not None
    assert found.slope.mean > 0.4
    assert found.slope_at_length.mean == pytest.approx(0, abs=1e-9)
    assert found.per_doubling.mean == pytest.approx(-0.25)
    assert [(third.shortest, third.longest) for third in found.lengths] == [(40, 80), (160, 160), (320, 320)]
    slopes = [third.slope.mean for third in found.lengths if third.slope is not None]
    assert slopes == pytest.approx([2.5 / 23, 0, 0], abs=1e-12)


def test_the_oracle_finds_the_same_wherever_it_lies() -> None:
    scores = evaluate({"oracle": make_system("oracle")}, SAMPLE, "er_at_optimal")["oracle"]["er_at_optimal"]
    found = place_breakdown(scores, SAMPLE, FEW)
    assert {group.recall.mean for group in found.groups} == {1}
    assert found.slope is not None
    assert found.slope.mean == pytest.approx(0, abs=1e-12)
