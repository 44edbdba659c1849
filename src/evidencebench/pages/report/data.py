"""The runs of a report, scored and ranked once for all sections, and the records of its papers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from evidencebench.data.cover import coverage_of
from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.pages.figures.data import Series, bar_of
from evidencebench.pages.paper import GradedAnswer, GradedInstance, ListRow
from evidencebench.pages.viewer import AskedRecord, ExchangeSource, ViewerData, shown_systems
from evidencebench.runs.run import RunFile
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.leaderboard import Board, Standing, board_of, run_of_control
from evidencebench.scoring.resampling import Estimate, Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.tables import LONGEST_NAME, shortened_apart

_shortened = lru_cache(maxsize=8)(shortened_apart)  # asked for each row of each table


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    scored: ScoredRuns
    boards: Mapping[str, Board]  # with one row for all that have the same answers
    resampling: Resampling
    n_papers: int  # the clusters that are resampled: papers, or reviews where the data names them

    @property
    def dataset(self) -> Dataset:
        return self.scored.dataset

    @property
    def tasks(self) -> tuple[Task, ...]:
        return self.scored.tasks

    def bar(self, row: Standing, recall: Estimate | None = None) -> Series:
        """Return a system's recall, with the mark and colour that the system has in every chart."""
        return bar_of(
            row.name,
            recall or row.recall,
            is_control=row.is_control,
            unfinished=row.unfinished,
            number=self.number_of(row.system, is_control=row.is_control),
        )

    @property
    def every_run(self) -> dict[str, RunFile]:
        """Label -> run, of all runs; those with changed queries come last."""
        return {**self.scored.runs, **{label: run for label, (run, _) in self.scored.changed.items()}}

    def graded_answers(self, run: RunFile) -> frozenset[tuple[str, str | None]]:
        """Return (instance id, task or None) of the run's lines that are graded here; a run may hold more lines."""
        ids, tasks = set(self.dataset.ids[: self.scored.n_instances]), {None, *(task.name for task in self.tasks)}
        return frozenset(key for key in run.done if key[0] in ids and key[1] in tasks)

    def columns(self, task: Task) -> dict[str, TaskScores]:
        """Return system -> scores on a task, in the order of its leaderboard; systems are named by `name_of`."""
        return {
            self.name_of(row): (self.scored.controls if row.is_control else self.scored.scores)[row.system][task.name]
            for row in self.boards[task.name].standings
        }

    def name_of(self, row: Standing) -> str:
        """Return a row's name in tables; a control's has a star behind it, since a run may have the same name."""
        name = f"{row.name}\u00a0*" if row.is_control else row.name
        while row.is_control and name in self.scored.runs:
            name += "*"
        return name

    def short_name(self, name: str, most: int = LONGEST_NAME) -> str:
        """Return a name of a row or run, cut so that no two of the report are alike."""
        rows = (self.name_of(row) for board in self.boards.values() for row in board.standings)
        return _shortened(tuple(dict.fromkeys([*rows, *self.every_run, name])), most)[name]

    def names_of(self, row: Standing, most: int = LONGEST_NAME) -> tuple[str, str]:
        """Return a row's name in tables, and as it is cut."""
        return (name := self.name_of(row)), self.short_name(name, most)

    def number_of(self, system: str, *, is_control: bool) -> int:
        """Return the number of a system's mark and colour in all charts: its place among the runs, then controls."""
        systems = [*((label, False) for label in self.scored.runs), *((name, True) for name in self.scored.controls)]
        return systems.index((system, is_control))

    def best_runs(self, task: Task) -> tuple[Standing, ...]:
        """Return the runs, those without a rank last; the first two, which are shown together, differ if possible."""
        rows = [row for row in self.boards[task.name].standings if not row.is_control]
        return tuple(sorted(rows, key=lambda row: row.rank is None))

    def foremost(self, task: Task) -> tuple[Standing, ...]:
        """Return the few rows that charts draw where all are too many: four runs, the best control, the oracle."""
        rows, controls = self.boards[task.name].standings, self.label_free_controls(task)
        runs = [row for row in rows if row.rank and not row.is_control and self.name_of(row) not in controls]
        best = [row for row in rows if self.name_of(row) in controls[:1]]
        oracle = [row for row in rows if row.is_control and row.system == "oracle"]
        return (*runs[:4], *best, *oracle)

    def label_free_controls(self, task: Task) -> tuple[str, ...]:
        """Return the names of the controls on a task that read no labels, or of the runs that are them, best first."""
        of_controls = self.scored.controls.items()
        controls = [name for name, of in of_controls if task.name in of and not CONTROLS[name].knows_labels]
        stands_for = {run_of_control(self.scored, name, task) for name in controls}
        rows = self.boards[task.name].standings
        return tuple(self.name_of(row) for row in rows if row.system in (controls if row.is_control else stands_for))


def findings_of(scored: ScoredRuns, resampling: Resampling) -> Findings:
    """Rank scored runs, with their selections."""
    first = next(iter(scored.scores.values()))[scored.tasks[0].name]
    read = (instance.cluster for instance in scored.dataset.instances(scored.n_instances))
    return Findings(
        scored=scored,
        boards={task.name: board_of(scored, task, resampling).merged for task in scored.tasks},
        resampling=resampling,
        n_papers=len(set(read if first.counts.not_applicable else first.clusters)),
    )


class Missed(NamedTuple):
    """Of the aspects that count on a task and that a sentence states, those that no counted system finds."""

    n_missed: int
    n_stated: int
    n_systems: int
    is_listed: bool  # the page holds the papers, and so their list


def missed_of(findings: Findings, viewed: ViewerData, *, is_listed: bool) -> dict[str, Missed]:
    """Return by task what all missed; a system finds also what it covers only by chance, as in `RowGrades.found`."""
    scored, first = findings.scored, next(iter(findings.scored.scores.values()))
    records = [shown.record for shown in viewed.systems if shown.record.is_counted]
    systems = [(scored.controls if record.is_control else scored.scores)[record.label] for record in records]
    rows = {task: {instance_id: row for row, instance_id in enumerate(first[task.name].ids)} for task in findings.tasks}
    columns = {task: [of[task.name].selections for of in systems if task.name in of] for task in findings.tasks}
    n_missed, n_stated = Counter[Task](), Counter[Task]()
    for instance in findings.dataset.instances(scored.n_instances):
        for task in findings.tasks:
            if (row := rows[task].get(instance.id)) is not None:
                coverage = coverage_of(instance.labels, task.scope)
                selections = (column[row] for column in columns[task])
                found = coverage.mask_of(index for one in selections for index in (*one.certain, *one.tied))
                n_stated[task] += coverage.coverable.bit_count()
                n_missed[task] += (coverage.coverable & ~found).bit_count()
    return {task.name: Missed(n_missed[task], n_stated[task], len(columns[task]), is_listed) for task in findings.tasks}


# The papers of a report: their records are made of the answers as they were scored, so that none is graded twice.


def viewer_of(findings: Findings, title: str, exchanges: ExchangeSource | None = None) -> ViewerData:
    """Return the data of the report's viewer: the runs and controls of its leaderboards, under the same names."""
    dataset, tasks, scored = findings.dataset, findings.tasks, findings.scored
    on_a_board = {row.system for board in findings.boards.values() for row in board.standings if row.is_control}
    systems = shown_systems(scored.runs, dataset, tasks, scored.rules, scored.controls.keys() - on_a_board)
    best = {}
    for task in tasks:
        rows = findings.best_runs(task)
        in_order = dict.fromkeys([*(row.system for row in rows), *(label for row in rows for label in row.systems)])
        best[task.name] = tuple(map(list(scored.runs).index, in_order))
    return ViewerData(title=title, dataset=dataset, tasks=tasks, systems=systems, best=best, exchanges=exchanges)


def asked_of(viewed: ViewerData, n_instances: int) -> Iterator[dict[int, tuple[AskedRecord, ...]]]:
    """Yield what each instance's systems asked language models: by system, for each task, or once for all tasks."""
    asking = [
        (system, shown.run.header.per_task)
        for system, shown in enumerate(viewed.systems)
        if shown.record.asks_model and shown.run is not None and shown.run.header is not None
    ]
    for instance_id in viewed.dataset.ids[:n_instances]:
        yield {
            system: tuple(viewed.asked(instance_id, system, n) for n in range(len(viewed.tasks) if per_task else 1))
            for system, per_task in asking
        }


def papers_of(findings: Findings, viewed: ViewerData) -> Iterator[tuple[ListRow, GradedInstance]]:
    """Yield the row and the record of each instance, the same as ``viewed`` makes."""
    scored = findings.scored
    scores = [
        (scored.controls if shown.record.is_control else scored.scores)[shown.record.label] for shown in viewed.systems
    ]
    first = next(iter(scored.scores.values()))
    rows = {task: {instance_id: row for row, instance_id in enumerate(of_task.ids)} for task, of_task in first.items()}

    def known(instance_id: str, system: int, task: Task) -> GradedAnswer | None:
        """Return an answer as it was scored; None where it has no sentence: it is read again, for the reason."""
        of_task, row = scores[system].get(task.name), rows[task.name].get(instance_id)
        if of_task is None or row is None or not of_task.selections[row].size:
            return None
        selection, recall = of_task.selections[row], float(of_task.recalls[row])
        certain, tied, n_drawn = selection.certain, selection.tied, selection.n_drawn
        return GradedAnswer(status="answered", certain=certain, tied=tied, n_drawn=n_drawn, recall=recall)

    for position, instance in enumerate(viewed.dataset.instances(scored.n_instances)):
        record = viewed.record(position, instance, known)
        yield viewed.row(position, instance, viewed.grades_of(instance, record)), record
