"""The measures: the value of a selection as a number in 0..1, exact also where sentences are drawn by chance.

Where an answer is cut by chance, the value is the exact expectation. With n tied sentences of which c cover an aspect,
and k drawn, the aspect stays uncovered with probability C(n - c, k) / C(n, k), so

    E[recall] = (1/m) * sum over aspects of (1 - C(n - c, k) / C(n, k))

where m aspects count. The published code draws 100,000 shuffles for the same number.
"""

import reprlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import comb, nan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evidencebench.data.branch_and_bound import bits
from evidencebench.data.cover import Coverage
from evidencebench.errors import UndefinedScoreError
from evidencebench.scoring.selection import Selection
from evidencebench.wording import check_type, or_one_of


class MeasureInput(NamedTuple):
    """What measures are computed from: numbers of one selection, or arrays of many; the first two are expectations."""

    n_covered: Any  # aspects that the selection covers
    n_relevant: Any  # selected sentences that cover an aspect that counts
    n_selected: Any  # selected sentences
    n_aspects: Any  # aspects that count, coverable or not
    n_coverable: Any  # aspects that at least one sentence covers
    ceiling: Any  # the highest aspect recall that the budget allows; NaN where it could not be proven
    is_empty: Any  # whether the answer names no sentence although the budget is not 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure: an entry of `MEASURES`, or your own, which ``evaluate(..., measures=[...])`` computes beside them.

    ``of`` takes a `MeasureInput`, whose fields are arrays of one number an answer, and the ``parameters`` by name. It
    returns an array of as many numbers, NaN (as of 0 / 0) where it is undefined. The highest mean is the best.

    >>> Measure(name="f_measure", parameters={"beta": 2}, of=lambda outcome, beta: 0.5, label="F2").key
    'f_measure(beta=2)'
    """

    name: str
    of: Callable[..., Any]
    label: str  # its heading in tables
    parameters: Mapping[str, float] = field(default_factory=dict)
    formula: str = ""  # shown beside the label to explain it
    of_no_sentence: float | None = None  # its value for an answer that names none; None: what ``of`` returns
    in_tables: bool = True  # beside aspect recall, and in CSV; JSON shows all

    @property
    def key(self) -> str:
        """By which scores and tables name it: its name and parameters."""
        parameters = ",".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.name}({parameters})" if parameters else self.name

    def values(self, outcomes: MeasureInput) -> NDArray[np.float64]:
        """Return its value for one selection, or for each of many."""
        with np.errstate(divide="ignore", invalid="ignore"):
            given = self.of(MeasureInput(*map(np.asarray, outcomes)), **self.parameters)
        try:
            values = np.array(np.broadcast_to(np.asarray(given, dtype=np.float64), np.shape(outcomes.n_aspects)))
        except (TypeError, ValueError):
            values = np.array(np.inf)
        if np.isinf(values).any():
            raise TypeError(
                f"measure '{self.key}': expected an array of {np.size(outcomes.n_aspects)} finite numbers, one an "
                f"answer, NaN where it is undefined, got {reprlib.repr(given)}"
            )
        return values if self.of_no_sentence is None else np.where(outcomes.is_empty, self.of_no_sentence, values)


def expected_covered(selection: Selection, coverage: Coverage) -> float:
    covered = coverage.mask_of(selection.certain)
    if not selection.n_drawn:
        return float(covered.bit_count())
    open_aspects = coverage.coverable & ~covered
    holders = holders_of(open_aspects, selection.tied, coverage)
    n_missed = missed_by_draws(holders, len(selection.tied), selection.n_drawn)
    return covered.bit_count() + open_aspects.bit_count() - n_missed


def holders_of(aspects: int, sentences: Iterable[int], coverage: Coverage) -> Counter[int]:
    """Return n -> how many of the aspects, a bit mask, n of the sentences cover."""
    n_holders = dict.fromkeys(bits(aspects), 0)
    for mask in filter(None, map(coverage.masks.get, sentences)):
        left = mask & aspects
        while left:  # without `bits`, since large papers have very many pairs of a sentence and an aspect
            bit = left & -left
            n_holders[bit] += 1
            left ^= bit
    return Counter(n_holders.values())


def missed_by_draws(holders: Counter[int], n: int, k: int) -> float:
    """Return how many aspects k of n sentences miss in expectation; ``holders`` is of `holders_of`."""
    # Draws that miss an aspect, summed over aspects: whole, so that only the division rounds.
    return sum(n_aspects * comb(n - n_holders, k) for n_holders, n_aspects in holders.items()) / comb(n, k)


def measure_input(
    selection: Selection, coverage: Coverage, ceiling: float = nan, *, is_empty: bool = False
) -> MeasureInput:
    return MeasureInput(
        expected_covered(selection, coverage),
        selection.expected_within(coverage.masks),
        selection.size,
        coverage.n_aspects,
        coverage.coverable.bit_count(),
        ceiling,
        is_empty,
    )


def aspect_recall(selection: Selection, coverage: Coverage) -> float:
    """Return covered aspects / all aspects that count, coverable or not.

    Equal to subtopic recall, ``StRecall@k`` in ir_measures.

    Raises
    ------
    UndefinedScoreError
        If no aspect counts.

    Examples
    --------
    >>> from evidencebench.data.cover import coverage_from
    >>> aspect_recall(Selection(certain=(7,)), coverage_from({"a": [4, 7], "b": [5]}))
    0.5
    """
    check_type(selection, Selection, "a selection, such as Selection(certain=(4, 0))")
    if not coverage.n_aspects:
        raise UndefinedScoreError("aspect recall is undefined: no aspect counts")
    return expected_covered(selection, coverage) / coverage.n_aspects


def _recall(outcome: MeasureInput) -> Any:
    return outcome.n_covered / outcome.n_aspects


ASPECT_RECALL = Measure(name="aspect_recall", of=_recall, label="aspect recall", in_tables=False)
"""The measure that systems are ranked, compared and charted by; tables show it with its interval, in its own column."""

COVERABLE_RECALL = Measure(
    # It differs from aspect recall where aspects have no sentence, as 34 % have in the EvidenceBench-100k test split.
    name="coverable_aspect_recall",
    of=lambda outcome: outcome.n_covered / outcome.n_coverable,
    label="coverable",
)

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        measure.key: measure
        for measure in (
            ASPECT_RECALL,
            COVERABLE_RECALL,
            Measure(
                name="precision",
                of=lambda outcome: outcome.n_relevant / outcome.n_selected,
                label="precision",
                of_no_sentence=0.0,  # that of no sentence is undefined; it counts as 0: an empty answer must never pay
            ),
            Measure(
                name="relative_recall",
                of=lambda outcome: _recall(outcome) / outcome.ceiling,
                label="relative",
                formula="recall / ceiling",
            ),
            Measure(
                name="regret",
                of=lambda outcome: outcome.ceiling - _recall(outcome),
                label="gap",
                formula="ceiling - recall",
            ),
            Measure(name="ceiling", of=lambda outcome: outcome.ceiling, label="ceiling", in_tables=False),
        )
    }
)

MeasureOrName = Measure | str  # its key


def measure_key(given: MeasureOrName, known: Collection[str]) -> str:
    """Return the key of a measure; ``known`` are those of the scores that it is asked of."""
    key = given.key if isinstance(given, Measure) else given
    if key not in known:
        own = "one of your own, evaluate(..., measures=[Measure(...)])"
        raise ValueError(f"no measure '{key}' in the scores{or_one_of(str(key), known, other=own)}")
    return key


def with_own(own: Iterable[Measure]) -> dict[str, Measure]:
    """Return `MEASURES` and own ones, by key."""
    measures = dict(MEASURES)
    for measure in own:
        check_type(measure, Measure, "measures as Measure(name=..., of=..., label=...)")
        if measures.setdefault(measure.key, measure) != measure:
            raise ValueError(f"measures: there is another '{measure.key}'; give yours a name of its own")
    return measures
