"""From an answer to the sentences that count: checked, without repeats, cut to the budget."""

from dataclasses import dataclass
from operator import gt
from typing import Literal

from evidencebench.errors import AnswerError, OutOfRangeError
from evidencebench.system import Ranking, require_budget
from evidencebench.wording import counted

OverLength = Literal["expected", "first"]
Ties = Literal["index", "expected"]
OutOfRange = Literal["error", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The sentences that count: some for certain, and some drawn at random from a tied set.

    Attributes
    ----------
    certain
        Indices of the sentences that count whatever is drawn.
    tied
        Indices of which ``n_drawn`` count, every choice being equally likely.
    n_drawn
        How many of ``tied`` count.
    """

    certain: tuple[int, ...]
    tied: tuple[int, ...] = ()
    n_drawn: int = 0

    @property
    def size(self) -> int:
        """How many sentences count."""
        return len(self.certain) + self.n_drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    """An answer fit to be cut, and what was wrong with it."""

    ranking: Ranking
    n_duplicates: int = 0
    n_out_of_range: int = 0


def check_answer(ranking: Ranking, n_sentences: int, out_of_range: OutOfRange = "error") -> CheckedAnswer:
    """Return the answer without repeated sentences, the first mention kept.

    Parameters
    ----------
    ranking
        A system's answer.
    n_sentences
        How many sentences the paper has.
    out_of_range
        ``"error"``: a sentence that does not exist raises. ``"drop"``: it is removed and counted.

    Raises
    ------
    AnswerError
        If a sentence does not exist, or scores are not one a sentence, descending.

    Examples
    --------
    >>> check_answer(Ranking(sentences=(3, 1, 3)), n_sentences=5).ranking.sentences
    (3, 1)
    """
    if ranking.scores is not None and len(ranking.scores) != len(ranking.sentences):
        raise AnswerError(
            f"expected {counted(len(ranking.sentences), 'score')}, one a sentence, got {len(ranking.scores)}"
        )
    if ranking.scores is not None and any(map(gt, ranking.scores[1:], ranking.scores)):
        raise AnswerError("expected scores that descend, best first, got one that rises")
    sentences = ranking.sentences
    if len(set(sentences)) == len(sentences) and (
        not sentences or (min(sentences) >= 0 and max(sentences) < n_sentences)
    ):
        return CheckedAnswer(ranking=ranking)
    kept: dict[int, int] = {}
    n_out_of_range = 0
    for position, index in enumerate(ranking.sentences):
        if 0 <= index < n_sentences:
            kept.setdefault(index, position)
        elif out_of_range == "error":
            raise OutOfRangeError(f"selects sentence {index}, but the paper has sentences 0..{n_sentences - 1}")
        else:
            n_out_of_range += 1
    scores = ranking.scores
    return CheckedAnswer(
        ranking=Ranking(
            sentences=tuple(kept),
            scores=None if scores is None else tuple(scores[position] for position in kept.values()),
            ordered=ranking.ordered,
        ),
        n_duplicates=len(ranking.sentences) - len(kept) - n_out_of_range,
        n_out_of_range=n_out_of_range,
    )


def select(
    ranking: Ranking, budget: int | None, *, over_length: OverLength = "expected", ties: Ties = "index"
) -> Selection:
    """Return the sentences that count of a checked answer.

    Parameters
    ----------
    ranking
        An answer without repeats.
    budget
        How many sentences count; None counts them all. A shorter answer is neither padded nor punished.
    over_length
        How an *unordered* answer longer than the budget is cut: ``"expected"`` takes every subset of the budget's
        size as equally likely, ``"first"`` takes the first ones named.
    ties
        How an *ordered* answer with equal scores across the cut is cut: ``"index"`` as it is ordered, ``"expected"``
        takes every order of the tied sentences as equally likely.

    Raises
    ------
    TypeError, ValueError
        If the budget is no number of sentences.

    Examples
    --------
    >>> select(Ranking(sentences=(4, 2, 9), ordered=False), 2).n_drawn
    2
    >>> select(Ranking(sentences=(4, 2, 9)), 2).certain
    (4, 2)
    """
    require_budget(budget, at_least=0)
    sentences = ranking.sentences
    if budget is None or len(sentences) <= budget:
        return Selection(certain=sentences)
    if not ranking.ordered:
        if over_length == "first":
            return Selection(certain=sentences[:budget])
        return Selection(certain=(), tied=sentences, n_drawn=budget)
    if ties == "index" or ranking.scores is None or budget == 0:
        return Selection(certain=sentences[:budget])
    at_cut = ranking.scores[budget - 1]
    tied = tuple(index for index, score in zip(sentences, ranking.scores, strict=True) if score == at_cut)
    certain = tuple(index for index, score in zip(sentences, ranking.scores, strict=True) if score > at_cut)
    return Selection(certain=certain, tied=tied, n_drawn=budget - len(certain))
