"""The table of a paper: systems x tasks, with the best of each task and what differs from a reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from evidencebench.data.tasks import Task
from evidencebench.errors import RunError
from evidencebench.scoring.compare import Pair, compare_pairs, holm_text, mean_recalls, same_texts
from evidencebench.scoring.controls import CONTROLS, knows_labels
from evidencebench.scoring.leaderboard import run_of_control
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Estimate, Resampling, standard_error
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.significance import ALPHA
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.wording import did_you_mean, one_line

BEST = "best"
"""The reference that is the system with the highest mean on each task."""
NO_REFERENCE = "none"

Sort = Literal["run", "control", "ceiling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemCell:
    """The score of a system on a task, and its difference to the reference.

    The p-values are None where there is no test: of the reference itself, of a ceiling, and of a system that was
    trained on the data. ``p_value`` is the one that `compare` returns for the two; ``p_holm`` is adjusted by Holm as
    `compare_pairs` says.
    """

    recall: Estimate
    standard_error: float | None  # robust to clusters; None for a single one
    is_best: bool  # the highest mean of a run on its task, to the digits that are shown
    p_value: float | None = None
    p_holm: float | None = None

    @property
    def differs(self) -> bool:
        """Whether it differs significantly from the reference."""
        return self.p_holm is not None and self.p_holm < ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRow:
    """A system: a run, a control, or a ceiling, which knows the labels; ``cells`` maps task names to scores."""

    name: str
    sort: Sort
    label: str  # the run's label, or the control's name
    trained_on_it: bool | None
    cells: Mapping[str, SystemCell]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemsTable:
    """Systems x tasks: runs in the order given, then controls, then ceilings.

    ``reference`` is `BEST`, the name of a row, or None. ``holm`` says over what p is adjusted; empty without a test.
    ``same`` maps a system to the words of `same_texts`.
    """

    tasks: tuple[Task, ...]
    rows: tuple[SystemRow, ...]
    reference: str | None
    holm: str
    same: Mapping[str, str]

    def __repr__(self) -> str:
        tasks = ", ".join(task.name for task in self.tasks)
        return one_line(self, f"{len(self.rows)} systems", tasks, f"against {self.reference}")


def systems_table(
    scored: ScoredRuns,
    *,
    names: Mapping[str, str] | None = None,
    against: str = BEST,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> SystemsTable:
    """Return the table of scored runs and controls.

    ``names`` maps runs' labels to the names in the table. ``against`` is `BEST`, `NO_REFERENCE`, or a row's name. A
    system that knows the labels or was trained on the data is neither the best nor tested, and no control is the best.
    The p-values are those of the leaderboard. Raises `RunError` if two rows have one name, or ``against`` names none
    that can be tested.
    """
    names = names or {}
    found = _NamedScores(scored, names)
    means = {task.name: _means(found.of(task), resampling) for task in scored.tasks}
    reference = found.reference(against)
    pairs = [pair for task in scored.tasks for pair in found.pairs(task, resampling)] if against != NO_REFERENCE else []
    best = {task.name: found.best(means[task.name]) for task in scored.tasks}
    tests: dict[tuple[str, frozenset[str]], Pair[str]] = {
        (pair.comparison.task.name, frozenset((pair.first, pair.second))): pair
        for pair in pairs
        if {pair.first, pair.second} <= set(found.ranked)
    }

    def cell(name: str, task: Task) -> SystemCell:
        mean, top = means[task.name][name], best[task.name]
        test = tests.get((task.name, frozenset((name, reference or top or ""))))
        return SystemCell(
            recall=mean,
            standard_error=standard_error(found.of(task)[name].recalls, found.of(task)[name].clusters),
            is_best=top is not None
            and name in found.ranked
            and found.sorts[name] == "run"
            and _shown(mean.mean) == _shown(means[task.name][top].mean),
            p_value=None if test is None else test.comparison.test.p_value,
            p_holm=None if test is None else test.p_value,
        )

    rows = tuple(
        SystemRow(
            name=name,
            sort=found.sorts[name],
            label=label,
            trained_on_it=scored.trained_on_it(label) if found.sorts[name] == "run" else False,
            cells={task.name: cell(name, task) for task in scored.tasks if name in means[task.name]},
        )
        for name, label in found.labels.items()
    )
    shown_reference = None if against == NO_REFERENCE else reference or BEST
    can_differ = any(pair.adjusted for pair in tests.values())
    holm = holm_text(pairs) if can_differ else ""
    return SystemsTable(
        tasks=scored.tasks, rows=rows, reference=shown_reference, holm=holm, same=same_texts(found.scores)
    )


class _NamedScores:
    """The systems of a table by their names in it."""

    def __init__(self, scored: ScoredRuns, names: Mapping[str, str]) -> None:
        self.labels: dict[str, str] = {}
        self.sorts: dict[str, Sort] = {}
        self.scores: dict[str, dict[str, TaskScores]] = {}
        for label, run in scored.runs.items():
            sort: Sort = "ceiling" if knows_labels(run) else "run"
            self._add(names.get(label, label), label, sort, scored.scores[label])
        for control in sorted(scored.controls, key=lambda name: CONTROLS[name].knows_labels):
            by_task = {
                task.name: scored.controls[control][task.name]
                for task in scored.tasks
                if task.name in scored.controls[control] and run_of_control(scored, control, task) is None
            }
            if by_task:
                self._add(control, control, "ceiling" if CONTROLS[control].knows_labels else "control", by_task)
        self.ranked = [
            name
            for name, label in self.labels.items()
            if self.sorts[name] == "control" or (self.sorts[name] == "run" and not scored.trained_on_it(label))
        ]

    def _add(self, name: str, label: str, sort: Sort, scores: Mapping[str, TaskScores]) -> None:
        if name in self.labels:
            raise RunError(f"two systems of the table have the name '{name}'; give one of them another with --name")
        self.labels[name], self.sorts[name], self.scores[name] = label, sort, dict(scores)

    def of(self, task: Task) -> dict[str, TaskScores]:
        return {name: scores[task.name] for name, scores in self.scores.items() if task.name in scores}

    def best(self, means: Mapping[str, Estimate]) -> str | None:
        runs = (name for name in self.ranked if name in means and self.sorts[name] == "run")
        return max(runs, key=lambda name: means[name].mean, default=None)

    def pairs(self, task: Task, resampling: Resampling) -> list[Pair[str]]:
        """Compare all systems but ceilings, as the leaderboard does; also those that are trained on the data."""
        scores = {name: one for name, one in self.of(task).items() if self.sorts[name] != "ceiling"}
        controls = [name for name in scores if self.sorts[name] == "control"]
        asked = list(combinations(scores, 2))
        return compare_pairs(scores, asked, controls, resampling=resampling, with_overlaps=False)

    def reference(self, against: str) -> str | None:
        """Return the name of the row that the others are held against; None for the best, and for none."""
        if against in {BEST, NO_REFERENCE}:
            return None
        if against not in self.labels:
            known = ", ".join(f"'{name}'" for name in self.ranked)
            meant = did_you_mean(against, self.ranked)
            raise RunError(
                f"against '{against}'{meant}: no such system in the table; expected {BEST}, {NO_REFERENCE} or a name "
                f"among {known}"
            )
        if against not in self.ranked:
            why = "knows the labels" if self.sorts[against] == "ceiling" else "was trained on this data"
            raise RunError(f"against '{against}': it {why}, so that a test would say nothing; name another system")
        return against


def _means(scores: Mapping[str, TaskScores], resampling: Resampling) -> dict[str, Estimate]:
    return dict(zip(scores, mean_recalls(list(scores.values()), resampling), strict=True))


def _shown(mean: float) -> float:
    return round(100 * mean, 1)
