"""Grade what counts of an answer: (selection, coverage) -> a number in 0..1, exact also where sentences are drawn.

Where an answer is cut by chance, the value is the exact expectation. With n tied sentences of which c cover an aspect,
and k drawn, the aspect stays uncovered with probability C(n - c, k) / C(n, k), so

    E[recall] = (1/m) * sum over aspects of (1 - C(n - c, k) / C(n, k))

where m aspects count. The published code draws 100,000 shuffles for the same number.
"""

from collections.abc import Callable, Mapping
from math import comb
from types import MappingProxyType

from evidencebench.data.optimum.branch_and_bound import bits
from evidencebench.data.optimum.cover import Coverage
from evidencebench.errors import UndefinedScoreError
from evidencebench.scoring.selection import Selection

Measure = Callable[[Selection, Coverage], float]


def expected_covered(selection: Selection, coverage: Coverage) -> float:
    """Return how many aspects the selection covers, in expectation where sentences are drawn.

    Examples
    --------
    Of two tied sentences one is drawn; either covers its own aspect:

    >>> from evidencebench.data.optimum.cover import coverage_from
    >>> expected_covered(Selection(certain=(), tied=(0, 1), n_drawn=1), coverage_from({"a": [0], "b": [1]}))
    1.0
    """
    covered = coverage.mask_of(selection.certain)
    if not selection.n_drawn:
        return float(covered.bit_count())
    masks = [coverage.masks[index] for index in selection.tied if index in coverage.masks]
    n_tied, n_drawn = len(selection.tied), selection.n_drawn
    n_draws = comb(n_tied, n_drawn)
    n_missed = 0  # summed over the aspects, in whole draws: one rounding, at the end
    open_aspects = coverage.coverable & ~covered
    for bit in bits(open_aspects):
        n_holders = sum(1 for mask in masks if mask & bit)
        n_missed += comb(n_tied - n_holders, n_drawn)
    return covered.bit_count() + open_aspects.bit_count() - n_missed / n_draws


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
    if not coverage.n_aspects:
        raise UndefinedScoreError("aspect recall is undefined: no aspect counts")
    return expected_covered(selection, coverage) / coverage.n_aspects


def coverable_aspect_recall(selection: Selection, coverage: Coverage) -> float:
    """Return covered aspects / aspects that at least one sentence covers.

    It differs from `aspect_recall` where aspects have no sentence, as 34 % have in the EvidenceBench-100k test split.

    Raises
    ------
    UndefinedScoreError
        If no aspect is coverable.
    """
    n_coverable = coverage.coverable.bit_count()
    if not n_coverable:
        raise UndefinedScoreError("coverable aspect recall is undefined: no aspect has a sentence")
    return expected_covered(selection, coverage) / n_coverable


def precision(selection: Selection, coverage: Coverage) -> float:
    """Return selected sentences that cover an aspect that counts / selected sentences.

    Raises
    ------
    UndefinedScoreError
        If nothing is selected.
    """
    if not selection.size:
        raise UndefinedScoreError("precision is undefined: nothing is selected")
    n_relevant = float(sum(index in coverage.masks for index in selection.certain))
    if selection.n_drawn:
        n_tied_relevant = sum(index in coverage.masks for index in selection.tied)
        n_relevant += n_tied_relevant * selection.n_drawn / len(selection.tied)
    return n_relevant / selection.size


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "aspect_recall": aspect_recall,
        "coverable_aspect_recall": coverable_aspect_recall,
        "precision": precision,
    }
)
"""The measures that need an answer and its labels only, by name."""
