"""The results of query controls: recall and selections with the own queries against those with changed ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from evidencebench.scoring.compare import Comparison, compare_all
from evidencebench.scoring.resampling import Estimate, Floats, Resampling, bootstrap, bootstrap_defined
from evidencebench.scoring.significance import AdjustedP, adjust, enough_draws
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.wording import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class StrangerShare:
    """What a second paper's sentences, which cover nothing, take: shares in 0..1.

    Attributes
    ----------
    sentences
        Of the sentences of both papers, those that are the stranger's: what choosing blindly would select of it.
    selection
        Of the selected sentences, those that are the stranger's; None where nothing is selected.
    recall
        Of the recall that the budget allows, what is lost to the stranger; None where nothing can be covered.
    """

    sentences: Estimate
    selection: Estimate | None
    recall: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlResult:
    """A system on one task, asked each paper's own query and a changed one.

    Attributes
    ----------
    system
        The system, as it was named.
    control
        The query control, such as ``"two_papers"``, with the file where there is one.
    comparison
        Recall with the own queries, ``first``, and with the changed ones, ``second``; the overlap of the selections.
    adjusted
        The p-value of the difference, adjusted by Holm over the systems of the same control and task that can differ
        significantly; None for the others, as of a system that does not read what was changed: there is nothing to
        test (see `adjust`).
    reads_hypothesis
        Whether the system declares that its answers depend on the hypothesis.
    stranger
        What goes to the second paper; None for other controls.
    """

    system: str
    control: str
    comparison: Comparison
    adjusted: AdjustedP | None
    reads_hypothesis: bool
    stranger: StrangerShare | None = None

    @property
    def p_value(self) -> float | None:
        """The adjusted p-value; None where there is nothing to test."""
        return None if self.adjusted is None else self.adjusted.value

    def __repr__(self) -> str:
        return one_line(self, f"{self.system}, {self.control}, {self.comparison!r}")


Use = Literal["reads it", "misled by it", "changes, no gain shown", "changes little", "cannot", "too few papers"]
"""What can be said of a system that was asked the own and a wrong hypothesis; see `use_of_hypothesis`."""

USES: tuple[Use, ...] = get_args(Use)

MOST_CHANGED = 0.5
"""Where the overlap of the selections is surely above this share, a system changes little."""


def use_of_hypothesis(one: ControlResult) -> Use:
    """Return what a wrong hypothesis shows of a system.

    ``reads it``: its recall is significantly higher with the own hypothesis; ``misled by it``: significantly lower.
    Where neither is shown, its selections tell: ``cannot``: they are the same on every paper; ``changes little``: the
    whole interval of their overlap is above `MOST_CHANGED`; else ``changes, no gain shown``. No gain that is shown is
    no proof that there is none: its interval says how large it may be. ``too few papers``: there is no interval.

    A change of selections is evidence that the hypothesis is read only where the same question has the same answer each
    time. So that no such word depends on it, ``reads it`` is a word on recall.
    """
    overlap, difference = one.comparison.overlap, one.comparison.test.difference
    if one.adjusted is not None and one.adjusted.is_significant:
        return "reads it" if difference.mean > 0 else "misled by it"
    if overlap is None or overlap.mean >= 1:
        return "cannot"
    if overlap.low is None:
        return "too few papers"
    return "changes little" if overlap.low > MOST_CHANGED else "changes, no gain shown"


def control_results(
    compared: Iterable[tuple[str, str, TaskScores, TaskScores]],
    reads_hypothesis: Mapping[str, bool],
    resampling: Resampling,
) -> tuple[ControlResult, ...]:
    """Return the result of each (system, control, its scores when asked own queries, and when asked changed ones)."""
    compared = list(compared)
    families: dict[tuple[str, str], list[int]] = {}  # the systems of one control and task are one family of tests
    for place, (_, control, own, _) in enumerate(compared):
        families.setdefault((control, own.task.name), []).append(place)
    alike = [(own.answer_keys, changed.answer_keys) for _, _, own, changed in compared]
    n_alike = (len({alike[place] for place in places}) for places in families.values())
    n_flips = max([resampling.n_draws, *map(enough_draws, n_alike)])
    found = [
        compare_all({0: own, 1: changed}, [(0, 1)], resampling=resampling, n_flips=n_flips)[0]
        for _, _, own, changed in compared
    ]
    adjusted: dict[int, AdjustedP | None] = {}
    for places in families.values():
        adjusted |= zip(
            places, adjust([found[place].test for place in places], [alike[place] for place in places]), strict=True
        )
    return tuple(
        ControlResult(
            system=system,
            control=control,
            comparison=one,
            adjusted=adjusted[place],
            reads_hypothesis=reads_hypothesis[system],
            stranger=_stranger_share(own, changed, resampling),
        )
        for place, ((system, control, own, changed), one) in enumerate(zip(compared, found, strict=True))
    )


def _stranger_share(own: TaskScores, changed: TaskScores, resampling: Resampling) -> StrangerShare | None:
    """Return what goes to second papers; None where there are none."""
    if own.n_sentences == changed.n_sentences:
        return None
    added = 1 - np.array(own.n_sentences) / np.array(changed.n_sentences)
    lost = own.scores["relative_recall"] - changed.scores["relative_recall"]
    selection, recall = bootstrap_defined(
        np.column_stack([stranger_shares(own, changed), lost]), own.clusters, resampling
    )
    return StrangerShare(sentences=bootstrap(added, own.clusters, resampling), selection=selection, recall=recall)


def stranger_shares(own: TaskScores, changed: TaskScores) -> Floats:
    """Return on each instance the share of the selected sentences that are the stranger's; NaN where there are none."""
    pools = zip(changed.selections, own.n_sentences, changed.n_sentences, strict=True)
    return np.array(
        [one.expected_within(range(n_own, n_all)) / one.size if one.size else np.nan for one, n_own, n_all in pools]
    )
