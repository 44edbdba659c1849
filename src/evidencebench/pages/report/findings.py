"""What a report tells of its runs: graded once, before anything is drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.errors import RunMismatchError
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.leaderboard import Board, Standing, board_of, stand_in
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import ScoredRuns, score_runs
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.system import KNOWING_SYSTEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Runs and controls, graded and ranked.

    Attributes
    ----------
    graded
        The runs that were asked each paper's own hypothesis, and the controls.
    swapped
        The runs that were asked another paper's hypothesis, by label, with their scores by task: they are a control of
        their own, and compete with nobody.
    boards
        Task -> its standings and the tests that rank them.
    resampling
        Of every interval and test.
    n_instances
        How many instances of the data the runs cover.
    n_papers
        How many papers (or reviews, where the data names them) those come from; what is resampled.
    """

    graded: ScoredRuns
    swapped: Mapping[str, tuple[RunFile, Mapping[str, TaskScores]]]
    boards: Mapping[str, Board]
    resampling: Resampling
    n_instances: int
    n_papers: int

    @property
    def dataset(self) -> Dataset:
        """What the runs are for."""
        return self.graded.dataset

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What was graded; the first is the one that the report speaks of where it speaks of one."""
        return self.graded.tasks

    @property
    def board(self) -> dict[str, tuple[Standing, ...]]:
        """Task -> its standings, the best first."""
        return {task: one.standings for task, one in self.boards.items()}

    @property
    def every_run(self) -> dict[str, RunFile]:
        """Every run by its label, those with wrong hypotheses last."""
        return {**self.graded.runs, **{label: run for label, (run, _) in self.swapped.items()}}

    def graded_answers(self, run: RunFile) -> frozenset[tuple[str, str | None]]:
        """Return (instance id, task or None) of the lines of a run that are graded here: a file may hold more."""
        ids, tasks = set(self.dataset.ids[: self.n_instances]), {None, *(task.name for task in self.tasks)}
        return frozenset(key for key in run.done if key[0] in ids and key[1] in tasks)

    def columns(self, task: Task) -> dict[str, TaskScores]:
        """Return the scores on a task of every system of its leaderboard, the best first, by `name_of`."""
        return {
            self.name_of(row): (self.graded.controls if row.is_control else self.graded.scores)[row.system][task.name]
            for row in self.board[task.name]
        }

    def name_of(self, row: Standing) -> str:
        """Return what a system is called in tables: a control has a star, since a run may have its name."""
        name = f"{row.system}\u00a0*" if row.is_control else row.system
        while row.is_control and name in self.graded.runs:
            name += "*"
        return name

    def series_of(self, system: str, *, is_control: bool) -> int:
        """Return the number of a system's mark and colour, the same in every chart: runs as given, then controls."""
        systems = [*((label, False) for label in self.graded.runs), *((name, True) for name in self.graded.controls)]
        return systems.index((system, is_control))

    def label_free_controls(self, task: Task) -> tuple[str, ...]:
        """Return the names of the controls on a task that read no labels, the best first.

        A run stands for one only where it scores the same on every instance, so that no file can pass for a control.
        """
        names = [name for name, scores in self.graded.controls.items() if task.name in scores]
        stands_for = {stand_in(self.graded, name, task) for name in names if name not in KNOWING_SYSTEMS}
        return tuple(
            self.name_of(row)
            for row in self.board[task.name]
            if (row.system not in KNOWING_SYSTEMS if row.is_control else row.system in stands_for)
        )


def findings_of(
    paths: Sequence[Path],
    dataset: Dataset,
    tasks: Sequence[Task] = (),
    *,
    rules: Rules,
    resampling: Resampling,
    limit: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Findings:
    """Grade and rank runs.

    Parameters
    ----------
    paths, dataset, tasks, rules, limit, on_progress
        As in `grade`.
    resampling
        Of every interval and test.

    Raises
    ------
    RunMismatchError
        If no run was asked each paper's own hypothesis, or as in `grade`.
    TaskError
        As in `grade`.
    """
    graded = score_runs(paths, dataset, tasks, rules=rules, with_selections=True, limit=limit, on_progress=on_progress)
    own = {label: run for label, run in graded.runs.items() if not is_swapped(run)}
    if not own:
        raise RunMismatchError(
            f"{paths[0]}: was asked other papers' hypotheses, as every run here; "
            "add a run that was asked the papers' own (evidencebench run SYSTEM without --hypothesis)"
        )
    swapped = {
        label: (run, scores)
        for (label, run), scores in zip(graded.runs.items(), graded.scores.values(), strict=True)
        if label not in own
    }
    graded = replace(graded, runs=own, scores={label: graded.scores[label] for label in own})
    any_scores = next(iter(graded.scores.values()))
    counts = [found.counts.not_applicable + len(found.ids) for found in any_scores.values()]
    return Findings(
        graded=graded,
        swapped=swapped,
        boards={task.name: board_of(graded, task, resampling) for task in graded.tasks},
        resampling=resampling,
        n_instances=counts[0],
        n_papers=len({instance.cluster for instance in dataset.instances(counts[0])}),
    )


def is_swapped(run: RunFile) -> bool:
    """Say whether a run was asked other papers' hypotheses."""
    return run.header is not None and run.header.hypothesis != "own"
