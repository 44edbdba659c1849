"""The noise of labels is estimated with intervals that hold the truth, and what cannot be known is said."""

import json
from dataclasses import replace

import numpy as np
import pytest

from doors import Judging, JudgingRound, LabelNoise, MarkedAspect, WindowVote, estimate_noise
from evidencebench import Draft
from kit.examples import IS_THOROUGH
from measure_noise import Model, World, draw

ASKED_AGAIN = World(name="asked again")
INVENTING = World(name="1 % invented", first=Model(misses=0.1, invents=0.01), again=0)
ALWAYS_ALIKE = World(name="errors are made every time", first=Model(always=0.8))


def noise_of(world: World, seed: int = 0) -> tuple[LabelNoise, tuple[float, float]]:
    return draw(world, np.random.default_rng(seed))


def n_held(world: World, n_seeds: int) -> int:
    """Return how many intervals, of precision and recall, hold the truth."""
    held = 0
    for seed in range(n_seeds):
        noise, true = noise_of(world, seed)
        assert noise.precision is not None
        assert noise.recall is not None
        held += sum(
            share.low <= part <= share.high for share, part in zip((noise.precision, noise.recall), true, strict=True)
        )
    return held


def judged(votes: list[list[tuple[int, ...] | None]], sources: tuple[int, ...], *, n: int = 15) -> Draft:
    """Return a draft with one aspect; ``votes`` are round by round those of the windows at 0, 5 and 10."""
    rounds = tuple(
        JudgingRound(model="a", prompt="", votes=(tuple(WindowVote(5 * k, said) for k, said in enumerate(one)),))
        for one in votes
    )
    judging = Judging(paper_sha256="", n_sentences=n, window=10, overlap=5, rounds=rounds, sources=(sources,))
    return Draft(id="d", review_id="r", paper_id="p", aspects=("A.",), judging=judging)


@pytest.mark.parametrize(
    "world",
    [
        ASKED_AGAIN,
        INVENTING,
        World(name="half always", first=Model(always=0.5)),
        World(name="a line off", first=Model(shifted=0.1)),
        replace(ALWAYS_ALIKE, name="second model", second=Model(misses=0.1, invents=0.003)),
        replace(ALWAYS_ALIKE, name="people", n_papers=60, n_marked=50),
    ],
    ids=lambda world: world.name,
)
def test_intervals_hold_the_truth(world: World) -> None:
    n_seeds = 6 if IS_THOROUGH else 3
    assert n_held(world, n_seeds) >= 10 / 12 * 2 * n_seeds


def test_asking_doubtful_sentences_again_narrows_the_interval() -> None:
    (once, _), (again, _) = noise_of(INVENTING), noise_of(replace(INVENTING, again=3))
    assert once.precision is not None
    assert again.precision is not None
    assert again.precision.high - again.precision.low < 0.8 * (once.precision.high - once.precision.low)
    assert "again would narrow" in once.text
    assert "again would narrow" not in again.text
    assert again.precision_if_half_stay is not None
    assert again.precision_if_errors_differ is not None
    assert (
        again.precision.low <= again.precision_if_half_stay < again.precision_if_errors_differ <= again.precision.high
    )
    assert f"{100 * again.precision_if_half_stay:.0f} % if half are made every time" in again.text


def test_one_percent_invented_is_warned_of() -> None:
    noise, _ = noise_of(INVENTING)
    assert noise.precision_if_errors_differ is not None
    assert noise.precision_if_errors_differ < 0.8
    assert "% of the labels are wrong, and more if some errors are made every time" in noise.warning


def test_errors_made_every_time_are_seen_by_a_second_model_alone_and_the_text_says_so() -> None:
    alone, true = noise_of(ALWAYS_ALIKE)
    assert alone.precision is not None
    assert true[0] < alone.precision.low
    assert "if at most half of its errors are made every time" in alone.text
    both, _ = noise_of(replace(ALWAYS_ALIKE, second=Model(misses=0.1, invents=0.003)))
    assert "errors that both make are not seen" in both.text


def test_of_a_model_that_never_contradicts_itself_nothing_is_said() -> None:
    noise = estimate_noise([judged([[(3, 7), (7, 12), (12,)]], (3, 7, 12))] * 5)
    assert noise.precision is None
    assert "says the same each time" in noise.text
    assert noise.precision_if_errors_differ == pytest.approx(1, abs=0.02)


def test_a_model_that_takes_all_sentences_for_sources_is_warned_of() -> None:
    everything = tuple(range(15))
    noise = estimate_noise([judged([[everything[:10], everything[5:], everything[10:]]], everything)] * 5)
    assert noise.precision is None
    assert "the labels say nothing" in noise.warning


def test_unread_windows_and_unjudged_sentences_are_counted() -> None:
    noise = estimate_noise([judged([[None, (7,), (12,)]], (7, 12))])
    assert (noise.n_windows, noise.n_unread, noise.n_unjudged) == (3, 1, 5)
    assert "1 of 3 windows could not be read" in noise.text
    assert "could not be read" in noise.warning
    nothing = estimate_noise([judged([[None, None, None]], ())])
    assert nothing.n_unjudged == 15
    assert "there are none" in nothing.text


def test_windows_without_overlap_say_nothing() -> None:
    noise = estimate_noise([judged([[(3,)]], (3,), n=10)])
    assert (noise.precision, noise.recall, noise.precision_if_errors_differ) == (None, None, None)
    assert "no sentence was judged more than once" in noise.text


def test_votes_and_labels_outside_of_the_paper_are_passed_over() -> None:
    draft = judged([[(3, 99, -4), (7,), None], [(-1,), (1000,)], []], (3, 400, -2))
    noise = estimate_noise([draft, Draft(id="e", review_id="r", paper_id="q")])
    assert noise.n_labels == 1
    assert json.loads(json.dumps(noise.fields()))["n_labels"] == 1


def test_no_draft_has_no_noise() -> None:
    assert estimate_noise([]).text == "How many labels are right is not known: there are none."


def marks(n_right: int, n_papers: int = 50) -> list[MarkedAspect]:
    """Return an aspect of one label in each of so many papers, so many of which are right."""
    right, wrong = frozenset({1}), frozenset({2})
    return [MarkedAspect(f"p{k}", 3, right, right if k < n_right else wrong, 9) for k in range(n_papers)]


def test_people_decide_and_give_a_nearly_exact_interval() -> None:
    noise = estimate_noise([judged([[(3, 7), (7, 12), (12,)]], (3, 7, 12))], marks(45))
    assert noise.precision is not None
    assert noise.precision.mean == pytest.approx(0.9)
    # Clopper and Pearson: 0.782 to 0.967; a little wider, since papers are few.
    assert 0.76 < noise.precision.low < 0.783
    assert 0.966 < noise.precision.high < 0.98
    assert "Estimated from people's answers on 50 aspects" in noise.text


def test_people_who_find_no_error_leave_room_for_one() -> None:
    noise = estimate_noise([], marks(50))
    assert noise.precision is not None
    assert noise.precision.high == 1
    assert 0.9 < noise.precision.low < 0.93  # by the rule of three: 1 - 3.7 / 50


def test_aspects_of_papers_with_many_weigh_more() -> None:
    few = MarkedAspect("p0", 1, frozenset({1}), frozenset({1}), 9)
    many = MarkedAspect("p1", 9, frozenset({1}), frozenset({2}), 9)
    noise = estimate_noise([], [few, many])
    assert noise.precision is not None
    assert noise.precision.mean == pytest.approx(0.1)
