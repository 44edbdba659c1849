"""The results of query controls: recall and selections with the own queries against those with changed ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from evidencebench.scoring.compare import Comparison, compare
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
    n_draws = max([resampling.n_draws, *(enough_draws(len(places)) for places in families.values())])
    resampling = replace(resampling, n_draws=n_draws)
    found = [compare(own, changed, resampling=resampling) for _, _, own, changed in compared]
    adjusted: dict[int, AdjustedP | None] = {}
    for places in families.values():
        adjusted |= zip(places, adjust([found[place].test.flips for place in places]), strict=True)
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
    lost = own.scores[_RELATIVE] - changed.scores[_RELATIVE]
    selection, recall = bootstrap_defined(
        np.column_stack([stranger_shares(own, changed), lost]), own.clusters, resampling
    )
    return StrangerShare(sentences=bootstrap(added, own.clusters, resampling), selection=selection, recall=recall)


_RELATIVE = "relative_recall"


def stranger_shares(own: TaskScores, changed: TaskScores) -> Floats:
    """Return on each instance the share of the selected sentences that are the stranger's; NaN where there are none."""
    pools = zip(changed.selections, own.n_sentences, changed.n_sentences, strict=True)
    return np.array(
        [one.expected_within(range(n_own, n_all)) / one.size if one.size else np.nan for one, n_own, n_all in pools]
    )
