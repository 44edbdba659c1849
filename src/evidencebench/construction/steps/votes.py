"""From the votes of windows to the sources of an aspect: positive if any window says so."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from evidencebench.construction.draft import Draft, Judging, JudgingRound
from evidencebench.wording import counted

LEAST_KAPPA = 0.6
"""Below it, what two windows say of the same sentences has little in common, and the labels are not to be trusted."""

MOST_UNREAD = 0.1
"""The share of windows without a reply that can be read, above which something is wrong with the model."""

_LOOK = "it may guess, or number sentences otherwise than they are shown: read some of its replies, or take another"


def windows_of_paper(n_sentences: int, window: int, overlap: int) -> list[range]:
    """Return the sentences of each window; the last ones are shorter, so that nearly all sentences are in two.

    >>> windows_of_paper(12, 10, 5)
    [range(0, 10), range(5, 12), range(10, 12)]
    """
    return [range(start, min(start + window, n_sentences)) for start in range(0, n_sentences, window - overlap)]


def window_votes(rounds: Sequence[JudgingRound], aspect: int, windows: Sequence[range]) -> list[frozenset[int] | None]:
    """Return, for each window, the sentences that it says are sources of an aspect; None where nothing was read.

    Rounds that do not decide vote by majority, sentence by sentence, a tie being a no; a later round that ``decides``
    stands in their place where it was read. A window that was never asked says none.
    """
    votes = [(one.decides, {vote.start: vote.sentences for vote in one.votes[aspect]}) for one in rounds]
    return [
        _majority([(decides, said[window.start]) for decides, said in votes if window.start in said])
        for window in windows
    ]


def _majority(votes: Sequence[tuple[bool, tuple[int, ...] | None]]) -> frozenset[int] | None:
    read = [(decides, sentences) for decides, sentences in votes if sentences is not None]
    if not read:
        return None if votes else frozenset()
    voting = [sentences for decides, sentences in read if decides][-1:] or [sentences for _, sentences in read]
    n_votes = Counter(index for sentences in voting for index in set(sentences))
    return frozenset(index for index, n in n_votes.items() if 2 * n > len(voting))


def sources_of_votes(votes: Sequence[frozenset[int] | None]) -> tuple[int, ...]:
    """Return the sentences that any window says are sources, in paper order."""
    return tuple(sorted(frozenset[int]().union(*(vote for vote in votes if vote is not None))))


def unjudged(votes: Sequence[frozenset[int] | None], windows: Sequence[range]) -> set[int]:
    """Return the sentences of which no window could be read."""
    read = {index for vote, window in zip(votes, windows, strict=True) if vote is not None for index in window}
    return {index for window in windows for index in window} - read


def doubtful(votes: Sequence[frozenset[int] | None], windows: Sequence[range]) -> list[int]:
    """Return the places of the windows that disagree with another window on a sentence, or were not read.

    >>> doubtful([frozenset({7}), frozenset(), frozenset()], [range(0, 10), range(5, 12), range(10, 12)])
    [0, 1]
    """
    doubted = {place for place, vote in enumerate(votes) if vote is None}
    for place, vote in enumerate(votes):
        for other, theirs in enumerate(votes[place + 1 :], place + 1):
            if windows[other].start >= windows[place].stop:
                break
            if vote is not None and theirs is not None:
                shared = range(windows[other].start, min(windows[place].stop, windows[other].stop))
                if not (vote ^ theirs).isdisjoint(shared):
                    doubted |= {place, other}
    return sorted(doubted)


@dataclass(slots=True, kw_only=True)
class WindowAgreement:
    """How often two windows with the same sentence say the same of it: the reliability of a model, for nothing.

    ``pairs`` has how many sentences, once for each aspect and two windows, that both said to be a source (2), one (1)
    or none (0); ``n_unread``, how many of ``n_asked`` windows, once for each aspect, had no reply that could be read.
    """

    pairs: Counter[int] = field(default_factory=Counter)
    n_asked: int = 0
    n_unread: int = 0

    def add(self, judging: Judging, judged: JudgingRound) -> None:
        """Count the votes of a round."""
        for votes in judged.votes:
            read = [
                (range(vote.start, min(vote.start + judging.window, judging.n_sentences)), set(vote.sentences))
                for vote in votes
                if vote.sentences is not None
            ]
            self.n_asked += len(votes)
            self.n_unread += len(votes) - len(read)
            for place, (window, said) in enumerate(read):
                for other, others in read[place + 1 :]:
                    if other.start >= window.stop:
                        break
                    shared = range(other.start, min(window.stop, other.stop))
                    own, theirs = said.intersection(shared), others.intersection(shared)
                    self.pairs[2] += len(own & theirs)
                    self.pairs[1] += len(own ^ theirs)
                    self.pairs[0] += len(shared) - len(own | theirs)

    @property
    def share(self) -> float | None:
        """The share of sentences on which both windows agree; None where no sentence stands in two."""
        n = self.pairs.total()
        return (n - self.pairs[1]) / n if n else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of two windows, neither of which is the first; None where all or none are sources."""
        n = self.pairs.total()
        of_sources = (2 * self.pairs[2] + self.pairs[1]) / (2 * n) if n else 0.0
        by_chance = of_sources**2 + (1 - of_sources) ** 2
        return None if self.share is None or by_chance == 1 else (self.share - by_chance) / (1 - by_chance)

    @property
    def text(self) -> str:
        """The agreement in words."""
        if self.share is None:
            return "no sentence was judged in two windows, so that their agreement is not known"
        kappa = "undefined" if self.kappa is None else f"{self.kappa:.2f}"
        unread = f"; {self.n_unread:,} of {counted(self.n_asked, 'window')} could not be read" if self.n_unread else ""
        return (
            f"two windows with the same sentence agree in {100 * self.share:.1f} % of {self.pairs.total():,} judgments "
            f"of both, kappa {kappa}{unread}"
        )

    @property
    def warning(self) -> str:
        """Why labels from these votes are not to be trusted; empty where nothing speaks against them."""
        if self.n_unread > MOST_UNREAD * self.n_asked:
            return f"its replies on {self.n_unread:,} of {self.n_asked:,} windows could not be read, and {_LOOK}"
        if self.pairs[2] and self.kappa is None:
            return "it took every sentence for a source of every aspect, so that its labels say nothing"
        is_low = self.kappa is not None and self.kappa < LEAST_KAPPA
        return f"its windows hardly agree: kappa {self.kappa:.2f}, below {LEAST_KAPPA:g}; {_LOOK}" if is_low else ""


def windows_agree(drafts: Iterable[Draft]) -> dict[str, WindowAgreement]:
    """Return how often two windows of judged drafts agree on a sentence, by model."""
    by_model: dict[str, WindowAgreement] = {}
    for draft in drafts:
        for judged in draft.judging.rounds if draft.judging else ():
            if draft.judging is not None and not judged.decides:  # that one is asked where windows disagree
                by_model.setdefault(judged.model, WindowAgreement()).add(draft.judging, judged)
    return by_model
