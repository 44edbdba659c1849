"""From the votes of windows to the sources of an aspect: positive if any window says so."""

from collections.abc import Sequence

from evidencebench.construction.draft import JudgingRound
from evidencebench.construction.steps.windows import NOT_ASKED, UNREAD, masks_in, voted_sentences


def window_votes(
    rounds: Sequence[JudgingRound], aspect: int, windows: Sequence[range], digits: int
) -> list[frozenset[int] | None]:
    """Return, for each window, the sentences that it says are sources of an aspect; None where nothing was read.

    Rounds that do not decide vote by majority, sentence by sentence, a tie being a no; a later round that ``decides``
    stands in their place where it was read. A window that was never asked says none.
    """
    read_rounds = [(one.decides, list(masks_in(one.votes[aspect], digits))) for one in rounds]
    return [
        _vote_of(window, [(decides, masks[place]) for decides, masks in read_rounds])
        for place, window in enumerate(windows)
    ]


def _vote_of(window: range, masks: Sequence[tuple[bool, str]]) -> frozenset[int] | None:
    asked = [(decides, mask) for decides, mask in masks if not mask.startswith(NOT_ASKED)]
    if not asked:
        return frozenset()
    read = [(decides, mask) for decides, mask in asked if not mask.startswith(UNREAD)]
    if not read:
        return None
    deciding = [mask for decides, mask in read if decides][-1:]
    voting = deciding or [mask for _, mask in read]
    said = [index for mask in voting for index in voted_sentences(window, mask)]
    return frozenset(index for index in set(said) if 2 * said.count(index) > len(voting))


def sources_of_votes(votes: Sequence[frozenset[int] | None]) -> tuple[int, ...]:
    """Return the sentences that any window says are sources, in paper order."""
    return tuple(sorted(frozenset[int]().union(*(vote for vote in votes if vote is not None))))


def unjudged(votes: Sequence[frozenset[int] | None], windows: Sequence[range]) -> list[int]:
    """Return the sentences of which no window could be read."""
    read = {index for vote, window in zip(votes, windows, strict=True) if vote is not None for index in window}
    return [index for window in windows for index in window if index not in read and index >= window.start]


def doubtful(votes: Sequence[frozenset[int] | None], windows: Sequence[range]) -> list[int]:
    """Return the places of the windows that disagree with another window on a sentence, or were not read.

    >>> doubtful([frozenset({7}), frozenset(), frozenset()], [range(0, 10), range(5, 12), range(10, 12)])
    [0, 1]
    """
    doubted = {place for place, vote in enumerate(votes) if vote is None}
    for place, vote in enumerate(votes):
        for other in range(place + 1, len(votes)):
            shared = set(windows[place]) & set(windows[other])
            if not shared:
                break
            mine, theirs = vote, votes[other]
            if mine is not None and theirs is not None and (mine ^ theirs) & shared:
                doubted |= {place, other}
    return sorted(doubted)
