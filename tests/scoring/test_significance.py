"""How sure a mean is: laws of resampling, scipy as the second opinion, and the published runs."""

import json
import math
from collections.abc import Callable, Sequence
from itertools import chain, combinations
from pathlib import Path
from statistics import stdev

import numpy as np
import pytest
import scipy
from hypothesis import assume, given
from hypothesis import strategies as st

from doors import (
    DEFAULT_RESAMPLING,
    AdjustedP,
    Estimate,
    Floats,
    SignFlips,
    UndefinedScoreError,
    adjust,
    bootstrap,
    bootstrap_pairs,
    by_cluster,
    can_be_significant,
    enough_draws,
    holm,
    minimum_detectable_difference,
    paired_test,
    ranges_from,
    sign_flips,
)
from evidencebench import Resampling
from kit.examples import examples

# Eighths add up without rounding.
eighths = st.integers(-8, 8).map(lambda n: n / 8)
p_value_lists = st.lists(st.floats(0, 1), max_size=6)


def new_generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def one_each(values: Sequence[float] | Floats) -> list[str]:
    """Give every instance a cluster of its own."""
    return [f"paper {n}" for n in range(len(values))]


def flipped(
    differences: Sequence[float] | Floats, clusters: Sequence[str], resampling: Resampling = DEFAULT_RESAMPLING
) -> tuple[float, bool]:
    sums = by_cluster(np.column_stack([differences, np.zeros(len(differences))]), clusters)[0]
    (found,) = sign_flips(sums, [(0, 1)], resampling, resampling.n_draws)
    return found.p_value, found.exact


def rank_ranges(
    scores: dict[str, Floats], clusters: Sequence[str], resampling: Resampling = DEFAULT_RESAMPLING
) -> dict[str, tuple[int, int]]:
    means = {name: float(column.mean()) for name, column in scores.items()}
    pairs, sums = list(combinations(scores, 2)), by_cluster(np.column_stack(list(scores.values())), clusters)[0]
    places = list(combinations(range(len(scores)), 2))
    adjusted = adjust(sign_flips(sums, places, resampling, max(resampling.n_draws, enough_draws(len(places)))))
    return ranges_from(means, {pair: 1 if p is None else p.value for pair, p in zip(pairs, adjusted, strict=True)})


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.interval is not None
    return estimate.interval


def width(estimate: Estimate) -> float:
    low, high = ends(estimate)
    return high - low


def test_one_paper_has_a_mean_and_no_interval() -> None:
    estimate = bootstrap([1.0, 0.5], ["p", "p"])
    assert (estimate.mean, estimate.low, estimate.high) == (0.75, None, None)
    test = paired_test([1.0, 0.5], [0.0, 0.0], ["p", "p"])
    assert (test.difference.mean, test.difference.interval, test.p_value) == (0.75, None, 1.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 9))
def test_the_interval_holds_the_mean_and_the_same_seed_gives_the_same_digits(values: list[float], seed: int) -> None:
    clusters = [f"paper {n // 2}" for n in range(len(values))]
    estimate = bootstrap(values, clusters, Resampling(seed=seed, n_draws=2000))
    assert estimate == bootstrap(values, clusters, Resampling(seed=seed, n_draws=2000))
    assert estimate.mean == pytest.approx(float(np.mean(values)))
    if estimate.n_clusters == 1:
        assert estimate.interval is None  # which another draw could only repeat
    else:
        low, high = ends(estimate)
        assert low - 1e-12 <= estimate.mean <= high + 1e-12
    assert (estimate.n, estimate.n_clusters) == (len(values), math.ceil(len(values) / 2))


def test_a_95_percent_interval_holds_the_truth_about_95_times_in_100() -> None:
    truth, generator = 0.3, new_generator()
    n_held = 0
    for n in range(400):
        values = (generator.random(60) < truth).astype(float)
        estimate = bootstrap(values, one_each(values), Resampling(seed=n, n_draws=400))
        low, high = ends(estimate)
        n_held += low <= truth <= high
    assert 0.92 <= n_held / 400 <= 0.98


def test_the_interval_is_the_percentile_interval_of_scipy() -> None:
    values = new_generator(1).random(50)
    ours = bootstrap(values, one_each(values), Resampling(seed=2))
    theirs = scipy.stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=new_generator(3))
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.005)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.005)


@given(st.lists(eighths, min_size=1, max_size=20), st.integers(2, 4))
def test_repeating_the_instances_of_each_cluster_adds_no_certainty(values: list[float], times: int) -> None:
    clusters = one_each(values)
    once = paired_test(values, [0.0] * len(values), clusters, Resampling(n_draws=300))
    again = paired_test(values * times, [0.0] * len(values) * times, clusters * times, Resampling(n_draws=300))
    for field in ("mean", "interval", "n_clusters"):
        assert getattr(again.difference, field) == pytest.approx(getattr(once.difference, field), abs=1e-12)
    assert again.p_value == once.p_value
    assert again.minimum_detectable == pytest.approx(once.minimum_detectable)
    assert again.n_better == once.n_better * times


def test_larger_papers_weigh_more_worked_by_hand() -> None:
    # Two papers are drawn: p twice gives 1, both give 3/4, q twice gives 0, with chances 1/4, 1/2 and 1/4.
    estimate = bootstrap([1.0, 1.0, 1.0, 0.0], list("pppq"), Resampling(level=0.4))
    assert (estimate.mean, estimate.low, estimate.high) == (0.75, 0.75, 0.75)
    assert bootstrap([1.0, 1.0, 1.0, 0.0], list("pppq"), Resampling(level=0.6)).high == 1.0


@given(st.lists(eighths, min_size=2, max_size=8))
def test_few_sign_flips_are_enumerated_and_equal_scipys_exact_test(differences: list[float]) -> None:
    theirs = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=1 << 8, vectorized=True
    )
    p_value, exact = flipped(differences, one_each(differences))
    assert exact
    assert p_value == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("shift", [0.0, 0.03, 0.1])
def test_many_sign_flips_agree_with_scipys_randomisation_within_simulation_error(shift: float) -> None:
    differences = new_generator(4).normal(shift, 0.3, size=80)
    ours, exact = flipped(differences, one_each(differences), Resampling(seed=5))
    theirs = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=10_000, vectorized=True, rng=new_generator(6)
    )
    assert not exact
    assert ours == pytest.approx(theirs.pvalue, abs=0.02)


@given(st.lists(st.tuples(eighths, st.sampled_from("pqr")), max_size=16))
def test_signs_are_flipped_by_cluster_and_swapping_the_systems_changes_nothing(drawn: list[tuple[float, str]]) -> None:
    differences, clusters = [value for value, _ in drawn], [name for _, name in drawn]
    p_value, exact = flipped(differences, clusters)
    sums = [sum(value for value, name in drawn if name == cluster) for cluster in "pqr"]
    assert exact
    assert 0 < p_value <= 1
    assert p_value == flipped(sums, list("pqr"))[0]
    assert p_value == flipped([-value for value in differences], clusters)[0]


def test_a_paired_test_counts_wins_ties_and_losses() -> None:
    test = paired_test([0.5, 0.1 + 0.2, 1.0, 0.0], [0.25, 0.3, 0.5, 0.5], list("pqrs"))
    assert (test.n_better, test.n_equal, test.n_worse) == (2, 1, 1)
    assert test.difference.mean == pytest.approx(0.0625)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: paired_test([1.0, 0.0], [1.0], ["p", "q"]), ValueError, r"2\D+1"),
        (lambda: bootstrap([1.0, 0.0], ["p"]), ValueError, "cluster.* 2 .* 1"),
        (lambda: bootstrap([], []), UndefinedScoreError, "no instance"),
        (lambda: paired_test([], [], []), UndefinedScoreError, "no instance"),
    ],
)
def test_values_that_do_not_fit_or_are_none_are_refused(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


@given(p_value_lists)
def test_holm_is_the_closure_of_bonferroni(p_values: list[float]) -> None:
    """A hypothesis is rejected when Bonferroni rejects every set of hypotheses that it belongs to."""
    positions = range(len(p_values))
    sets = list(chain.from_iterable(combinations(positions, size) for size in range(1, len(p_values) + 1)))
    by_definition = [
        max(min(1.0, len(chosen) * min(p_values[n] for n in chosen)) for chosen in sets if position in chosen)
        for position in positions
    ]
    assert holm(p_values) == pytest.approx(by_definition)


def drawn(p_value: float, n_draws: int = 9999) -> SignFlips:
    return SignFlips(p_value=p_value, exact=False, least=1 / (1 + n_draws))


def exact(p_value: float, n_papers: int) -> SignFlips:
    return SignFlips(p_value=p_value, exact=True, least=min(1.0, 2.0 ** (1 - n_papers)))


def test_tests_that_cannot_be_significant_leave_a_p_value_as_it_is_and_six_papers_can() -> None:
    impossible = [exact(1.0, 0)] * 5 + [exact(2.0 ** (1 - n), n) for n in range(1, 6)]
    assert adjust([*impossible[:4], drawn(0.044), *impossible[4:]]) == [
        *[None] * 4,
        AdjustedP(value=0.044),
        *[None] * 6,
    ]
    tests = [drawn(0.02), exact(2 / 2**6, 6), exact(2 / 2**5, 5)]
    assert adjust(tests) == [AdjustedP(value=0.04), AdjustedP(value=0.04), None]


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 3)), max_size=8))
def test_what_is_left_out_could_not_have_been_significant_and_the_rest_is_holms(tests: list[tuple[int, int]]) -> None:
    made = [exact(min(1.0, (1 + more) * 2.0 ** (1 - n)), n) for n, more in tests]
    able = [one for one in made if one.least < 0.05]
    assert [p.value for p in adjust(made) if p is not None] == holm([test.p_value for test in able])
    assert all(one.p_value >= 0.05 for one, found in zip(made, adjust(made), strict=True) if found is None)


def test_a_p_value_is_a_bound_where_no_drawn_flip_was_as_extreme_and_holm_hands_that_on() -> None:
    found = adjust([drawn(1 / 10_000), drawn(1 / 10_000), drawn(0.00011), drawn(0.0003), exact(2**-9, 10)])
    assert [one is not None and one.is_bound for one in found] == [True, True, True, False, False]
    assert found[0] == found[1] == found[2] == AdjustedP(value=5 / 10_000, is_bound=True)


def test_all_patterns_of_signs_give_an_exact_p_value_and_no_bound() -> None:
    test = paired_test([1.0] * 10, [0.0] * 10, one_each([1.0] * 10))
    assert (test.p_value, test.exact, test.least, test.is_bound) == (2 / 1024, True, 2 / 1024, False)
    many = paired_test([1.0] * 20, [0.0] * 20, one_each([1.0] * 20), Resampling(n_draws=99))
    assert (many.p_value, many.exact, many.least, many.is_bound) == (0.01, False, 0.01, True)


def test_whether_any_of_many_tests_can_be_significant_depends_on_papers_and_on_flips() -> None:
    for n_papers, possible in ((9, False), (10, True)):
        tests = [exact(1.0, n_papers)] * 21 + [exact(1.0, 0)] * 9
        assert any(map(can_be_significant, tests, adjust(tests))) == possible, n_papers
    tests = [drawn(1.0, enough_draws(300))] * 300
    assert all(map(can_be_significant, tests, adjust(tests)))


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 3), st.integers(0, 4)), max_size=8))
def test_tests_of_the_same_answers_count_once(tests: list[tuple[int, int, int]]) -> None:
    of_key = {key: exact(min(1.0, (1 + more) * 2.0 ** (1 - n)), n) for n, more, key in tests}
    once = dict(zip(of_key, adjust(list(of_key.values())), strict=True))
    keys = [key for *_, key in tests]
    assert adjust([of_key[key] for key in keys], keys) == [once[key] for key in keys]


@given(st.integers(1, 30), st.integers(0, 5))
def test_intervals_of_differences_are_those_of_the_differences(n_papers: int, seed: int) -> None:
    values = new_generator(seed).integers(0, 5, (2 * n_papers, 3)) / 4
    clusters, few = [f"paper {n // 2}" for n in range(2 * n_papers)], Resampling(n_draws=200)
    means, (found, other) = bootstrap_pairs(values, [(0, 1), (2, 0)], clusters, few)
    assert means == [bootstrap(column, clusters, few) for column in values.T]
    for one, (a, b) in ((found, (0, 1)), (other, (2, 0))):
        alone = bootstrap(values[:, a] - values[:, b], clusters, few)
        assert (one.mean, one.n, one.n_clusters) == (alone.mean, alone.n, alone.n_clusters)
        assert one.interval == (None if alone.interval is None else pytest.approx(alone.interval, abs=1e-12))


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Floats]:
    """Draw the scores of up to four systems on the same instances, few enough for exact tests."""
    n_instances = draw(st.integers(1, 12))
    row = st.lists(st.integers(0, 8).map(lambda n: n / 8), min_size=n_instances, max_size=n_instances)
    return {name: np.array(draw(row)) for name in "wxyz"[: draw(st.integers(1, 4))]}


@examples(50)
@given(st.data(), tables())
def test_ranks_lie_within_the_table_and_do_not_depend_on_its_order(
    data: st.DataObject, table: dict[str, Floats]
) -> None:
    clusters = one_each(next(iter(table.values())))
    ranges = rank_ranges(table, clusters)
    assert all(1 <= best <= worst <= len(table) for best, worst in ranges.values())
    names = data.draw(st.permutations(list(table)))
    assert ranges == rank_ranges({name: table[name] for name in names}, clusters)
    by_mean = sorted(table, key=lambda name: -table[name].mean())
    assert all(ranges[name][0] <= place <= ranges[name][1] for place, name in enumerate(by_mean, 1))


@given(st.lists(eighths, min_size=2, max_size=20))
def test_the_minimum_detectable_difference_is_2_8_standard_errors(differences: list[float]) -> None:
    assume(len(set(differences)) > 1)
    by_hand = (1.959964 + 0.841621) * stdev(differences) / math.sqrt(len(differences))
    found = minimum_detectable_difference(differences, one_each(differences))
    assert found == pytest.approx(by_hand, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize(("differences", "clusters"), [([0.5, 0.1], ["p", "p"]), ([0.2, 0.2], ["p", "q"]), ([], [])])
def test_differences_without_spread_detect_nothing(differences: list[float], clusters: list[str]) -> None:
    assert minimum_detectable_difference(differences, clusters) is None


def test_many_systems_far_apart_are_still_told_apart() -> None:
    scores = {f"s{n}": np.full(20, n / 40) for n in range(36)}
    ranges = rank_ranges(scores, [f"p{n}" for n in range(20)], Resampling(n_draws=100))
    assert ranges["s35"] == (1, 1)
    assert ranges["s0"] == (36, 36)


Official = dict[tuple[str, str], Floats]


@pytest.fixture(scope="session")
def official(data_file: Callable[[str], Path]) -> Official:
    """Give (system, strategy) -> the published score of each instance at er_at_optimal."""
    runs = json.loads(data_file("official_runs.json").read_bytes())["runs"]
    return {(run["system"], run["strategy"]): np.array(run["scores"]) for run in runs if run["task"] == "er_at_optimal"}


@pytest.mark.data
def test_gpt_4o_by_sections_is_2_8_points_above_base_and_barely_more_than_chance(official: Official) -> None:
    sections = official["gpt-4o-2024-05-13", "section_by_section"]
    base = official["gpt-4o-2024-05-13", "base"]
    test = paired_test(sections, base, one_each(base))
    assert 100 * test.difference.mean == pytest.approx(2.8, abs=0.05)
    low, high = ends(test.difference)
    assert (100 * low, 100 * high) == pytest.approx((-0.03, 5.6), abs=0.15)
    assert 0.03 < test.p_value < 0.07


@pytest.mark.data
def test_the_best_of_12_language_model_runs_on_each_instance_is_71_1(official: Official) -> None:
    families = ("claude", "gemini", "gpt", "Llama")  # StripedHyena would be the thirteenth
    runs = [scores for (system, _), scores in official.items() if system.startswith(families)]
    assert len(runs) == 12
    assert round(100 * float(np.max(runs, axis=0).mean()), 1) == 71.1
    assert round(100 * max(float(run.mean()) for run in runs), 1) == 51.4


@pytest.mark.data
def test_the_intervals_of_published_runs_are_as_wide_as_their_standard_errors(official: Official) -> None:
    for scores in official.values():
        estimate = bootstrap(scores, one_each(scores), Resampling(n_draws=2000))
        assert 1.0 < 100 * width(estimate) / (2 * 1.96) < 2.3
