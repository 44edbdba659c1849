"""Who is ahead, and how sure that is: systems on one task, the best first, controls among them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.scoring.comparison import estimates_of, pairwise_p_values
from evidencebench.scoring.evaluation import TaskScores
from evidencebench.scoring.graded_runs import Graded, signature_of
from evidencebench.scoring.significance import DEFAULT_RESAMPLING, Estimate, Resampling, ranges_from
from evidencebench.system import KNOWING_SYSTEMS
from evidencebench.wording import counted, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One system on one task.

    Attributes
    ----------
    system
        The label of a run, or the name of a control.
    aspect_recall
        Its mean with its interval.
    rank
        The best and worst rank it can claim (see `ranks`); None for a system that knows the labels.
    n
        Instances behind the mean.
    failed, empty, missing
        Answers that score 0, by cause.
    is_control
        Whether it was computed here, beside the runs.
    signature
        What decides the score; None for a control.
    trained_on_it
        Whether a model of it was trained on this data; None where the run cannot say.
    """

    system: str
    aspect_recall: Estimate
    rank: tuple[int, int] | None
    n: int
    failed: int
    empty: int
    missing: int
    is_control: bool
    signature: str | None

    def __repr__(self) -> str:
        rank = "" if self.rank is None else f"rank {self.rank[0]}..{self.rank[1]}"
        return one_line(self, repr(self.system), f"aspect recall {self.aspect_recall.mean:.3f}", f"n={self.n}", rank)

    trained_on_it: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The systems on one task, and the tests that rank them.

    Attributes
    ----------
    standings
        The systems, the best first.
    p_values
        Two systems that have ranks, each by (system, is_control) -> p, adjusted by Holm over all such pairs.
    """

    standings: tuple[Standing, ...]
    p_values: Mapping[frozenset[tuple[str, bool]], float]

    def __repr__(self) -> str:
        return one_line(self, counted(len(self.standings), "system"), ", ".join(one.system for one in self.standings))

    def p_value(self, first: Standing, second: Standing) -> float:
        """Return the p-value that decides whether one of two systems ranks above the other."""
        return self.p_values[frozenset({(first.system, first.is_control), (second.system, second.is_control)})]


def standings(graded: Graded, task: Task, resampling: Resampling = DEFAULT_RESAMPLING) -> list[Standing]:
    """Return the systems on one task, the best first; a control that is among the runs too stands there once."""
    return list(board_of(graded, task, resampling).standings)


def board_of(graded: Graded, task: Task, resampling: Resampling = DEFAULT_RESAMPLING) -> Board:
    """Return the `standings` with the tests behind their ranks."""
    runs = {label: scores[task.name] for label, scores in graded.scores.items()}
    controls = {
        name: scores[task.name]
        for name, scores in graded.controls.items()
        if task.name in scores and stand_in(graded, name, task) is None
    }
    # Keyed by both, since a run may have a control's name.
    columns = {(label, False): found for label, found in runs.items()}
    columns |= {(name, True): found for name, found in controls.items()}
    ranked = {key: found for key, found in columns.items() if not _knows_labels(graded, *key)}
    p_values = _p_values(ranked, resampling)
    rank_of = _ranks(ranked, p_values)
    recalls = estimates_of(list(columns.values()), resampling)
    rows = [
        Standing(
            system=label,
            aspect_recall=recall,
            rank=rank_of.get((label, is_control)),
            n=len(found.ids),
            failed=found.counts.failed,
            empty=found.counts.empty,
            missing=found.counts.missing,
            is_control=is_control,
            signature=None if is_control else signature_of(graded, label, task, resampling),
            trained_on_it=False if is_control else graded.trained_on_it(label),
        )
        for ((label, is_control), found), recall in zip(columns.items(), recalls, strict=True)
    ]
    return Board(
        standings=tuple(sorted(rows, key=lambda row: -row.aspect_recall.mean)),
        p_values={frozenset(pair): p_value for pair, p_value in p_values.items()},
    )


def stand_in(graded: Graded, control: str, task: Task) -> str | None:
    """Return the label of a run that is a control by name and by every score, and so stands for it; None: no run.

    A run that only says that it is one, or lacks answers, is a run like any other.
    """
    computed = graded.controls[control][task.name].scores["aspect_recall"]
    for label, run in graded.runs.items():
        is_named = run.header is not None and run.header.hypothesis == "own" and run.header.system.name == control
        if is_named and np.array_equal(graded.scores[label][task.name].scores["aspect_recall"], computed):
            return label
    return None


_Key = tuple[str, bool]


def _p_values(columns: Mapping[_Key, TaskScores], resampling: Resampling) -> dict[tuple[_Key, _Key], float]:
    if not columns:
        return {}
    keys = {str(number): key for number, key in enumerate(columns)}
    found = pairwise_p_values(dict(zip(keys, columns.values(), strict=True)), resampling=resampling)
    return {(keys[first], keys[second]): p_value for (first, second), p_value in found.items()}


def _ranks(
    columns: Mapping[_Key, TaskScores], p_values: Mapping[tuple[_Key, _Key], float]
) -> dict[_Key, tuple[int, int]]:
    return ranges_from({key: float(found.scores["aspect_recall"].mean()) for key, found in columns.items()}, p_values)


def _knows_labels(graded: Graded, label: str, is_control: bool) -> bool:  # noqa: FBT001 - the two halves of a key
    if is_control:
        return label in KNOWING_SYSTEMS
    header = graded.runs[label].header
    return header is not None and header.system.name in KNOWING_SYSTEMS
