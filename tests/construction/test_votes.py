"""Windows and votes, against what each sentence of each window says when it is looked up by itself."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from evidencebench.construction.draft import Judging, JudgingRound, WindowVote
from evidencebench.construction.judge import (
    WindowAgreement,
    doubtful,
    sources_of_votes,
    unjudged,
    window_votes,
    windows_of_paper,
)
from examples import examples

Vote = frozenset[int] | str
"""The sentences that a window says, or ``.`` where it was not asked, or ``?`` where nothing could be read."""


@st.composite
def papers(draw: st.DrawFn) -> tuple[int, int, int]:
    """Draw how many sentences a paper has, the window and the overlap."""
    window = draw(st.integers(1, 13))
    return draw(st.integers(1, 45)), window, draw(st.integers(0, window - 1))


def votes_of(window: range) -> st.SearchStrategy[Vote]:
    """Draw what a window says."""
    return st.one_of(st.just("."), st.just("?"), *[st.frozensets(st.sampled_from(window))] * 3)


@st.composite
def votings(draw: st.DrawFn) -> tuple[list[range], list[tuple[bool, list[Vote]]]]:
    """Draw windows and rounds: whether each decides, and its votes of one aspect."""
    n, window, overlap = draw(papers())
    windows = windows_of_paper(n, window, overlap)
    rounds = [
        (place > 0 and draw(st.booleans()), [draw(votes_of(one)) for one in windows])
        for place in range(draw(st.integers(1, 4)))
    ]
    return windows, rounds


def as_round(decides: bool, votes: list[Vote], windows: list[range]) -> JudgingRound:  # noqa: FBT001
    of_windows = (
        WindowVote(window.start, None if isinstance(vote, str) else tuple(sorted(vote)))
        for vote, window in zip(votes, windows, strict=True)
        if vote != "."
    )
    return JudgingRound(model="m", prompt="", votes=(tuple(of_windows),), decides=decides)


@given(papers())
@examples(200)
def test_windows_hold_every_sentence_and_all_but_the_first_and_last_as_often_as_they_overlap(
    paper: tuple[int, int, int],
) -> None:
    n, window, overlap = paper
    windows = windows_of_paper(n, window, overlap)
    times = Counter(index for one in windows for index in one)
    assert sorted(times) == list(range(n))
    assert all(len(one) <= window for one in windows)
    assert [one.start for one in windows] == list(range(0, n, window - overlap))
    if window == 2 * overlap:  # as published: all but the first sentences are judged twice
        assert all(times[index] == (1 if index < overlap else 2) for index in range(n))


@given(votings())
@examples(300)
def test_sources_are_what_the_rule_says_of_each_sentence_by_itself(
    voting: tuple[list[range], list[tuple[bool, list[Vote]]]],
) -> None:
    windows, rounds = voting
    votes = window_votes([as_round(*one, windows) for one in rounds], 0, windows)
    n = windows[-1].stop
    sources, unread = set[int](), set[int]()
    for index in range(n):
        verdicts = [verdict(index, place, rounds) for place, window in enumerate(windows) if index in window]
        if True in verdicts:
            sources.add(index)
        if all(one is None for one in verdicts):
            unread.add(index)
    assert sources_of_votes(votes) == tuple(sorted(sources))
    assert unjudged(votes, windows) == unread


def verdict(index: int, place: int, rounds: list[tuple[bool, list[Vote]]]) -> bool | None:
    """Return whether a window says that a sentence is a source; None where it was asked and never read."""
    said = [(decides, votes[place]) for decides, votes in rounds]
    read = [(decides, vote) for decides, vote in said if isinstance(vote, frozenset)]
    if not read:
        return None if any(vote == "?" for _, vote in said) else False
    decided = [vote for decides, vote in read if decides]
    if decided:
        return index in decided[-1]
    yes = sum(index in vote for _, vote in read)
    return yes > len(read) - yes


@given(votings())
@examples(300)
def test_windows_are_doubtful_that_differ_on_a_sentence_of_both_or_were_not_read(
    voting: tuple[list[range], list[tuple[bool, list[Vote]]]],
) -> None:
    windows, rounds = voting
    votes = window_votes([as_round(*one, windows) for one in rounds], 0, windows)
    expected = {place for place, vote in enumerate(votes) if vote is None}
    for one, other in combinations(range(len(windows)), 2):
        mine, theirs = votes[one], votes[other]
        for index in set(windows[one]) & set(windows[other]):
            if mine is not None and theirs is not None and (index in mine) != (index in theirs):
                expected |= {one, other}
    assert doubtful(votes, windows) == sorted(expected)


@given(st.data())
@examples(300)
def test_agreement_of_windows_is_that_of_their_pairs_of_verdicts(data: st.DataObject) -> None:
    n, window, overlap = data.draw(papers())
    windows = windows_of_paper(n, window, overlap)
    said = [data.draw(votes_of(one)) for one in windows]
    judging = Judging(paper_sha256="", n_sentences=n, window=window, overlap=overlap, rounds=(), sources=())
    counted = WindowAgreement()
    counted.add(judging, as_round(False, said, windows))  # noqa: FBT003
    pairs = [
        (index in mine, index in theirs)
        for one, other in combinations(range(len(windows)), 2)
        for mine, theirs in [(said[one], said[other])]
        if isinstance(mine, frozenset) and isinstance(theirs, frozenset)
        for index in set(windows[one]) & set(windows[other])
    ]
    assert counted.share == (pytest.approx(sum(a == b for a, b in pairs) / len(pairs)) if pairs else None)
    both = [*pairs, *((b, a) for a, b in pairs)]  # neither window is the first
    if len({one for one, _ in both}) < 2:
        assert counted.kappa is None  # all or none are sources
    else:
        assert counted.kappa == pytest.approx(cohen_kappa_score(*zip(*both, strict=True)))
