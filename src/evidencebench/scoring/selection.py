"""The sentences of an answer that count: the answer is checked, repeats are removed, the rest is cut to the budget."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, fields
from operator import gt
from types import MappingProxyType
from typing import Literal, NamedTuple

from evidencebench.errors import AnswerError, OutOfRangeError
from evidencebench.runs.run import Answer, Failure
from evidencebench.system import Ranking, require_budget
from evidencebench.wording import check_type, counted

OverLength = Literal["expected", "first"]
Ties = Literal["index", "expected"]
OutOfRange = Literal["error", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How answers that do not fit the budget are read; the defaults are those of the benchmark.

    Attributes
    ----------
    over_length
        How an *unordered* answer longer than the budget is cut: ``"expected"`` takes every subset of the budget's
        size as equally likely, ``"first"`` takes the first ones named.
    ties
        How an *ordered* answer with equal scores across the cut is cut: ``"index"`` as it is ordered, ``"expected"``
        takes every order of the tied sentences as equally likely.
    out_of_range
        A sentence that does not exist: ``"error"`` raises, ``"drop"`` removes and counts it.

    Examples
    --------
    >>> Rules(ties="expected").unusual
    {'ties': 'expected'}
    """

    over_length: OverLength = "expected"
    ties: Ties = "index"
    out_of_range: OutOfRange = "error"

    @property
    def unusual(self) -> dict[str, str]:
        """The rules that are not the default: name -> choice."""
        return {rule.name: value for rule in fields(self) if (value := getattr(self, rule.name)) != rule.default}


DEFAULT_RULES = Rules()


class RuleText(NamedTuple):
    """The texts of a rule: the help of its option, and the report's words for each choice, the default first."""

    help: str
    choices: Mapping[str, str]


RULE_TEXTS: Mapping[str, RuleText] = MappingProxyType(
    {
        "over_length": RuleText(
            help="Unordered answers over the budget: the exact mean over all subsets, or the first sentences.",
            choices={
                "expected": "by its exact mean over all subsets of the budget's size",
                "first": "by the sentences that it names first",
            },
        ),
        "ties": RuleText(
            help="Equal scores at the budget: the order given, or the exact mean over all orders.",
            choices={"index": "as it orders them", "expected": "by the exact mean over all their orders"},
        ),
        "out_of_range": RuleText(
            help="A sentence that does not exist: stop, or drop and count it.",
            choices={"error": "stops the computation", "drop": "is dropped and counted"},
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Indices of the sentences that count: all of ``certain``, and any ``n_drawn`` of ``tied``, all equally likely."""

    certain: tuple[int, ...]
    tied: tuple[int, ...] = ()
    n_drawn: int = 0

    @property
    def size(self) -> int:
        return len(self.certain) + self.n_drawn

    def expected_within(self, indices: Container[int]) -> float:
        n_certain = float(sum(map(indices.__contains__, self.certain)))
        if not self.n_drawn:
            return n_certain
        return n_certain + sum(map(indices.__contains__, self.tied)) * self.n_drawn / len(self.tied)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    ranking: Ranking  # empty where the answer failed or is missing
    rules: Rules
    error: str | None = None  # why it failed; None: it did not
    is_missing: bool = False
    n_duplicates: int = 0  # repeats that were removed
    n_out_of_range: int = 0  # sentences that do not exist, removed too

    def selection(self, budget: int | None) -> Selection:
        return select(self.ranking, budget, over_length=self.rules.over_length, ties=self.rules.ties)


def check_answer(answer: Answer | None, n_sentences: int, rules: Rules = DEFAULT_RULES) -> CheckedAnswer:
    """Check an answer to a paper of ``n_sentences``; of repeated sentences, the first mention is kept.

    >>> check_answer(Ranking(sentences=(3, 1, 3)), n_sentences=5).selection(budget=1).certain
    (3,)
    """
    if answer is None or isinstance(answer, Failure):
        error = answer.error if answer else None
        return CheckedAnswer(ranking=Ranking(sentences=()), rules=rules, error=error, is_missing=answer is None)
    if not isinstance(answer, Ranking):
        raise AnswerError(f"expected a Ranking, a Failure, or None where there is none, got {type(answer).__name__}")
    sentences, scores = answer.sentences, answer.scores
    if scores is not None and len(scores) != len(sentences):
        raise AnswerError(f"expected {counted(len(sentences), 'score')}, one a sentence, got {len(scores)}")
    if scores is not None and any(map(gt, scores[1:], scores)):
        raise AnswerError("expected scores that descend, best first, got one that rises")
    if len(set(sentences)) == len(sentences) and (
        not sentences or (min(sentences) >= 0 and max(sentences) < n_sentences)
    ):
        return CheckedAnswer(ranking=answer, rules=rules)
    kept: dict[int, int] = {}
    n_out_of_range = 0
    for position, index in enumerate(sentences):
        if 0 <= index < n_sentences:
            kept.setdefault(index, position)
        elif rules.out_of_range == "error":
            raise OutOfRangeError(f"selects sentence {index}, but the paper has sentences 0..{n_sentences - 1}")
        else:
            n_out_of_range += 1
    return CheckedAnswer(
        ranking=Ranking(
            sentences=tuple(kept),
            scores=None if scores is None else tuple(scores[position] for position in kept.values()),
            ordered=answer.ordered,
        ),
        rules=rules,
        n_duplicates=len(sentences) - len(kept) - n_out_of_range,
        n_out_of_range=n_out_of_range,
    )


def select(
    ranking: Ranking, budget: int | None, *, over_length: OverLength = "expected", ties: Ties = "index"
) -> Selection:
    """Return the sentences of a checked answer that count.

    Parameters
    ----------
    ranking
        An answer without repeats.
    budget
        How many sentences count; None counts them all. A shorter answer is neither padded nor punished.
    over_length, ties
        How it is cut where the budget does not fit; see `Rules`.

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
    check_type(ranking, Ranking, "a Ranking, such as Ranking(sentences=(4, 0))")
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
