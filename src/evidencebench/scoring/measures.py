"""The measures: the value of a selection as a number in 0..1, exact also where sentences are drawn by chance.

Where an answer is cut by chance, the value is the exact expectation. With n tied sentences of which c cover an aspect,
and k drawn, the aspect stays uncovered with probability C(n - c, k) / C(n, k), so

    E[recall] = (1/m) * sum over aspects of (1 - C(n - c, k) / C(n, k))

where m aspects count. The published code draws 100,000 shuffles for the same number.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import comb
from types import MappingProxyType

from evidencebench.data.optimum.branch_and_bound import bits
from evidencebench.data.optimum.cover import Coverage
from evidencebench.errors import UndefinedScoreError
from evidencebench.scoring.selection import Selection
from evidencebench.wording import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureInput:
    """The input of a measure: a selection, and the labels that it is measured against."""

    selection: Selection
    coverage: Coverage  # of the aspects that count
    ceiling: float  # the highest aspect recall that the budget allows; NaN where it could not be proven
    n_covered: float  # aspects that the selection covers, in expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure. To add one, add an entry to `MEASURES`; tables, CSV and JSON then show it.

    ``of`` takes a `MeasureInput` and the ``parameters`` by name, and returns the value; it raises
    `UndefinedScoreError` where there is none.

    Examples
    --------
    >>> Measure(name="f_measure", parameters={"beta": 2}, of=lambda outcome, beta: 0.5, label="F2").key
    'f_measure(beta=2)'
    """

    name: str
    of: Callable[..., float]
    label: str  # its heading in tables
    parameters: Mapping[str, float] = field(default_factory=dict)
    formula: str = ""  # shown beside the label to explain it
    of_no_sentence: float | None = None  # its value for an answer that names none; None: what ``of`` returns
    in_tables: bool = True  # beside aspect recall, and in CSV; JSON shows all
    higher_is_better: bool = True

    @property
    def key(self) -> str:
        """Its name with its parameters, as JSON, CSV and signatures have it."""
        parameters = ",".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.name}({parameters})" if parameters else self.name

    def value(self, outcome: MeasureInput) -> float:
        """Return the value for one selection."""
        return self.of(outcome, **self.parameters)


def expected_covered(selection: Selection, coverage: Coverage) -> float:
    """Return how many aspects the selection covers, in expectation where sentences are drawn."""
    covered = coverage.mask_of(selection.certain)
    if not selection.n_drawn:
        return float(covered.bit_count())
    open_aspects = coverage.coverable & ~covered
    holders = holders_of(open_aspects, selection.tied, coverage)
    n_missed = missed_by_draws(holders, len(selection.tied), selection.n_drawn)
    return covered.bit_count() + open_aspects.bit_count() - n_missed


def holders_of(aspects: int, sentences: Iterable[int], coverage: Coverage) -> Counter[int]:
    """Return n -> how many of the aspects, a bit mask, n of the sentences cover."""
    masks = list(filter(None, map(coverage.masks.get, sentences)))
    return Counter(sum(1 for mask in masks if mask & bit) for bit in bits(aspects))


def missed_by_draws(holders: Counter[int], n: int, k: int) -> float:
    """Return how many aspects k of n sentences miss in expectation; ``holders`` is of `holders_of`."""
    # Draws that miss an aspect, summed over aspects: whole, so that only the division rounds.
    return sum(n_aspects * comb(n - n_holders, k) for n_holders, n_aspects in holders.items()) / comb(n, k)


def measure_input(selection: Selection, coverage: Coverage, ceiling: float = float("nan")) -> MeasureInput:
    """Return the input of the measures for a selection."""
    n_covered = expected_covered(selection, coverage)
    return MeasureInput(selection=selection, coverage=coverage, ceiling=ceiling, n_covered=n_covered)


def aspect_recall(selection: Selection, coverage: Coverage) -> float:
    """Return covered aspects / all aspects that count, coverable or not.

    Equal to subtopic recall, ``StRecall@k`` in ir_measures.

    Raises
    ------
    UndefinedScoreError
        If no aspect counts.

    Examples
    --------
    >>> from evidencebench.data.optimum.cover import coverage_from
    >>> aspect_recall(Selection(certain=(7,)), coverage_from({"a": [4, 7], "b": [5]}))
    0.5
    """
    return _recall(measure_input(selection, coverage))


def _recall(outcome: MeasureInput) -> float:
    if not outcome.coverage.n_aspects:
        raise UndefinedScoreError("aspect recall is undefined: no aspect counts")
    return outcome.n_covered / outcome.coverage.n_aspects


def _coverable_recall(outcome: MeasureInput) -> float:
    """Return covered aspects / aspects that at least one sentence covers.

    It differs from aspect recall where aspects have no sentence, as 34 % have in the EvidenceBench-100k test split.
    """
    n_coverable = outcome.coverage.coverable.bit_count()
    if not n_coverable:
        raise UndefinedScoreError("coverable aspect recall is undefined: no aspect has a sentence")
    return outcome.n_covered / n_coverable


def _precision(outcome: MeasureInput) -> float:
    """Return selected sentences that cover an aspect that counts / selected sentences."""
    selection = outcome.selection
    if not selection.size:
        raise UndefinedScoreError("precision is undefined: nothing is selected")
    return selection.expected_within(outcome.coverage.masks) / selection.size


def _relative_recall(outcome: MeasureInput) -> float:
    if not outcome.ceiling:
        raise UndefinedScoreError("relative recall is undefined: no aspect can be covered")
    return _recall(outcome) / outcome.ceiling


ASPECT_RECALL = Measure(name="aspect_recall", of=_recall, label="aspect recall", in_tables=False)
"""The measure that systems are ranked, compared and charted by; tables show it with its interval, in its own column."""

COVERABLE_RECALL = Measure(name="coverable_aspect_recall", of=_coverable_recall, label="coverable")
# The precision of no sentence is undefined; it counts as 0, since an empty answer must never pay.
PRECISION = Measure(name="precision", of=_precision, label="precision", of_no_sentence=0.0)

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        measure.key: measure
        for measure in (
            ASPECT_RECALL,
            COVERABLE_RECALL,
            PRECISION,
            Measure(name="relative_recall", of=_relative_recall, label="relative", formula="recall / ceiling"),
            Measure(
                name="regret",
                of=lambda outcome: outcome.ceiling - _recall(outcome),
                label="regret",
                formula="ceiling - recall",
                higher_is_better=False,
            ),
            Measure(name="ceiling", of=lambda outcome: outcome.ceiling, label="ceiling", in_tables=False),
        )
    }
)
"""Every measure of `TaskScores.scores`, by its key."""

MeasureOrName = Measure | str
"""A measure, or its key in `MEASURES`."""


def measure_named(given: MeasureOrName) -> Measure:
    """Return the measure of a key, or the measure that is given; raises `ValueError` for an unknown key."""
    if isinstance(given, Measure):
        return given
    if given not in MEASURES:
        raise ValueError(f"no measure '{given}'{did_you_mean(given, MEASURES)}; expected one of {', '.join(MEASURES)}")
    return MEASURES[given]


def scores_of(outcome: MeasureInput, *, is_empty: bool) -> dict[str, float]:
    """Return measure key -> value for one selection; NaN where the measure is undefined.

    ``is_empty`` says that the answer names no sentence although the budget is not 0.
    """
    scores = {}
    for key, measure in MEASURES.items():
        if is_empty and measure.of_no_sentence is not None:
            scores[key] = measure.of_no_sentence
            continue
        try:
            scores[key] = measure.value(outcome)
        except UndefinedScoreError:
            scores[key] = float("nan")
    return scores
