"""The table of a paper: systems x tasks, with the best of each task and what differs from a reference."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from evidencebench.data.tasks import Task
from evidencebench.errors import RunError
from evidencebench.scoring.compare import Pair, holm_text, same_texts
from evidencebench.scoring.controls import CONTROLS, knows_labels
from evidencebench.scoring.leaderboard import Board, Standing, board_of
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
    boards = {task.name: board_of(scored, task, resampling) for task in scored.tasks}
    systems = _systems(scored, boards, names or {})
    ranked = {
        name: system
        for name, system in systems.items()
        if system.sort == "control" or (system.sort == "run" and not system.trained_on_it)
    }
    reference = None if against in {BEST, NO_REFERENCE} else _checked_reference(against, systems, list(ranked))
    cells: dict[str, dict[str, SystemCell]] = {name: {} for name in systems}
    tested: list[Pair[Standing]] = []
    for task, board in boards.items():
        standings = {name: row for name, system in systems.items() if (row := system.standing(board)) is not None}
        runs = [name for name, system in ranked.items() if system.sort == "run"]
        best = max(runs, key=lambda name: standings[name].recall.mean, default="")
        tests = {
            frozenset((id(pair.first), id(pair.second))): pair
            for pair in board.pairs
            if against != NO_REFERENCE and all(_is_among(row, ranked.values()) for row in (pair.first, pair.second))
        }
        tested += tests.values()
        for name, row in standings.items():
            test = tests.get(frozenset((id(row), id(standings.get(reference or best)))))
            scores = systems[name].scores[task]
            cells[name][task] = SystemCell(
                recall=row.recall,
                standard_error=standard_error(scores.recalls, scores.clusters),
                is_best=name in runs and _shown(row.recall.mean) == _shown(standings[best].recall.mean),
                p_value=None if test is None else test.test.p_value,
                p_holm=None if test is None else test.p_value,
            )
    can_differ = any(pair.adjusted for pair in tested)
    return SystemsTable(
        tasks=scored.tasks,
        rows=tuple(
            SystemRow(
                name=name,
                sort=system.sort,
                label=system.label,
                trained_on_it=system.trained_on_it,
                cells=cells[name],
            )
            for name, system in systems.items()
        ),
        reference=None if against == NO_REFERENCE else reference or BEST,
        holm=holm_text(pair for board in boards.values() for pair in board.pairs) if can_differ else "",
        same=same_texts({name: system.scores for name, system in systems.items()}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _System:
    """A row of the table, before its cells are known."""

    sort: Sort
    label: str
    trained_on_it: bool | None
    scores: Mapping[str, TaskScores]  # by task
    is_control: bool = False  # computed here, beside the runs

    def standing(self, board: Board) -> Standing | None:
        return next((row for row in board.standings if _is_among(row, [self])), None)


def _is_among(row: Standing, systems: Iterable[_System]) -> bool:
    return any((row.system, row.is_control) == (system.label, system.is_control) for system in systems)


def _systems(scored: ScoredRuns, boards: Mapping[str, Board], names: Mapping[str, str]) -> dict[str, _System]:
    """Return runs in the order given, then controls, then ceilings, by their names in the table."""
    systems: dict[str, _System] = {}

    def add(name: str, system: _System) -> None:
        if name in systems:
            raise RunError(f"two systems of the table have the name '{name}'; give one of them another with --name")
        systems[name] = system

    for label, run in scored.runs.items():
        sort: Sort = "ceiling" if knows_labels(run) else "run"
        trained_on_it = scored.trained_on_it(label) if sort == "run" else False
        system = _System(sort=sort, label=label, trained_on_it=trained_on_it, scores=scored.scores[label])
        add(names.get(label, label), system)
    for name in sorted(scored.controls, key=lambda name: CONTROLS[name].knows_labels):
        sort = "ceiling" if CONTROLS[name].knows_labels else "control"
        system = _System(sort=sort, label=name, trained_on_it=False, scores=scored.controls[name], is_control=True)
        on_boards = {task: scored.controls[name][task] for task, board in boards.items() if system.standing(board)}
        if on_boards:
            add(name, replace(system, scores=on_boards))
    return systems


def _checked_reference(against: str, systems: Mapping[str, _System], ranked: Sequence[str]) -> str:
    """Return the name of the row that the others are held against; raise where none can be."""
    if against not in systems:
        known = ", ".join(f"'{name}'" for name in ranked)
        raise RunError(
            f"against '{against}'{did_you_mean(against, ranked)}: no such system in the table; expected {BEST}, "
            f"{NO_REFERENCE} or a name among {known}"
        )
    if against not in ranked:
        why = "knows the labels" if systems[against].sort == "ceiling" else "was trained on this data"
        raise RunError(f"against '{against}': it {why}, so that a test would say nothing; name another system")
    return against


def _shown(mean: float) -> float:
    return round(100 * mean, 1)
